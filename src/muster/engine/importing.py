"""Imports of large packages while muster runs: in a thread, and one at a time.

The SDKs share packages whose modules import each other. Two threads that import them at once see
half-made modules, and what has failed so stays broken until muster is started again.
"""

import asyncio
import threading
from collections.abc import Callable
from typing import Final, TypeVar

T = TypeVar("T")

_ONE_AT_A_TIME: Final = threading.Lock()


async def imported(load: Callable[[], T]) -> T:
    """Run an import in a thread, when no other one runs: muster's event loop goes on meanwhile."""

    def alone() -> T:
        with _ONE_AT_A_TIME:
            return load()

    return await asyncio.to_thread(alone)
