"""The dashboard's files, as they lie in the package: one address for each build of them.

A build is named by the digest of all its files, and its name is part of their address. So a browser
keeps a file for good, a page never meets the modules of another build, and a new muster is a new
address. Only the front page, which names the build, is looked at again each time.
"""

import gzip
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from muster.errors import NotFound
from muster.http.routing import Call, Route
from muster.machines.events import FACTS

FOLDER: Final = Path(__file__).parent.parent / "web"
FRONT: Final = "index.html"
BUILD: Final = b"{{build}}"
EVENTS: Final = b"{{events}}"
"""Where the front page has the name of the build, and the types of events that there are."""

KINDS: Final = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "worker-src 'self'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types muster",
    )
)
HEADERS: Final = {
    "content-security-policy": POLICY,
    "cross-origin-opener-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "vary": "accept-encoding, cookie",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
FOREVER: Final = "private, max-age=31536000, immutable"
COMPRESSED_BYTES_MIN: Final = 1024
"""What is smaller fits into a packet as it is."""


class File(NamedTuple):
    """A file as it goes over the wire, plain and compressed."""

    kind: str
    plain: bytes
    packed: bytes


class Build(NamedTuple):
    """All files of the dashboard by their path, and the name of them all."""

    name: str
    files: Mapping[str, File]


@cache
def build() -> Build:
    """Read the dashboard once in the life of the program."""
    paths = sorted(path for path in FOLDER.rglob("*") if path.suffix in KINDS)
    found = {path.relative_to(FOLDER).as_posix(): path.read_bytes() for path in paths}
    digest = sha256()
    for path, content in found.items():
        digest.update(b"%b\0%d\0%b" % (path.encode(), len(content), content))
    name = digest.hexdigest()[:16]
    return Build(name, {path: _file(path, found[path], name) for path in found})


def _file(path: str, content: bytes, name: str) -> File:
    if path == FRONT:
        types = sorted(str(fact.__struct_config__.tag) for fact in FACTS)
        content = content.replace(BUILD, name.encode()).replace(EVENTS, " ".join(types).encode())
    return File(KINDS[Path(path).suffix], content, gzip.compress(content, mtime=0))


def front(request: Request) -> Response:
    """The page itself. It is asked for again each time, and mostly has not changed."""
    return _answer(request, build().files[FRONT], "no-cache")


async def show(call: Call) -> Response:
    """A file of the build that the page was made of."""
    path = "/".join(call.path[name] for name in ("folder", "file") if name in call.path)
    found = build().files.get(path)
    if found is None or call.path["build"] != build().name or path == FRONT:
        raise NotFound(kind="file", name=path)
    return _answer(call.request, found, FOREVER)


def _answer(request: Request, file: File, caching: str) -> Response:
    tag = f'"{build().name}"'
    headers = HEADERS | {"cache-control": caching, "etag": tag}
    if tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    content = file.plain
    if accepts_gzip(request) and len(file.plain) >= COMPRESSED_BYTES_MIN:
        content, headers["content-encoding"] = file.packed, "gzip"
    return Response(content, headers=headers, media_type=file.kind)


def accepts_gzip(request: Request) -> bool:
    """Whether whoever asks can unpack."""
    return "gzip" in request.headers.get("accept-encoding", "")


def _route(path: str) -> Route:
    return Route(
        method="GET",
        path=path,
        handler=show,
        may=frozenset(),
        open=True,
        summary="A file of the dashboard.",
    )


ROUTES: Final = (_route("/web/{build}/{file}"), _route("/web/{build}/{folder}/{file}"))
"""Open to all: they are the same for everybody, and tell nothing about a team."""
