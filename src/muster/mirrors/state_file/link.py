"""What both roles at a state file share: reading it with patience, changing it, and saying trouble.

A writer in place truncates first, and an editor may move a file away before it brings the new one:
so what is missing or malformed counts only if it stays so for a moment.
"""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Protocol

import msgspec

from muster.engine.backoff import pause_s
from muster.engine.dispatcher import Dispatcher
from muster.engine.ports import Clock
from muster.engine.tasks import see_through
from muster.errors import Closed, Refused, Unavailable
from muster.limits import NAME_CHARS_MAX, NOTE_CHARS_MAX
from muster.machines.commands import Command, LogWarning
from muster.machines.ids import MUSTER, SeatId
from muster.machines.state import Agent, RunControl
from muster.mirrors import exchange as files
from muster.mirrors.exchange import Change, Exchanged, Late
from muster.mirrors.state_file.document import Malformed, StateDocument, parse

log = logging.getLogger(__name__)

SETTLE_SECONDS: Final = 0.2
"""How long a file may be missing or malformed before that counts."""

LATE_SECONDS: Final = 0.25
"""How long a writer in place may take with a file that was taken away under it."""

RETRY_SECONDS_MAX: Final = 10.0
"""The longest pause before a file that could not be read or written is tried again."""


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """A file as it was found: a document, or what keeps it from being one."""

    content: bytes | None = None
    """Nothing where it could not be read."""

    document: StateDocument | None = None
    written_at: datetime | None = None
    trouble: str = ""

    @property
    def missing(self) -> bool:
        """Whether there is no file, and nothing else in its place."""
        return self.content is None and not self.trouble


def look(path: Path) -> Seen:
    """A file as it is now."""
    try:
        content = files.read(path)
        written_at = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    except FileNotFoundError:
        return Seen()
    except OSError as error:
        return Seen(trouble=f"{path} cannot be read: {error.strerror or error}")
    found = parse(content)
    if isinstance(found, Malformed):
        return Seen(content=content, written_at=written_at, trouble=f"{path}: {found.why}")
    return Seen(content=content, written_at=written_at, document=found)


def is_newer(seen: Seen, run: RunControl) -> bool:
    """Whether the wish in a file is at least as new as the one in the log."""
    written = (seen.document and seen.document.set_at) or seen.written_at
    return run.set_at is None or (written is not None and written >= run.set_at)


class Link:
    """One agent's state file, and the agent in the log."""

    def __init__(self, dispatcher: Dispatcher, clock: Clock, seat: SeatId, path: Path) -> None:
        """Nothing is read yet."""
        self._dispatcher = dispatcher
        self._clock = clock
        self._said: dict[str, str] = {}
        self._late: Late | None = None
        self._late_until = 0.0
        self.seat = seat
        self.path = path
        self.wake = asyncio.Event()
        """Set when the file or the log may have changed."""

    @property
    def agent(self) -> Agent:
        """The agent as far as it is on disk."""
        return self._dispatcher.team.agents[self.seat]

    @property
    def run(self) -> RunControl:
        """What is wanted of it, and what it does."""
        return self.agent.run

    @property
    def confirmed(self) -> bool:
        """Whether it has been heard of in this life of muster."""
        return self.agent.present and self.agent.confirmed_in == self._dispatcher.team.boot

    def now(self) -> datetime:
        """The wall clock."""
        return self._clock.now()

    def monotonic(self) -> float:
        """The clock that only goes forward."""
        return self._clock.monotonic()

    # ── the loop ──────────────────────────────────────────────────────────────────────────────────

    async def follow(self, role: "Role") -> None:
        """Have a role look whenever something may have changed, for ever."""
        failures = 0
        try:
            while True:
                self.wake.clear()
                try:
                    pause = await role.step()
                    failures = 0
                except Closed:
                    return
                except Exception as error:  # one file must not end the others
                    failures += 1
                    pause = pause_s(failures, most_s=RETRY_SECONDS_MAX)
                    self._say_failed(error)
                await self._rest(pause)
        finally:
            self.let_go()

    def _say_failed(self, error: Exception) -> None:
        extra = {"action": "state_file_failed", "seat": self.seat}
        if isinstance(error, Unavailable):
            log.warning("%s: %s", self.path, error, extra=extra)
        else:
            log.error("%s: %s", self.path, error, exc_info=error, extra=extra)

    async def _rest(self, seconds: float | None) -> None:
        """Wait until something may have changed, and no longer than that."""
        if self._late is not None:
            left = max(self._late_until - self._clock.monotonic(), 0.0)
            seconds = left if seconds is None else min(left, seconds)
        if seconds is None:
            await self.wake.wait()
            return
        timer = self._clock.call_later(seconds, self.wake.set)
        try:
            await self.wake.wait()
        finally:
            timer.cancel()

    # ── the file ──────────────────────────────────────────────────────────────────────────────────

    async def settled(self, *, patient: Callable[[Seen], bool]) -> Seen:
        """The file, when it is a document or has been none for a moment.

        `patient` says for what it is worth waiting.
        """
        seen = look(self.path)
        until = self._clock.monotonic() + SETTLE_SECONDS
        while seen.document is None and patient(seen):
            left = until - self._clock.monotonic()
            if left <= 0:
                break
            self.wake.clear()
            await self._rest(left)
            seen = look(self.path)
        return seen

    async def exchange(self, change: Change) -> Exchanged:
        """Change the file; nobody's cancellation leaves that half done."""
        self.let_go()
        found = await see_through(asyncio.to_thread(files.exchange, self.path, change))
        self._late = found.late
        self._late_until = self._clock.monotonic() + LATE_SECONDS
        return found

    async def create(self, document: StateDocument) -> None:
        """Make the file, and its folder, unless somebody else was quicker."""
        await see_through(asyncio.to_thread(_create, self.path, document.encode()))

    def overheard(self) -> StateDocument | None:
        """What somebody in place has written into the file that the last change took away."""
        content = self._late.look() if self._late is not None else None
        found = parse(content) if content is not None else None
        if isinstance(found, StateDocument):
            self.let_go()
            return found
        if self._clock.monotonic() >= self._late_until:
            self.let_go()
        return None

    def let_go(self) -> None:
        """Wait for no late writer any more."""
        late, self._late = self._late, None
        if late is not None:
            late.close()

    # ── the log ───────────────────────────────────────────────────────────────────────────────────

    async def send(self, command: Command, *, actor: str = MUSTER) -> bool:
        """Send a command; say whether it was accepted."""
        try:
            await self._dispatcher.send(command, actor=actor)
        except Refused as error:
            extra = {"action": "state_file_refused", "seat": self.seat}
            log.info("%s", error, extra=extra)
            return False
        return True

    async def warn(self, about: str, text: str) -> None:
        """Put trouble on record, once until it is another or over."""
        if self._said.get(about) != text:
            self._said[about] = text
            await self.send(LogWarning(text=text, seat=self.seat))

    def fine(self, about: str) -> None:
        """That trouble is over."""
        self._said.pop(about, None)


class Role(Protocol):
    """What muster is to a file: the agent, or Mission Control."""

    async def step(self) -> float | None:
        """Bring file and log together; say when to look again without being woken."""
        ...

    async def close(self) -> None:
        """Leave the file as it should be while muster is away."""
        ...


def short_note(text: str) -> str:
    """A note as the log keeps it."""
    return text if len(text) <= NOTE_CHARS_MAX else text[: NOTE_CHARS_MAX - 1] + "…"


def short_name(text: str) -> str:
    """Who set something, as the log keeps it."""
    return text[:NAME_CHARS_MAX]


def _create(path: Path, content: bytes) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with suppress(FileExistsError):  # theirs is newer
        files.create(path, content)
