"""Which runtime runs which agent, by the settings."""

from pathlib import Path

from muster.agent_settings import ANYBODY, AgentSettings
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
        name_key(name): runtime_of(agent, base)
        for name, agent in settings.agents.items()
        if agent.runtime != "file"
    }

    def find(agent: Agent) -> ports.Runtime | None:
        own = None if agent.name is None else known.get(name_key(agent.name))
        return own or (known.get(ANYBODY) if agent.seat in GRID_SEATS else None)

    return find


def runtime_of(agent: AgentSettings, base: Path) -> ports.Runtime:
    """What runs the program of an agent, whose settings are seen from a folder."""
    if agent.runtime == "claude":
        from muster.runtimes.claude.runtime import ClaudeRuntime  # an extra, and slow to import

        return ClaudeRuntime(agent, base)
    return CommandRuntime(agent, base)
