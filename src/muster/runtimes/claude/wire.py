"""The pipes between the SDK and Claude Code.

The SDK can start the program by itself, but then it also reaps it, hands on our whole environment,
and lets nobody in between. So the program is started like any other (`runtime.py`), and the SDK is
given its pipes. On the way, what the program says besides what the SDK knows is put in a form that
the SDK passes on, in its order.
"""

from collections.abc import AsyncIterator
from typing import Final

from claude_agent_sdk import CLIConnectionError, Transport

from muster.runtimes.process.output import PipeReader
from muster.runtimes.process.stdin import StdinWriter
from muster.runtimes.prompted.json_lines import JsonObject, LineBuffer, parsed

LIFECYCLE: Final = "command_lifecycle"
"""The state of a prompt, by its number: queued, started, completed, cancelled."""

PROGRAM: Final = "Claude Code"

Wired = JsonObject


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
        lines = LineBuffer(PROGRAM)
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


def _message(line: bytes) -> Wired | None:
    """A message; nothing where the line is none."""
    message = parsed(line, PROGRAM)
    if message is not None and message.get("type") == LIFECYCLE:
        return {**message, "type": "system", "subtype": LIFECYCLE}  # which the SDK passes on
    return message
