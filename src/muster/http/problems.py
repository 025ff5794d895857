"""What went wrong, as a problem document (RFC 9457): the same shape for every refusal.

`code` is stable and for programs, `detail` is the sentence for people, `rule` is what refused (the
sentence before anything was filled in), and `found` is the state that it met.
"""

from typing import Any, Final

import msgspec
from starlette.responses import Response

from muster.errors import Broken, MusterError, TooFast, Unavailable, WrongMethod

MEDIA_TYPE: Final = "application/problem+json"
RETRY_SECONDS: Final = "1"
"""When to try again what the world kept from happening."""


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """Why a request was not answered as it wished."""

    type: str
    """Where the code is explained, relative to the server."""

    title: str
    status: int
    code: str
    detail: str
    rule: str
    found: dict[str, Any]  # whatever the error says it found


def problem(error: MusterError) -> Problem:
    """An error as the world is told of it."""
    return Problem(
        type=f"/api/docs#{error.code}",
        title=error.code.replace("_", " ").capitalize(),
        status=error.status,
        code=error.code,
        detail=str(error),
        rule=(error.__doc__ or "").strip(),
        found=error.found,
    )


def answer(error: MusterError) -> Response:
    """The response that tells of an error."""
    content = msgspec.json.encode(problem(error), enc_hook=str)  # paths, and what else was found
    return Response(content, error.status, _headers(error), MEDIA_TYPE)


def bug() -> Response:
    """The response to what should not have happened; what it was is told to the log alone."""
    return answer(Broken())


def _headers(error: MusterError) -> dict[str, str]:
    headers = {"cache-control": "no-store", "x-content-type-options": "nosniff"}
    if error.status == 401:
        headers["www-authenticate"] = "Bearer"
    if isinstance(error, WrongMethod):
        headers["allow"] = str(error.found["allowed"])
    if isinstance(error, TooFast | Unavailable):
        headers["retry-after"] = RETRY_SECONDS
    return headers
