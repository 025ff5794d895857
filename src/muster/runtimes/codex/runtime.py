"""The `codex` runtime: a session is a `codex app-server` that lives on."""

import json
from importlib.util import find_spec
from pathlib import Path
from shutil import which

from msgspec.structs import replace

from muster.engine.ports import Launch, Leftover, SessionHandle, SessionListener
from muster.runtimes.codex.session import CodexPlan, CodexSession
from muster.runtimes.command import CommandRuntime
from muster.runtimes.prompted.memory import ProgramConversation, recall
from muster.runtimes.prompted.roots import WritableRoots
from muster.runtimes.prompted.session import SessionParts
from muster.runtimes.prompted.starting import AgentProgram, started, working_directory
from muster.settings.agent_programs import CodexSettings
from muster.settings.agents import AgentSettings

PROGRAM = "codex"
TESTED = "0.166.0"
"""The version that muster is tested with."""

INSTALL = "Install it: npm install -g @openai/codex"
ENFORCEMENT = (
    "Its edits need an approval, and its own sandbox keeps its commands from writing; Codex"
    " enforces both, with bubblewrap."
)

_SANDBOXES = {"outputs": "read-only", "worktree": "workspace-write"}
"""Codex's sandbox for the places that an agent is confined to."""


class CodexRuntime:
    """Starts Codex for one agent."""

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
        """Start it and return when it is up, in its old thread where it has one."""
        settings = self._settings
        launch = replace(launch, guarded=(*self._guarded, *launch.guarded))
        cwd = working_directory(settings, self._base, launch)

        def take_over(parts: SessionParts) -> CodexSession:
            return CodexSession(parts, self._plan(launch, cwd))

        # Codex starts a sandbox for each command, which a confined process cannot: its own is set.
        unconfined = replace(settings, confine="none")
        return await started(
            unconfined, self._base, launch, listener, self._program(launch), take_over
        )

    async def reclaim(self, leftover: Leftover) -> str:
        """End what is left of a session, as with any program."""
        return await CommandRuntime(self._settings, self._base).reclaim(leftover)

    def _program(self, launch: Launch) -> AgentProgram:
        program = codex_program(self._settings.codex, self._base)
        argv = [program]
        for value in (*_tools(launch), *self._settings.codex.config):
            argv += ["-c", value]
        return AgentProgram("Codex", [*argv, "app-server"], remedy=INSTALL)

    def _plan(self, launch: Launch, cwd: Path) -> CodexPlan:
        codex = self._settings.codex
        new = ProgramConversation(program=PROGRAM, cwd=str(cwd))
        return CodexPlan(
            codex,
            WritableRoots(cwd, launch.outputs, launch.guarded),
            recall(launch.folder, PROGRAM, cwd) if codex.resume else new,
            _SANDBOXES.get(self._settings.confine or "", codex.sandbox),
            codex.model or launch.model,
            launch.soul,
        )


def codex_program(settings: CodexSettings, base: Path) -> str:
    """The program that the settings name, or the one in the PATH."""
    if not settings.program:
        return which(PROGRAM) or PROGRAM
    named = None if "/" in settings.program else which(settings.program)
    return named or str(base / Path(settings.program).expanduser())


def _tools(launch: Launch) -> tuple[str, ...]:
    """Codex's configuration for muster's tools, with the token of the session's environment."""
    url = launch.environment.get("MUSTER_URL")
    if not url or "MUSTER_TOKEN" not in launch.environment or find_spec("mcp") is None:
        return ()
    table, address = "mcp_servers.muster", f"{url.rstrip('/')}/mcp"
    return (
        f"{table}.url={json.dumps(address)}",
        f'{table}.bearer_token_env_var="MUSTER_TOKEN"',
        f'{table}.default_tools_approval_mode="approve"',
    )
