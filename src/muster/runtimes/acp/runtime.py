"""The `acp` runtime: a session is an agent that speaks the Agent Client Protocol, and lives on."""

from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from msgspec.structs import replace

from muster.engine.importing import imported
from muster.engine.ports import Launch, Leftover, SessionHandle, SessionListener
from muster.errors import MissingExtra
from muster.runtimes.command import CommandRuntime
from muster.settings.agents import AgentSettings


class _Starting(Protocol):
    """The module `starting.py`, loaded with the first session, and the SDK with it."""

    async def start(
        self, settings: AgentSettings, base: Path, launch: Launch, listener: SessionListener
    ) -> SessionHandle:
        """Start a session, or raise why it did not come up."""
        ...


class AcpRuntime:
    """Starts the program of one agent."""

    is_output_speech = False
    """Its answer is the agent's speech, not the output on the way."""

    has_initial_prompt = True
    confirms_prompts = True

    def __init__(self, settings: AgentSettings, base: Path, *, home: Path | None = None) -> None:
        """`base` is the folder that the settings are seen from, `home` the one that has them."""
        self._settings = settings
        self._base = base.absolute()
        self._guarded = () if home is None else (home,)

    async def start(self, launch: Launch, listener: SessionListener) -> SessionHandle:
        """Start it and return when it is up, in its old conversation where it has one."""
        starting = await self._starting()
        launch = replace(launch, guarded=(*self._guarded, *launch.guarded))
        return await starting.start(self._settings, self._base, launch, listener)

    async def reclaim(self, leftover: Leftover) -> str:
        """End what is left of a session, as with any program."""
        return await CommandRuntime(self._settings, self._base).reclaim(leftover)

    async def _starting(self) -> _Starting:
        try:
            module = await imported(partial(import_module, "muster.runtimes.acp.starting"))
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] == "muster":
                raise
            raise MissingExtra(what="The runtime 'acp'", extra="acp") from error
        return cast("_Starting", module)
