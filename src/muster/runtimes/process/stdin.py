"""What a program is given on its stdin, however slowly it reads, or if it never does."""

import asyncio
import os
from typing import Final

import msgspec

WAITING_BYTES_MAX: Final = 8 * 1024 * 1024
"""What may wait to be read: some of the largest messages. Who leaves more takes nothing more."""


class Prompt(msgspec.Struct, frozen=True, tag_field="type", tag="prompt"):
    """One thing to do, as a line of JSON."""

    text: str


def prompt_line(text: str) -> bytes:
    """The line that hands a text to a program which lives on."""
    sound = text.encode("utf-8", "replace").decode()  # half a character is nothing in JSON
    return msgspec.json.encode(Prompt(sound)) + b"\n"


class Stdin:
    """The end of a pipe that is written to. Nobody waits for it."""

    def __init__(self, pipe: int) -> None:
        """Own the pipe."""
        os.set_blocking(pipe, False)
        self._pipe = pipe
        self._loop = asyncio.get_running_loop()
        self._waiting = bytearray()
        self._closing = False

    @property
    def full(self) -> bool:
        """Whether too much waits to be read already."""
        return len(self._waiting) > WAITING_BYTES_MAX

    def write(self, data: bytes) -> bool:
        """Hand it over, now or as it is read; say whether anybody takes it."""
        if self._closing:
            return False
        self._waiting += data
        if len(self._waiting) == len(data):
            self._flush()
        return self._pipe >= 0

    def close(self) -> None:
        """Say that there is no more, after what still waits to be read."""
        self._closing = True
        if not self._waiting:
            self.abandon()

    def abandon(self) -> None:
        """Give up the pipe, whatever waits."""
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
