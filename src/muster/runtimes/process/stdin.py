"""Writes to the stdin of a program without blocking, even if the program never reads."""

import asyncio
import os

from muster.limits import STDIN_BYTES_MAX
from muster.machines.ids import AnnouncedTurns
from muster.runtimes.lines.types import PromptLine, line_of, sound


def prompt_line(text: str, turns: AnnouncedTurns) -> bytes:
    """The line that sends a prompt, and the turns that it announces, to a program."""
    return line_of(PromptLine(sound(text), turns=dict(turns)))


class StdinWriter:
    """The write end of a pipe, with a buffer. No call blocks."""

    def __init__(self, pipe: int) -> None:
        """Own the pipe."""
        os.set_blocking(pipe, False)
        self._pipe = pipe
        self._loop = asyncio.get_running_loop()
        self._waiting = bytearray()
        self._closing = False

    @property
    def full(self) -> bool:
        """Whether the buffer holds too much already."""
        return len(self._waiting) > STDIN_BYTES_MAX

    def write(self, data: bytes) -> bool:
        """Write now, or as the program reads; false if the pipe is closed."""
        if self._closing:
            return False
        self._waiting += data
        if len(self._waiting) == len(data):
            self._flush()
        return self._pipe >= 0

    def close(self) -> None:
        """Close the pipe after everything in the buffer is written."""
        self._closing = True
        if not self._waiting:
            self.abandon()

    def abandon(self) -> None:
        """Close the pipe now. Idempotent."""
        self._closing = True
        if self._pipe >= 0:
            self._loop.remove_writer(self._pipe)
            os.close(self._pipe)
            self._pipe = -1
        self._waiting.clear()

    def _flush(self) -> None:
        try:
            del self._waiting[: os.write(self._pipe, self._waiting)]
        except BlockingIOError:
            pass
        except OSError:  # it has closed its stdin, which is its right
            self.abandon()
            return
        if self._waiting:
            self._loop.add_writer(self._pipe, self._flush)
        elif self._closing:
            self.abandon()
        else:
            self._loop.remove_writer(self._pipe)
