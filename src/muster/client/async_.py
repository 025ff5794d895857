"""`AsyncClient`: a team's server for a program on an event loop."""

import asyncio
from collections.abc import AsyncIterator, Generator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Self

from muster.client.methods import ClientMethods
from muster.client.requests import ApiRequest
from muster.client.sending import Suspending, T
from muster.client.transport import READ_BYTES, ByteStream, ServerAddress, Transport, Work
from muster.client.turn import TurnMethods
from muster.views.answers.messages import MessageView, Next


class AsyncClient(Suspending, ClientMethods["AsyncTurn"]):
    """A team's server, for a program on an event loop."""

    async def __aenter__(self) -> Self:
        """Use the client until the end of the body; only an entered client sends heartbeats."""
        await self._transport.open()
        return self

    async def __aexit__(self, *exc: object) -> None:
        """Disconnect the agents that took turns, and close the connections."""
        await self.close()

    async def ask(self, request: ApiRequest[T], *, patience_s: float | None = None) -> T:
        """Send any request of `muster.client.requests`."""
        return await self._ask(request, patience_s=patience_s)

    def _new_transport(self) -> Transport:
        return AsyncioTransport()

    def _new_turn(self, told: Next, heard: Sequence[MessageView]) -> "AsyncTurn":
        return AsyncTurn(self._ask, told, heard)


class AsyncTurn(Suspending, TurnMethods):
    """The right to speak in a channel, for a program on an event loop."""

    _body: asyncio.Task[Any] | None = None  # Any: a task of the program, whatever it returns
    _is_watched = _is_cancelled = False
    _cancelled_before = 0

    def __aiter__(self) -> AsyncIterator[MessageView]:
        """The messages that the turn came with, then each new one, until the turn is over."""
        return self.follow()

    async def __aenter__(self) -> Self:
        """Work on the turn: if it is lost, the body is cancelled, and the program goes on."""
        self.enter()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *more: object) -> bool:
        """Go on after the body."""
        return self.leave(kind)

    def enter(self) -> None:
        """Begin a body that the loss of the turn cancels."""
        self._body = asyncio.current_task()
        self._cancelled_before = self._body.cancelling() if self._body is not None else 0
        if not self._is_watched:
            self._is_watched = True
            self.on_lost(self._cancel_body)

    def leave(self, kind: type[BaseException] | None) -> bool:
        """End the body; whether its exception only says that the turn is lost."""
        task, self._body = self._body, None
        if not self._is_cancelled or task is None:
            return super().leave(kind)
        # As in asyncio.timeout: a cancellation by the program itself is not swallowed.
        self._is_cancelled = False
        ours = task.uncancel() <= self._cancelled_before
        return super().leave(kind) or (ours and kind is asyncio.CancelledError)

    def _cancel_body(self, reason: str) -> None:
        # Later, when the body is suspended: a task that cancels itself would be cancelled at its
        # next await, which may be behind the body.
        asyncio.get_running_loop().call_soon(self._cancel_suspended_body, reason)

    def _cancel_suspended_body(self, reason: str) -> None:
        if self._body is not None:
            self._is_cancelled = True
            self._body.cancel(reason)


# ── streams ───────────────────────────────────────────────────────────────────────────────────────


class AsyncioTransport:
    """Streams of asyncio, and a task group for the work beside a turn."""

    def __init__(self) -> None:
        self._group: asyncio.TaskGroup | None = None
        self._beside: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        """Allow `beside`: its tasks belong to a group of this transport."""
        self._group = await asyncio.TaskGroup().__aenter__()

    async def connect(self, server: ServerAddress, timeout_s: float) -> ByteStream:
        """Open a connection."""
        async with asyncio.timeout(timeout_s):
            opened = await asyncio.open_connection(
                server.host, server.port, ssl=True if server.secure else None
            )
        return _AsyncioStream(*opened)

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)

    @contextmanager
    def beside(self, work: Work) -> Generator[None]:
        """Do some work in a task until the body ends."""

        async def pause(seconds: float) -> bool:
            await asyncio.sleep(seconds)
            return True

        if self._group is None:
            raise RuntimeError("Enter the client with `async with`: heartbeats need its task group")
        task = self._group.create_task(work(pause))
        self._beside.add(task)
        task.add_done_callback(self._beside.discard)
        try:
            yield
        finally:
            task.cancel()

    async def close(self) -> None:
        """Cancel the tasks of loops that were left without an end, and wait for them."""
        group, self._group = self._group, None
        for task in self._beside:
            task.cancel()
        if group is not None:
            await group.__aexit__(None, None, None)


class _AsyncioStream:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def write(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def read(self, timeout_s: float) -> bytes:
        async with asyncio.timeout(timeout_s):
            return await self._reader.read(READ_BYTES)

    def close(self) -> None:
        self._writer.close()

    async def wait_closed(self) -> None:
        with suppress(OSError):
            await self._writer.wait_closed()
