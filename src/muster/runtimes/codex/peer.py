"""Requests and notifications between muster and `codex app-server`, a JSON object in each line."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Final

from muster.engine.tasks import TaskOwner
from muster.runtimes.prompted.json_lines import JsonLines, JsonObject

NOT_FOUND: Final = -32601

Answer = Any  # the result of a request, as JSON has it
Respond = Callable[[str, JsonObject], Awaitable[JsonObject | None]]
"""Answers a request of the program; None for one that is not known."""

log = logging.getLogger(__name__)


class CodexError(Exception):
    """Codex refused a request; the message is its own."""


class CodexPeer:
    """The other end of a session of Codex."""

    def __init__(
        self, lines: JsonLines, take: Callable[[str, JsonObject], None], respond: Respond
    ) -> None:
        """Hand notifications to `take` in their order, and requests to `respond`."""
        self._lines = lines
        self._take = take
        self._respond = respond
        self._count = 0
        self._open: dict[int, asyncio.Future[Answer]] = {}
        self._tasks = TaskOwner("the requests of Codex")

    async def request(self, method: str, params: JsonObject) -> Answer:
        """Make a request, and return its result. Raises `CodexError`, or `ConnectionError`."""
        self._count += 1
        number = self._count
        answer = self._open[number] = asyncio.get_running_loop().create_future()
        try:
            self._send({"id": number, "method": method, "params": params})
            return await answer
        finally:
            del self._open[number]

    def notify(self, method: str) -> None:
        """Send a notification."""
        self._send({"method": method})

    async def run(self) -> None:
        """Read all messages, until the program says no more."""
        while (message := await self._lines.receive()) is not None:
            method, number = message.get("method"), message.get("id")
            if method is None:
                self._settle(number, message)
            elif number is None:
                self._take(method, message.get("params") or {})
            else:
                self._tasks.start(self._answer(number, method, message.get("params") or {}))
        for answer in self._open.values():
            if not answer.done():
                answer.set_exception(ConnectionError("Codex has ended"))

    async def close(self) -> None:
        """Answer nothing more."""
        await self._tasks.cancel()

    def _send(self, message: JsonObject) -> None:
        if not self._lines.send(message):
            raise ConnectionError("Codex takes nothing more")

    def _settle(self, number: object, message: JsonObject) -> None:
        answer = self._open.get(number) if isinstance(number, int) else None
        if answer is None or answer.done():
            return
        error = message.get("error")
        if error is None:
            answer.set_result(message.get("result"))
        else:
            answer.set_exception(CodexError(str(error.get("message") or error)))

    async def _answer(self, number: object, method: str, params: JsonObject) -> None:
        result = await self._respond(method, params)
        if result is None:
            log.info("Codex asks for %s", method, extra={"action": "codex_request"})
            self._send({"id": number, "error": {"code": NOT_FOUND, "message": "not supported"}})
        else:
            self._send({"id": number, "result": result})
