"""Costs over HTTP: what a team has used up, and who of it."""

from typing import Final
from weakref import WeakKeyDictionary

from muster.http.routing import EVERYBODY, Call, Route
from muster.team import Muster
from muster.views.conversation_costs import Costs
from muster.views.costs import CostsView, view_costs

_COSTS: Final[WeakKeyDictionary[Muster, Costs]] = WeakKeyDictionary()


def costs_of(muster: Muster) -> Costs:
    """What was added up for a team, which is kept as long as the team is open."""
    found = _COSTS.get(muster)
    if found is None:
        found = _COSTS[muster] = Costs(muster.store)
    return found


async def show_costs(call: Call) -> CostsView:
    """Show what a team has used up."""
    tally = await costs_of(call.muster).tally()
    return view_costs(call.team, tally)


ROUTES: Final = (
    Route(
        method="GET",
        path="/api/costs",
        handler=show_costs,
        may=EVERYBODY,
        summary="What the team has used up: in all, by agent, session, channel, conversation.",
        answer=CostsView,
    ),
)
