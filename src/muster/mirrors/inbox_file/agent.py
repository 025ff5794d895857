"""An agent's inbox file: what is said to it alone is written there, and its marks are read.

A message is on record as delivered when it stands in the file. After a crash in between it is found
there, by its place in the log, and is not written again. Where the file is broken the message goes
to the lead, who hands it on; where there is no lead, it waits until the file is well. The lead is
also asked when an agent inside its session is awake and nobody reads the file.

The file of a teammate inside Claude Code (`teammates.py`) is emptied when it is read.

Surprising: an agent's inbox may lose what we wrote to somebody who read before and writes after us.
For some seconds that is noticed and put right. What is gone later was taken away by its reader.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from muster.errors import NoLead, Refused, Repeated
from muster.limits import FILE_RACE_SECONDS, INBOX_READ_SECONDS
from muster.machines.commands import DeliverMessages, MarkRead, RouteMessage, SendMessage
from muster.machines.events import Event, UserMessage
from muster.machines.ids import SeatId
from muster.machines.state import Agent
from muster.machines.turns.speech import ROUTE, indented
from muster.machines.vocabulary import Authority, DeliveryWay
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

AGAIN_MAX: Final = 20
"""How often one message is written again: a reader that removes it each time wants it gone."""

PAGE_MESSAGES: Final = 100
WRITING: Final = "writing"


class _Posted:
    """A message of ours that is not marked as read."""

    def __init__(self, timestamp: str, until: float, since: float) -> None:
        self.timestamp = timestamp
        self.until = until
        self.since = since
        """When it was written, or first seen unread after a restart."""

        self.again = 0


class AgentInbox:
    """One agent's inbox file."""

    def __init__(
        self,
        file: InboxFile,
        store: EventStore,
        seat: SeatId,
        former: InboxFile | None = None,
        *,
        leave: Callable[[], Awaitable[None]] | None = None,
        of_teammate: bool = False,
    ) -> None:
        """Nothing is read or written yet. `former` is the file that the agent had before.

        `leave` ends the work on that file. `of_teammate` says that the file is of Claude Code.
        """
        self._file = file
        self._of_teammate = of_teammate
        self._former = former
        self._leave = leave
        self._closed = False
        self._store = store
        self._seat = seat
        self._lock = asyncio.Lock()
        self._awake_since: float | None = None
        """When the agent was first seen awake inside its lead; none while it is not."""

        self._posted: dict[int, _Posted] | None = None
        """By their places in the log; nothing before the first look."""

    @property
    def file(self) -> InboxFile:
        """The inbox itself."""
        return self._file

    @property
    def _agent(self) -> Agent:
        return self._file.team.agents[self._seat]

    def poll(self) -> None:
        """Wake if the file has changed, or if the agent has woken up or fallen asleep since."""
        self._file.poll()
        if self._is_awake != (self._awake_since is not None):
            self._file.wake.set()

    @property
    def _is_awake(self) -> bool:
        """Whether the agent is awake inside its lead, which can hand messages on."""
        agent, lead = self._agent, self._file.team.lead
        return agent.authority is Authority.LEAD and agent.present and bool(lead and lead.present)

    async def step(self) -> float | None:
        """Write what is missing, and take in what is marked as read.

        Returns after how many seconds to look again, while a message lies unread.
        """
        async with self._lock:
            if self._closed:
                return None
            await self._move()
            await self._deliver()
            try:
                await self._file.restore_late_writes()
                items = await self._file.read() or []
                if not self._of_teammate:
                    await self._write_again(items)
            except OSError:
                return None  # whoever writes the next message says so
            await self._take_in(items)
            return await self._relay_unread(items)

    async def close(self) -> None:
        """Let the step that is under way end, and take no other.

        One that is cut off may have written a message whose delivery is recorded later.
        """
        async with self._lock:
            self._closed = True

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
            posted, now = await self._ledger(), self._file.monotonic()
            posted[event.seq] = _Posted(str(entry["timestamp"]), now + FILE_RACE_SECONDS, now)
            if self._of_teammate:
                await self._note_way(event.seq, DeliveryWay.TEAMMATE_INBOX)
        await self._file.send(DeliverMessages(seat=self._seat, upto=event.seq), cause=event.seq)

    async def _route(self, event: Event, trouble: str) -> bool:
        """Have the lead hand a message on, once; say whether it can."""
        fact = event.fact
        assert isinstance(fact, UserMessage)
        routed = SendMessage(
            text=ROUTE.format(name=self._agent.id, text=indented(fact.text)),
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
        await self._note_way(event.seq, DeliveryWay.LEAD)
        return True

    async def _note_way(self, seq: int, way: DeliveryWay) -> None:
        await self._file.send(RouteMessage(seat=self._seat, message=seq, way=way), cause=seq)

    async def _relay_unread(self, items: Items) -> float | None:
        """Have the lead hand on what an agent that is awake in its session has not read in time.

        Returns after how many seconds the next message is due. An agent that sleeps finds its
        messages when it wakes, and has the same time from then on.
        """
        now = self._file.monotonic()
        if not self._is_awake:
            self._awake_since = None
            return None
        if self._awake_since is None:
            self._awake_since = now
        awake = self._awake_since
        unread = {mark_of(each) for each in items if not is_read(each)}
        lying = {
            seq: each
            for seq, each in sorted((await self._ledger()).items())
            if (seq, each.timestamp) in unread
        }
        for seq, each in lying.items():
            each.since = max(each.since, awake)
            if now - each.since >= INBOX_READ_SECONDS:
                each.since = now
                await self._relay(seq, each)
        pauses = (each.since + INBOX_READ_SECONDS - now for each in lying.values())
        return min(pauses, default=None)

    async def _relay(self, seq: int, posted: _Posted) -> None:
        """Ask the lead to hand one message on, and take it out of the file: it comes once."""
        for event in await self._messages(seq - 1, seq):
            if await self._route(event, f"{self._file.path}: nobody has read message {seq}"):
                await self._file.change(removing({(seq, posted.timestamp)}))
                del (await self._ledger())[seq]

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
        if self._leave is not None:
            await self._leave()
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
        if self._of_teammate:  # what is not in such a file counts as read
            for seq in sorted(posted):
                for event in await self._messages(seq - 1, seq):
                    await self._post(event)

    async def _ledger(self) -> dict[int, _Posted]:
        """The messages that are unread in the file; after a restart, from the log."""
        if self._posted is None:
            self._posted = {}
            after, upto = self._agent.read, self._agent.delivered
            while after < upto and (page := await self._messages(after, upto)):
                for event in page:
                    at = str(_entry_of(event)["timestamp"])
                    self._posted[event.seq] = _Posted(at, 0.0, self._file.monotonic())
                after = page[-1].seq
        return self._posted

    async def _take_in(self, items: Items) -> None:
        """Put on record up to where the agent has marked messages as read."""
        posted = await self._ledger()
        ours = dict.fromkeys(posted, True) if self._of_teammate else {}  # what is gone was read
        if self._of_teammate:
            ours |= {mark[0]: False for mark in map(mark_of, items) if mark and mark[0] in ours}
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
