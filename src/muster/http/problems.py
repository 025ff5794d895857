"""Errors as problem documents (RFC 9457): the same shape for every refusal.

`code` is stable and for programs, `detail` is the sentence for people, `rule` is that sentence
before its placeholders are filled in, and `found` has the values that filled them.
"""

from typing import Any, Final

import msgspec
from starlette.responses import Response

from muster.errors import Broken, MusterError, TooFast, Unavailable, WrongMethod

MEDIA_TYPE: Final = "application/problem+json"
RETRY_SECONDS: Final = "1"
"""When to retry after a rate limit or an outage."""


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """Why a request failed."""

    type: str
    """The explanation of the code, relative to the server."""

    title: str
    status: int
    code: str
    detail: str
    rule: str
    found: dict[str, Any]  # each error has its own values


def problem(error: MusterError) -> Problem:
    """An error as a problem document."""
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
    """The response for an error."""
    content = msgspec.json.encode(problem(error), enc_hook=str)  # paths and the like
    return Response(content, error.status, _headers(error), MEDIA_TYPE)


def bug() -> Response:
    """The response to an unexpected exception; its details are only in the server's own log."""
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
