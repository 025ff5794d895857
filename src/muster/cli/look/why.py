"""`muster why`: how something came about, told by following each event to its cause."""

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

import click

from muster.cli.options import home_option, json_option
from muster.cli.reading import find_agent, need_agent
from muster.cli.render import Look, Tone, json_line, paint
from muster.cli.telling import tell
from muster.cli.terminal import look
from muster.engine.loading import load
from muster.errors import NotFound
from muster.home.lock import LOG_FILE
from muster.machines.events import ApprovalAnswered, ApprovalRequested, Event, StateTransition
from muster.machines.ids import ChannelId, name_key
from muster.machines.state import Agent, Channel, Team
from muster.machines.vocabulary import Machine
from muster.store.base import LogFilter
from muster.store.codec import decode, encode
from muster.store.reading import LogReader
from muster.views.causes import cause_of

STEPS_MAX: Final = 100
"""Causes that are followed; a person reads no further, and events are never so far apart."""

TRANSITIONS: Final = frozenset({"state_transition"})
ANSWERS: Final = frozenset({"approval_answered"})
CHANNEL_TURNS: Final = TRANSITIONS | {"channel_created", "channel_rested", "channel_roused"}
RECENT: Final = 500
"""Transitions of one agent that are searched for the newest of each machine."""


class Account(NamedTuple):
    """What is told, and the events that tell it: the thing itself first, then its causes."""

    title: str
    chain: Sequence[Event]


@click.command()
@home_option
@click.argument("subject", metavar="AGENT|CHANNEL|SEQ")
@json_option("Print the events as JSON, one a line, each before its cause.")
def why(home: Path, subject: str, as_json: bool) -> None:
    """Explain why an agent, channel or event is in its current state.

    Each event is followed by its cause. A word that could mean several things is an agent's name
    first, then a channel's, then the number of an event; agent:X, channel:X, event:X and approval:X
    say which.
    """
    with LogReader.open(home / LOG_FILE) as reader:
        team = load(reader)
        accounts = list(_accounts(reader, team, subject))
    if as_json:
        for event in (event for account in accounts for event in account.chain):
            click.echo(json_line(encode(event)))
    else:
        click.echo("\n\n".join(_told(account, team, look()) for account in accounts))


def _told(account: Account, team: Team, look: Look) -> str:
    lines = [
        tell(event, team, look, lead="← " if depth else "")
        for depth, event in enumerate(account.chain)
    ]
    return "\n".join([paint(account.title, Tone.STRONG, look), *lines])


# ── what a word means ─────────────────────────────────────────────────────────────────────────────


def _accounts(reader: LogReader, team: Team, subject: str) -> Iterator[Account]:
    kind, _, word = subject.rpartition(":")
    match kind:
        case "agent":
            return _of_agent(reader, team, need_agent(team, word))
        case "channel":
            return _of_channel(reader, team, team.channel(ChannelId(word)))
        case "event":
            return _of_event(reader, word)
        case "approval":
            return _of_approval(reader, word)
        case _:
            return _of_anything(reader, team, subject)


def _of_anything(reader: LogReader, team: Team, word: str) -> Iterator[Account]:
    """What a bare word means first. A bare number is an event, unless somebody is called so."""
    if not word.isdecimal() or name_key(word) in team.names:
        agent = find_agent(team, word)
        if agent is not None:
            return _of_agent(reader, team, agent)
    channel = team.channels.get(ChannelId(word))
    if channel is not None:
        return _of_channel(reader, team, channel)
    if word.isdecimal():
        return _of_event(reader, word)
    raise NotFound(kind="agent, channel or event", name=word)


# ── what there is to tell ─────────────────────────────────────────────────────────────────────────


def _of_agent(reader: LogReader, team: Team, agent: Agent) -> Iterator[Account]:
    """One account for each machine that it is in: the newest transition, and how it came about."""
    told: set[str] = set()
    for event, fact in _transitions(reader, agent):
        scope = _scope(agent, fact)
        if scope is not None and scope not in told:
            told.add(scope)
            yield Account(f"{agent.id}, {scope}: {fact.target}", _chain(reader, event))
    for asked in agent.approvals:
        yield from _of_approval(reader, asked.id)


def _transitions(reader: LogReader, agent: Agent) -> Iterator[tuple[Event, StateTransition]]:
    where = LogFilter(types=TRANSITIONS, seat=agent.seat)
    for stored in reader.read(after=0, limit=RECENT, where=where, backwards=True):
        event = decode(stored.data)
        if isinstance(event.fact, StateTransition):
            yield event, event.fact


def _scope(agent: Agent, fact: StateTransition) -> str | None:
    """What a transition is about, or nothing where it no longer tells how the agent is now."""
    if fact.machine is not Machine.TURNS or not agent.channels:
        return str(fact.machine)
    return f"turns in {fact.channel}" if fact.channel in agent.channels else None


def _of_channel(reader: LogReader, team: Team, channel: Channel) -> Iterator[Account]:
    """How whoever has the turn came to it; where nobody has it, what happened last."""
    if channel.turn:
        holder = team.agent(channel.turn.holder)
        standing = f"turn {channel.epoch} is with {holder.id}"
        where = LogFilter(types=TRANSITIONS, channel=channel.id, seat=holder.seat)
    else:
        standing = "it rests" if channel.resting else "nobody has the turn"
        where = LogFilter(types=CHANNEL_TURNS, channel=channel.id)
    for newest in reader.read(after=0, limit=1, where=where, backwards=True):
        yield Account(f"{channel.id}: {standing}", _chain(reader, decode(newest.data)))


def _of_event(reader: LogReader, word: str) -> Iterator[Account]:
    event = _event(reader, int(word)) if word.isdecimal() else None
    if event is None:
        raise NotFound(kind="event", name=word)
    yield Account(f"event {event.seq}", _chain(reader, event))


def _of_approval(reader: LogReader, word: str) -> Iterator[Account]:
    """How a request was answered, and the request; or the request alone while it is open."""
    request = _event(reader, int(word)) if word.isdecimal() else None
    if request is None or not isinstance(request.fact, ApprovalRequested):
        raise NotFound(kind="approval", name=word)
    where = LogFilter(types=ANSWERS, seat=request.fact.seat)
    for stored in reader.read(after=request.seq, limit=RECENT, where=where):
        event = decode(stored.data)
        if isinstance(event.fact, ApprovalAnswered) and event.fact.approval == word:
            yield Account(
                f"approval {word}: {'allowed' if event.fact.allow else 'denied'}",
                _chain(reader, event),
            )
            return
    yield Account(f"approval {word}: nobody has answered yet", _chain(reader, request))


def _chain(reader: LogReader, event: Event) -> Sequence[Event]:
    return [event, *islice(_causes(reader, event), STEPS_MAX)]


def _causes(reader: LogReader, event: Event) -> Iterator[Event]:
    while (cause := cause_of(event)) is not None:
        found = _event(reader, cause)
        if found is None or found.seq >= event.seq:
            return
        yield found
        event = found


def _event(reader: LogReader, seq: int) -> Event | None:
    page = reader.read(after=seq - 1, limit=1) if seq > 0 else ()
    return decode(page[0].data) if page else None
