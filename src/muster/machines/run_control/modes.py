"""The modes of run control: the tables of `desired` and `current`, and the facts that change them.

People write `desired`, reports write `current`. Each change of `desired` has a number, its
generation.
"""

from collections.abc import Sequence

from muster.machines import events as e
from muster.machines.events import Fact
from muster.machines.ids import SessionId
from muster.machines.policies import SESSION_LIMIT
from muster.machines.state import Agent
from muster.machines.tables import Row, Table
from muster.machines.vocabulary import RUNAWAY, Machine, RunMode

CONTINUOUS, PAUSE, RUN_ONCE, RUN_CLEANUP = RunMode

ONE_SHOTS = (RUN_ONCE, RUN_CLEANUP)

RUNNING = (CONTINUOUS, RUN_ONCE, RUN_CLEANUP)


def _rows(
    sources: Sequence[RunMode], targets: Sequence[RunMode], trigger: str, action: str
) -> list[Row[None]]:
    return [
        Row(source, target, trigger, action)
        for source in sources
        for target in targets
        if source is not target
    ]


DESIRED: Table[None] = Table(
    *_rows(list(RunMode), list(RunMode), "person", "new generation, acted on at once"),
    *_rows(ONE_SHOTS, (PAUSE,), "one_shot_done", "unless `desired` changed meanwhile"),
    *_rows(RUNNING, (PAUSE,), "budget", "a limit of usage is reached; the note says which"),
    *_rows(RUNNING, (PAUSE,), SESSION_LIMIT, "too many, too long or failing; the note says which"),
    *_rows(RUNNING, (PAUSE,), RUNAWAY, "it spends too fast; the note says how fast"),
    *_rows((CONTINUOUS,), (PAUSE,), "restart_policy", "its settings ask for no other session"),
    *_rows((PAUSE,), (CONTINUOUS,), "autostart", "with muster, unless a person paused it"),
)
"""The transitions of `desired`. People may set any mode at any time."""

TABLE: Table[None] = Table(
    *_rows(list(RunMode), RUNNING, "session_started", "the process is up"),
    *_rows(RUNNING, (PAUSE,), "session_ended", "no other session follows at once"),
    *_rows(list(RunMode), list(RunMode), "reported", "its own loop reports so"),
)
"""The transitions of `current`."""


def desire(
    agent: Agent, desired: RunMode, trigger: str, set_by: str, note: str, *, now: bool = False
) -> Fact:
    """The fact that sets `desired`, with the next generation."""
    previous = agent.run.desired
    if desired is not previous:
        desired = RunMode(DESIRED.target(previous, trigger, None, desired))
    return e.DesiredSet(
        seat=agent.seat,
        desired=desired,
        previous=previous,
        generation=agent.run.generation + 1,
        set_by=set_by,
        note=note,
        trigger=trigger,
        now=now,
    )


def move(
    agent: Agent,
    trigger: str,
    asked: RunMode,
    *,
    session: SessionId | None = None,
    reason: str | None = None,
) -> e.StateTransition:
    """The transition of `current`, as the table defines it."""
    return e.StateTransition(
        machine=Machine.RUN,
        agent_id=agent.id,
        source=agent.run.current,
        target=TABLE.target(agent.run.current, trigger, None, asked),
        trigger=trigger,
        seat=agent.seat,
        session=session,
        reason=reason,
    )
