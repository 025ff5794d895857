"""Large answers, compressed for callers that accept gzip."""

from gzip import compress
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

COMPRESSED_BYTES_MIN: Final = 16 * 1024
"""A smaller answer is not worth compressing."""

HEADERS: Final = {
    "cache-control": "no-store",
    "vary": "accept-encoding",
    "x-content-type-options": "nosniff",
}


def compressed(request: Request, content: bytes, status: int) -> Response:
    """JSON as a response; compressed, at the fastest level, where that is worth it."""
    headers = HEADERS
    if len(content) >= COMPRESSED_BYTES_MIN and accepts_gzip(request):
        content, headers = compress(content, 1, mtime=0), HEADERS | {"content-encoding": "gzip"}
    return Response(content, status, headers, "application/json")


def accepts_gzip(request: Request) -> bool:
    """Whether the caller can decompress an answer."""
    return "gzip" in request.headers.get("accept-encoding", "")
