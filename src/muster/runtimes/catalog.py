"""Which runtime runs which agent, by the settings."""

from pathlib import Path

from msgspec.structs import replace

from muster.engine import ports
from muster.machines.ids import GRID_SEATS, name_key
from muster.machines.state import Agent
from muster.runtimes.claude.runtime import ClaudeRuntime
from muster.runtimes.command import CommandRuntime
from muster.settings.agents import ANYBODY, AgentSettings
from muster.settings.model import Settings


def runtimes(settings: Settings, home: Path) -> ports.Runtimes:
    """Find the runtime of an agent by its name, else that of anybody who was summoned.

    None where no settings are for it.
    """
    known = {
        name_key(name): runtime_of(agent, home)
        for name, agent in settings.agents.items()
        if agent.runtime != "file"
    }

    def find(agent: Agent) -> ports.Runtime | None:
        own = None if agent.name is None else known.get(name_key(agent.name))
        return own or (known.get(ANYBODY) if agent.seat in GRID_SEATS else None)

    return find


def task_runtimes(settings: Settings, home: Path) -> ports.Runtimes:
    """Find the runtime that runs an agent on tasks: its own by its name, else the one for all.

    None where no settings are for it.
    """
    found = runtimes(
        replace(settings, agents={k: v for k, v in settings.agents.items() if k != ANYBODY}), home
    )
    everybody = settings.delegation
    usual = None
    if everybody.command:
        shared = AgentSettings(command=everybody.command, prompt=everybody.prompt)
        usual = runtime_of(shared, home)
    return lambda agent: found(agent) or usual


def runtime_of(agent: AgentSettings, home: Path) -> ports.Runtime:
    """The runtime of an agent of the team in this home."""
    kind = ClaudeRuntime if agent.runtime == "claude" else CommandRuntime
    return kind(agent, home.absolute().parent)
