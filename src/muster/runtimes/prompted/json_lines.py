"""Messages over a program's stdin and stdout: one JSON object in each line, in both directions.

A line that is no object is skipped with a warning, and so is one that is longer than a message may
be: the next may be a message again.
"""

import json
import logging
from collections import deque
from typing import Any, Final

from muster.limits import JSON_LINE_BYTES_MAX
from muster.runtimes.process.output import PipeReader
from muster.runtimes.process.stdin import StdinWriter

JsonObject = dict[str, Any]  # a message, as JSON has it

log = logging.getLogger(__name__)

_LOST: Final = {"action": "message_lost"}


class JsonLines:
    """The messages of one program."""

    def __init__(self, stdin: StdinWriter, stdout: PipeReader, program: str) -> None:
        """Write to the one and read the other; both are somebody else's to close in the end."""
        self.stdin = stdin
        self._stdout = stdout
        self._program = program
        self._lines = LineBuffer(program)
        self._read: deque[bytes] = deque()
        self.has_ended = False
        """Whether the program says no more."""

    def send(self, message: JsonObject) -> bool:
        """Write a message, now or as the program reads; false if it takes nothing more."""
        text = json.dumps(message, separators=(",", ":"))
        return self.stdin.write(text.encode("utf-8", "replace") + b"\n")

    async def receive(self) -> JsonObject | None:
        """The next message; None when stdout ends."""
        while True:
            while self._read:
                message = parsed(self._read.popleft(), self._program)
                if message is not None:
                    return message
            await self._stdout.readable(None)
            chunk = self._stdout.read()
            if chunk == b"":
                self.has_ended = True
                return None
            self._read.extend(self._lines.push(chunk or b""))


class LineBuffer:
    """Lines out of bytes, each bounded; one that is too long is left out."""

    def __init__(self, program: str) -> None:
        """`program` says in the log whose line was lost."""
        self._program = program
        self._rest = bytearray()
        self._skipping = False

    def push(self, chunk: bytes) -> list[bytes]:
        """Take the next bytes; give all lines that they complete."""
        if b"\n" not in chunk:
            self._keep(chunk)
            return []
        first, *whole, rest = chunk.split(b"\n")
        self._keep(first)
        lines = [] if self._skipping else [bytes(self._rest)]
        self._rest.clear()
        self._skipping = False
        self._keep(rest)
        return lines + whole

    def _keep(self, piece: bytes) -> None:
        self._rest += b"" if self._skipping else piece
        if len(self._rest) > JSON_LINE_BYTES_MAX:
            log.warning("a message of %s is too long", self._program, extra=_LOST)
            self._rest.clear()
            self._skipping = True


def parsed(line: bytes, program: str) -> JsonObject | None:
    """The message in a line; None where the line is none."""
    if line[:1] != b"{":
        return None
    try:
        message: JsonObject = json.loads(line)
    except (ValueError, RecursionError):
        log.warning("a message of %s is broken", program, extra=_LOST)
        return None
    return message
