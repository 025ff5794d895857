"""Costs over HTTP: token usage and cost, in total and by agent, session, channel, conversation."""

from muster.http.routing import EVERYBODY, ApiCall, route
from muster.views.answers.costs import CostsView
from muster.views.costs import view_costs


@route("GET", "/api/costs", may=EVERYBODY)
async def show_costs(call: ApiCall) -> CostsView:
    """Show token usage and cost: by agent, session, channel, conversation, day and model."""
    return view_costs(call.team, await call.muster.costs.tally(), call.muster.clock.now())
