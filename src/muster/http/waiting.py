"""Long polls: work that is cancelled when its caller disconnects, or when its token is revoked."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from starlette.requests import Request

from muster.engine.tasks import background
from muster.errors import InvalidToken

T = TypeVar("T")


class CallerGone(Exception):
    """The caller disconnected before the answer."""


class LongPolls:
    """All calls that wait."""

    def __init__(self) -> None:
        """Begin without any."""
        self._waiting: dict[asyncio.Event, Callable[[], bool]] = {}

    async def unless_ended(
        self, work: Awaitable[T], request: Request, is_authorized: Callable[[], bool]
    ) -> T:
        """Wait for work. The body of the request must be read.

        Raises `CallerGone` when the caller disconnects, `InvalidToken` when its token ends.
        """
        revoked = asyncio.Event()
        self._waiting[revoked] = is_authorized
        try:
            async with background() as tasks:
                tasks.create_task(_until_gone(request))
                tasks.create_task(_until_revoked(revoked))
                return await work
        finally:
            del self._waiting[revoked]

    def end_unauthorized(self) -> None:
        """End the calls whose token was revoked."""
        for revoked, is_authorized in self._waiting.items():
            if not is_authorized():
                revoked.set()


async def _until_gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
    raise CallerGone


async def _until_revoked(revoked: asyncio.Event) -> None:
    await revoked.wait()
    raise InvalidToken()
