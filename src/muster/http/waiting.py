"""Long polls: work that is cancelled when its caller disconnects."""

from collections.abc import Awaitable
from typing import TypeVar

from starlette.requests import Request

from muster.engine.tasks import background

T = TypeVar("T")


class CallerGone(Exception):
    """The caller disconnected before the answer."""


async def unless_gone(work: Awaitable[T], request: Request) -> T:
    """Wait for work, or raise `CallerGone` when the caller disconnects. The body must be read."""
    async with background() as tasks:
        tasks.create_task(_until_gone(request))
        return await work


async def _until_gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
    raise CallerGone
