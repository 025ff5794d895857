"""The link between a state file and its agent in the log, for both roles that muster can have.

A writer in place truncates first, and an editor may move a file away before it brings the new one:
so a missing or malformed file counts only if it stays so for a moment.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Final, Protocol

import msgspec

from muster.engine.dispatcher import Dispatcher
from muster.engine.ports import Clock
from muster.engine.tasks import run_to_completion
from muster.errors import Refused, StateFileInUse, StateFileNotLocked
from muster.home.file_lock import FileLock
from muster.limits import (
    FILE_CORRECTIONS_MAX,
    FILE_CORRECTIONS_SECONDS,
    FILE_SETTLE_SECONDS,
    FILE_UNWRITTEN_SECONDS_MAX,
    NAME_CHARS_MAX,
    NOTE_CHARS_MAX,
)
from muster.machines.backoff import pause_s
from muster.machines.commands import Command, ReportStateFile, SetDesired
from muster.machines.ids import MUSTER, SeatId
from muster.machines.state import Agent, RunControl
from muster.machines.vocabulary import RunMode
from muster.mirrors import exchange as files
from muster.mirrors.exchange import Change, DisplacedFile, Exchanged, FileRules
from muster.mirrors.linked_file import LinkedFile
from muster.mirrors.state_file.document import MalformedContent, StateDocument, Wish, parse
from muster.mirrors.state_file.lock import lock_state_file
from muster.mirrors.state_file.memory import FOLDER, WishMemory

log = logging.getLogger(__name__)

WRITING: Final = "writing"
REMEMBERING: Final = "remembering"
CORRECTING: Final = "correcting"


ITSELF: Final = FileRules(follows_links=False)
"""Links are resolved once; then the file itself is read and written."""


class StateFileContent(msgspec.Struct, frozen=True, kw_only=True):
    """A file as it was found: a document, or what keeps it from being one."""

    content: bytes | None = None
    """Nothing where it could not be read."""

    document: StateDocument | None = None
    trouble: str = ""
    stamp: tuple[int, int] | None = None
    """The inode and the time of its last write: they change also when it is written as it was."""

    @property
    def missing(self) -> bool:
        """Whether there is no file, and nothing else in its place."""
        return self.content is None and not self.trouble


def look(path: Path, memory: WishMemory) -> StateFileContent:
    """A file as it is now."""
    if not memory.leads_as_before():
        return StateFileContent(trouble=_strange_link(path, memory))
    try:
        status = memory.target.lstat()
        content = files.read(memory.target, ITSELF)
    except FileNotFoundError:
        return StateFileContent()
    except OSError as error:
        return StateFileContent(trouble=f"{path} cannot be read: {error.strerror or error}")
    found = parse(content)
    if isinstance(found, MalformedContent):
        return StateFileContent(content=content, trouble=f"{path}: {found.why}")
    stamp = (status.st_ino, status.st_mtime_ns)
    return StateFileContent(content=content, document=found, stamp=stamp)


def _strange_link(path: Path, memory: WishMemory) -> str:
    what = f"{path} is a link to {files.target_of(path)}"
    if memory.leads_into_home():
        return f"{what}, which is a file of muster's own. Remove the link"
    what = f"{what} now, and was none to that file before"
    return f"{what}. Remove the link, or name that file as state_file in muster.toml"


def recover(memory: WishMemory) -> None:
    """Clear away what a crash has left, as far as that is possible."""
    path = memory.target
    try:
        if memory.leads_as_before() and files.recover(path, ITSELF):
            text = "%s: a wish that came while muster was writing is put back"
            log.warning(text, path, extra={"action": "state_file_recovered"})
    except OSError as error:
        extra = {"action": "state_file_failed"}
        log.warning("%s: what an earlier life left cannot be cleared: %s", path, error, extra=extra)


class StateFileLink(LinkedFile[DisplacedFile]):
    """One agent's state file, and the agent in the log."""

    kind = "state_file"

    def __init__(
        self,
        dispatcher: Dispatcher,
        clock: Clock,
        seat: SeatId,
        path: Path,
        *,
        home: Path | None = None,
    ) -> None:
        """Nothing is read yet. Without a home nothing is remembered of the file."""
        super().__init__(dispatcher, clock, path, seat)
        self.seat = seat
        self.began = self.run.generation
        """The generation of the log's wish when muster began to follow the file."""

        self.memory = WishMemory(None if home is None else home / FOLDER, seat, path)
        self._unwritten = 0
        """Attempts to write the file that failed since the last one that did not."""

        self._corrections: deque[float] = deque()
        self._holder = "" if home is None else f"agent {self.agent.id!r} of the team in {home}"
        """The holder of the lock, for others to read; without a home the caller locks."""

        self._lock: FileLock | None = None
        self._is_recovered = False

    @property
    def agent(self) -> Agent:
        """The agent as far as it is on disk."""
        return self.team.agents[self.seat]

    @property
    def run(self) -> RunControl:
        """The agent's desired and current state."""
        return self.agent.run

    @property
    def target(self) -> Path:
        """The file itself, wherever the path led when muster first followed it."""
        return self.memory.target

    @property
    def is_linked(self) -> bool:
        """Whether the path is a link: a malformed file behind one may be another program's."""
        return self.path.is_symlink()

    def look(self) -> StateFileContent:
        """The file as it is now."""
        return look(self.path, self.memory)

    def now(self) -> datetime:
        """The wall clock, which other programs compare timestamps with."""
        return self._clock.wall()

    # ── other masters ─────────────────────────────────────────────────────────────────────────────

    def lock(self) -> str:
        """Take the right to follow the file, unless it is held; what keeps muster from that, or "".

        A path that leads elsewhere now is not followed, and its lock would be another file's.
        """
        if self.is_locked or not self.memory.leads_as_before():
            return ""
        self.unlock()
        try:
            self._lock = lock_state_file(self.path, self.target, holder=self._holder)
        except (StateFileInUse, StateFileNotLocked) as error:
            return str(error).removesuffix(".")
        return ""

    @property
    def is_locked(self) -> bool:
        """Whether the lock is held, under the name that other programs look for."""
        return not self._holder or (self._lock is not None and self._lock.is_in_place())

    async def _trouble_of_lock(self) -> str:
        """Lock the file and clear away what a crash has left; or say why it cannot be locked."""
        # in a thread: a lock that is held is waited for, in case it is only being looked at
        if not self.is_locked and (trouble := await self._lock_in_thread()):
            return trouble
        if not self._is_recovered:
            self._is_recovered = True
            await asyncio.to_thread(recover, self.memory)
        return ""

    async def _lock_in_thread(self) -> str:
        return await run_to_completion(asyncio.to_thread(self.lock))

    def unlock(self) -> None:
        """Let others follow the file. Idempotent."""
        lock, self._lock = self._lock, None
        if lock is not None:
            lock.release()

    def may_correct(self) -> float:
        """Count a correction of what another program wrote; 0.0 if it may be made now.

        Otherwise the seconds until the next: two programs that correct each other would go on for
        ever.
        """
        now = self.monotonic()
        while self._corrections and self._corrections[0] <= now - FILE_CORRECTIONS_SECONDS:
            self._corrections.popleft()
        if len(self._corrections) >= FILE_CORRECTIONS_MAX:
            return self._corrections[0] + FILE_CORRECTIONS_SECONDS - now
        self._corrections.append(now)
        return 0.0

    async def remember(self, generation: int, *wishes: Wish) -> None:
        """Remember the wishes that the file may have beside the log's wish of that generation."""
        if self.memory.knows(generation, *wishes):
            return
        try:
            await run_to_completion(asyncio.to_thread(self.memory.remember, generation, *wishes))
        except OSError as error:
            text = f"muster cannot remember what {self.path} says: {error.strerror or error}"
            await self.warn(REMEMBERING, text)
        else:
            self.clear(REMEMBERING)

    # ── a file that cannot be written ─────────────────────────────────────────────────────────────

    async def not_written(self, error: OSError) -> float:
        """Say once that the file cannot be written; the seconds until the next attempt.

        They grow: a file that was made immutable stays so for hours, and each attempt writes and
        flushes a draft. A change of its mode or of the log is an attempt at once.
        """
        self._unwritten += 1
        what = f"{self.path} cannot be written: {error.strerror}"
        await self.warn(WRITING, f"{what}. The log has what is desired, and muster obeys that")
        await self.tell(what)
        return pause_s(self._unwritten, most_s=FILE_UNWRITTEN_SECONDS_MAX)

    async def written(self) -> None:
        """The file could be written; that is said where it could not be before."""
        if self._unwritten:
            self._unwritten = 0
            self.clear(WRITING)
            await self.report(f"{self.path} can be written again")
        await self.tell("")

    async def readable(self) -> None:
        """The file can be read; that is said where it could not be before."""
        if not self.run.is_file_readable:
            await self.report(f"{self.path} can be read again")
            await self.tell("")

    async def tell(self, problem: str, *, is_readable: bool = True) -> None:
        """Tell run control what is wrong with the file; with an empty text, that nothing is."""
        run = self.run
        if (problem, is_readable) != (run.file_problem, run.is_file_readable):
            about = ReportStateFile(seat=self.seat, problem=problem, is_readable=is_readable)
            await self.try_send(about)

    # ── the file ──────────────────────────────────────────────────────────────────────────────────

    async def settled(self, *, patient: Callable[[StateFileContent], bool]) -> StateFileContent:
        """The file, as soon as it is a document, or when it was none for a moment.

        `patient` says for which contents that moment is waited. A file that another program follows
        is not read.
        """
        if trouble := await self._trouble_of_lock():
            return StateFileContent(trouble=trouble)
        seen = self.look()
        until = self.monotonic() + FILE_SETTLE_SECONDS
        while seen.document is None and patient(seen):
            left = until - self.monotonic()
            if left <= 0:
                break
            self.wake.clear()
            await self._rest(left)
            seen = self.look()
        return seen

    async def exchange(self, change: Change) -> Exchanged:
        """Change the file. A cancellation does not cut that short."""
        self.close_displaced()
        exchange = asyncio.to_thread(files.exchange, self.target, change, ITSELF)
        found = await run_to_completion(exchange)
        if found.late is not None:
            self._keep_displaced(found.late)
        return found

    async def create(self, document: StateDocument) -> None:
        """Create the file and its folder, unless another program was quicker."""
        await run_to_completion(asyncio.to_thread(_create, self.target, document.encode()))

    def late_document(self) -> StateDocument | None:
        """The document that a writer in place has put into the file that was swapped out."""
        for until, file in self._displaced:
            content = file.look()
            found = parse(content) if content is not None else None
            is_document = isinstance(found, StateDocument)
            if is_document or self.monotonic() >= until:
                self.close_displaced()
            if is_document:
                return found
        return None

    # ── the log ───────────────────────────────────────────────────────────────────────────────────

    async def try_send(self, command: Command, *, actor: str = MUSTER) -> bool:
        """Send a command; false if it is refused."""
        try:
            await self.send(command, actor=actor)
        except Refused as error:
            extra = {"action": "state_file_refused", "seat": self.seat}
            log.info("%s", error, extra=extra)
            return False
        return True

    async def pause(self, why: str) -> bool:
        """Pause the agent, unless it is paused; whether that was needed."""
        if self.run.desired is RunMode.PAUSE:
            return False
        note = short_note(why)
        command = SetDesired(seat=self.seat, desired=RunMode.PAUSE, set_by=MUSTER, note=note)
        return await self.try_send(command)


class StateFileRole(Protocol):
    """Muster's role at a state file: the agent, or Mission Control."""

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
    """The name of the author of a wish, as the log keeps it."""
    return text[:NAME_CHARS_MAX]


def _create(path: Path, content: bytes) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with suppress(FileExistsError):  # theirs is newer
        files.create(path, content, rules=ITSELF)
