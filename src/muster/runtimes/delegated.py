"""Which program runs an agent on a task: its own table in `muster.toml`, or the one for all."""

from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace

from muster.engine import ports
from muster.machines.ids import name_key
from muster.runtimes.catalog import runtime_of
from muster.settings.agents import AgentSettings
from muster.settings.model import Settings


def programs(settings: Settings, home: Path) -> Callable[[str, Path], ports.Runtime | None]:
    """Find the program of an agent by its name; none where the settings have none."""
    own = {
        name_key(name): agent for name, agent in settings.agents.items() if agent.runtime != "file"
    }
    everybody = settings.delegation
    usual = None
    if everybody.command:
        usual = AgentSettings(command=everybody.command, prompt=everybody.prompt)

    def find(agent: str, folder: Path) -> ports.Runtime | None:
        found = own.get(name_key(agent), usual)
        if found is None:
            return None
        base = found.cwd_beside(home) if found.cwd else folder
        return runtime_of(replace(found, cwd=str(base)), home)

    return find
