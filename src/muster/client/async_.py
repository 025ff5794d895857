"""`AsyncClient`: a team's server for a program on an event loop."""

import asyncio
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from typing import Self

from muster.client.methods import ClientMethods, T, TurnMethods
from muster.client.requests import ApiRequest
from muster.client.sync_or_async import Suspending
from muster.client.transport import READ_BYTES, Action, ByteStream, ServerAddress, Transport
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


# ── streams ───────────────────────────────────────────────────────────────────────────────────────


class AsyncioTransport:
    """Streams of asyncio, and a task group for what is repeated."""

    def __init__(self) -> None:
        self._group: asyncio.TaskGroup | None = None
        self._repeated: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        """Allow `repeat`: its tasks belong to a group of this transport."""
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
    def repeat(self, every_s: float, action: Action) -> Generator[None]:
        """Repeat an action in a task until the body ends."""

        async def run() -> None:
            while True:
                await asyncio.sleep(every_s)
                await action()

        if self._group is None:
            raise RuntimeError("Enter the client with `async with`: heartbeats need its task group")
        task = self._group.create_task(run())
        self._repeated.add(task)
        task.add_done_callback(self._repeated.discard)
        try:
            yield
        finally:
            task.cancel()

    async def close(self) -> None:
        """Cancel the tasks of loops that were left without an end, and wait for them."""
        group, self._group = self._group, None
        for task in self._repeated:
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
