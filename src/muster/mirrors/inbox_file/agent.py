"""An agent's inbox file: what is said to it alone is written there, and its marks are read.

A message is on record as delivered when it stands in the file. After a crash in between it is found
there, by its place in the log, and is not written again. Where the file is broken the message goes
to the lead, who hands it on; where there is no lead, it waits until the file is well.

Surprising: an agent's inbox may lose what we wrote to somebody who read before and writes after us.
For some seconds that is noticed and put right. What is gone later was taken away by its reader.
"""

import asyncio
from collections.abc import Sequence
from typing import Final

from muster.errors import NoLead, Refused, Repeated
from muster.limits import FILE_RACE_SECONDS
from muster.machines.commands import DeliverMessages, MarkRead, SendMessage
from muster.machines.events import Event, UserMessage
from muster.machines.ids import SeatId
from muster.machines.state import Agent
from muster.mirrors.inbox_file.format import (
    Entry,
    Items,
    adding,
    is_read,
    mark_of,
    new_entry,
    removing,
)
from muster.mirrors.inbox_file.link import InboxFile, uses_inbox_file
from muster.store.base import EventStore, LogFilter
from muster.store.codec import decode

ROUTE: Final = "[ROUTE TO AGENT: {name}]\n{text}"
"""The request to the lead to pass a message on."""

AGAIN_MAX: Final = 20
"""How often one message is written again: a reader that removes it each time wants it gone."""

PAGE_MESSAGES: Final = 100
WRITING: Final = "writing"


class _Posted:
    """A message of ours that is not marked as read."""

    def __init__(self, timestamp: str, until: float) -> None:
        self.timestamp = timestamp
        self.until = until
        self.again = 0


class AgentInbox:
    """One agent's inbox file."""

    def __init__(
        self, file: InboxFile, store: EventStore, seat: SeatId, former: InboxFile | None = None
    ) -> None:
        """Nothing is read or written yet. `former` is the file that the agent had before."""
        self._file = file
        self._former = former
        self._store = store
        self._seat = seat
        self._lock = asyncio.Lock()
        self._posted: dict[int, _Posted] | None = None
        """By their places in the log; nothing before the first look."""

    @property
    def file(self) -> InboxFile:
        """The inbox itself."""
        return self._file

    @property
    def _agent(self) -> Agent:
        return self._file.team.agents[self._seat]

    async def step(self) -> None:
        """Write what is missing, and take in what is marked as read."""
        async with self._lock:
            await self._move()
            await self._deliver()
            try:
                await self._file.restore_late_writes()
                items = await self._file.read() or []
                await self._write_again(items)
            except OSError:
                return  # whoever writes the next message says so
            await self._take_in(items)

    async def _deliver(self) -> None:
        self._file.is_waiting = False
        while messages := await self._undelivered():
            for event in messages:
                await self._post(event)
                if self._file.is_waiting:
                    return

    async def _undelivered(self) -> Sequence[Event]:
        agent = self._agent
        if agent.delivered >= agent.last_message or not uses_inbox_file(agent):
            return ()
        return await self._messages(agent.delivered, agent.last_message)

    async def _messages(self, after: int, upto: int) -> Sequence[Event]:
        to_it = LogFilter(types=frozenset({"user_message"}), seat=self._seat)
        page = await self._store.read(after=after, limit=PAGE_MESSAGES, where=to_it)
        return [decode(each.data) for each in page if each.seq <= upto]

    # ── writing ───────────────────────────────────────────────────────────────────────────────────

    async def _post(self, event: Event) -> None:
        """Write one message, or have the lead hand it on; then it is on record as delivered."""
        entry = _entry_of(event)
        try:
            await self._file.change(adding([entry]))
        except OSError as error:
            if not await self._route(event, f"{self._file.path}: {error.strerror or error}"):
                self._file.is_waiting = True
                return
        else:
            self._file.clear(WRITING)
            posted = await self._ledger()
            until = self._file.monotonic() + FILE_RACE_SECONDS
            posted[event.seq] = _Posted(str(entry["timestamp"]), until)
        await self._file.send(DeliverMessages(seat=self._seat, upto=event.seq), cause=event.seq)

    async def _route(self, event: Event, trouble: str) -> bool:
        """Have the lead hand a message on, once; say whether it can."""
        fact = event.fact
        assert isinstance(fact, UserMessage)
        routed = SendMessage(
            text=ROUTE.format(name=self._agent.id, text=fact.text),
            speaker_name=fact.speaker_name,
        )
        key = f"inboxes-{event.seq}"
        try:
            await self._file.send(routed, actor=event.actor, cause=event.seq, key=key)
        except Repeated:
            pass  # before a crash
        except NoLead:
            await self._file.warn(WRITING, f"{trouble}; there is no lead to hand messages on")
            return False
        except Refused as error:
            await self._file.warn(WRITING, f"{trouble}; the lead cannot be told: {error}")
            return False
        await self._file.warn(WRITING, f"{trouble}; the lead is asked to hand messages on")
        return True

    async def _write_again(self, items: Items) -> None:
        """Write again what somebody has overwritten who had not read it."""
        there = {mark_of(item) for item in items}
        now = self._file.monotonic()
        lost: list[Entry] = []
        for seq, posted in (await self._ledger()).items():
            racing = posted.until > now and posted.again < AGAIN_MAX
            if racing and (seq, posted.timestamp) not in there:
                posted.again += 1
                lost += [_entry_of(event) for event in await self._messages(seq - 1, seq)]
        if lost:
            await self._file.change(adding(lost))

    # ── what is read ──────────────────────────────────────────────────────────────────────────────

    async def _move(self) -> None:
        """Move what is unread from the file that the agent had under its former name.

        Another agent may have that name by now, and must not find the messages of this one.
        """
        former, self._former = self._former, None
        if former is None:
            return
        posted = await self._ledger()
        until = self._file.monotonic() + FILE_RACE_SECONDS
        for each in posted.values():
            each.until = until  # written again, into the new file
        marks = {(seq, each.timestamp) for seq, each in posted.items()}
        try:
            if former.path.exists():
                await former.change(removing(marks))
        except OSError as error:
            await self._file.report(f"{former.path}: {error.strerror or error}; it is not emptied")

    async def _ledger(self) -> dict[int, _Posted]:
        """The messages that are unread in the file; after a restart, from the log."""
        if self._posted is None:
            self._posted = {}
            after, upto = self._agent.read, self._agent.delivered
            while after < upto and (page := await self._messages(after, upto)):
                for event in page:
                    self._posted[event.seq] = _Posted(str(_entry_of(event)["timestamp"]), 0.0)
                after = page[-1].seq
        return self._posted

    async def _take_in(self, items: Items) -> None:
        """Put on record up to where the agent has marked messages as read."""
        posted = await self._ledger()
        ours: dict[int, bool] = {}
        for item in items:
            mark = mark_of(item)
            if mark is not None and mark[0] in posted and posted[mark[0]].timestamp == mark[1]:
                ours[mark[0]] = ours.get(mark[0], False) or is_read(item)
        upto = 0
        for seq in sorted(ours):
            if not ours[seq]:
                break
            upto = seq
        if upto > self._agent.read:
            await self._file.send(MarkRead(seat=self._seat, upto=upto))
            for seq in [seq for seq in posted if seq <= upto]:
                del posted[seq]


def _entry_of(event: Event) -> Entry:
    fact = event.fact
    assert isinstance(fact, UserMessage)
    return new_entry(sender=fact.speaker_name, text=fact.text, at=event.ts, seq=event.seq)
