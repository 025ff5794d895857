"""Importing: merges another machine's copy of the team, as one command.

Messages from this log come back under their original ids. They are looked up in the log and removed
before the command is decided. That check is safe outside the transaction: no other machine can
create an id of an event in this log.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Final

import msgspec

from muster.engine.dispatcher import Receipt
from muster.machines.commands import ImportTeam
from muster.machines.documents import AgentDocument, MessageCopy
from muster.machines.ids import SessionId
from muster.machines.teams.papers import check_messages
from muster.store.base import EventStore, LogFilter
from muster.team import Muster
from muster.views.content.messages import MESSAGE_TYPES

PAGE: Final = 512


class _Said(msgspec.Struct, frozen=True, rename="camel"):
    """The only needed field of an event: the boot of muster in which it happened."""

    session_id: SessionId


async def import_team(
    muster: Muster,
    send: Callable[[ImportTeam], Awaitable[Receipt]],
    documents: Iterable[AgentDocument],
    messages: Sequence[MessageCopy] = (),
) -> Receipt:
    """Merge documents and messages into the team. Starts nothing, and leaves live agents alone."""
    check_messages(messages)
    own = await _own(muster.store, messages)
    foreign = tuple(message for message in messages if message.id not in own)
    command = ImportTeam(documents=tuple(documents), messages=foreign)
    return await send(command)


async def _own(store: EventStore, messages: Iterable[MessageCopy]) -> set[str]:
    """The ids of the messages that are in this log."""
    places = sorted({int(message.id.rpartition(":")[2]) for message in messages})
    wanted = set(places)
    own: set[str] = set()
    where = LogFilter(types=MESSAGE_TYPES)
    last = min(await store.last_seq(), places[-1] if places else 0)
    after = places[0] - 1 if places else 0
    while after < last and (page := await store.read(after=after, limit=PAGE, where=where)):
        for each in page:
            if each.seq in wanted:
                said = msgspec.json.decode(each.data, type=_Said)
                own.add(f"{said.session_id}:{each.seq}")
        after = page[-1].seq
    return own
