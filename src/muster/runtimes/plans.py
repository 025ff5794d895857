"""Plans as programs tell them: to-do lists with a state for each step."""

from collections.abc import Iterable, Mapping
from typing import Final, cast

from muster.engine.ports import SessionPlan
from muster.limits import PLAN_STEP_CHARS_MAX, PLAN_STEPS_MAX
from muster.machines.vocabulary import PlanState, PlanStep
from muster.runtimes.excerpts import excerpt

_STATES: Final = {
    "in_progress": PlanState.ACTIVE,
    "inProgress": PlanState.ACTIVE,
    "completed": PlanState.DONE,
}
"""The words of Claude Code, Codex and ACP; anything else is still to be done."""


def plan(steps: Iterable[tuple[object, object]]) -> SessionPlan:
    """A plan of texts and states, in the words of a program."""
    told = list(steps)[:PLAN_STEPS_MAX]
    return SessionPlan(
        steps=tuple(
            PlanStep(
                text=excerpt(" ".join(str(text or "").split()), PLAN_STEP_CHARS_MAX),
                state=_STATES.get(str(state), PlanState.PENDING),
            )
            for text, state in told
        )
    )


def plan_in(given: object, text: str) -> SessionPlan:
    """The plan in a list of objects, whose field `text` is the step. A model wrote it, so that it
    can be anything."""
    steps = cast("list[object]", given) if isinstance(given, list) else []
    told = [cast("Mapping[str, object]", each) for each in steps if isinstance(each, dict)]
    return plan((each.get(text), each.get("status")) for each in told)
