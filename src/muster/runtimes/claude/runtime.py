"""The `claude` runtime: a session is a Claude Code that lives on, started as `muster.toml` says."""

import logging
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from msgspec.structs import replace

from muster.engine.importing import imported
from muster.engine.ports import Launch, Leftover, SessionHandle, SessionListener
from muster.errors import CannotStart
from muster.runtimes.claude.conversations import chosen, forget_choice
from muster.runtimes.claude.memory import Memory, recall
from muster.runtimes.command import CommandRuntime
from muster.settings.agents import AgentSettings

log = logging.getLogger(__name__)


class _Starting(Protocol):
    """The module `starting.py`, loaded with the first session."""

    async def start(
        self,
        settings: AgentSettings,
        base: Path,
        launch: Launch,
        listener: SessionListener,
        memory: Memory,
    ) -> SessionHandle:
        """Start a session, or raise why it did not come up."""
        ...


class ClaudeRuntime:
    """Starts Claude Code for one agent."""

    def __init__(self, settings: AgentSettings, base: Path, *, home: Path | None = None) -> None:
        """`base` is the folder that the settings are seen from, `home` the one that has them."""
        self._settings = settings
        self._base = base.absolute()
        self._guarded = () if home is None else (home,)

    @property
    def settings(self) -> AgentSettings:
        """The settings that its sessions are started with."""
        return self._settings

    @property
    def is_output_speech(self) -> bool:
        """Its result is the agent's speech, not the output on the way."""
        return False

    @property
    def has_initial_prompt(self) -> bool:
        """Claude Code gets the initial prompt."""
        return True

    @property
    def confirms_prompts(self) -> bool:
        """Claude Code reports when it begins with a prompt."""
        return True

    async def start(self, launch: Launch, listener: SessionListener) -> SessionHandle:
        """Start it and return when it is up, in its old conversation where it has one.

        A conversation that cannot be resumed is given up, and a new one begun.
        """
        starting = await self._starting()
        launch = replace(launch, guarded=(*self._guarded, *launch.guarded))
        memory = chosen(launch.folder) or (
            recall(launch.folder) if self._settings.claude.resume else Memory()
        )
        forget_choice(launch.folder)
        if memory.conversation:
            try:
                return await starting.start(self._settings, self._base, launch, listener, memory)
            except CannotStart as error:
                log.warning(
                    "cannot resume the conversation %s, begins a new one: %s",
                    memory.conversation,
                    error,
                    extra={"action": "conversation_lost", "session": launch.session},
                )
        return await starting.start(self._settings, self._base, launch, listener, Memory())

    async def reclaim(self, leftover: Leftover) -> str:
        """End what is left of a session, as with any program."""
        return await CommandRuntime(self._settings, self._base).reclaim(leftover)

    async def _starting(self) -> _Starting:
        module = await imported(partial(import_module, "muster.runtimes.claude.starting"))
        return cast("_Starting", module)
