"""The pipes between the SDK and Claude Code.

The SDK can start the program by itself, but then it also reaps it, hands on our whole environment,
and lets nobody in between. So the program is started like any other (`runtime.py`), and the SDK is
given its pipes. On the way, what the program says besides what the SDK knows is put in a form that
the SDK passes on, in its order.
"""

import json
import logging
from collections.abc import AsyncIterator
from typing import Any, Final

from claude_agent_sdk import CLIConnectionError, Transport

from muster.limits import CLAUDE_MESSAGE_BYTES_MAX
from muster.runtimes.process.output import PipeReader
from muster.runtimes.process.stdin import StdinWriter

LIFECYCLE: Final = "command_lifecycle"
"""The state of a prompt, by its number: queued, started, completed, cancelled."""

Wired = dict[str, Any]  # a message of the program, as JSON has it

log = logging.getLogger(__name__)


class Wire(Transport):
    """The program's stdin and stdout, as the SDK wants them."""

    def __init__(self, stdin: StdinWriter, stdout: PipeReader) -> None:
        """Write to the one and read the other; both are somebody else's to close in the end."""
        self.stdin = stdin
        self._stdout = stdout
        self._ready = False
        self.last_error = ""
        """The error of the last failed result: why a program did not come up."""

    async def connect(self) -> None:
        """There is nothing to do: the program runs."""
        self._ready = True

    async def write(self, data: str) -> None:
        """Hand it over, now or as it is read."""
        if not self._ready or not self.stdin.write(data.encode("utf-8", "replace")):
            raise CLIConnectionError("Claude Code takes nothing more")

    async def read_messages(self) -> AsyncIterator[Wired]:
        """The messages of the program, until its stdout ends."""
        lines = _Lines()
        while True:
            await self._stdout.readable(None)
            chunk = self._stdout.read()
            if chunk == b"":
                return
            for line in lines.push(chunk or b""):
                message = _message(line)
                if message is not None:
                    self._note(message)
                    yield message

    async def end_input(self) -> None:
        """Say that there is no more."""
        self.stdin.close()

    async def close(self) -> None:
        """Write nothing more. The program is ended by whoever started it."""
        self._ready = False

    def is_ready(self) -> bool:
        """Whether it can be written to."""
        return self._ready

    def _note(self, message: Wired) -> None:
        if message.get("type") == "result" and message.get("is_error"):
            errors = message.get("errors") or [message.get("result")]
            self.last_error = "; ".join(str(each) for each in errors if each)


class _Lines:
    """Lines out of bytes, each bounded; one that is too long is left out."""

    def __init__(self) -> None:
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
        if len(self._rest) > CLAUDE_MESSAGE_BYTES_MAX:
            log.warning("a message of Claude Code is too long", extra={"action": "message_lost"})
            self._rest.clear()
            self._skipping = True


def _message(line: bytes) -> Wired | None:
    """A message; nothing where the line is none."""
    if line[:1] != b"{":
        return None
    try:
        message: Wired = json.loads(line)
    except (ValueError, RecursionError):
        log.warning("a message of Claude Code is broken", extra={"action": "message_lost"})
        return None
    if message.get("type") == LIFECYCLE:  # the SDK passes on what is of the system
        return {**message, "type": "system", "subtype": LIFECYCLE}
    return message
