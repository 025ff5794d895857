"""Views of conversations: the request, its route with the reason, and the result."""

from collections.abc import Iterable
from datetime import datetime
from typing import Final

import msgspec

from muster.machines import events as e
from muster.machines.delegation.reasons import reason_of
from muster.machines.events import Event, Fact
from muster.machines.ids import ConversationId
from muster.machines.state import MAIN, QUEUE, Delegation
from muster.machines.vocabulary import DelegationMode, Machine, Remark
from muster.routing.router import state_name
from muster.views.answers.conversations import (
    ChoiceList,
    ChoiceView,
    ConversationView,
    FileView,
    RouteView,
    StepView,
)

EARLIER_CHARS: Final = 4_000
"""How much of an earlier request, and of its answer, the request has that goes on from it."""


def views_of(
    events: Iterable[Event], *, home: str = MAIN
) -> dict[ConversationId, ConversationView]:
    """Every conversation in these events, in the order in which they began.

    `home` is the initial state of a conversation whose events do not name one.
    """
    views: dict[ConversationId, ConversationView] = {}
    for event in events:
        if isinstance(event.fact, e.DelegationStarted):
            home = QUEUE if event.fact.mode is DelegationMode.RESPONSE else MAIN
        conversation = getattr(event.fact, "conversation", None)
        if conversation is None:
            continue
        after = _after(views.get(conversation), event, home)
        if after is not None:
            views[conversation] = after
    return views


def _after(view: ConversationView | None, event: Event, home: str) -> ConversationView | None:
    fact = event.fact
    if isinstance(fact, e.ConversationStart):
        return ConversationView(
            conversation=fact.conversation,
            text=fact.text,
            speaker=fact.speaker_name,
            state=home,
            started_at=event.ts,
        )
    return None if view is None else _changed(view, event.ts, fact)


def _changed(view: ConversationView, at: datetime, fact: Fact) -> ConversationView:
    replace = msgspec.structs.replace
    match fact:
        case e.Routed():
            return replace(view, route=_route(fact))
        case e.StateTransition(machine=Machine.DELEGATION):
            return replace(view, state=fact.target, trace=(*view.trace, step_of(fact, at)))
        case e.FileRecorded():
            return replace(view, files=(*view.files, _file(fact)))
        case e.DialogueRecorded(kind=Remark.ANSWER | Remark.REPORT):
            return replace(view, answer=fact.text)
        case e.PermissionDenied():
            return replace(view, denied=fact.reason)
        case e.ConversationEnd():
            return replace(view, ended_at=at, outcome=fact.outcome, summary=fact.summary)
        case _:
            return view


def _route(fact: e.Routed) -> RouteView:
    return RouteView(
        agent=fact.to,
        confidence=fact.confidence,
        margin=fact.margin,
        rule=fact.rule,
        reason=fact.reason,
        router=fact.router,
        candidates=fact.candidates,
        ambiguous=fact.ambiguous,
        guess=fact.guess,
    )


def step_of(fact: e.StateTransition, at: datetime) -> StepView:
    """A change of the state of a conversation."""
    return StepView(
        at=at,
        source=fact.source,
        target=fact.target,
        trigger=fact.trigger,
        reason=reason_of(fact),
    )


def _file(fact: e.FileRecorded) -> FileView:
    return FileView(
        path=fact.path,
        change=fact.change,
        size=fact.size,
        sha256=fact.sha256,
        by=fact.state,
        outside=fact.outside,
        named=fact.named,
    )


def choice_list(delegation: Delegation) -> ChoiceList:
    """The choices that routing remembers."""
    return ChoiceList(
        choices=tuple(
            ChoiceView(
                number=each.number,
                text=each.text,
                agent=each.agent,
                guess=each.guess,
                at=each.at,
            )
            for each in delegation.choices
        )
    )


# ── as lines of text ──────────────────────────────────────────────────────────────────────────────

_SHOWN: Final = {"task_completed": "Task completed", "left": "Task completed"}


def head_of(view: ConversationView) -> str:
    """`[State: MAIN] [Conv: 002]`: the initial state of a conversation."""
    home = QUEUE if view.state == QUEUE else MAIN
    return f"[State: {home}] [Conv: {view.conversation.removeprefix('conv_')}]"


def step_line(step: StepView) -> str:
    """`[MAIN → AGENT]  # why`."""
    why = _SHOWN.get(step.trigger) or step.reason
    return f"[{state_name(step.source)} → {state_name(step.target)}]  # {why}"


# ── going on ──────────────────────────────────────────────────────────────────────────────────────


def worker_of(view: ConversationView) -> str | None:
    """The agent that worked on a conversation last; None where only MAIN did."""
    workers = [step.target for step in view.trace if step.target not in (MAIN, QUEUE)]
    return workers[-1] if workers else None


def continued(earlier: ConversationView, text: str) -> str:
    """A request that goes on from an earlier one, with what its agent has to know of it."""
    files = [file.path for file in earlier.files]
    parts = [
        text,
        f"This goes on from {earlier.conversation}, which asked:\n{_quote(earlier.text)}",
        f"Its answer was:\n{_quote(earlier.answer)}" if earlier.answer else "",
        f"Its files are in conversations/{earlier.conversation}/outputs: {', '.join(files)}"
        if files
        else "",
    ]
    return "\n\n".join(part for part in parts if part)


def _quote(text: str) -> str:
    cut = text if len(text) <= EARLIER_CHARS else f"{text[:EARLIER_CHARS]}…"
    return "\n".join(f"> {line}" for line in cut.splitlines())
