"""muster itself over HTTP: its health, which needs no token, and its shutdown."""

import msgspec

from muster.http.routing import EVERYBODY, OPERATOR, ApiCall, route
from muster.http.types import Body, Note
from muster.machines.commands import StopMuster
from muster.team import Muster
from muster.version import __version__
from muster.views.answers.channels import ShutdownReport
from muster.views.run.shutdown import view_shutdown


class Health(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """muster runs."""

    status: str
    version: str
    seq: int


@route("GET", "/api/health", public=True)
async def health(call: ApiCall) -> Health:
    """Report that muster runs, is stopping, cannot write its log, or that its disk is nearly full.

    Needs no token: it says nothing about the team.
    """
    return Health(status=_status(call.muster), version=__version__, seq=call.team.seq)


def _status(muster: Muster) -> str:
    if muster.team.shutdown is not None:
        return "stopping"
    if muster.dispatcher.is_failing:
        return "failing"
    return "disk_low" if muster.files is not None and muster.files.disk.is_low else "ok"


class ShutdownBody(Body, frozen=True, kw_only=True):
    """How to stop."""

    now: bool = False
    """Stop sessions now, instead of letting them finish (`server.drain_seconds`)."""

    reason: Note = ""


@route("GET", "/api/shutdown", may=EVERYBODY)
async def show_shutdown(call: ApiCall) -> ShutdownReport:
    """Show whether muster is shutting down, and which agents it waits for."""
    return _report(call)


@route("POST", "/api/shutdown", may=OPERATOR)
async def begin_shutdown(call: ApiCall, body: ShutdownBody) -> ShutdownReport:
    """Stop muster: no session starts any more; running ones may finish, or are stopped now."""
    reason = body.reason or f"asked by {call.speaker}"
    drain_seconds = 0.0 if body.now else call.muster.drain_seconds
    await call.send(StopMuster(reason=reason, drain_seconds=drain_seconds))
    return _report(call)


def _report(call: ApiCall) -> ShutdownReport:
    return ShutdownReport(
        shutdown=view_shutdown(call.team), drain_seconds=call.muster.drain_seconds
    )
