"""Identity over HTTP: summoning, waking and sleeping, and an agent's thread with the human.

The machine decides, and `identity/waking.py` builds what the lead and the agents are told.
"""

from typing import Annotated

import msgspec

from muster.engine.dispatcher import Receipt
from muster.errors import Invalid, WrongState
from muster.http.log_pages import read_slice
from muster.http.recording import record
from muster.http.routing import EVERYBODY, OPERATOR, PEOPLE, SPEAKERS, ApiCall, route
from muster.http.types import Body, Cursor, Query, Seq
from muster.identity import waking
from muster.limits import SEAT_MAX, SUMMON_SEATS_MAX
from muster.machines.commands import SleepAgents, TellHuman, WakeAgents
from muster.machines.events import AgentsSummoned, SleepRequested, WakeRequested
from muster.machines.ids import SeatId
from muster.machines.state import Status
from muster.machines.vocabulary import Authority
from muster.store.codec import decode
from muster.views.agents import button_of, view_agent
from muster.views.answers import Recorded
from muster.views.answers.agents import Called
from muster.views.answers.messages import ThreadPage, WakePreview
from muster.views.content.messages import thread_of
from muster.views.memory.wake_payload import as_xml, wake_payload
from muster.views.messages import THREAD_MESSAGES, THREAD_MESSAGES_MAX, message_document

Seat = Annotated[int, msgspec.Meta(ge=0, le=SEAT_MAX)]


class AgentsBody(Body, frozen=True, kw_only=True):
    """The agents that a request is about."""

    agents: tuple[str, ...] | None = None
    """Names; left out, every agent in the right state."""


class WakeBody(AgentsBody, frozen=True, kw_only=True):
    """The agents to wake."""

    spares_stopped: bool = False
    """Whether agents that are not named, and that a person or a limit has stopped, stay so."""


class SummonBody(Body, frozen=True, kw_only=True):
    """The seats in which agents are to be born."""

    seats: Annotated[tuple[Seat, ...], msgspec.Meta(max_length=SUMMON_SEATS_MAX)] | None = None
    """Free seats to prepare beside the agents that are there; left out, every seat of the plan."""


class ToHumanBody(Body, frozen=True, kw_only=True):
    """A message for the human."""

    message: str


class ThreadQuery(Query, frozen=True, kw_only=True):
    """Which messages."""

    after: Cursor | None = None
    """The last seq that was read; -1 is from the beginning. Left out, the newest messages."""

    before: Seq | None = None
    """The newest messages before this seq, without `after`."""

    limit: Annotated[int, msgspec.Meta(ge=1, le=THREAD_MESSAGES_MAX)] = THREAD_MESSAGES


# ── summon, wake, sleep ──────────────────────────────────────────────────────────────────────────


@route("POST", "/api/agents/summon", may=OPERATOR, status=201)
async def summon(call: ApiCall, body: SummonBody) -> Called:
    """Prepare the seats around the lead for new agents, or free seats beside those there are."""
    receipt = await call.first_try()
    if receipt is None:
        seats = tuple(map(SeatId, dict.fromkeys(body.seats or ())))
        receipt = await waking.summon(call.muster, call.caller.actor, call.key, seats)
    return _called(call, receipt)


@route("POST", "/api/agents/wake", may=PEOPLE)
async def wake(call: ApiCall, body: WakeBody) -> Called:
    """Wake sleeping agents: the named ones, or all."""
    receipt = await call.first_try()  # before the lead is asked a second time
    if receipt is None:
        seats = _seats(call, body)
        call.check_scope(WakeAgents(seats=seats))
        receipt = await waking.wake(
            call.muster, call.caller.actor, call.key, seats, spares_stopped=body.spares_stopped
        )
    return _called(call, receipt)


@route("POST", "/api/agents/sleep", may=PEOPLE)
async def sleep(call: ApiCall, body: AgentsBody) -> Called:
    """Put agents to sleep: the named ones, or all."""
    return _called(call, await call.send(SleepAgents(seats=_seats(call, body))))


def _seats(call: ApiCall, body: AgentsBody) -> tuple[SeatId, ...]:
    """The seats of the named agents, each once; empty where all are meant."""
    if body.agents is None:
        return ()
    if not body.agents:
        raise Invalid(what="agents", why="is an empty list; leave it out to mean all agents")
    return tuple(dict.fromkeys(call.agent(name).seat for name in body.agents))


def _called(call: ApiCall, receipt: Receipt) -> Called:
    team, now = call.team, call.muster.clock.now()
    agents = tuple(view_agent(team, team.agent(seat), now) for seat in _concerned(receipt))
    return Called(
        seq=receipt.seq, agents=agents, button=button_of(team, can_summon=call.muster.can_summon)
    )


def _concerned(receipt: Receipt) -> tuple[SeatId, ...]:
    """The seats that a command was about, from its events."""
    for event in receipt.events:
        fact = event.fact
        if isinstance(fact, AgentsSummoned):
            return tuple(each.grid_position for each in fact.placeholders)
        if isinstance(fact, WakeRequested | SleepRequested):
            return fact.seats
    return ()


@route("GET", "/api/agents/{name}/wake-payload", may=EVERYBODY)
async def preview_wake(call: ApiCall, name: str) -> WakePreview:
    """Show what an agent would be told if it woke now: its soul and its last transcript."""
    agent = call.agent(name)
    if agent.status not in (Status.ALIVE, Status.SLEEPING):
        raise WrongState(act="wake", name=agent.id, state=agent.status)
    show = call.access.shown_event
    payload = await wake_payload(
        call.muster.store,
        call.team,
        agent,
        show,
        handover=call.muster.prompter.handover(agent),
    )
    if agent.authority is Authority.LEAD:
        text = f"{waking.WAKE}\n{as_xml(payload)}"
    else:
        text = "\n\n".join(await call.muster.prompter.memory(agent, show))
    return WakePreview(payload=payload, text=text)


# ── threads ───────────────────────────────────────────────────────────────────────────────────────


@route("GET", "/api/agents/{name}/messages", may=EVERYBODY)
async def read_thread(call: ApiCall, name: str, query: ThreadQuery) -> ThreadPage:
    """Read an agent's thread: its messages to the human, and messages to it alone."""
    agent = call.agent(name)
    where, limit = thread_of(agent.seat), query.limit
    newest = query.after is None  # one more than asked for tells whether there are earlier ones
    found, after, more = await read_slice(
        call, where, query.after, limit + newest, before=query.before if newest else None
    )
    earlier = newest and len(found) > limit
    agent = call.team.agent(agent.seat)  # with what it has read by now
    shown = found[1:] if earlier else found
    messages = tuple(message_document(decode(each.data), agent) for each in shown)
    return ThreadPage(messages=messages, after=after, more=more, earlier=earlier)


@route("POST", "/api/agents/{name}/messages", may=SPEAKERS, status=201)
async def tell_human(call: ApiCall, name: str, body: ToHumanBody) -> Recorded:
    """Send a message to the human, as this agent."""
    agent = call.acting_as(name)
    return await record(call, TellHuman(seat=agent.seat, text=body.message))
