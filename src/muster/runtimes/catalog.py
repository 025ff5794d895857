"""Which runtime runs which agent, by the settings."""

from pathlib import Path

from muster.agent_settings import ANYBODY
from muster.config import Settings
from muster.machines.ids import GRID_SEATS, name_key
from muster.machines.state import Agent
from muster.runtimes.command import CommandRuntime
from muster.services import ports


def runtimes(settings: Settings, home: Path) -> ports.Runtimes:
    """Find the runtime of an agent by its name, else that of anybody who was summoned.

    None where no settings are for it.
    """
    base = home.absolute().parent
    known = {
        name_key(name): CommandRuntime(agent, base)
        for name, agent in settings.agents.items()
        if agent.runtime == "command"
    }

    def find(agent: Agent) -> ports.Runtime | None:
        own = None if agent.name is None else known.get(name_key(agent.name))
        return own or (known.get(ANYBODY) if agent.seat in GRID_SEATS else None)

    return find
