"""Owners of tasks: a group beside a body, an object with tasks of its own, an uncancellable call.

Every task in muster is started by an `asyncio.TaskGroup` or by this module, so that a failure is
never lost and no task outlives its owner unnoticed. `tests/tidy/test_tasks.py` watches that.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar, cast

T = TypeVar("T")

log = logging.getLogger(__name__)


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


class TaskOwner:
    """Tasks of an object that outlive the call that starts them.

    The owner keeps a reference to each task until it ends (asyncio keeps none) and logs failures.
    A task group cannot do this where tasks start from plain callbacks, before or after its body.
    """

    __slots__ = ("_name", "_tasks")

    def __init__(self, name: str) -> None:
        """`name` says in the log whose task failed."""
        self._name = name
        self._tasks: set[asyncio.Task[Any]] = set()  # Any: whatever they return

    def start(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Start a task. Any: what asyncio itself sends and yields."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    async def cancel(self) -> None:
        """Cancel every task that is under way, and return when all have ended."""
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def _ended(self, task: asyncio.Task[Any]) -> None:  # Any: whatever it returned
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            extra = {"action": "task_failed"}
            log.error("a task of %s failed", self._name, exc_info=error, extra=extra)


# A coroutine's first two parameters are what asyncio itself sends and yields.
async def run_to_completion(work: Coroutine[Any, Any, T]) -> T:
    """Await something to its end even if the caller is cancelled; then raise the cancellation.

    The cancellation is raised even if the work fails: a caller that handles the error and retries
    would go on for ever. The error is its cause, and is logged.
    """
    task = asyncio.get_running_loop().create_task(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is None:
        return task.result()
    error = None if task.cancelled() else task.exception()
    if error is not None:
        extra = {"action": "task_failed"}
        log.warning("work failed during a cancellation: %s", str(error) or repr(error), extra=extra)
    raise cancelled from error
