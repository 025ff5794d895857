"""Listening: a socket that is ours before anybody is told of it, and uvicorn around it.

uvicorn is told when to end. What the end means (signals, committing, the exit code) is the affair
of whoever runs the server.
"""

import asyncio
import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Final

import uvicorn
from starlette.types import ASGIApp

from muster.errors import PortTaken

GRACE_SECONDS: Final = 3
"""How long open requests may take when the server ends."""


def listen(host: str, port: int) -> socket.socket:
    """Take the port, or raise `PortTaken`. From here on connections wait for us."""
    try:
        family, kind, protocol, _, where = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
    except OSError as failed:
        raise _taken(host, port, failed) from failed
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(where)
        listener.listen()
    except OSError as failed:
        listener.close()
        raise _taken(host, port, failed) from failed
    return listener


def _taken(host: str, port: int, failed: OSError) -> PortTaken:
    return PortTaken(host=host, port=port, detail=failed.strerror or failed)


def url_of(listener: socket.socket) -> str:
    """The address to type into a browser."""
    host, port = listener.getsockname()[:2]
    return url_for(host, port)


def url_for(host: str, port: int) -> str:
    """An address as browsers want it: a number with colons in it stands in brackets."""
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class Server(uvicorn.Server):
    """uvicorn that leaves signals alone, and says when it answers and when it no longer will."""

    def __init__(
        self, app: ASGIApp, on_ready: Callable[[], None], on_end: Callable[[], None] = lambda: None
    ) -> None:
        config = uvicorn.Config(
            app,
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,  # nobody stands between: a header cannot say who asks
            timeout_graceful_shutdown=GRACE_SECONDS,
        )
        super().__init__(config)
        self._on_ready = on_ready
        self._on_end = on_end

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Capture none: uvicorn would raise them again after its end, and the exit code is ours."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to answer, and say so."""
        await super().startup(sockets)
        self._on_ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let go of those who wait for something to happen, and finish the other requests."""
        self._on_end()
        await super().shutdown(sockets)


async def serve_until(stop: asyncio.Event, server: Server, listener: socket.socket) -> None:
    """Answer requests until `stop` is set, then finish the open ones."""

    async def end() -> None:
        await stop.wait()
        server.should_exit = True

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(end())
        await server.serve(sockets=[listener])
        stop.set()
