"""The order of the hooks of one Claude Code: its inputs and answers are recorded as they came.

Claude Code waits for each of these hooks, but not for longer than the hook itself does. After a
pause of muster (a frozen process, a full disk) several of them are there at once: an answer that
was recorded before its input, or after the next one, would be lost.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Final
from weakref import WeakValueDictionary

from muster.claude_plugin.hooks.calls import HookCall

ORDERED_EVENTS: Final = frozenset({"UserPromptSubmit", "Stop"})


class HookOrder:
    """Lets one such hook of a program through at a time, in the order of their arrival."""

    def __init__(self) -> None:
        self._locks = WeakValueDictionary[int, asyncio.Lock]()

    @asynccontextmanager
    async def turn(self, call: HookCall) -> AsyncGenerator[None]:
        """Wait for the earlier hooks of the same program; a program without a pid is unknown."""
        if call.event not in ORDERED_EVENTS or not call.pid:
            yield
            return
        lock = self._locks.setdefault(call.pid, asyncio.Lock())  # a lock is fair
        async with lock:
            yield
