"""Requests and messages between muster and Claude Code, a JSON object in each line.

This is what `--input-format=stream-json` and `--output-format=stream-json` mean: prompts go in and
messages come out, and both sides make requests of each other in between. muster speaks it itself,
as it does with other programs: the SDK in Python would take 40 MB more, most of it for parts of MCP
that are not needed here.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from muster.engine.tasks import TaskOwner
from muster.limits import AGENT_MESSAGES_MAX
from muster.runtimes.process.output import PipeReader
from muster.runtimes.process.stdin import StdinWriter
from muster.runtimes.prompted.json_lines import JsonLines, JsonObject

PROGRAM: Final = "Claude Code"

Respond = Callable[[JsonObject], Awaitable[JsonObject]]
"""Answers a request of the program. What it raises is an answer, too."""

log = logging.getLogger(__name__)


class ClaudeError(Exception):
    """Claude Code refused a request; the message is its own."""


class ClaudePeer:
    """The other end of a session of Claude Code."""

    def __init__(self, stdin: StdinWriter, stdout: PipeReader, respond: Respond) -> None:
        """Write to the one and read the other; both are somebody else's to close in the end."""
        self._lines = JsonLines(stdin, stdout, PROGRAM)
        self._respond = respond
        self._count = 0
        self._open: dict[str, asyncio.Future[JsonObject]] = {}
        self._answering: dict[str, asyncio.Task[None]] = {}
        self._tasks = TaskOwner("the requests of Claude Code")
        self._messages: asyncio.Queue[JsonObject | None] = asyncio.Queue(AGENT_MESSAGES_MAX)
        self.last_error = ""
        """The error of the last failed result: why a program did not come up."""

    async def request(self, subtype: str, **given: object) -> JsonObject:
        """Make a request, and return its answer. Raises `ClaudeError`, or `ConnectionError`."""
        self._count += 1
        number = f"muster-{self._count}"
        answer = self._open[number] = asyncio.get_running_loop().create_future()
        try:
            self.send(request(number, subtype, **given))
            return await answer
        finally:
            del self._open[number]

    def send(self, message: JsonObject) -> None:
        """Write a message, now or as the program reads. Raises `ConnectionError`."""
        if not self._lines.send(message):
            raise ConnectionError(f"{PROGRAM} takes nothing more")

    async def receive(self) -> JsonObject | None:
        """The next message; None when there is no more. Requests and answers are not among them."""
        return await self._messages.get()

    async def run(self) -> None:
        """Read until the program says no more."""
        while (message := await self._lines.receive()) is not None:
            match message:
                case {"type": "control_response", "response": {"request_id": str(number)}}:
                    self._settle(number, message["response"])
                case {"type": "control_request", "request_id": str(number), "request": {}}:
                    self._begin(number, message["request"])
                case {"type": "control_cancel_request", "request_id": str(number)}:
                    self._cancel(number)
                case _:
                    self._note(message)
                    await self._messages.put(message)
        for answer in self._open.values():
            if not answer.done():
                answer.set_exception(ConnectionError(f"{PROGRAM} has ended"))
        await self._messages.put(None)

    async def close(self) -> None:
        """Answer nothing more."""
        await self._tasks.cancel()

    def _settle(self, number: str, response: JsonObject) -> None:
        answer = self._open.get(number)
        if answer is None or answer.done():
            return
        if response.get("subtype") == "error":
            answer.set_exception(ClaudeError(str(response.get("error") or "unknown error")))
        else:
            answer.set_result(response.get("response") or {})

    def _begin(self, number: str, asked: JsonObject) -> None:
        task = self._answering[number] = self._tasks.start(self._answer(number, asked))
        task.add_done_callback(lambda _: self._answering.pop(number, None))

    def _cancel(self, number: str) -> None:
        """The program needs no answer any more: whoever is asked for it is left alone."""
        task = self._answering.get(number)
        if task is not None:
            task.cancel()

    async def _answer(self, number: str, asked: JsonObject) -> None:
        answer: JsonObject = {"request_id": number}
        try:
            answer |= {"subtype": "success", "response": await self._respond(asked)}
        except Exception as error:  # the program is told, and can go on
            extra = {"action": "claude_request", "request": str(asked.get("subtype"))}
            log.error("a request of Claude Code failed", exc_info=error, extra=extra)
            answer |= {"subtype": "error", "error": str(error) or type(error).__name__}
        if not self._lines.send({"type": "control_response", "response": answer}):
            log.info("%s does not take an answer", PROGRAM, extra={"action": "claude_request"})

    def _note(self, message: JsonObject) -> None:
        if message.get("type") == "result" and message.get("is_error"):
            errors = message.get("errors") or [message.get("result")]
            self.last_error = "; ".join(str(each) for each in errors if each)


def request(number: str, subtype: str, **given: object) -> JsonObject:
    """A request to the program, as its protocol has it."""
    asked = {"subtype": subtype, **given}
    return {"type": "control_request", "request_id": number, "request": asked}
