"""Identity over HTTP: births, waking and sleeping, and an agent's thread with the human.

What is to happen is decided by the machine, and `identity/waking.py` builds what is told. A person
says who; an agent answers as itself, and as nobody else.
"""

from typing import Annotated, Final

import msgspec

from muster.engine.dispatcher import Receipt
from muster.errors import Invalid, WrongState
from muster.http.routes.events import Cursor, read_slice
from muster.http.routes.messages import Said, say
from muster.http.routing import ACTORS, EVERYBODY, OPERATOR, Call, Route
from muster.identity import waking
from muster.machines.commands import TellHuman
from muster.machines.events import AgentsSummoned, SleepRequested, WakeRequested
from muster.machines.ids import SeatId
from muster.machines.state import Status
from muster.machines.vocabulary import Authority
from muster.store.codec import decode
from muster.views.agents import Called, view_agent
from muster.views.channels import thread_of
from muster.views.documents import button_of
from muster.views.messages import (
    THREAD_MESSAGES,
    THREAD_MESSAGES_MAX,
    ThreadPage,
    WakePreview,
    message_document,
)
from muster.views.wake_payload import as_xml, wake_payload


class Chosen(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Who is meant."""

    agents: tuple[str, ...] | None = None
    """Names; left out, it is everybody whom it can be asked of."""


class Answering(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Something for the human."""

    message: str


class ThreadQuery(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Which messages."""

    after: Cursor | None = None
    """The last seq that was seen; -1 is from the beginning, and without one it is the newest."""

    limit: Annotated[int, msgspec.Meta(ge=1, le=THREAD_MESSAGES_MAX)] = THREAD_MESSAGES


# ── births, waking, sleeping ──────────────────────────────────────────────────────────────────────


async def summon(call: Call) -> Called:
    """Prepare eight places around the lead, in which somebody is to be born."""
    return _called(call, await waking.summon(call.muster, call.caller.actor))


async def wake(call: Call) -> Called:
    """Wake sleepers. About those whom nobody has confirmed the lead is asked first."""
    return _called(call, await waking.wake(call.muster, call.caller.actor, _seats(call)))


async def sleep(call: Call) -> Called:
    """Put agents to sleep."""
    return _called(call, await waking.sleep(call.muster, call.caller.actor, _seats(call)))


def _seats(call: Call) -> tuple[SeatId, ...]:
    """The seats of those who are named, each once; none where everybody is meant."""
    chosen: Chosen = call.body
    if chosen.agents is None:
        return ()
    if not chosen.agents:
        raise Invalid(what="agents", why="names nobody; leave it out to mean everybody")
    return tuple(dict.fromkeys(call.agent(name).seat for name in chosen.agents))


def _called(call: Call, receipt: Receipt) -> Called:
    team, now = call.team, call.muster.clock.now()
    agents = tuple(view_agent(team, team.agent(seat), now) for seat in _concerned(receipt))
    return Called(seq=receipt.seq, agents=agents, button=button_of(team))


def _concerned(receipt: Receipt) -> tuple[SeatId, ...]:
    """Whom a command was about, as it says itself."""
    for event in receipt.events:
        fact = event.fact
        if isinstance(fact, AgentsSummoned):
            return tuple(each.grid_position for each in fact.placeholders)
        if isinstance(fact, WakeRequested | SleepRequested):
            return fact.seats
    return ()


async def preview(call: Call) -> WakePreview:
    """What an agent would be told if it woke now."""
    agent = call.agent(call.path["name"])
    if agent.status not in (Status.ALIVE, Status.SLEEPING):
        raise WrongState(act="wake", name=agent.id, state=agent.status)
    payload = await wake_payload(call.muster.store, call.team, agent)
    if agent.authority is Authority.LEAD:
        text = f"{waking.WAKE}\n{as_xml(payload)}"
    else:
        text = "\n\n".join(await call.muster.prompter.memory(agent))
    return WakePreview(payload=payload, text=text)


# ── threads ───────────────────────────────────────────────────────────────────────────────────────


async def read_thread(call: Call) -> ThreadPage:
    """What an agent said, and what was said to it alone: after a cursor, or the newest."""
    query: ThreadQuery = call.query
    agent = call.agent(call.path["name"])
    where = thread_of(agent.seat)
    found, after, more = await read_slice(call.muster, where, query.after, query.limit)
    agent = call.team.agent(agent.seat)  # as far as it has come by now
    messages = tuple(message_document(decode(each.data), agent) for each in found)
    return ThreadPage(messages=messages, after=after, more=more)


async def tell(call: Call) -> Said:
    """Have an agent say something to the human."""
    answering: Answering = call.body
    agent = call.acting_as(call.path["name"])
    return await say(call, TellHuman(seat=agent.seat, text=answering.message, key=call.key))


ROUTES: Final = (
    Route(
        method="POST",
        path="/api/agents/summon",
        handler=summon,
        may=OPERATOR,
        summary="Prepare eight places around the lead, in which agents are born.",
        answer=Called,
        status=201,
    ),
    Route(
        method="POST",
        path="/api/agents/wake",
        handler=wake,
        may=OPERATOR,
        summary="Wake sleepers: those who are named, or all.",
        body=Chosen,
        answer=Called,
    ),
    Route(
        method="POST",
        path="/api/agents/sleep",
        handler=sleep,
        may=OPERATOR,
        summary="Put agents to sleep: those who are named, or all.",
        body=Chosen,
        answer=Called,
    ),
    Route(
        method="GET",
        path="/api/agents/{name}/wake-payload",
        handler=preview,
        may=EVERYBODY,
        summary="What an agent would be told if it woke now: its soul and its last transcript.",
        answer=WakePreview,
    ),
    Route(
        method="GET",
        path="/api/agents/{name}/messages",
        handler=read_thread,
        may=EVERYBODY,
        summary="An agent's thread: what it said, what was said to it alone, and how far it came.",
        query=ThreadQuery,
        answer=ThreadPage,
    ),
    Route(
        method="POST",
        path="/api/agents/{name}/messages",
        handler=tell,
        may=ACTORS,
        summary="Say something to the human, as this agent.",
        body=Answering,
        answer=Said,
        status=201,
    ),
)
