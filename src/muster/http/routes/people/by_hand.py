"""Sessions that people run by hand, over HTTP: giving one a seat, a name and a soul."""

from muster.http.recording import record
from muster.http.routing import OPERATOR, ApiCall, route
from muster.http.types import Body
from muster.machines.commands import KeepHand
from muster.views.answers import Recorded


class AdoptBody(Body, frozen=True, kw_only=True):
    """A name and a soul for a session, beside its seat."""

    name: str = ""
    soul: str = ""


@route("POST", "/api/agents/{name}/adopt", may=OPERATOR)
async def adopt_agent(call: ApiCall, name: str, body: AdoptBody) -> Recorded:
    """Give a session that a person runs its seat for good, and where that is given a name and a
    soul. Only its own conversation comes back to it."""
    keep = KeepHand(seat=call.agent(name).seat, name=body.name, soul=body.soul)
    return await record(call, keep)
