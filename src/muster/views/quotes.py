"""Quotes: the start of the message that a reply answers, looked up in the log."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from msgspec.structs import replace

from muster.machines import events as e
from muster.machines.ids import MUSTER
from muster.store.base import EventStore, Stored
from muster.store.codec import decode
from muster.views.answers.messages import MessageView, QuotedMessage

QUOTE_CHARS: Final = 120
"""Enough of a message to recognise it."""

EventReader = Callable[[int], Awaitable[Stored | None]]
"""Reads the event at a place in the log."""


def reader(store: EventStore) -> EventReader:
    """Read events from a store."""

    async def read(seq: int) -> Stored | None:
        found = await store.read(after=seq - 1, limit=1)
        return found[0] if found and found[0].seq == seq else None

    return read


async def with_quotes(messages: Sequence[MessageView], read: EventReader) -> list[MessageView]:
    """The messages, replies with the start of what they answer."""
    quotes: dict[int, QuotedMessage | None] = {}
    for seq in {each.reply_to for each in messages if each.reply_to is not None}:
        found = await read(seq)
        quotes[seq] = None if found is None else quote(found)
    return [
        each if each.reply_to is None else replace(each, quoted=quotes[each.reply_to])
        for each in messages
    ]


def quote(stored: Stored) -> QuotedMessage | None:
    """The start of a message; nothing where the event is none."""
    fact = decode(stored.data).fact
    match fact:
        case e.UserMessage(speaker_name=speaker, text=text):
            pass
        case e.AgentMessage(agent_name=speaker):
            text = "\n".join(block.text for block in fact.content)
        case e.Announcement(text=text):
            speaker = MUSTER
        case _:
            return None
    return QuotedMessage(seq=stored.seq, speaker=speaker, text=shortened(text, QUOTE_CHARS))


def shortened(text: str, chars: int) -> str:
    """The start of a text, in one line."""
    line = " ".join(text[: 2 * chars].split())
    return line if len(line) <= chars and len(text) <= 2 * chars else f"{line[: chars - 1]}…"
