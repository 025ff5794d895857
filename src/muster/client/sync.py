"""`Client`: a team's server for a program that waits for each answer."""

import socket
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from threading import Event, Thread
from typing import Self

from muster.client.methods import ClientMethods
from muster.client.requests import ApiRequest
from muster.client.sending import Blocking, T, run_blocking
from muster.client.transport import READ_BYTES, ByteStream, ServerAddress, Transport, Work
from muster.client.turn import TurnMethods
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

    def __iter__(self) -> Iterator[MessageView]:
        """The messages that the turn came with, then each new one, until the turn is over."""
        return self.follow()

    def __enter__(self) -> Self:
        """Work on the turn: a `TurnLost` that `check` raises ends the body, and no more."""
        self.enter()
        return self

    def __exit__(self, kind: type[BaseException] | None, *more: object) -> bool:
        """Go on after the body."""
        return self.leave(kind)


# ── sockets ───────────────────────────────────────────────────────────────────────────────────────


class BlockingTransport:
    """Sockets that block, and a thread for the work beside a turn. Its coroutines never suspend."""

    def __init__(self) -> None:
        self._ends: set[Event] = set()
        """Of each thread that works beside a body, the event that ends it."""

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
    def beside(self, work: Work) -> Generator[None]:
        """Do some work in a thread until the body ends."""
        over = Event()
        self._ends.add(over)

        async def pause(seconds: float) -> bool:
            return not over.wait(seconds)

        def run() -> None:
            run_blocking(work(pause))

        Thread(target=run, name="muster heartbeats", daemon=True).start()
        try:
            yield
        finally:
            over.set()
            self._ends.discard(over)

    async def close(self) -> None:
        """End the threads of loops that were left without an end."""
        for over in tuple(self._ends):
            over.set()


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
