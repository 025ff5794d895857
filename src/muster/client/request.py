"""What is asked of a server and what its answers mean: all of the client that needs no connection.

An `Ask` is one request with the type of its answer. Both clients carry out the same asks; what they
add is a connection. A refusal comes back as the very error that the server raised.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Generic, NamedTuple, TypeVar
from urllib.parse import quote, urlencode, urlsplit

import msgspec

from muster.errors import Broken, MusterError, NotRunning, Refused, Unavailable
from muster.home import address, operator_token
from muster.home.lock import running_pid
from muster.settings.model import find_home
from muster.version import __version__

TOKEN_VARIABLE: Final = "MUSTER_TOKEN"

T = TypeVar("T")


class Ask(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """One request, and what its answer is."""

    method: str
    path: str
    answer: type[T]
    query: Mapping[str, object] = {}
    body: object = None
    key: str | None = None
    """What a post is called, so that it counts once however often it is sent."""

    waits_s: float = 0.0
    """How long the server may keep the answer back."""

    @property
    def target(self) -> str:
        """The path with its query, as it stands in the request."""
        given = {name: value for name, value in self.query.items() if value is not None}
        return f"{self.path}?{urlencode(given)}" if given else self.path

    @property
    def content(self) -> bytes:
        """The body; what is None in it is left out, and has its default."""
        return b"" if self.body is None else msgspec.json.encode(self.body)

    def headers(self, server: "Server") -> dict[str, str]:
        """What is said about the request."""
        said = {
            "Host": server.netloc,
            "User-Agent": f"muster/{__version__}",
            "Accept": "*/*",
            "Content-Length": str(len(self.content)),
        }
        if server.token:
            said["Authorization"] = f"Bearer {server.token}"
        if self.body is not None:
            said["Content-Type"] = "application/json"
        if self.key is not None:
            said["Idempotency-Key"] = self.key
        return said

    def understand(self, answer: "Answer") -> T:
        """The answer as its type, or the error that it tells of."""
        if not 200 <= answer.status < 300:
            raise error_of(answer)
        try:
            return msgspec.json.decode(answer.content or b"null", type=self.answer)
        except msgspec.DecodeError as wrong:
            raise _strange(f"the answer to {self.path} is not as expected: {wrong}") from wrong


class Answer(NamedTuple):
    """What a server said."""

    status: int
    content: bytes


def a_path(*segments: str) -> str:
    """A path under the API; whatever is in a name stays one segment."""
    return "/api/" + "/".join(quote(segment, safe="") for segment in segments)


def a_key() -> str:
    """A name for a post that nobody else will give."""
    return os.urandom(16).hex()


# ── whom to ask ───────────────────────────────────────────────────────────────────────────────────


class Server(NamedTuple):
    """Where a server is, and the token to show it."""

    url: str
    token: str = ""

    @property
    def netloc(self) -> str:
        """Host and port, as the URL has them."""
        return urlsplit(self.url).netloc

    @property
    def secure(self) -> bool:
        """Whether to speak TLS."""
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
) -> Server:
    """The server meant: the one at `url`, else the one that runs in the home.

    The token is the one given, else that of `MUSTER_TOKEN`. The operator's token in the home is for
    the server of that home alone.
    """
    token = token or environ.get(TOKEN_VARIABLE) or ""
    if url is not None:
        return Server(url.rstrip("/"), token)
    home = find_home(home, environ)
    found = address.find(home)
    # what a crash left behind is not believed: somebody else may listen there now
    if found is None or found.pid != running_pid(home):
        raise NotRunning(home=home)
    return Server(found.url, token or operator_token.find(home) or "")


# ── what went wrong ───────────────────────────────────────────────────────────────────────────────


class _Problem(msgspec.Struct, frozen=True):
    """A problem document, as far as it matters here."""

    code: str
    detail: str
    found: dict[str, Any] = {}  # whatever the server found


def _kinds(kind: type[MusterError]) -> Iterator[type[MusterError]]:
    """Every error below this one, deepest first: where two share a code, the general one stays."""
    for each in kind.__subclasses__():
        yield from _kinds(each)
        yield each


_BY_CODE: Final = {kind.code: kind for kind in _kinds(MusterError)}


def error_of(answer: Answer) -> MusterError:
    """The error that a server answered with."""
    try:
        problem = msgspec.json.decode(answer.content, type=_Problem)
    except msgspec.DecodeError:
        return _strange(f"the server answered {answer.status}", answer.status)
    kind = _BY_CODE.get(problem.code) or _family(answer.status)
    return _told(kind, problem.detail, problem.found)


def _family(status: int) -> type[MusterError]:
    """What an error of a newer muster is most like."""
    if status < 500:
        return Refused
    return Unavailable if status in (502, 503, 504) else Broken


def _strange(what: str, status: int = 502) -> MusterError:
    return _told(_family(status), f"{what}. Is that a muster?", {})


def _told(kind: type[MusterError], detail: str, found: dict[str, Any]) -> MusterError:
    """An error in the words of the server, which need not be filled in again."""
    error = kind.__new__(kind)
    Exception.__init__(error, detail)
    error.found = found
    return error
