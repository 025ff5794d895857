"""The transcript that a waking agent is given: what was said in its last session with messages.

One line a message, `[speaker]: text`; of the channels in which the agent spoke, also the words of
others that it was handed there. The newest words that fit are kept: the oldest messages are
left out first, and the first message that does not fit whole keeps its end. Only a speaker begins a
line with a bracket: the further lines of a message are indented, so that no message can imitate
another speaker.

After a merge a seat may have messages of another agent, which lost the seat. Those are not part of
its memory: a message counts by the names that the agent has or had since it got the seat.
"""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from muster.limits import (
    DIGEST_MESSAGES_MAX,
    HEARD_MESSAGES_MAX,
    REMEMBERED_BYTES_MAX,
    TRANSCRIPT_BYTES_MAX,
)
from muster.machines.events import AgentMessage, Event, UserMessage
from muster.machines.ids import LEAD_SEAT, name_key
from muster.machines.state import Agent, Team
from muster.machines.turns.speech import indented, speaker_label
from muster.store.base import SEQ_END, EventStore, LogFilter, Stored
from muster.store.codec import decode
from muster.views.access import ShowEvent, show_all, shown_events
from muster.views.answers.messages import MessageView
from muster.views.content.messages import MESSAGE_TYPES, message_view

PAGE: Final = 200
SENT_TYPES: Final = frozenset({"user_message"})
"""Messages to one agent, among them those of other agents."""

DECODED_AT_ONCE: Final = 100
"""Events that are decoded in one step of the event loop, in some milliseconds."""

WORTH_CUTTING_BYTES: Final = 512
"""The least of a message that is kept of it when it does not fit whole."""


class Transcript(msgspec.Struct, frozen=True):
    """The newest words of a session that fit."""

    lines: Sequence[str]
    omitted: int = 0
    """How many messages were left out, the oldest ones."""

    cut: int = 0
    """How many characters of the oldest message that is kept were left out."""

    omitted_chars: int = 0
    """How many characters of all messages were left out."""

    @property
    def text(self) -> str:
        """The lines, after a note on what is missing."""
        note = [f"[{self.omitted} earlier messages left out]"] if self.omitted else []
        return "\n".join((*note, *self.lines))


def fit(messages: Sequence[MessageView], human: str, room: int) -> Transcript:
    """The newest messages that fit into so many bytes, in order."""
    lines: list[str] = []
    cut = 0
    for message in reversed(messages):
        line = as_line(message, human)
        size = _size(line) + 1
        if size > room:
            if room >= WORTH_CUTTING_BYTES:
                line, cut = _end_of(message, human, room)
                lines.append(line)
            break
        lines.append(line)
        room -= size
    lines.reverse()
    omitted = len(messages) - len(lines)
    left = cut + sum(len(message.text) for message in messages[:omitted])
    return Transcript(lines, omitted, cut, left)


def as_line(message: MessageView, human: str, note: str = "") -> str:
    """A message as `[speaker]: text`, in a channel `[speaker #channel]: text`, to another agent
    `[speaker → name]: text`; its further lines are indented."""
    speaker = human if message.by_human else message.speaker
    label = speaker_label(speaker, message.channel, message.to)
    name = " ".join(label.replace("[", "(").replace("]", ")").split())
    return f"[{name}]: {indented(f'{note}{message.text}')}"


def _end_of(message: MessageView, human: str, room: int) -> tuple[str, int]:
    """The end of a message that fits, and how many characters of its beginning do not."""
    text = message.text
    kept = min(len(text), room)
    while True:
        cut = len(text) - kept
        shorter = replace(message, text=text[cut:])
        line = as_line(shorter, human, f"[{cut} characters left out] ")
        if _size(line) < room or not kept:
            return line, cut
        kept = kept * 3 // 4  # wide characters and indents need more room than they have letters


def _size(text: str) -> int:
    return len(text.encode(errors="surrogatepass"))


# ── reading ───────────────────────────────────────────────────────────────────────────────────────


async def names_of(store: EventStore, agent: Agent) -> frozenset[str]:
    """The keys of all names that the agent has or had."""
    renames = LogFilter(types=frozenset({"agent_renamed"}), seat=agent.seat)
    facts = (decode(each.data).fact for each in await read_whole(store, agent.seated_from, renames))
    former = (getattr(fact, "previous", None) for fact in facts)
    known = (agent.id, agent.chosen_name, *agent.earlier_names, *former)
    return frozenset(name_key(name) for name in known if name)


async def last_life_here(
    store: EventStore, team: Team, agent: Agent, show: ShowEvent = show_all
) -> Sequence[MessageView]:
    """The delivered messages of the agent's last session on this machine, in order; of a long one
    the newest."""
    names = await names_of(store, agent)
    stored = await _newest_of(store, agent, agent.transcript_from, SEQ_END)
    events = await decoded(shown_events(stored, show))
    said = _told(agent, team, events, names)
    heard = await _heard_in_channels(store, team, agent, said, show)
    return sorted((*said, *heard), key=lambda each: each.seq)


async def _heard_in_channels(
    store: EventStore, team: Team, agent: Agent, said: Sequence[MessageView], show: ShowEvent
) -> list[MessageView]:
    """The words of others in the channels in which the agent spoke, up to its last words there.

    They were handed to it with its turns.
    """
    last_words = {each.channel: each.seq for each in said if each.channel is not None}
    heard: list[MessageView] = []
    for channel, seq in last_words.items():
        stored = await store.read(
            after=agent.transcript_from,
            before=seq,
            limit=HEARD_MESSAGES_MAX,
            where=LogFilter(types=MESSAGE_TYPES, channel=channel),
            backwards=True,
            bytes_max=TRANSCRIPT_BYTES_MAX,
        )
        of_others = (each for each in stored if each.seat != agent.seat)
        heard += (message_view(decode(each.data), team) for each in shown_events(of_others, show))
    return heard


async def own_messages(
    store: EventStore, agent: Agent, team: Team, show: ShowEvent, upto: int
) -> Sequence[MessageView]:
    """The newest messages by the agent and to it alone up to a place in the log, in order."""
    names = await names_of(store, agent)
    stored = await _newest_of(store, agent, agent.seated_from, upto + 1)
    events = await decoded(shown_events(stored, show))
    return _told(agent, team, events, names)


async def _newest_of(store: EventStore, agent: Agent, after: int, before: int) -> list[Stored]:
    """The newest messages by the agent, and to it alone, between two places, in order."""
    own = LogFilter(types=MESSAGE_TYPES, seat=agent.seat)
    found = await newest(store, own, after, before)
    if agent.sent <= after:
        return found
    to_agents = await newest(store, LogFilter(types=SENT_TYPES), after, before)
    found += (each for each in to_agents if may_be_sent_by(agent, each))
    return sorted(found, key=lambda each: each.seq)


def may_be_sent_by(agent: Agent, stored: Stored) -> bool:
    """Whether a message is to another agent, and its text has the sender: a quick look, because
    most messages of a team are of others."""
    return stored.seat != agent.seat and b'"sender":%d' % agent.seat in stored.data


async def newest(store: EventStore, where: LogFilter, after: int, before: int) -> list[Stored]:
    """The newest events of a kind between two places, in order, as far as a memory reaches."""
    found = await store.read(
        after=after,
        before=before,
        limit=DIGEST_MESSAGES_MAX,
        where=where,
        backwards=True,
        bytes_max=REMEMBERED_BYTES_MAX,
    )
    return list(reversed(found))


async def decoded(stored: Iterable[Stored]) -> list[Event]:
    """The events of many rows, decoded in steps that leave the event loop to others."""
    events: list[Event] = []
    for each in stored:
        events.append(decode(each.data))
        if len(events) % DECODED_AT_ONCE == 0:
            await asyncio.sleep(0)
    return events


def _told(
    agent: Agent, team: Team, events: Sequence[Event], names: frozenset[str]
) -> Sequence[MessageView]:
    """The messages of these events by the agent, and those to it that were delivered."""
    said = [_view(agent, team, each) for each in events if _is_own(agent, each, names)]
    own_words = {each.seq for each in events if is_said_by(agent, each)}
    return [each for each in said if each.seq in own_words or each.seq <= agent.delivered]


def _view(agent: Agent, team: Team, event: Event) -> MessageView:
    """A message as the agent remembers it: its own words under the name that it has now."""
    view = message_view(event, team)
    if not is_said_by(agent, event):
        return view
    to = event.fact.target_agent if isinstance(event.fact, UserMessage) else None
    return replace(view, speaker=agent.id, to=to)


def is_said_by(agent: Agent, event: Event) -> bool:
    """Whether a message in its thread, or to another agent, is the agent's own."""
    fact = event.fact
    if isinstance(fact, UserMessage):
        return fact.sender == agent.seat and fact.seat != agent.seat
    return isinstance(fact, AgentMessage)


def _is_own(agent: Agent, event: Event, names: frozenset[str]) -> bool:
    """Whether a message is by the agent or to it, and not of another agent that had its seat."""
    fact = event.fact
    if isinstance(fact, AgentMessage):
        return name_key(fact.agent_name) in names
    assert isinstance(fact, UserMessage)
    if is_said_by(agent, event):
        return True
    if fact.seat != agent.seat:
        return False
    if fact.target_agent is None:
        return agent.seat == LEAD_SEAT
    return name_key(fact.target_agent) in names


async def read_whole(store: EventStore, after: int, where: LogFilter) -> Sequence[Stored]:
    """All events of a kind after a place in the log."""
    found = list(await store.read(after=after, limit=PAGE, where=where))
    while found and (page := await store.read(after=found[-1].seq, limit=PAGE, where=where)):
        found.extend(page)
    return found
