"""The thread of one session: it imports the coroutine, and runs it in an event loop of its own.

A coroutine that blocks blocks this thread, and not muster's event loop. A thread cannot be ended
from outside: one that does not come back is abandoned, and ends with muster's process.
"""

import asyncio
import inspect
import logging
import sys
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import cast

from muster.engine.importing import importing
from muster.runtimes.python.turn import PythonTurn

Target = Callable[[PythonTurn], Awaitable[object]]

log = logging.getLogger(__name__)


class NoTarget(Exception):
    """There is no such coroutine; the message says why."""


class WasCancelled(Exception):
    """The coroutine has ended because it was cancelled."""


class AgentThread:
    """The thread of one session."""

    def __init__(self, target: str, folder: Path) -> None:
        """`target` is a module and a function; modules are also looked for in `folder`."""
        self.ready: Future[None] = Future()
        """Done when the coroutine is imported; fails with the reason if it is not."""

        self._name = target
        self._folder = folder
        self._loop = asyncio.new_event_loop()
        self._target: Target | None = None
        self._task: asyncio.Task[object] | None = None
        self._thread = threading.Thread(target=self._run, name=f"agent {target}", daemon=True)
        self._thread.start()

    async def ends_within(self, seconds: float) -> bool:
        """Whether the thread ends within that many seconds."""
        if self._thread.is_alive():
            await asyncio.to_thread(self._thread.join, seconds)
        return not self._thread.is_alive()

    def start(self, turn: PythonTurn) -> "Future[object]":
        """Begin to work on a turn; the future is done when the coroutine has really ended."""
        ended: Future[object] = Future()
        ended.set_running_or_notify_cancel()  # nobody cancels it but the coroutine itself
        self._loop.call_soon_threadsafe(self._begin, turn, ended)
        return ended

    def cancel(self) -> None:
        """Cancel the work, as soon as the coroutine awaits something."""
        with suppress(RuntimeError):  # the thread has ended
            self._loop.call_soon_threadsafe(self._cancel)

    def end(self) -> None:
        """End the thread, as soon as the coroutine lets it."""
        with suppress(RuntimeError):  # it has ended
            self._loop.call_soon_threadsafe(self._loop.stop)

    # ── within the thread ─────────────────────────────────────────────────────────────────────────

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._target = found(self._name, self._folder)
        except BaseException as error:  # a module can raise anything when it is imported
            self.ready.set_exception(error)
            self._loop.close()
            return
        self.ready.set_result(None)
        try:
            self._loop.run_forever()
            self._loop.run_until_complete(_cancelled_all())
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        finally:
            self._loop.close()

    def _begin(self, turn: PythonTurn, ended: "Future[object]") -> None:
        assert self._target is not None
        self._task = self._loop.create_task(_as_coroutine(self._target, turn))
        self._task.add_done_callback(lambda task: _tell(task, ended))

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()


async def _as_coroutine(target: Target, turn: PythonTurn) -> object:
    try:
        return await target(turn)
    except (SystemExit, KeyboardInterrupt) as error:  # either would end the loop, and tell nobody
        raise RuntimeError(f"it raised {type(error).__name__}({error})") from error


async def _cancelled_all() -> None:
    """Cancel what the coroutine has left running, and wait for its end."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _tell(task: "asyncio.Task[object]", ended: "Future[object]") -> None:
    if task.cancelled():
        ended.set_exception(WasCancelled())
    elif (error := task.exception()) is not None:
        ended.set_exception(error)
    else:
        ended.set_result(task.result())


def found(target: str, folder: Path) -> Target:
    """The coroutine function that a target names. Raises `NoTarget`, or what its module raises."""
    if str(folder) not in sys.path:
        sys.path.append(str(folder))  # last: it shadows no installed package
    name, _, function = target.partition(":")
    with importing():
        value: object = import_module(name)
    for part in function.split("."):
        if not hasattr(value, part):
            raise NoTarget(f"the module {name} has no {function!r}")
        value = getattr(value, part)
    if not inspect.iscoroutinefunction(value):
        raise NoTarget(f"{function!r} in the module {name} is no coroutine; write async def")
    return cast("Target", value)
