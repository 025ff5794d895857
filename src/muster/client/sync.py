"""`Client`: a team's server for a program that waits for each answer."""

import socket
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from threading import Event, Thread
from typing import Self

from muster.client.methods import ClientMethods, T, TurnMethods
from muster.client.requests import ApiRequest
from muster.client.sync_or_async import Blocking, run_blocking
from muster.client.transport import READ_BYTES, Action, ByteStream, ServerAddress, Transport
from muster.views.answers.messages import MessageView, Next


class Client(Blocking, ClientMethods["Turn"]):
    """A team's server, for a program that waits for each answer. Threads may share one."""

    def __enter__(self) -> Self:
        """Use the client until the end of the body."""
        run_blocking(self._transport.open())
        return self

    def __exit__(self, *exc: object) -> None:
        """Disconnect the agents that took turns, and close the connections."""
        self.close()

    def ask(self, request: ApiRequest[T], *, patience_s: float | None = None) -> T:
        """Send any request of `muster.client.requests`."""
        return run_blocking(self._ask(request, patience_s=patience_s))

    def _new_transport(self) -> Transport:
        return BlockingTransport()

    def _new_turn(self, told: Next, heard: Sequence[MessageView]) -> "Turn":
        return Turn(self._ask, told, heard)


class Turn(Blocking, TurnMethods):
    """The right to speak in a channel, for a program that waits."""


# ── sockets ───────────────────────────────────────────────────────────────────────────────────────


class BlockingTransport:
    """Sockets that block, and a thread for what is repeated. Its coroutines never suspend."""

    async def open(self) -> None:
        """Nothing to prepare: a thread belongs to the body that it runs beside."""

    async def connect(self, server: ServerAddress, timeout_s: float) -> ByteStream:
        """Open a connection."""
        opened = socket.create_connection((server.host, server.port), timeout_s)
        try:
            opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return _SocketStream(_with_tls(opened, server.host) if server.secure else opened)
        except BaseException:
            opened.close()
            raise

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        Event().wait(seconds)

    @contextmanager
    def repeat(self, every_s: float, action: Action) -> Generator[None]:
        """Repeat an action in a thread until the body ends."""
        over = Event()

        def run() -> None:
            while not over.wait(every_s):
                run_blocking(action())

        Thread(target=run, name="muster heartbeats", daemon=True).start()
        try:
            yield
        finally:
            over.set()

    async def close(self) -> None:
        """Nothing to end: a thread ends with the body that it runs beside."""


def _with_tls(opened: socket.socket, host: str) -> socket.socket:
    import ssl  # a tenth of a second, which only an https URL needs

    return ssl.create_default_context().wrap_socket(opened, server_hostname=host)


class _SocketStream:
    def __init__(self, opened: socket.socket) -> None:
        self._socket = opened

    async def write(self, data: bytes) -> None:
        self._socket.sendall(data)

    async def read(self, timeout_s: float) -> bytes:
        self._socket.settimeout(timeout_s)
        return self._socket.recv(READ_BYTES)

    def close(self) -> None:
        self._socket.close()

    async def wait_closed(self) -> None:
        """A socket is closed at once."""
