"""Background tasks, and work that is shielded from cancellation."""

import asyncio
from collections.abc import AsyncGenerator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar, cast

T = TypeVar("T")


class _BodyIsOver(Exception):
    """Tells the task group that its tasks are no longer needed."""


@asynccontextmanager
async def background() -> AsyncGenerator[asyncio.TaskGroup]:
    """A task group that is cancelled when the body ends.

    A failing task cancels the body and the other tasks. A single exception is raised as it is and
    not wrapped in a group, so that callers can tell a refusal from a bug.
    """
    failure: Exception | None = None
    try:
        async with asyncio.TaskGroup() as tasks:
            try:
                yield tasks
            except Exception as error:
                failure = error
            raise _BodyIsOver
    except BaseExceptionGroup as group:
        _, errors = group.split(_BodyIsOver)
        if errors is not None:
            raise _unwrapped(errors) from failure
    if failure is not None:
        raise failure


def _unwrapped(error: BaseException) -> BaseException:
    """The one exception in a group, or the group where there are several."""
    if not isinstance(error, BaseExceptionGroup):
        return error
    group = cast("BaseExceptionGroup[BaseException]", error)
    return _unwrapped(group.exceptions[0]) if len(group.exceptions) == 1 else group


# Any: the first two parameters of a coroutine are what asyncio sends and yields.
async def see_through(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end although the caller is cancelled; then raise the cancellation."""
    task = asyncio.get_running_loop().create_task(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = error
    result = task.result()
    if cancelled is not None:
        raise cancelled
    return result
