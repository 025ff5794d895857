"""Errors as responses: a problem document (`views/problems.py`) with its headers."""

from typing import Final

import msgspec
from starlette.responses import Response

from muster.errors import Broken, MusterError, TooFast, Unavailable, WrongMethod
from muster.views.problems import problem

MEDIA_TYPE: Final = "application/problem+json"
RETRY_SECONDS: Final = "1"
"""When to retry after a rate limit or an outage."""


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
