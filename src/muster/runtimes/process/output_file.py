"""An agent's raw output, whole, in a file that is put aside when it is large.

`output.log` is the newest; `output.log.1` came before it, and so on up to as many as are kept. With
a bound of their age a file holds one day (UTC), and older files are removed. No file is held open:
a session that is silent costs none, and whoever moves a file away does no harm. A disk that is
full or read-only takes nothing away from the session: it is said once.
"""

import asyncio
import logging
import math
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from muster.limits import OUTPUT_FILE_BYTES_MAX

OUTPUT_FILE: Final = "output.log"

INLINE_BYTES_MAX: Final = 8 * 1024
"""Chunks up to this size are written on the event loop. Larger ones go to a thread: a flood may
have to wait for the disk, and the loop must not."""

_DAY_SECONDS: Final = 86_400

_APPENDING: Final = (
    os.O_WRONLY | os.O_APPEND | os.O_CREAT
    # The agent may have put a FIFO there, and this runs on the event loop; or a link, by which its
    # words would go into any file of its user.
    | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_NOCTTY | os.O_CLOEXEC
)  # fmt: skip

log = logging.getLogger(__name__)


class OutputFile:
    """The output file of an agent."""

    __slots__ = ("_bytes_max", "_days", "_failed", "_kept", "_now", "_pruned", "path")

    def __init__(
        self,
        folder: Path,
        *,
        kept: int,
        bytes_max: int = OUTPUT_FILE_BYTES_MAX,
        days: int | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        """Append in that folder, and keep so many files beside the newest, for so many days.

        `now` is the wall clock, which also dates files.
        """
        self.path = folder / OUTPUT_FILE
        self._kept = kept
        self._bytes_max = bytes_max
        self._days = days
        self._now = now
        self._failed = False
        self._pruned = False

    async def append(self, chunk: bytes) -> None:
        """Add to the end."""
        if len(chunk) <= INLINE_BYTES_MAX:
            self._try(chunk)
        else:
            await asyncio.get_running_loop().run_in_executor(None, self._try, chunk)

    def _try(self, chunk: bytes) -> None:
        try:
            self._append(chunk)
        except OSError as error:
            if not self._failed:
                self._failed = True
                log.warning(
                    "cannot write %s: %s. The session goes on, its output is not kept there",
                    self.path,
                    error.strerror,
                    extra={"action": "output_not_kept", "path": str(self.path)},
                )

    def _append(self, chunk: bytes) -> None:
        file = self._open()
        try:
            if self._is_full(os.fstat(file), len(chunk)):
                os.close(file)
                file = -1
                self._rotate()
                file = self._open()
            elif not self._pruned:
                self._prune()
            while chunk:
                chunk = chunk[os.write(file, chunk) :]
        finally:
            if file >= 0:
                os.close(file)

    def _open(self) -> int:
        try:
            return os.open(self.path, _APPENDING, 0o600)
        except FileNotFoundError:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            return os.open(self.path, _APPENDING, 0o600)

    def _is_full(self, found: os.stat_result, more: int) -> bool:
        """Whether the file has no room for more bytes, or is of an earlier day."""
        if found.st_size + more > self._bytes_max:
            return True
        is_old = _day(found.st_mtime) != _day(self._now())
        return self._days is not None and found.st_size > 0 and is_old

    def _prune(self) -> None:
        """Remove files that are too old, and those beyond the number that is kept."""
        self._pruned = True
        oldest = -math.inf if self._days is None else self._now() - self._days * _DAY_SECONDS
        for path in self.path.parent.glob(f"{OUTPUT_FILE}.*"):
            number = path.name.removeprefix(f"{OUTPUT_FILE}.")
            is_ours = number.isascii() and number.isdecimal()
            if is_ours and (int(number) > self._kept or path.lstat().st_mtime < oldest):
                path.unlink(missing_ok=True)

    def _rotate(self) -> None:
        """Put the file aside, and let go of the oldest."""
        files = [self.path, *(self._aside(number) for number in range(1, self._kept + 1))]
        for older, newer in zip(reversed(files), reversed(files[:-1]), strict=False):
            if newer.exists():
                newer.replace(older)
        self._prune()

    def _aside(self, number: int) -> Path:
        return self.path.with_name(f"{OUTPUT_FILE}.{number}")


def _day(moment: float) -> int:
    """The number of a day in UTC."""
    return int(moment // _DAY_SECONDS)
