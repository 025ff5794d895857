"""HTTP to a server: where it is, connections that are kept open, and errors as it raised them.

HTTP itself is h11's, which reads and writes bytes and no sockets. The bytes go over a `ByteStream`
of the client's `Transport`: one that blocks for `Client`, one on the event loop for `AsyncClient`.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from time import monotonic
from typing import Any, Final, NamedTuple, Protocol, TypeVar, cast
from urllib.parse import urlsplit

import h11
import msgspec

from muster.client.requests import ApiRequest
from muster.errors import Broken, Invalid, MusterError, NotRunning, Refused, Unavailable

TOKEN_VARIABLE: Final = "MUSTER_TOKEN"
ANSWER_SECONDS: Final = 30.0
"""The timeout of an answer, beside the time that the server was asked to wait."""

READ_BYTES: Final = 64 * 1024
IDLE_SECONDS: Final = 2.0
"""A connection that was idle for longer is not used for a request that is sent once only."""

T = TypeVar("T")

Pause = Callable[[float], Awaitable[bool]]
"""Waits for some seconds; False if the body beside which the work is done has ended meanwhile."""

# Any: the values that a coroutine sends and yields are its driver's affair.
Work = Callable[[Pause], Coroutine[Any, Any, None]]

# ── the server ────────────────────────────────────────────────────────────────────────────────────


class ServerAddress(NamedTuple):
    """The URL of a server, and the token to send."""

    url: str
    token: str = ""

    @property
    def netloc(self) -> str:
        """Host and port, as the URL has them."""
        return urlsplit(self.url).netloc

    @property
    def prefix(self) -> str:
        """The path below which a proxy has the server; empty at the root."""
        return urlsplit(self.url).path

    @property
    def secure(self) -> bool:
        """Whether to use TLS."""
        return urlsplit(self.url).scheme == "https"

    @property
    def host(self) -> str:
        """The host to connect to."""
        return urlsplit(self.url).hostname or ""

    @property
    def port(self) -> int:
        """The port to connect to."""
        return urlsplit(self.url).port or (443 if self.secure else 80)


def locate(
    url: str | None, token: str | None, home: Path | None, environ: Mapping[str, str]
) -> ServerAddress:
    """The server at `url`, else the one that runs in the home, else the one that runs this program.

    The token is the one given, else that of `MUSTER_TOKEN`. The operator's token in the home is for
    the server of that home alone.
    """
    token = token or environ.get(TOKEN_VARIABLE) or ""
    if url is not None:
        return ServerAddress(url.rstrip("/"), token)
    from muster.home import address, operator_token  # a client with a URL needs no home
    from muster.home.folder import find_home, require_own
    from muster.home.lock import running_pid

    home = find_home(home, environ)
    require_own(home)
    found = address.find(home)
    # a file that a crash left behind is not trusted: another program may listen there now
    if found is None or found.pid != running_pid(home):
        found = address.of_session(home, environ)
    if found is None:
        raise NotRunning(home=home)
    return ServerAddress(found.url, token or operator_token.find(home) or "")


# ── the ways to wait ──────────────────────────────────────────────────────────────────────────────


class ByteStream(Protocol):
    """An open connection."""

    async def write(self, data: bytes) -> None:
        """Send all of it."""
        ...

    async def read(self, timeout_s: float) -> bytes:
        """Some bytes as soon as there are any; none at the end of the stream."""
        ...

    def close(self) -> None:
        """Close it, at once."""
        ...

    async def wait_closed(self) -> None:
        """Wait until it is closed."""
        ...


class Transport(Protocol):
    """The part in which the two clients differ: how they connect, wait, and work in parallel."""

    async def open(self) -> None:
        """Make ready for `beside`."""
        ...

    async def connect(self, server: ServerAddress, timeout_s: float) -> ByteStream:
        """Open a connection."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        ...

    def beside(self, work: Work) -> AbstractContextManager[None]:
        """Do some work beside the body of a `with`, until the body ends."""
        ...

    async def close(self) -> None:
        """End whatever `beside` still runs."""
        ...


# ── connections ───────────────────────────────────────────────────────────────────────────────────

_BROKEN: Final = (OSError, EOFError, h11.RemoteProtocolError)
"""The errors of a connection that ends, or of a peer that does not speak HTTP."""


class _Connection:
    """HTTP/1.1 on a stream of bytes, one request after another."""

    def __init__(self, stream: ByteStream) -> None:
        self.stream = stream
        self.used_at = monotonic()
        self._http = h11.Connection(our_role=h11.CLIENT)

    async def begin(self, request: ApiRequest[T], server: ServerAddress, timeout_s: float) -> int:
        """Send a request; the status of its answer."""
        events = [
            h11.Request(
                method=request.method,
                target=f"{server.prefix}{request.target}",
                headers=_headers(request, server),
            ),
            h11.Data(data=request.content),
            h11.EndOfMessage(),
        ]
        await self.stream.write(b"".join(self._http.send(event) or b"" for event in events))
        while not isinstance(event := await self._next(timeout_s), h11.Response):
            if not isinstance(event, h11.InformationalResponse):
                raise EOFError("the connection was closed before the answer")
        return event.status_code

    async def part(self, timeout_s: float) -> bytes:
        """Some of the answer's body; nothing at its end."""
        while isinstance(event := await self._next(timeout_s), h11.Data):
            if event.data:
                return bytes(event.data)
        return b""

    async def body(self, timeout_s: float) -> bytes:
        """All of the answer's body."""
        parts: list[bytes] = []
        while part := await self.part(timeout_s):
            parts.append(part)
        return b"".join(parts)

    def reset(self) -> bool:
        """Make ready for another request, if the server keeps the connection open."""
        if self._http.our_state is not h11.DONE or self._http.their_state is not h11.DONE:
            return False
        self._http.start_next_cycle()
        self.used_at = monotonic()
        return True

    async def _next(self, timeout_s: float) -> h11.Event:
        while not isinstance(event := self._http.next_event(), h11.Event):
            self._http.receive_data(await self.stream.read(timeout_s))
        return event


class ConnectionPool:
    """Connections to a server, as many as are in use at once. Threads may share a pool."""

    def __init__(self, server: ServerAddress, transport: Transport) -> None:
        self.server = server
        self._transport = transport
        self._idle: list[_Connection] = []
        self._closed = False

    async def ask(self, request: ApiRequest[T]) -> T:
        """Send a request and return its answer, or raise the error that the server answered."""
        try:
            response = await self._answer(request)
        except _BROKEN as failed:
            raise NotRunning(home=self.server.url) from failed
        return understand(request, response)

    async def stream(self, request: ApiRequest[None], silent_s: float) -> AsyncGenerator[bytes]:
        """The bytes of an answer as they come; silence of `silent_s` seconds is a lost server."""
        try:
            connection = await self._connect()
            try:
                status = await connection.begin(request, self.server, silent_s)
                if status != 200:
                    raise error_of(ApiResponse(status, await connection.body(silent_s)))
                while data := await connection.part(silent_s):
                    yield data
            finally:
                connection.stream.close()
        except _BROKEN as failed:
            raise NotRunning(home=self.server.url) from failed

    async def close(self) -> None:
        """Close every connection that is not in use; the others close after their answers."""
        self._closed = True
        while (connection := self._kept()) is not None:
            connection.stream.close()
            await connection.stream.wait_closed()

    def _kept(self) -> _Connection | None:
        try:
            return self._idle.pop()
        except IndexError:
            return None

    async def _answer(self, request: ApiRequest[T]) -> "ApiResponse":
        while (connection := self._kept()) is not None:
            if request.once and monotonic() - connection.used_at > IDLE_SECONDS:
                connection.stream.close()  # the server may have closed it
                continue
            try:
                return await self._exchange(connection, request)
            except TimeoutError:
                raise  # the server is there, and does not answer
            except _BROKEN:
                # the server has closed an idle connection; a post that it saw has its key
                if request.once:
                    raise
        return await self._exchange(await self._connect(), request)

    async def _connect(self) -> _Connection:
        return _Connection(await self._transport.connect(self.server, ANSWER_SECONDS))

    async def _exchange(self, connection: _Connection, request: ApiRequest[T]) -> "ApiResponse":
        timeout_s = ANSWER_SECONDS + request.waits_s
        try:
            status = await connection.begin(request, self.server, timeout_s)
            response = ApiResponse(status, await connection.body(timeout_s))
        except BaseException:
            connection.stream.close()
            raise
        if connection.reset():
            self._idle.append(connection)
        else:
            connection.stream.close()
        if self._closed:  # meanwhile, perhaps by another thread
            await self.close()
        return response


def _headers(request: ApiRequest[T], server: ServerAddress) -> list[tuple[str, str]]:
    from muster.version import __version__  # only requests need it

    headers = {
        "Host": server.netloc,
        "User-Agent": f"muster/{__version__}",
        "Accept": "*/*",
        "Content-Length": str(len(request.content)),
    }
    if server.token:
        headers["Authorization"] = f"Bearer {server.token}"
    if request.body is not None:
        headers["Content-Type"] = "application/json"
    elif request.raw:
        headers["Content-Type"] = "application/octet-stream"
    if request.key is not None:
        headers["Idempotency-Key"] = request.key
    return list(headers.items())


# ── the stream of events ──────────────────────────────────────────────────────────────────────────

EVENT_BYTES_MAX: Final = 16 * 1024 * 1024
"""One event. A message may have a megabyte, and six bytes for each of its letters."""


class ServerEvent(msgspec.Struct, frozen=True, kw_only=True):
    """An event of the stream: its type, its place in the log, and its JSON."""

    type: str
    seq: int
    data: bytes


class FrameReader:
    """Parses server-sent events from bytes, wherever they are cut."""

    def __init__(self, cursor: int | None) -> None:
        """Resume after the cursor."""
        self.cursor = cursor
        """The last place in the log that the server named: where to resume."""

        self._rest = bytearray()

    def push(self, data: bytes) -> Iterator[ServerEvent]:
        """The events that end in these bytes."""
        self._rest += data
        *frames, rest = self._rest.split(b"\n\n")
        if len(rest) > EVENT_BYTES_MAX:
            raise Invalid(what="an event", why=f"may have {EVENT_BYTES_MAX} bytes")
        self._rest = rest
        for frame in frames:
            found = self._event(frame)
            if found is not None:
                yield found

    def _event(self, frame: bytearray) -> ServerEvent | None:
        """The event in a frame; a comment, or a frame that only moves the cursor, has none."""
        fields = dict(_field(line) for line in frame.split(b"\n"))
        if fields.get(b"id", b"").isdigit():
            self.cursor = int(fields[b"id"])
        if b"data" not in fields:
            return None
        kind = fields.get(b"event", b"message").decode()
        return ServerEvent(type=kind, seq=self.cursor or 0, data=bytes(fields[b"data"]))


def _field(line: bytearray) -> tuple[bytes, bytearray]:
    name, _, value = line.partition(b":")
    return bytes(name), value.removeprefix(b" ")


# ── answers and errors ────────────────────────────────────────────────────────────────────────────


class ApiResponse(NamedTuple):
    """The status and the body of an answer."""

    status: int
    content: bytes


def understand(request: ApiRequest[T], response: ApiResponse) -> T:
    """The answer as its type; raises the error that it reports."""
    if not 200 <= response.status < 300:
        raise error_of(response)
    if request.answer is bytes:
        return cast("T", response.content)
    try:
        return msgspec.json.decode(response.content or b"null", type=request.answer)
    except msgspec.DecodeError as wrong:
        raise _unexpected(f"The answer to {request.path} is not as expected: {wrong}") from wrong


class _Problem(msgspec.Struct, frozen=True):
    """The fields of a problem document that an error is made of."""

    code: str
    detail: str
    found: dict[str, Any] = {}  # the server's values, of whatever type


def _kinds(kind: type[MusterError]) -> Iterator[type[MusterError]]:
    """Every error below this one, deepest first: where two share a code, the general one stays."""
    for each in kind.__subclasses__():
        yield from _kinds(each)
        yield each


_BY_CODE: Final = {kind.code: kind for kind in _kinds(MusterError)}


def error_of(response: ApiResponse) -> MusterError:
    """The error that a server answered with, as the class that the server raised."""
    try:
        problem = msgspec.json.decode(response.content, type=_Problem)
    except msgspec.DecodeError:
        return _unexpected(f"Unexpected response ({response.status})", response.status)
    kind = _BY_CODE.get(problem.code) or _family(response.status)
    return _with_text(kind, problem.detail, problem.found)


def _family(status: int) -> type[MusterError]:
    """The general error of a status, for a code that only a newer muster knows."""
    if status < 500:
        return Refused
    return Unavailable if status in (502, 503, 504) else Broken


def _unexpected(what: str, status: int = 502) -> MusterError:
    return _with_text(_family(status), f"{what}. Is this a muster server?", {})


# Any: the server's values, of whatever type.
def _with_text(kind: type[MusterError], detail: str, found: dict[str, Any]) -> MusterError:
    """An error with the server's own text, which is complete already."""
    error = kind.__new__(kind)
    Exception.__init__(error, detail)
    error.found = found
    return error
