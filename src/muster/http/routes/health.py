"""Health over HTTP, without a token."""

import msgspec

from muster.http.routing import ApiCall, route
from muster.version import __version__


class Health(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """muster runs."""

    status: str
    version: str
    seq: int


@route("GET", "/api/health", public=True)
async def health(call: ApiCall) -> Health:
    """Report that muster runs. Needs no token, so it says nothing about the team itself."""
    return Health(status="ok", version=__version__, seq=call.team.seq)
