"""Metrics over HTTP, for Prometheus, and whether the team can do its work."""

import msgspec
from starlette.responses import Response

from muster.errors import NotReady
from muster.http.routing import EVERYBODY, ApiCall, route
from muster.views.metrics.text import MEDIA_TYPE, Measured, metrics_text


class Readiness(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The team can be worked with."""

    status: str = "ready"


@route("GET", "/metrics", may=EVERYBODY)
async def show_metrics(call: ApiCall) -> Response:
    """Metrics of the team and of this process, in the text format of Prometheus."""
    muster = call.muster
    measured = Measured(
        counts=muster.counts,
        commit_times=muster.store.commit_times,
        loop_lags=muster.loop_lags,
        streams=sum(call.streams.counts.values()),
        browsers=len(call.browsers.all_open(call.muster.team)),
    )
    # of private channels, too, only numbers are told
    return Response(metrics_text(muster.team, measured, muster.clock.now()), media_type=MEDIA_TYPE)


@route("GET", "/api/ready", public=True)
async def show_readiness(call: ApiCall) -> Readiness:
    """Report whether muster takes commands: not while it stops, or while the log cannot be written.

    Needs no token: it says nothing about the team.
    """
    if call.muster.team.shutdown is not None:
        raise NotReady(why="it is stopping")
    if call.muster.dispatcher.is_failing:
        raise NotReady(why="its log cannot be written")
    return Readiness()
