"""The messages between the SDK of the protocol and an agent.

The SDK hands a request's `_meta` to its handler in place of parameters of the same name, so that an
agent could show one path and have another written. No request needs `_meta`, so none gets through.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, cast

from muster.runtimes.prompted.json_lines import JsonLines, JsonObject

UPDATE: Final = "session/update"
"""The one notification for muster; the SDK logs a trace for each that it does not know."""


class GuardedWire:
    """A transport of the SDK over the program's pipes."""

    def __init__(self, lines: JsonLines, room: Callable[[], Awaitable[object]]) -> None:
        """Read the next message when `room` returns: that is the backpressure."""
        self._lines = lines
        self._room = room
        self.ended = asyncio.Event()
        """Set when the program says no more."""

    async def send(self, message: JsonObject) -> None:
        """Hand a message over, now or as it is read. A program that has gone misses no answer."""
        if not self._lines.send(message) and "method" in message:
            raise ConnectionError("the agent takes nothing more")

    async def receive(self) -> JsonObject | None:
        """The next message; None when the agent says no more."""
        await self._room()
        while (message := await self._lines.receive()) is not None:
            if "id" in message or message.get("method") == UPDATE:
                return without_meta(message)
        self.ended.set()
        return None

    async def close(self) -> None:
        """The pipes are closed by the session."""


def without_meta(message: JsonObject) -> JsonObject:
    """A message of the agent without `_meta` in its parameters."""
    given = message.get("params")
    if not isinstance(given, dict) or "_meta" not in given:
        return message
    params = dict(cast("JsonObject", given))
    del params["_meta"]
    return {**message, "params": params}
