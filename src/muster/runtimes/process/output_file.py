"""An agent's raw output, whole, in a file that is put aside when it is large.

`output.log` is the newest; `output.log.1` came before it, and so on up to as many as are kept. No
file is held open: a session that is silent costs none, and whoever moves a file away does no harm.
A disk that is full or read-only takes nothing away from the session: it is said once.
"""

import asyncio
import logging
import os
from pathlib import Path
from typing import Final

from muster.limits import OUTPUT_FILE_BYTES_MAX

OUTPUT_FILE: Final = "output.log"

INLINE_BYTES_MAX: Final = 8 * 1024
"""Chunks up to this size are written on the event loop. Larger ones go to a thread: a flood may
have to wait for the disk, and the loop must not."""

log = logging.getLogger(__name__)


class OutputFile:
    """The output file of an agent."""

    __slots__ = ("_bytes_max", "_failed", "_kept", "path")

    def __init__(self, folder: Path, *, kept: int, bytes_max: int = OUTPUT_FILE_BYTES_MAX) -> None:
        """Append in that folder, and keep so many files beside the newest."""
        self.path = folder / OUTPUT_FILE
        self._kept = kept
        self._bytes_max = bytes_max
        self._failed = False

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
            if os.fstat(file).st_size + len(chunk) > self._bytes_max:
                os.close(file)
                file = -1
                self._rotate()
                file = self._open()
            while chunk:
                chunk = chunk[os.write(file, chunk) :]
        finally:
            if file >= 0:
                os.close(file)

    def _open(self) -> int:
        # Not blocking: the agent may have put a FIFO there, and this runs on the event loop.
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
        try:
            return os.open(self.path, flags, 0o600)
        except FileNotFoundError:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            return os.open(self.path, flags, 0o600)

    def _rotate(self) -> None:
        """Put the file aside, and let go of the oldest."""
        files = [self.path, *(self._aside(number) for number in range(1, self._kept + 1))]
        for older, newer in zip(reversed(files), reversed(files[:-1]), strict=False):
            if newer.exists():
                newer.replace(older)

    def _aside(self, number: int) -> Path:
        return self.path.with_name(f"{OUTPUT_FILE}.{number}")
