"""Sending requests: blocking or suspending, with retries. All methods of the clients use it.

A method of the client is written as a coroutine. In a `Suspending` class it is awaited, on the
event loop. In a `Blocking` class it is run to its end in the calling thread: the transport of such
a class blocks where the other one suspends, so the coroutine never waits for a loop, and one `send`
completes it.
"""

import os
from abc import abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterator
from contextlib import suppress
from functools import wraps
from pathlib import Path
from threading import Lock
from time import monotonic
from types import MethodType
from typing import Any, Concatenate, Final, Generic, ParamSpec, TypeVar, overload

from msgspec.structs import replace

from muster.client import requests
from muster.client.requests import ApiRequest, new_key
from muster.client.transport import ConnectionPool, Transport, locate
from muster.errors import MusterError, Unavailable

P = ParamSpec("P")
T = TypeVar("T")

# ── one method for two clients ────────────────────────────────────────────────────────────────────


class Blocking:
    """A class whose methods return when they are done."""


class Suspending:
    """A class whose methods are awaited."""


# Any: the values that a coroutine sends and yields belong to its driver; there are none here.
def run_blocking(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine of a blocking transport, which never suspends."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        return done.value
    coroutine.close()
    raise RuntimeError("a blocking transport has suspended")


class sync_or_async(Generic[P, T]):
    """A decorator: a coroutine method blocks in a `Blocking` class and is awaited in the other."""

    def __init__(self, method: Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]) -> None:
        """Take the method, of a class that Any stands for."""

        @wraps(method)
        def blocking(owner: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:  # noqa: ANN401 - as above
            return run_blocking(method(owner, *args, **kwargs))

        self._methods = {True: blocking, False: method}

    @overload
    def __get__(self, owner: Blocking, kind: type[object]) -> Callable[P, T]: ...
    @overload
    def __get__(
        self, owner: Suspending, kind: type[object]
    ) -> Callable[P, Coroutine[Any, Any, T]]: ...  # Any: the event loop's own
    def __get__(self, owner: object, kind: type[object]) -> Callable[..., object]:
        return _bound(self._methods[issubclass(kind, Blocking)], owner)


class sync_or_async_iterator(Generic[P, T]):
    """The same for a method that is an asynchronous generator."""

    def __init__(self, method: Callable[Concatenate[Any, P], AsyncGenerator[T]]) -> None:
        """Take the method, of a class that Any stands for."""

        @wraps(method)
        def blocking(owner: Any, /, *args: P.args, **kwargs: P.kwargs) -> Iterator[T]:  # noqa: ANN401 - as above
            return _blocking_items(method(owner, *args, **kwargs))

        self._methods = {True: blocking, False: method}

    @overload
    def __get__(self, owner: Blocking, kind: type[object]) -> Callable[P, Iterator[T]]: ...
    @overload
    def __get__(self, owner: Suspending, kind: type[object]) -> Callable[P, AsyncIterator[T]]: ...
    def __get__(self, owner: object, kind: type[object]) -> Callable[..., object]:
        return _bound(self._methods[issubclass(kind, Blocking)], owner)


def _bound(method: Callable[..., object], owner: object) -> Callable[..., object]:
    return method if owner is None else MethodType(method, owner)


def _blocking_items(items: AsyncGenerator[T]) -> Iterator[T]:
    async def following() -> T:
        return await anext(items)

    try:
        while True:
            yield run_blocking(following())
    except StopAsyncIteration:
        return
    finally:
        run_blocking(items.aclose())


# ── retries ───────────────────────────────────────────────────────────────────────────────────────

PATIENCE_SECONDS: Final = 30.0
"""How long a server that has answered before may be away: a restart takes a second or two."""

POLL_SECONDS: Final = 30.0
"""How long one long-poll for something to do may take."""

ABSENT_SECONDS: Final = 2.0
"""The long-poll of an agent that waits for a channel to be created: how late it may join."""

SILENT_SECONDS: Final = 45.0
"""A stream that is silent for three keep-alives is lost."""

_FIRST_PAUSE_S: Final = 0.1
_LONGEST_PAUSE_S: Final = 2.0


class TimeLimit:
    """A moment some seconds from now, on the monotonic clock."""

    def __init__(self, seconds: float) -> None:
        """Begin now."""
        self._at = monotonic() + seconds

    @property
    def left_s(self) -> float:
        """The seconds that are left; 0 when it is over."""
        return max(0.0, self._at - monotonic())

    @property
    def is_over(self) -> bool:
        """Whether no time is left."""
        return monotonic() >= self._at


class RetryBudget:
    """The time that is left for retries, with a backoff that doubles up to a bound."""

    def __init__(self, seconds: float) -> None:
        """Retry for that many seconds."""
        self._left_s = seconds
        self._pause_s = _FIRST_PAUSE_S

    def pause_s(self, error: Unavailable) -> float:
        """How long to wait before the next retry; raises the error when the time is used up."""
        pause_s = self._pause_s
        self._pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
        self._left_s -= pause_s
        if self._left_s < 0:
            raise error
        return pause_s


# ── requests ──────────────────────────────────────────────────────────────────────────────────────


class RequestSender:
    """A team's server, found by its address or its home; a server that is away is retried."""

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        home: Path | None = None,
        patience_s: float = PATIENCE_SECONDS,
    ) -> None:
        """Use the server at `url`, or the one that runs in the home. Nothing is sent yet."""
        self._given = (url, token, home)
        self._patience_s = patience_s
        self._answered = False
        self._transport = self._new_transport()
        self._pool: ConnectionPool | None = None
        self._pool_lock = Lock()
        self._present: set[str] = set()
        """Agents that this client has connected; they are disconnected with it."""

    @abstractmethod
    def _new_transport(self) -> Transport:
        """The way in which this client connects and waits."""

    async def _ask(
        self,
        request: ApiRequest[T] | Callable[[], ApiRequest[T]],
        *,
        patience_s: float | None = None,
    ) -> T:
        """Send a request. A server that has answered before is retried for a while.

        A function gives a request for each try, where a retry asks for something else.
        """
        budget = RetryBudget(self._patience_s if patience_s is None else patience_s)
        if not callable(request) and request.key is None and request.method != "GET":
            request = replace(request, key=new_key())
        while True:
            try:
                answer = await self._reach().ask(request() if callable(request) else request)
            except Unavailable as error:
                await self._retry_after(error, budget)
            else:
                self._answered = True
                return answer

    async def _retry_after(self, error: Unavailable, budget: RetryBudget) -> None:
        await self._forget()
        if not self._answered:
            raise error
        await self._transport.sleep(budget.pause_s(error))

    def _reach(self) -> ConnectionPool:
        with self._pool_lock:
            if self._pool is None:
                self._pool = ConnectionPool(locate(*self._given, os.environ), self._transport)
            return self._pool

    async def _forget(self) -> None:
        """Locate the server anew next time: after a restart it may have another address."""
        with self._pool_lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            await pool.close()

    @sync_or_async
    async def close(self) -> None:
        """Disconnect the agents that took turns, and close the connections."""
        while self._present:
            with suppress(MusterError):
                await self._ask(requests.disconnect(self._present.pop()), patience_s=0.0)
        await self._transport.close()
        await self._forget()
