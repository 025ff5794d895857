"""Large answers, compressed for those who can unpack them."""

from gzip import compress
from typing import Final

import msgspec
from starlette.responses import Response

from muster.http.routing import Call
from muster.http.static import accepts_gzip

PACKED_BYTES_MIN: Final = 16 * 1024
"""From here on an answer is worth compressing."""

HEADERS: Final = {
    "cache-control": "no-store",
    "vary": "accept-encoding",
    "x-content-type-options": "nosniff",
}


def packed(call: Call, answer: msgspec.Struct) -> Response:
    """An answer as JSON; quickly compressed where that is worth it."""
    content, headers = msgspec.json.encode(answer), HEADERS
    if len(content) >= PACKED_BYTES_MIN and accepts_gzip(call.request):
        content, headers = compress(content, 1, mtime=0), HEADERS | {"content-encoding": "gzip"}
    return Response(content, headers=headers, media_type="application/json")
