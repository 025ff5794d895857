"""The memory of an agent that wakes: its soul, and the transcript of its last session.

A transcript has the agent's messages and the messages to it alone, from the last session that has
any. Its size is limited: the oldest messages are left out first, with a note. Undelivered messages
are not part of it; they are delivered as new messages.

The payload as text is XML, so that no soul can fake its own end.
"""

from collections.abc import Sequence
from typing import Final
from xml.sax.saxutils import escape, quoteattr

from muster.limits import TRANSCRIPT_BYTES_MAX
from muster.machines.events import MessageImported
from muster.machines.state import Agent, Team
from muster.store.base import EventStore, LogFilter, Stored
from muster.store.codec import decode
from muster.views.access import CanRead, read_all
from muster.views.answers.messages import MessageView, WakePayload
from muster.views.channels import MESSAGE_TYPES, imported_view, message_view

PAGE: Final = 200


async def wake_payload(
    store: EventStore, team: Team, agent: Agent, can_read: CanRead = read_all
) -> WakePayload:
    """The memory that an agent would be given if it woke now, as far as a reader may see it."""
    messages, omitted = await last_life(store, team, agent, can_read)
    transcript = as_lines(messages, team.human)
    if omitted:
        transcript = f"[{omitted} earlier messages left out]\n{transcript}"
    return WakePayload(
        name=agent.id,
        color=agent.color,
        color_name=agent.color_name,
        grid_position=agent.seat,
        has_soul=bool(agent.soul),
        has_transcript=bool(messages),
        soul=agent.soul,
        transcript=transcript,
        omitted=omitted,
    )


async def last_life(
    store: EventStore, team: Team, agent: Agent, can_read: CanRead = read_all
) -> tuple[Sequence[MessageView], int]:
    """The newest messages of its last session that fit, in order, and how many do not."""
    found: list[MessageView] = []
    size = 0
    omitted = 0
    said = await _said_here(store, team, agent, can_read)
    elsewhere = await _said_elsewhere(store, agent, can_read)
    if elsewhere and (not said or said[-1].ts < elsewhere[-1].ts):
        said = elsewhere
    for message in reversed(said):
        size += len(message.text.encode(errors="surrogatepass"))
        if omitted or size > TRANSCRIPT_BYTES_MAX:
            omitted += 1
        else:
            found.append(message)
    found.reverse()
    return found, omitted


async def _said_here(
    store: EventStore, team: Team, agent: Agent, can_read: CanRead
) -> Sequence[MessageView]:
    """Delivered messages of its last session on this machine."""
    own = LogFilter(types=MESSAGE_TYPES, seat=agent.seat)
    stored = await _all(store, agent.transcript_from, own)
    said = [message_view(decode(each.data), team) for each in stored if can_read(each)]
    return [each for each in said if not each.by_human or each.seq <= agent.delivered]


async def _said_elsewhere(
    store: EventStore, agent: Agent, can_read: CanRead
) -> Sequence[MessageView]:
    """Imported messages of its last session on another machine."""
    imported = LogFilter(types=frozenset({"message_imported"}), seat=agent.seat)
    stored = [each for each in await _all(store, 0, imported) if can_read(each)]
    events = [decode(each.data) for each in stored]
    copies = sorted(
        (event.fact.message for event in events if isinstance(event.fact, MessageImported)),
        key=lambda copy: (copy.created_at, copy.id),
    )
    last = copies[-1].server_session_id if copies else None
    return [imported_view(copy) for copy in copies if copy.server_session_id == last]


async def _all(store: EventStore, after: int, where: LogFilter) -> Sequence[Stored]:
    found = list(await store.read(after=after, limit=PAGE, where=where))
    while found and (page := await store.read(after=found[-1].seq, limit=PAGE, where=where)):
        found.extend(page)
    return found


def as_lines(messages: Sequence[MessageView], human: str) -> str:
    """One line a message: `[speaker]: text`."""
    return "\n".join(
        f"[{human if each.by_human else each.speaker}]: {each.text}" for each in messages
    )


def as_xml(payload: WakePayload) -> str:
    """One agent's payload as text that no soul can break out of."""
    attributes = " ".join(
        f"{name}={quoteattr(value)}"
        for name, value in (
            ("name", payload.name),
            ("color", payload.color),
            ("colorName", payload.color_name),
            ("position", str(payload.grid_position)),
            ("hasSoul", str(payload.has_soul).lower()),
            ("hasTranscript", str(payload.has_transcript).lower()),
        )
    )
    soul, transcript = escape(payload.soul), escape(payload.transcript)
    return (
        f"<agent {attributes}>\n<soul>\n{soul}\n</soul>\n"
        f"<transcript>\n{transcript}\n</transcript>\n</agent>"
    )
