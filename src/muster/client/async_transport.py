"""Connections of programs on an event loop: HTTP/1.1 on asyncio's streams.

A request is written whole and its answer is read whole, or as it comes. That is little enough to
stand here: a library for it would be the largest thing that a small agent needs, and threads could
not be cancelled.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Final, NamedTuple

from muster.client.request import Answer, Ask, Server, T, error_of
from muster.client.retry import ANSWER_SECONDS
from muster.errors import NotRunning

READ_BYTES: Final = 64 * 1024


class _Connection(NamedTuple):
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter


class _Head(NamedTuple):
    """The beginning of an answer."""

    status: int
    headers: dict[bytes, bytes]

    @property
    def chunked(self) -> bool:
        return self.headers.get(b"transfer-encoding", b"").lower() == b"chunked"

    @property
    def length(self) -> int | None:
        given = self.headers.get(b"content-length", b"")
        return int(given) if given.isdigit() else None

    @property
    def closes(self) -> bool:
        """Whether the connection ends with the answer."""
        endless = self.length is None and not self.chunked
        return endless or self.headers.get(b"connection", b"").lower() == b"close"


_BROKEN: Final = (OSError, EOFError, ValueError, asyncio.LimitOverrunError)
"""What a connection that ends, or does not speak HTTP, looks like."""


class Connections:
    """As many connections to a server as are in use at once."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self._idle: list[_Connection] = []

    async def ask(self, ask: Ask[T]) -> T:
        """Send a request and return its answer, or raise what the server refused it with."""
        try:
            async with asyncio.timeout(ANSWER_SECONDS + ask.waits_s):
                answer = await self._answer(ask)
        except _BROKEN as failed:
            raise NotRunning(home=self.server.url) from failed
        return ask.understand(answer)

    async def stream(self, ask: Ask[None], silent_s: float) -> AsyncIterator[bytes]:
        """The bytes of an answer as they come; a server that is silent for too long is gone."""
        try:
            connection = await self._connect()
            try:
                head = await self._begin(connection, ask)
                if head.status != 200:
                    raise error_of(Answer(head.status, await _whole(connection.reader, head)))
                while True:
                    async with asyncio.timeout(silent_s):
                        data = await _part(connection.reader, head)
                    if not data:
                        return
                    yield data
            finally:
                connection.writer.close()
        except _BROKEN as failed:
            raise NotRunning(home=self.server.url) from failed

    async def close(self) -> None:
        """Let go of every connection that is not in use."""
        while self._idle:
            writer = self._idle.pop().writer
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    async def _answer(self, ask: Ask[T]) -> Answer:
        while self._idle:
            try:
                return await self._exchange(self._idle.pop(), ask)
            except _BROKEN:
                pass  # the server has closed it meanwhile; what it saw of a post has its key
        return await self._exchange(await self._connect(), ask)

    async def _connect(self) -> _Connection:
        server = self.server
        trust = ssl.create_default_context() if server.secure else None
        return _Connection(*await asyncio.open_connection(server.host, server.port, ssl=trust))

    async def _exchange(self, connection: _Connection, ask: Ask[T]) -> Answer:
        try:
            head = await self._begin(connection, ask)
            answer = Answer(head.status, await _whole(connection.reader, head))
        except BaseException:
            connection.writer.close()
            raise
        if head.closes:
            connection.writer.close()
        else:
            self._idle.append(connection)
        return answer

    async def _begin(self, connection: _Connection, ask: Ask[T]) -> _Head:
        lines = [f"{ask.method} {ask.target} HTTP/1.1"]
        lines += [f"{name}: {value}" for name, value in ask.headers(self.server).items()]
        head = "\r\n".join([*lines, "", ""]).encode("latin-1")
        connection.writer.write(head + ask.content)
        await connection.writer.drain()
        return _parsed(await connection.reader.readuntil(b"\r\n\r\n"))


def _parsed(data: bytes) -> _Head:
    first, *lines = data[:-4].split(b"\r\n")
    headers = (line.partition(b":") for line in lines)
    return _Head(
        status=int(first.split(b" ")[1]),
        headers={name.strip().lower(): value.strip() for name, _, value in headers},
    )


async def _whole(reader: asyncio.StreamReader, head: _Head) -> bytes:
    if head.length is not None:
        return await reader.readexactly(head.length)
    parts: list[bytes] = []
    while part := await _part(reader, head):
        parts.append(part)
    return b"".join(parts)


async def _part(reader: asyncio.StreamReader, head: _Head) -> bytes:
    """Some of an answer whose length nobody told; nothing at its end."""
    if not head.chunked:
        return await reader.read(READ_BYTES)
    size = int((await reader.readuntil(b"\r\n")).split(b";")[0], 16)
    data = await reader.readexactly(size)
    await reader.readexactly(2)
    return data
