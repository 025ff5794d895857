"""Run control over HTTP: what is wanted of an agent, what it does, and what its sessions print.

Only people say what is wanted. What follows from it (that a session starts, ends, or is told to) is
decided by the machine and done by whoever runs the agent.
"""

from collections.abc import Sequence
from typing import Annotated, Final

import msgspec

from muster.errors import Invalid
from muster.http.routes.events import Cursor, read_slice
from muster.http.routes.tokens import Note
from muster.http.routing import EVERYBODY, OPERATOR, Call, Route
from muster.machines.commands import SetDesired
from muster.machines.events import AgentOutput
from muster.machines.vocabulary import RunMode
from muster.store.base import LogFilter, Stored
from muster.store.codec import decode
from muster.views.agents import OutputPage, OutputView, RunView, view_run

OUTPUTS: Final = 100
OUTPUTS_MAX: Final = 256
"""How many pieces of output a page has at most: of 16 KiB each, as much as a page of the log."""


class RunWish(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What somebody wants of an agent."""

    desired: RunMode
    now: bool = False
    """With `pause`: do not wait for its session to end by itself. So does asking twice."""

    note: Note = ""
    if_generation: int | None = None
    """Only if nobody has asked for anything since the wish of this number."""


async def show_run(call: Call) -> RunView:
    """Say what is wanted of an agent, and what it does."""
    return view_run(call.team, call.agent(call.path["name"]))


async def set_run(call: Call) -> RunView:
    """Want something of an agent."""
    agent, wish = call.agent(call.path["name"]), _wish(call)
    await call.send(
        SetDesired(
            seat=agent.seat,
            desired=wish.desired,
            set_by=call.team.human,
            note=wish.note,
            now=wish.now,
            if_generation=wish.if_generation,
        )
    )
    return view_run(call.team, call.team.agent(agent.seat))


def _wish(call: Call) -> RunWish:
    wish: RunWish = call.body
    if wish.now and wish.desired is not RunMode.PAUSE:
        raise Invalid(what="now", why="goes with pause only: what is wanted starts at once anyway")
    return wish


# ── what it prints ────────────────────────────────────────────────────────────────────────────────


class OutputQuery(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Which output."""

    after: Cursor | None = None
    """The last seq that was seen; -1 is from the beginning, and without one it is the newest."""

    limit: Annotated[int, msgspec.Meta(ge=1, le=OUTPUTS_MAX)] = OUTPUTS


async def read_output(call: Call) -> OutputPage:
    """What an agent's sessions printed: after a cursor, or the newest."""
    query: OutputQuery = call.query
    seat = call.agent(call.path["name"]).seat
    where = LogFilter(types=frozenset({"agent_output"}), seat=seat)
    found, after, more = await read_slice(call.muster, where, query.after, query.limit)
    return OutputPage(output=views_of(found), after=after, more=more)


def views_of(page: Sequence[Stored]) -> tuple[OutputView, ...]:
    """Output as it is shown, of events that are nothing else."""
    return tuple(
        OutputView(
            seq=event.seq,
            ts=event.ts,
            session=fact.session,
            stream=fact.stream,
            text=fact.text,
            omitted=fact.omitted,
        )
        for event in (decode(each.data) for each in page)
        if isinstance(fact := event.fact, AgentOutput)
    )


ROUTES: Final = (
    Route(
        method="GET",
        path="/api/agents/{name}/run",
        handler=show_run,
        may=EVERYBODY,
        summary="What is wanted of an agent, and what it does.",
        answer=RunView,
    ),
    Route(
        method="PUT",
        path="/api/agents/{name}/run",
        handler=set_run,
        may=OPERATOR,
        summary="Start or stop an agent: continuous, pause, run_once or run_cleanup.",
        body=RunWish,
        answer=RunView,
    ),
    Route(
        method="GET",
        path="/api/agents/{name}/output",
        handler=read_output,
        may=EVERYBODY,
        summary="What an agent's sessions printed.",
        query=OutputQuery,
        answer=OutputPage,
    ),
)
