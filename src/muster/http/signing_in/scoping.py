"""A scope in a request, by the names of agents and channels."""

from muster.http.routing import ApiCall
from muster.http.types import StrictBody
from muster.machines.ids import ChannelId
from muster.machines.vocabulary import Scope


class ScopeBody(StrictBody, frozen=True, kw_only=True):
    """The agents and channels that a member may act on, and nothing else."""

    agents: tuple[str, ...] = ()
    channels: tuple[str, ...] = ()


def scope_in(call: ApiCall, body: ScopeBody | None) -> Scope | None:
    """The scope that a request names: agents by their seats, which they keep when renamed."""
    if body is None:
        return None
    seats = dict.fromkeys(call.agent(name).seat for name in body.agents)
    return Scope(agents=tuple(seats), channels=tuple(dict.fromkeys(map(ChannelId, body.channels))))
