"""Imports of large packages while muster runs: in a thread, and one at a time.

The SDKs share packages whose modules import each other. Two threads that import them at once see
half-made modules, and what has failed so stays broken until muster is started again. A module of an
agent may take for ever to import: it delays the next import, and does not prevent it.
"""

import asyncio
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Final, TypeVar

from muster.limits import IMPORT_ALONE_SECONDS

T = TypeVar("T")

_ONE_AT_A_TIME: Final = threading.Lock()


async def imported(load: Callable[[], T]) -> T:
    """Run an import in a thread, when no other one runs: muster's event loop goes on meanwhile."""

    def alone() -> T:
        with importing():
            return load()

    return await asyncio.to_thread(alone)


@contextmanager
def importing() -> Generator[None]:
    """Begin an import of this thread when no other one runs, or has run for too long."""
    is_alone = _ONE_AT_A_TIME.acquire(timeout=IMPORT_ALONE_SECONDS)
    try:
        yield
    finally:
        if is_alone:
            _ONE_AT_A_TIME.release()
