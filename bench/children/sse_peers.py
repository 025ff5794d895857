"""Baselines of the event stream: sse-starlette on uvicorn, and a bare asyncio protocol.

    python -m bench.children.sse_peers FOLDER        (the folder's name selects the server)

Both are at their best: events are ready in one list that all subscribers share, nothing is decided
and nothing is stored. The tasks `burst` and `paced` publish that many events: all at once, or one
every tenth of a second.
"""

import asyncio
import os
import resource
import socket
import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from time import monotonic
from typing import Final

import uvicorn
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import Route

from bench.children.http_server import PACE_SECONDS
from bench.children.serving import Task, serve

BACKLOG: Final = 2048
TYPE: Final = "user_message"


def data(seq: int) -> str:
    """An event as large as muster's, with the time of its publication as the text."""
    return (
        f'{{"seq":{seq},"ts":"2026-05-09T07:00:00.123456Z","sessionId":"boot-1",'
        f'"actor":"person:Grace","cause":null,"v":1,"type":"{TYPE}","text":"{monotonic():.6f}",'
        '"speakerName":"Grace","targetAgent":null,"channel":"channel-0","mode":"inject",'
        '"deliverTo":[9]}'
    )


class Starlettes:
    """Every subscriber is a generator with a cursor in the list."""

    def __init__(self) -> None:
        self._events: list[ServerSentEvent] = []
        self._news = asyncio.Event()

    def publish(self, seq: int) -> None:
        """Publish one event to all subscribers."""
        self._events.append(ServerSentEvent(data(seq), id=str(seq), event=TYPE, sep="\n"))
        self._news.set()
        self._news = asyncio.Event()

    async def stream(self, request: Request) -> EventSourceResponse:
        """The stream of a subscriber: new events only."""
        return EventSourceResponse(self._follow(len(self._events)), sep="\n")

    async def _follow(self, place: int) -> AsyncGenerator[ServerSentEvent]:
        yield ServerSentEvent(comment="hello", sep="\n")
        while True:
            news = self._news
            while place < len(self._events):
                place += 1
                yield self._events[place - 1]
            await news.wait()

    async def serve(self, listener: socket.socket) -> None:
        """Serve for ever."""
        app = Starlette(routes=[Route("/api/events", self.stream)])
        config = uvicorn.Config(
            app, lifespan="off", log_config=None, access_log=False, server_header=False
        )
        await uvicorn.Server(config).serve([listener])


class Bare:
    """Every subscriber is a connection that bytes are written to."""

    def __init__(self) -> None:
        self._subscribers: set[asyncio.WriteTransport] = set()

    def publish(self, seq: int) -> None:
        """Publish one event to all subscribers."""
        frame = f"id: {seq}\nevent: {TYPE}\ndata: {data(seq)}\n\n".encode()
        for each in self._subscribers:
            each.write(frame)

    async def serve(self, listener: socket.socket) -> None:
        """Serve for ever."""
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: _Subscriber(self._subscribers), sock=listener)
        await server.serve_forever()


class _Subscriber(asyncio.Protocol):
    def __init__(self, subscribers: set[asyncio.WriteTransport]) -> None:
        self._subscribers = subscribers

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._subscribers.add(self._transport)
        self._transport.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n: \n\n")

    def connection_lost(self, exc: Exception | None) -> None:
        self._subscribers.discard(self._transport)


def tasks(publisher: Starlettes | Bare) -> dict[str, Task]:
    """The tasks of a server."""
    last = 0

    def publish() -> None:
        nonlocal last
        last += 1
        publisher.publish(last)

    async def burst(count: int) -> None:
        for _ in range(count):
            publish()

    async def paced(count: int) -> None:
        loop = asyncio.get_running_loop()
        due = loop.time()
        for _ in range(count):
            due += PACE_SECONDS
            await asyncio.sleep(due - loop.time())
            publish()

    return {"burst": burst, "paced": paced}


async def main(which: str) -> None:
    """Serve until stdin closes."""
    publisher = Starlettes() if which == "starlette" else Bare()
    with socket.create_server(("127.0.0.1", 0), backlog=BACKLOG) as listener:
        serving = asyncio.ensure_future(publisher.serve(listener))
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        await serve(tasks(publisher), url=url, pid=os.getpid(), tokens={"": "none"})
        serving.cancel()
    os._exit(0)  # open streams are cut without a goodbye


if __name__ == "__main__":
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    asyncio.run(main(Path(sys.argv[1]).name))
