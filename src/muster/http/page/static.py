"""The dashboard's files, from the package: every build has URLs of its own.

A build is named by the digest of all its files, and its name is part of their URLs. So a browser
caches a file for good, a page never loads modules of another build, and a new muster has new URLs.
Only the front page, which names the build, is revalidated each time.

The style sheet is written in parts, one for each view, and sent as one: that is a third smaller,
and no view waits for its style. So are the modules: `linking.py` joins them. Comments, indentation
and spaces beside punctuation are not sent; the lines of a part stay.
"""

import gzip
import re
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from muster.errors import NotFound
from muster.http.compression import accepts_gzip
from muster.http.page.linking import linked
from muster.http.routing import ApiCall, route
from muster.machines.events import FACTS

FOLDER: Final = Path(__file__).parents[2] / "web"
FRONT: Final = "index.html"
SIGN_IN: Final = "sign-in.html"
STYLE: Final = "style.css"
SERVICE_WORKER: Final = "service-worker.js"
WORKERS: Final = (SERVICE_WORKER, "stream-worker.js")
"""Scripts that run beside a page, by the policy that they come with."""

SCRIPTS: Final = ("app.js", "sign-in.js", *WORKERS)
"""The scripts that a browser loads; every other module is a part of them."""

STYLES: Final = FOLDER / "styles"
PAGES: Final = (FRONT, SIGN_IN)
BUILD: Final = b"{{build}}"
EVENTS: Final = b"{{events}}"
"""Placeholders in the front page: the name of the build, and all types of events."""

KINDS: Final = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".webmanifest": "application/manifest+json",
}
POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "manifest-src 'self'",
        "worker-src 'self'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types muster",
    )
)
HEADERS: Final = {"vary": "accept-encoding, cookie", "x-content-type-options": "nosniff"}
POLICY_HEADERS: Final = HEADERS | {
    "content-security-policy": POLICY,
    "cross-origin-opener-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
}
"""Headers of files that a browser opens by themselves. Modules and styles obey the policy of the
page that loads them.
"""

WITHOUT_POLICY: Final = (".css", ".js", ".webmanifest")
FOREVER: Final = "private, max-age=31536000, immutable"
COMPRESSED_BYTES_MIN: Final = 1024
"""A smaller file fits into a packet as it is."""


class StaticFile(NamedTuple):
    """A file as it goes over the wire, plain and compressed."""

    kind: str
    headers: Mapping[str, str]
    plain: bytes
    packed: bytes


class DashboardBuild(NamedTuple):
    """All files of the dashboard by path, and the name of the build."""

    name: str
    files: Mapping[str, StaticFile]


@cache
def dashboard() -> DashboardBuild:
    """The dashboard, read once."""
    found = sources() | {STYLE: b"".join(part.read_bytes() for part in style_parts())}
    digest = sha256()
    for path, content in found.items():
        digest.update(b"%b\0%d\0%b" % (path.encode(), len(content), content))
    name = digest.hexdigest()[:16]
    clean = {path: _without_noise(path, content) for path, content in found.items()}
    alone = {path: content for path, content in clean.items() if not path.endswith(".js")}
    sent = alone | {script: linked(script, clean) for script in SCRIPTS}
    return DashboardBuild(name, {path: _file(path, sent[path], name) for path in sent})


def sources() -> dict[str, bytes]:
    """All files but the parts of the style sheet, as they are written, by path."""
    paths = sorted(path for path in FOLDER.rglob("*") if path.suffix in KINDS)
    alone = (path for path in paths if path.parent != STYLES)
    return {path.relative_to(FOLDER).as_posix(): path.read_bytes() for path in alone}


def style_parts() -> list[Path]:
    """The parts of the style sheet: what all views share, then each view in order of its name."""
    return sorted(STYLES.iterdir(), key=lambda part: (part.name != "base.css", part.name))


def _file(path: str, content: bytes, name: str) -> StaticFile:
    if path in PAGES:
        types = sorted(str(fact.__struct_config__.tag) for fact in FACTS)
        content = content.replace(BUILD, name.encode()).replace(EVENTS, " ".join(types).encode())
    suffix = Path(path).suffix
    if spaces := _SPACES.get(suffix):
        content = spaces.sub(_tight, content)
    headers = POLICY_HEADERS if path in WORKERS or suffix not in WITHOUT_POLICY else HEADERS
    return StaticFile(KINDS[suffix], headers, content, gzip.compress(content, mtime=0))


def _without_noise(path: str, content: bytes) -> bytes:
    noise = _NOISE.get(Path(path).suffix)
    return noise.sub(_only_lines, content) if noise else content


_NOISE: Final = {
    ".js": re.compile(
        rb"^[ \t]*(?://[^\n]*|/\*\*(?s:.*?)\*/[ \t]*)$|[ \t]+// [^\n]*$|^[ \t]+", re.MULTILINE
    ),
    ".css": re.compile(rb"/\*(?s:.*?)\*/|^[ \t]+", re.MULTILINE),
}
"""Comments and indentation, by the kind of a file. No string of a module looks like one: a test."""


_TEXT: Final = rb"""(?:"[^"\\\n]*"|`(?:[^`$\\\n]|\$(?!\{)|\$\{[^`}\n]*\})*`)"""
"""A string, or a template without another one in it."""

_SPACES: Final = {
    ".js": re.compile(
        rb"""(?P<kept>^(?:[^"`'/\\\n]|%b)*+["`'/\\].*$|%b)"""
        rb"""|[ ]?(?P<tight>[][{}()<>=,:;?&|!]+)[ ]?""" % (_TEXT, _TEXT),
        re.MULTILINE,
    ),
    ".css": re.compile(rb"""(?P<kept>^.*".*$)|(?P<tight>^[\w-]+:|,|(?= \{$))[ ]""", re.MULTILINE),
}
"""Spaces beside punctuation. Strings are kept, and so is a line of a script with nested templates,
a regular expression or a division; a space beside a sign stays, since two signs are an operator.
"""


def _tight(found: re.Match[bytes]) -> bytes:
    return found["kept"] or found["tight"]


def _only_lines(noise: re.Match[bytes]) -> bytes:
    return b"\n" * noise[0].count(b"\n")


def front(request: Request) -> Response:
    """The front page. Browsers revalidate it each time, and it has mostly not changed."""
    return _answer(request, dashboard().files[FRONT], "no-cache")


@route("GET", "/service-worker.js", public=True)
async def show_service_worker(call: ApiCall) -> Response:
    """The script of the dashboard's notifications. A browser finds a newer one at this address."""
    return _answer(call.request, dashboard().files[SERVICE_WORKER], "no-cache")


def sign_in_page(request: Request) -> Response:
    """The page to sign in. It is never cached: after it, the same address is the dashboard."""
    return _answer(request, dashboard().files[SIGN_IN], "no-store", SIGN_IN)


# public: the files are the same for everybody, and say nothing about a team


@route("GET", "/web/{build}/{file}", public=True)
async def show_file(call: ApiCall, build: str, file: str) -> Response:
    """A file of the dashboard."""
    found = dashboard().files.get(file)
    if found is None or build != dashboard().name or file in PAGES:
        raise NotFound(kind="file", name=file)
    return _answer(call.request, found, FOREVER)


def _answer(request: Request, file: StaticFile, caching: str, variant: str = "") -> Response:
    # two pages at one address differ in their tags: a browser must not take one for the other
    tag = f'"{dashboard().name}{variant}"'
    headers = dict(file.headers) | {"cache-control": caching, "etag": tag}
    if tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    content = file.plain
    if accepts_gzip(request) and len(file.plain) >= COMPRESSED_BYTES_MIN:
        content, headers["content-encoding"] = file.packed, "gzip"
    return Response(content, headers=headers, media_type=file.kind)
