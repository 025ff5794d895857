"""Which runtime runs which agent, by the settings in force."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from muster.engine import ports
from muster.errors import MusterError
from muster.machines.ids import FIRST_ENROLLED_SEAT, GRID_SEATS, name_key
from muster.machines.state import Agent
from muster.runtimes.acp.runtime import AcpRuntime
from muster.runtimes.claude.program import installed_program
from muster.runtimes.claude.runtime import ClaudeRuntime
from muster.runtimes.codex.runtime import CodexRuntime
from muster.runtimes.command import CommandRuntime
from muster.runtimes.once.presets import run_once
from muster.runtimes.python.runtime import PythonRuntime
from muster.settings.agent_programs import ClaudeSettings
from muster.settings.agents import ANYBODY, AgentSettings
from muster.settings.in_force import LIVE_FIELDS, SettingsInForce, hosting_lead
from muster.settings.model import DelegationSettings, Settings

_OFF_GRID: Final = FIRST_ENROLLED_SEAT
"""A seat for which the runtime of summoned agents does not count: they do no tasks."""

_SCRIPTED: Final = (sys.executable, "-P", "-m", "muster.runtimes.scripted")
"""The program of an agent with a script; `-P` prevents imports from its working directory."""

_KINDS: Final = {
    "acp": AcpRuntime,
    "claude": ClaudeRuntime,
    "codex": CodexRuntime,
    "command": CommandRuntime,
    "python": PythonRuntime,
}
"""The runtimes by their name in the settings."""

_DEFAULTS: Final = {name: getattr(AgentSettings(), name) for name in LIVE_FIELDS}


class RuntimeCatalog:
    """Finds the runtime of an agent by its name, else that of every agent that was summoned.

    A runtime stays the same object while the settings that a session is started with do: so a
    session with another runtime was started with other settings.
    """

    def __init__(self, in_force: SettingsInForce, home: Path, *, for_tasks: bool = False) -> None:
        """Read the settings at each use. For tasks, `delegation.confine` is the default."""
        self._in_force = in_force
        self._home = home
        self._for_tasks = for_tasks
        self._read: Settings | None = None
        self._known: Mapping[str, ports.Runtime] = {}
        self._of: dict[str, AgentSettings] = {}

    def __call__(self, agent: Agent) -> ports.Runtime | None:
        """The runtime of an agent; None where no settings are for it."""
        known = self._runtimes()
        own = None if agent.name is None else known.get(name_key(agent.name))
        lead = hosting_lead(self._in_force.current) if agent.hosted and own is None else None
        if lead is not None:
            return known.get(name_key(lead))  # it is run as its lead is
        return own or (known.get(ANYBODY) if agent.place in GRID_SEATS else None)

    def _runtimes(self) -> Mapping[str, ports.Runtime]:
        current = self._in_force.current
        if self._read is not current:
            usual = current.delegation.confine if self._for_tasks else "none"
            sockets = self._for_tasks and current.delegation.sockets
            isolate = current.delegation.isolate if self._for_tasks else None
            settings = {
                name_key(name): replace(
                    agent,
                    **_DEFAULTS,
                    confine=agent.confine or usual,
                    sockets=agent.sockets or sockets,
                    isolate=agent.isolate or isolate,
                )
                for name, agent in current.agents.items()
                if agent.runtime != "file"
            }
            self._known = {
                key: self._known[key]
                if self._of.get(key) == agent
                else runtime_of(agent, self._home)
                for key, agent in settings.items()
            }
            self._of, self._read = settings, current
        return self._known


class TaskRuntimeCatalog:
    """Finds the runtime that runs an agent on tasks: its own by its name, else the one for all."""

    def __init__(self, in_force: SettingsInForce, home: Path) -> None:
        """Read the settings at each use."""
        self._in_force = in_force
        self._home = home
        self._read: Settings | None = None
        self._own = RuntimeCatalog(in_force, home, for_tasks=True)
        self._usual: ports.Runtime | None = None

    def __call__(self, agent: Agent) -> ports.Runtime | None:
        """The runtime of an agent; None where no settings are for it."""
        off_grid = replace(agent, seat=_OFF_GRID)
        return self._own(off_grid) or self._for_all()

    def _for_all(self) -> ports.Runtime | None:
        current = self._in_force.current
        if self._read is not current:
            self._read = current
            shared = _task_settings(current.delegation, self._home)
            self._usual = None if shared is None else runtime_of(shared, self._home)
        return self._usual


def _task_settings(rules: DelegationSettings, home: Path) -> AgentSettings | None:
    """The settings for agents that have only a description; None where no program runs them."""
    if rules.runtime != "claude" and rules.command:
        return AgentSettings(
            command=rules.command,
            prompt=rules.prompt,
            confine=rules.confine,
            sockets=rules.sockets,
            isolate=rules.isolate,
        )
    if rules.runtime == "claude" or (rules.runtime == "auto" and has_claude(home)):
        return AgentSettings(
            runtime="claude", confine=rules.confine, sockets=rules.sockets, isolate=rules.isolate
        )
    return None


def has_claude(home: Path) -> bool:
    """Whether Claude Code and the extra for it are installed."""
    try:
        installed_program(ClaudeSettings(), home.absolute().parent)
    except MusterError:
        return False
    return True


def runtime_of(agent: AgentSettings, home: Path) -> ports.Runtime:
    """The runtime of an agent of the team in this home."""
    kind = _KINDS.get(agent.runtime, CommandRuntime)
    if agent.script:
        command = (*_SCRIPTED, *agent.script)
        agent = replace(agent, command=command, speaks="lines", long_lived=True)
    if agent.preset:
        agent = run_once(agent)
    env_file = agent.env_file_in(home)
    if env_file is not None:
        agent = replace(agent, env_file=str(env_file))
    return kind(agent, home.absolute().parent, home=home.absolute())


def reclaimer(home: Path) -> ports.Reclaim:
    """Ends what is left of a session whose agent has no runtime any more."""
    return CommandRuntime(AgentSettings(), home.absolute().parent).reclaim
