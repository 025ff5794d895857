"""Why over HTTP: how an agent or an event came to be so, told from each event to its cause."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Final

import msgspec

from muster.errors import NotFound
from muster.http.routing import EVERYBODY, ApiCall, route
from muster.machines.events import Event, StateTransition
from muster.machines.kernel.sentences import sentence
from muster.machines.state import Agent, Team
from muster.machines.vocabulary import Machine
from muster.store.base import EventStore, LogFilter
from muster.store.codec import decode
from muster.views.agents import View
from muster.views.causes import cause_of

STEPS_MAX: Final = 50
"""Causes that are followed; a person reads no further."""

RECENT: Final = 500
"""Transitions of one agent that are searched for the newest of each machine."""

TRANSITIONS: Final = frozenset({"state_transition"})


class Step(View, frozen=True, kw_only=True):
    """An event of the log, as a sentence."""

    seq: int
    ts: datetime
    type: str
    actor: str
    text: str


class Account(View, frozen=True, kw_only=True):
    """How one thing came about: the thing itself first, then each time its cause."""

    title: str
    steps: tuple[Step, ...]


class Accounts(View, frozen=True, kw_only=True):
    """All that there is to tell."""

    accounts: tuple[Account, ...]


@route("GET", "/api/agents/{name}/why", may=EVERYBODY)
async def of_agent(call: ApiCall, name: str) -> Accounts:
    """Why an agent is as it is: each machine's newest change, followed to its causes."""
    agent, team, store = call.agent(name), call.team, call.muster.store
    where = LogFilter(types=TRANSITIONS, seat=agent.seat)
    newest: dict[str, Event] = {}
    for stored in await store.read(after=0, limit=RECENT, where=where, backwards=True):
        event = decode(stored.data)
        if (scope := _scope(agent, event)) is not None:
            newest.setdefault(scope, event)
    accounts = [
        await _account(store, team, f"{scope}: {_target(event)}", event)
        for scope, event in newest.items()
    ]
    for asked in agent.approvals:
        request = await _event(store, int(asked.id))
        assert request is not None
        title = f"approval {asked.id}: nobody has answered yet"
        accounts.append(await _account(store, team, title, request))
    return Accounts(accounts=tuple(accounts))


def _scope(agent: Agent, event: Event) -> str | None:
    """What a transition is about, or nothing where it no longer tells how the agent is now."""
    fact = event.fact
    if not isinstance(fact, StateTransition):
        return None
    if fact.machine is not Machine.TURNS or not agent.channels:
        return str(fact.machine)
    return f"turns in {fact.channel}" if fact.channel in agent.channels else None


def _target(event: Event) -> str:
    assert isinstance(event.fact, StateTransition)
    return event.fact.target


class Place(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Which event."""

    seq: Annotated[int, msgspec.Meta(ge=1, le=2**53)]


@route("GET", "/api/why", may=EVERYBODY)
async def of_event(call: ApiCall, query: Place) -> Accounts:
    """How an event came about: the event, and then each time its cause."""
    event = await _event(call.muster.store, query.seq)
    if event is None or event.seq > call.team.seq:
        raise NotFound(kind="event", name=str(query.seq))
    account = await _account(call.muster.store, call.team, f"event {event.seq}", event)
    return Accounts(accounts=(account,))


async def _account(store: EventStore, team: Team, title: str, event: Event) -> Account:
    steps = [_step(each, team) for each in await _chain(store, event)]
    return Account(title=title, steps=tuple(steps))


async def _chain(store: EventStore, event: Event) -> Sequence[Event]:
    chain = [event]
    while (cause := cause_of(event)) is not None and len(chain) < STEPS_MAX:
        found = await _event(store, cause)
        if found is None or found.seq >= event.seq:
            break
        chain.append(found)
        event = found
    return chain


async def _event(store: EventStore, seq: int) -> Event | None:
    page = await store.read(after=seq - 1, limit=1)
    return decode(page[0].data) if page and page[0].seq == seq else None


def _step(event: Event, team: Team) -> Step:
    return Step(
        seq=event.seq,
        ts=event.ts,
        type=event.type,
        actor=event.actor,
        text=sentence(event, team),
    )
