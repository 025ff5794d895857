"""One method for two clients: a coroutine that is awaited, or is run to its end at once.

A method of the client is written as a coroutine. In a `Suspending` class it is awaited, on the
event loop. In a `Blocking` class it is run to its end in the calling thread: the transport of such
a class blocks where the other one suspends, so the coroutine never waits for a loop, and one `send`
completes it.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterator
from functools import wraps
from types import MethodType
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, overload

P = ParamSpec("P")
T = TypeVar("T")


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
