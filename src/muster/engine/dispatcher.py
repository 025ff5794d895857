"""The only write path: it decides a command and returns the events once they are on disk.

The dispatcher owns the folded state, in two versions. `head` is what has been decided; the next
command is decided on it without waiting for the disk, so that commands that arrive together are
committed together. `team` is what has been committed; it is all that readers, timers and reactors
may see. When a commit fails, `head` is rolled back to `team` and the senders get the error.

Where other machines write to the same log, `team` also takes in their events, and commands that
were decided without them are decided again. Until then a refusal is provisional, too.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final, NamedTuple

import msgspec

from muster.engine.ports import Clock
from muster.errors import Impossible, Refused, Repeated, StoreFailed
from muster.machines.commands import Command, ReportClockJump, StartMuster
from muster.machines.events import Event
from muster.machines.ids import HERE, MUSTER, SessionId
from muster.machines.kernel.fold import fold
from muster.machines.kernel.team import CommandDecision, decide, refusal
from muster.machines.keys import seq_of_key
from muster.machines.state import Team
from muster.store.base import EventStore, HalfCharacter, Stored
from muster.store.codec import decode
from muster.whole_text import whole, with_whole_texts

log = logging.getLogger(__name__)

NO_LIFE: Final = SessionId("")
"""The server session of a log in which none has begun."""


class Receipt(msgspec.Struct, frozen=True, gc=False):
    """The committed result of a command."""

    seq: int
    """The end of the log after the command: its own last event, if it has any."""

    events: Sequence[Event]
    """Empty if the command changed nothing."""

    repeated: bool = False
    """Whether the command was sent before with its key; then `seq` is the place of its event."""


class Commit(NamedTuple):
    """A commit that has just become visible to readers."""

    stored: Sequence[Stored]
    events: Sequence[Event]
    team: Team


Watcher = Callable[[Commit], None]
"""Callback for every commit, before the senders get their answer. Must be quick and not raise."""


Follower = Callable[[Sequence[Event]], None]
"""Callback for every decision, before it is committed. What it begins is in the same commit. Not
called where others write to the log: a decision may then be made again, with another result."""


Unwritten = Callable[[Command, str, StoreFailed], StoreFailed | None]
"""Callback for a command that could not be committed, with its actor and the error. Returns a
better error for the sender, if it has one."""


class Begun:
    """A decided command whose events are on their way to the disk."""

    __slots__ = ("actor", "cause", "command", "decision", "key", "refused", "written")

    decision: CommandDecision
    """The decision may change until `written` is answered, and so may `refused`."""

    refused: Refused | None
    written: asyncio.Future[None]

    def __init__(self, command: Command, actor: str, cause: int | None, key: str | None) -> None:
        self.command = command
        self.actor = actor
        self.cause = cause
        self.key = key


class Dispatcher:
    """Decides commands one after another and hands their events to the store."""

    def __init__(
        self, store: EventStore, clock: Clock, team: Team, life: SessionId = NO_LIFE
    ) -> None:
        """Start from `team`, the folded state of everything in the store.

        Events name `life` as their server session, until `StartMuster` begins a new one.
        """
        self.life = life
        self.node = HERE
        self._store = store
        self._clock = clock
        self._head = team
        self._team = team
        self._in_flight: deque[CommandDecision] = deque()
        self._watchers: list[Watcher] = []
        self._followers: list[Follower] = []
        self._unwritten: list[Unwritten] = []
        self._is_failing = False
        store.on_commit = self._committed
        store.on_rollback = self._rolled_back

    @property
    def is_failing(self) -> bool:
        """Whether the last commit failed, or the log is away: a full disk, a dead database."""
        return self._is_failing or self._store.is_away

    @property
    def team(self) -> Team:
        """The committed team."""
        return self._team

    @property
    def head(self) -> Team:
        """The team as decided; a failed commit rolls it back to `team`."""
        return self._head

    @property
    def uncommitted(self) -> Iterator[Event]:
        """The events between `team` and `head`, in order."""
        for decision in self._in_flight:
            yield from decision.events

    def follow(self, follower: Follower) -> None:
        """Call a follower after every decision from now on, in the order of decisions."""
        self._followers.append(follower)

    def on_unwritten(self, callback: Unwritten) -> None:
        """Call back for every command that `send` could not commit."""
        self._unwritten.append(callback)

    def watch(self, watcher: Watcher) -> None:
        """Call a watcher on every commit from now on."""
        self._watchers.append(watcher)

    def unwatch(self, watcher: Watcher) -> None:
        """Stop calling this watcher."""
        self._watchers.remove(watcher)

    async def send(
        self, command: Command, *, actor: str, cause: int | None = None, key: str | None = None
    ) -> Receipt:
        """Decide a command and its follow-up commands; return when the events are on disk.

        Raises the refusal of `decide`. A refusal that must be recorded is on disk before it is
        raised, and so is the event that a `Repeated` names.
        """
        try:
            begun = self.begin(command, actor=actor, cause=cause, key=key)
        except Repeated:
            await self._store.append(())  # the first try may still be on its way to the disk
            raise
        try:
            await begun.written
        except StoreFailed as error:
            raise self._failure(command, actor, error) from error
        if begun.refused is not None:
            try:
                raise begun.refused
            finally:
                del begun  # a cycle through the traceback would keep the command's text in memory
        return Receipt(begun.decision.team.seq, begun.decision.events)

    def begin(
        self, command: Command, *, actor: str, cause: int | None = None, key: str | None = None
    ) -> Begun:
        """Decide a command and queue its events for the commit of this iteration of the loop."""
        self.look_at_clock()
        if type(command) is StartMuster:
            self.life, self.node = command.server_session, command.node
        begun, is_shared = Begun(command, actor, cause, key), self._store.is_shared
        self._decide(begun, is_final=not is_shared)
        # No `await` between decision and append: events must be written in the order of decisions.
        try:
            begun.written = self._append(begun)
        except HalfCharacter:
            self._decide_whole(begun, is_final=not is_shared)
            begun.written = self._append(begun)
        events = begun.decision.events
        if events:
            self._advance(begun.decision)
            for follower in () if is_shared else self._followers:
                follower(events)
        return begun

    def _decide(self, begun: Begun, *, is_final: bool) -> None:
        """Decide a command on the head. A refusal that is final and not recorded is raised."""
        now, begun.refused = self._clock.now(), None
        command, actor, cause = begun.command, begun.actor, begun.cause
        try:
            begun.decision = decide(
                self._head, command, now, actor=actor, life=self.life, cause=cause, key=begun.key
            )
        except Refused as error:
            if error.recorded:
                begun.decision = refusal(
                    self._head, command, error, now, actor=actor, life=self.life, cause=cause
                )
            elif is_final:
                raise
            else:
                begun.decision = CommandDecision(self._head, ())
            begun.refused = error.with_traceback(None)  # its frames would refer back to it

    def _append(self, begun: Begun) -> asyncio.Future[None]:
        return self._store.append(begun.decision.events, partial(self._decide_again, begun))

    def _decide_whole(self, begun: Begun, *, is_final: bool) -> None:
        """Decide a command once more, with texts that the log can hold."""
        begun.command = with_whole_texts(begun.command)
        begun.actor = whole(begun.actor)
        begun.key = None if begun.key is None else whole(begun.key)
        self._decide(begun, is_final=is_final)

    def _decide_again(self, begun: Begun) -> Sequence[Event]:
        """Decide a command on the head with the events of other writers."""
        self._decide(begun, is_final=False)
        if begun.decision.events:
            self._advance(begun.decision)
        return begun.decision.events

    def _advance(self, decision: CommandDecision) -> None:
        self._head = decision.team
        self._in_flight.append(decision)

    def _failure(self, command: Command, actor: str, error: StoreFailed) -> StoreFailed:
        """Say that the log cannot be written, once until it can; the error for the sender."""
        if not self._is_failing:
            self._is_failing = True
            log.warning("%s muster keeps trying.", error, extra={"action": "log_failed"})
        better = (callback(command, actor, error) for callback in self._unwritten)
        return next(filter(None, better), error)

    def look_at_clock(self) -> None:
        """Record a jump of the wall clock, so that deadlines move with the team's clock."""
        jump = self._clock.take_jump()
        if jump is None:
            return
        command = ReportClockJump(
            seconds=jump.seconds,
            shift_seconds=jump.shift_seconds,
            suspended_seconds=jump.suspended_seconds,
        )
        # A failed commit is told to the sender of the next command, which shares it.
        self.begin(command, actor=MUSTER).written.add_done_callback(_ignore_failure)

    async def seq_of_key(self, actor: str, key: str) -> int | None:
        """The place of the event that this actor's key belongs to, once that is on disk."""
        seq = seq_of_key(self._head, actor, key)
        if seq is not None and seq > self._team.seq:
            await self._store.append(())
            seq = seq_of_key(self._team, actor, key)  # another writer may have moved it
        return seq

    def _committed(self, stored: Sequence[Stored]) -> None:
        """Take committed events over into `team`, and call the watchers."""
        if self._is_failing:
            self._is_failing = False
            log.warning("The log can be written again.", extra={"action": "log_written"})
        events = self._own(stored[-1].seq) if self._in_flight else self._of_others(stored)
        self._call_watchers(Commit(stored, events, self._team))

    def _own(self, last: int) -> list[Event]:
        """Move the decisions up to `last` from `head` to `team`; their events."""
        events: list[Event] = []
        waiting = self._in_flight
        while waiting and waiting[0].team.seq <= last:
            decision = waiting.popleft()
            events += decision.events
            self._team = decision.team
        return events

    def _of_others(self, stored: Sequence[Stored]) -> list[Event]:
        """Fold the events of other writers; the decisions without them were rolled back."""
        if stored[0].seq != self._team.seq + 1:
            raise Impossible(what=f"event {stored[0].seq} was committed after {self._team.seq}")
        events = [decode(each.data) for each in stored]
        self._head = self._team = fold(self._team, events)
        return events

    def _rolled_back(self) -> None:
        """Drop the decisions that were not committed."""
        self._in_flight.clear()
        self._head = self._team

    def _call_watchers(self, commit: Commit) -> None:
        for watcher in self._watchers:
            watcher(commit)


def _ignore_failure(written: asyncio.Future[None]) -> None:
    if not written.cancelled():
        written.exception()
