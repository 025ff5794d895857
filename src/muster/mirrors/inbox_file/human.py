"""The human's inbox file: what agents write there they say to the human, once each.

An entry counts as told when it is on record; then it is marked as read. After a crash in between it
is recognised in the log by its words, its author and its time. Whoever writes in place may take our
marks back; what was told is remembered, and marked again.

Nobody is believed to be somebody who speaks through a session of its own: anyone can write a name
into a file.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from muster.errors import Refused
from muster.limits import NAME_CHARS_MAX
from muster.machines.commands import TellHuman
from muster.machines.events import AgentMessage
from muster.machines.ids import SeatId, agent_actor, name_key
from muster.machines.state import Agent
from muster.machines.vocabulary import ON_FILES
from muster.mirrors.inbox_file.format import Items, as_entry, is_read, keys_of, marking, said_at
from muster.mirrors.inbox_file.link import InboxFile
from muster.store.base import EventStore, LogFilter
from muster.store.codec import decode
from muster.whole_text import whole

RECALLED_MAX: Final = 1000
"""How many of an agent's last messages are searched for entries told before a restart."""

READING: Final = "reading"
MARKING: Final = "marking"

_LONG_AGO: Final = datetime.min.replace(tzinfo=UTC)


class HumanInbox:
    """The human's inbox file, through which agents reply."""

    def __init__(self, file: InboxFile, store: EventStore) -> None:
        """Nothing is read yet."""
        self._file = file
        self._store = store
        self._told: set[str] | None = None
        """The keys of what needs no telling; nothing before the first look."""

    @property
    def file(self) -> InboxFile:
        """The inbox itself."""
        return self._file

    async def step(self) -> None:
        """Make the inbox where it is missing; tell what is new in it, and mark that as read."""
        self._file.is_waiting = False
        try:
            await self._file.restore_late_writes()
            items = await self._file.read()
            if items is None:
                items = await self._file.change(lambda items: items)
        except OSError as error:
            self._file.is_waiting = True
            await self._file.warn(READING, f"{self._file.path}: {error.strerror or error}")
            return
        self._file.clear(READING)
        told = self._told
        if told is None:
            told = self._told = await self._recalled(items)
        for key, item in zip(keys_of(items), items, strict=True):
            if key not in told:
                if not is_read(item):
                    await self._tell(item)
                told.add(key)
        await self._mark(items, told)

    async def _mark(self, items: Items, told: set[str]) -> None:
        """Mark as read what was told; where that cannot be done, it is known in memory."""
        if all(is_read(item) or as_entry(item) is None for item in items):
            return
        try:
            await self._file.change(marking(frozenset(told)))
        except OSError as error:
            self._file.is_waiting = True
            await self._file.warn(MARKING, f"{self._file.path}: {error.strerror or error}")
        else:
            self._file.clear(MARKING)

    # ── telling ───────────────────────────────────────────────────────────────────────────────────

    async def _tell(self, item: object) -> None:
        entry = as_entry(item) or {}
        sender, text = entry.get("from"), entry.get("text")
        if not isinstance(sender, str) or not isinstance(text, str):
            await self._file.report(
                f"{self._file.path}: an entry without `from` and `text` is left"
            )
            return
        agent = self._speaker(sender)
        if agent is None:
            await self._file.report(
                f"{self._file.path}: {sender[:NAME_CHARS_MAX]!r} is nobody who speaks by an inbox "
                "file; what it says is left there"
            )
            return
        reply = TellHuman(seat=agent.seat, text=text)
        try:
            await self._file.send(reply, actor=agent_actor(agent.id))
        except Refused as error:
            await self._file.report(f"{self._file.path}: a reply of {agent.id!r} is left: {error}")

    def _speaker(self, sender: str) -> Agent | None:
        """The agent of this name, if it uses an inbox file."""
        team = self._file.team
        seat = team.names.get(name_key(sender))
        agent = None if seat is None else team.agents.get(seat)
        return agent if agent is not None and agent.authority in ON_FILES else None

    # ── after a restart ───────────────────────────────────────────────────────────────────────────

    async def _recalled(self, items: Items) -> set[str]:
        """The keys of what an earlier life has told and could not mark any more."""
        told: set[str] = set()
        said: dict[SeatId, list[tuple[str, datetime]]] = {}
        if all(is_read(item) for item in items):
            return told
        for key, item in zip(keys_of(items), items, strict=True):
            entry = as_entry(item) or {}
            agent = self._speaker(str(entry.get("from")))
            if agent is None:
                continue
            if agent.seat not in said:
                said[agent.seat] = await self._said(agent.seat)
            text = whole(str(entry.get("text")))
            match = _first(said[agent.seat], text, said_at(item) or _LONG_AGO)
            if match is not None:
                said[agent.seat].remove(match)
                told.add(key)
        return told

    async def _said(self, seat: SeatId) -> list[tuple[str, datetime]]:
        """The last messages of an agent to the human, oldest first."""
        by_it = LogFilter(types=frozenset({"agent_message"}), seat=seat)
        page = await self._store.read(after=0, limit=RECALLED_MAX, where=by_it, backwards=True)
        said: list[tuple[str, datetime]] = []
        for stored in reversed(page):
            event = decode(stored.data)
            fact = event.fact
            if isinstance(fact, AgentMessage) and fact.channel is None:
                said.append(("".join(each.text for each in fact.content), event.ts))
        return said


def _first(
    said: Sequence[tuple[str, datetime]], text: str, since: datetime
) -> tuple[str, datetime] | None:
    """The first that has these words and was not said before they were written."""
    return next((each for each in said if each[0] == text and each[1] >= since), None)
