"""The HTTP interface: which path is answered by what.

The team is open before the server listens and stays open until it has stopped, so there is no
lifespan here to open it: a handler that runs has a team.
"""

from collections.abc import Callable

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from muster.version import __version__


def build(last_seq: Callable[[], int]) -> Starlette:
    """The application that answers for one open team."""

    async def health(request: Request) -> JSONResponse:
        """Whether muster runs. Open to everybody, so it tells nothing about the team itself."""
        return JSONResponse({"status": "ok", "version": __version__, "seq": last_seq()})

    return Starlette(routes=[Route("/api/health", health, methods=["GET"])])
