"""The digest since a person last looked, over HTTP: the same for every client."""

from muster.http.routing import EVERYBODY, ApiCall, route
from muster.http.types import Query, Seq
from muster.views.answers.since import SinceView
from muster.views.content.since import looked, read_digest


class SinceQuery(Query, frozen=True, kw_only=True):
    """From where on."""

    after: Seq | None = None
    """A place in the log; left out, how far the caller has looked (`POST /api/seen`)."""


@route("GET", "/api/since", may=EVERYBODY)
async def show_since(call: ApiCall, query: SinceQuery) -> SinceView:
    """Show what was done, asked and spent, and what failed, since the caller last looked."""
    team = call.team
    after = looked(team, call.caller.actor) if query.after is None else query.after
    muster = call.muster
    show = call.access.shown_event
    return await read_digest(muster.store, team, min(after, team.seq), muster.clock.now(), show)
