"""Errors as problem documents (RFC 9457): one shape for every interface.

`code` is stable and for programs, `detail` is the sentence for people, `rule` is that sentence
before its placeholders are filled in, and `found` has the values that filled them.
"""

from typing import Any

import msgspec

from muster.errors import MusterError


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
