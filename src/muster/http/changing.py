"""The effect of a changed setting on an agent: now, or at its next session."""

from typing import Final

from muster.errors import NotFound
from muster.http.routing import ApiCall
from muster.machines.ids import DOCUMENT
from muster.machines.state import Agent

_NEXT: Final = "takes effect at its next session"
NEXT_SESSION: Final = f"it {_NEXT}"


def effect_of_change(call: ApiCall, name: str, *, preview: bool = False) -> str:
    """When a change takes effect. Most programs keep what they were started with."""
    if not has_session(call, name):
        return "it takes effect now"
    if preview:
        return f"what its program is started with {_NEXT}, the rest now"
    is_outdated = call.agent(name).seat in call.muster.settings.outdated
    return NEXT_SESSION if is_outdated else "it takes effect now"


def has_session(call: ApiCall, name: str) -> bool:
    """Whether an agent has a session now."""
    agent = known_agent(call, name)
    return agent is not None and agent.session is not None


def table_name(call: ApiCall, name: str) -> str:
    """The name of the table that a request is about. One that names the document of an agent
    (`agent-identity:9`) is about the agent's table, however that is called now."""
    agent = known_agent(call, name) if name.startswith(DOCUMENT) else None
    if agent is None:
        return name
    return call.muster.settings.in_force.followed.table_about(agent.seat) or agent.id


def present_name(call: ApiCall, name: str) -> str:
    """The name that an agent has now, where a request names its document."""
    agent = known_agent(call, name) if name.startswith(DOCUMENT) else None
    return name if agent is None else agent.id


def known_agent(call: ApiCall, name: str) -> Agent | None:
    """The agent with this name, if the team has it."""
    try:
        return call.agent(name)
    except NotFound:
        return None
