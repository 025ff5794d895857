"""The listening socket, bound before the address is published, and uvicorn around it.

uvicorn is told when to shut down. Signals, the last commit and the exit code belong to the caller.
"""

import asyncio
import errno
import logging
import socket
import ssl
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from typing import Any, Final, NamedTuple

import uvicorn
from starlette.types import ASGIApp

from muster.errors import PortTaken, TlsUnusable
from muster.http.protocol import BoundedProtocol

GRACE_SECONDS: Final = 3
"""The timeout of open requests at shutdown."""

ACCEPTED_AT_ONCE: Final = 128
"""Connections that one step of the event loop accepts: a step that accepts 2,000 takes 0.3 s."""

BACKLOG: Final = 2048
"""Connections that wait to be accepted; the kernel drops more, and their clients wait a second."""

DATE_SECONDS: Final = 1.0
"""The resolution of the date header."""

FULL: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
"""The errors of `accept` for want of descriptors or memory."""

REPORT_SECONDS: Final = 60.0
"""How often they are reported."""

log = logging.getLogger(__name__)


def listen(host: str, port: int) -> socket.socket:
    """Bind the port, or raise `PortTaken`. Connections queue from here on."""
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
    """The URL of a bound socket for clients on this machine: none connects to "all interfaces"."""
    host, port = str(listener.getsockname()[0]), int(listener.getsockname()[1])
    return url_for({"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host), port)


def url_for(host: str, port: int) -> str:
    """The URL of an address: IPv6 numbers go in brackets."""
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class TlsFiles(NamedTuple):
    """The files of a certificate and of its key."""

    cert: str
    key: str

    def check(self) -> None:
        """Raise `TlsUnusable` if the two cannot be used."""
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(self.cert, self.key, _no_words)
        except (OSError, ssl.SSLError, ValueError) as wrong:
            why = getattr(wrong, "strerror", None) or wrong
            raise TlsUnusable(cert=self.cert, key=self.key, why=why) from wrong


def _no_words() -> str:
    """OpenSSL would ask at the terminal for the passphrase of a key."""
    raise ValueError("the key has a passphrase")


class AcceptFaults:
    """An exception handler of the event loop: a full file table is one line of the log a minute.

    asyncio reports every failed accept with a traceback, as often as it would accept at once.
    Strangers with many connections filled the disk with them.
    """

    def __init__(self) -> None:
        """Report the first fault at once."""
        self._quiet_until = 0.0

    def __call__(
        self,
        loop: asyncio.AbstractEventLoop,
        context: dict[str, Any],  # as asyncio has it
    ) -> None:
        """Handle an exception that nobody waits for; those of other kinds as asyncio does."""
        error = context.get("exception")
        if not isinstance(error, OSError) or "socket" not in context or error.errno not in FULL:
            loop.default_exception_handler(context)
        elif loop.time() >= self._quiet_until:
            self._quiet_until = loop.time() + REPORT_SECONDS
            text = "connections cannot be accepted: %s. Raise the limit (ulimit -n), or close some."
            log.warning(text, error.strerror, extra={"action": "accept"})


class HttpServer(uvicorn.Server):
    """uvicorn without signal handlers, with callbacks at startup and shutdown."""

    def __init__(
        self,
        app: ASGIApp,
        on_ready: Callable[[], None],
        on_end: Callable[[], None] = lambda: None,
        *,
        tls: TlsFiles | None = None,
    ) -> None:
        """Serve this app; `on_ready` is called at startup, `on_end` at shutdown."""
        config = uvicorn.Config(
            app,
            http=BoundedProtocol,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,  # no proxy is trusted to name the client
            backlog=ACCEPTED_AT_ONCE,
            timeout_graceful_shutdown=GRACE_SECONDS,
            ssl_certfile=None if tls is None else tls.cert,
            ssl_keyfile=None if tls is None else tls.key,
        )
        super().__init__(config)
        self._on_ready = on_ready
        self._on_end = on_end
        self._ending = asyncio.Event()

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Capture none: uvicorn would raise them again at its end and change our exit code."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to answer, and call `on_ready`."""
        asyncio.get_running_loop().set_exception_handler(AcceptFaults())
        await super().startup(sockets)
        for listener in sockets or ():
            listener.listen(BACKLOG)  # asyncio has set it to the number that it accepts at once
        self._on_ready()

    async def main_loop(self) -> None:
        """Renew the date header once a second, until `end`.

        uvicorn looks ten times a second whether it should exit, which was most of what an idle
        muster did.
        """
        while not await self.on_tick(0):
            with suppress(TimeoutError):
                async with asyncio.timeout(DATE_SECONDS):
                    await self._ending.wait()

    def end(self) -> None:
        """Let `serve` finish the open requests and return."""
        self.should_exit = True
        self._ending.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End long polls and streams, and finish the other requests."""
        self._on_end()
        await super().shutdown(sockets)


async def serve_until(stop: asyncio.Event, server: HttpServer, listener: socket.socket) -> None:
    """Answer requests until `stop` is set, then finish the open ones."""

    async def end() -> None:
        await stop.wait()
        server.end()

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(end())
        await server.serve(sockets=[listener])
        stop.set()
