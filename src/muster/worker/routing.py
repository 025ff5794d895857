"""Routes requests in the worker: their authors choose how long the index of agents takes."""

from collections.abc import Sequence
from functools import partial
from typing import Final

from muster.errors import Invalid
from muster.routing.agent_files import AgentFile
from muster.routing.choices import PastChoice
from muster.routing.router import Decision, Router
from muster.worker.limits import TimeIsUp
from muster.worker.process import Worker

ROUTE_SECONDS: Final = 2.0
"""CPU time to index agents and route a request: ten times what 100 long descriptions take."""


def route(agents: Sequence[AgentFile], choices: Sequence[PastChoice], text: str) -> Decision:
    """The agent for a request, of these."""
    return Router(agents, choices=choices).route(text)


async def routed(
    worker: Worker,
    agents: Sequence[AgentFile],
    choices: Sequence[PastChoice],
    text: str,
    *,
    owner: str,
) -> Decision:
    """The agent for a request. Raises `Invalid` if that takes too long."""
    try:
        deciding = partial(route, agents, choices, text)
        return await worker.run(deciding, seconds=ROUTE_SECONDS, owner=owner)
    except TimeIsUp:
        raise Invalid(what="the request", why="takes too long to route") from None
