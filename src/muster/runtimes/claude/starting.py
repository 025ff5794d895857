"""Starts a session of Claude Code: its program, and its end of the pipes."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from muster.engine.ports import Launch, SessionListener
from muster.errors import CannotStart
from muster.routing.agent_files import AgentFile, read_folders
from muster.runtimes.bounded import bounded, env_file_variables, output_file_of
from muster.runtimes.claude.asking import asker, responder
from muster.runtimes.claude.memory import Memory
from muster.runtimes.claude.own_paths import with_own_folder
from muster.runtimes.claude.program import (
    arguments,
    environment,
    find_program,
    other_version,
    plugin,
    system_prompt,
)
from muster.runtimes.claude.protocol.tool_server import SERVER, ToolServer, tool_names
from muster.runtimes.claude.reading import MessageReader
from muster.runtimes.claude.session import ClaudeSession
from muster.runtimes.isolated import isolation_trouble, level_of
from muster.runtimes.process.confined import (
    WritablePaths,
    working_directory,
    writable_paths,
)
from muster.runtimes.process.group import StopSteps
from muster.runtimes.process.limited import AppliedLimits
from muster.runtimes.process.listener import SerialListener
from muster.runtimes.process.pipes import STDERR, OutputBudget, OutputStream
from muster.runtimes.process.spawn import SpawnedProgram
from muster.runtimes.prompted.json_lines import JsonObject
from muster.runtimes.prompted.session import NotUp
from muster.settings.agent_programs import ClaudeSettings
from muster.settings.agents import AgentSettings
from muster.settings.env_file import EnvFileError

OTHER_VERSION: Final = "Install that version and name it in claude.program, or change the setting."

INHERIT: Final = "inherit"
"""The model of an agent file that leaves the choice to its caller."""


async def start(
    settings: AgentSettings, base: Path, launch: Launch, listener: SessionListener, memory: Memory
) -> ClaudeSession:
    """Start it, and return when it is up and has its prompt."""
    claude = _for_launch(settings.claude, launch)
    cwd = working_directory(settings, base, launch)
    program = find_program(claude, base)
    wrong = await asyncio.to_thread(other_version, claude, program)
    if wrong:
        raise CannotStart(program=str(program), cwd=str(cwd), why=wrong, remedy=OTHER_VERSION)
    try:
        agents = _agents(base / claude.agents) if claude.agents else None
        argv = [
            str(program),
            *arguments(
                claude,
                resume=memory.conversation,
                instructions=system_prompt(launch, claude),
                plugin=plugin(launch),
                allowed=tool_names(),
                servers={SERVER: {"type": "sdk", "name": SERVER, "alwaysLoad": True}},
            ),
        ]
        await asyncio.to_thread(isolation_trouble, level_of(settings))
        variables = environment(settings, launch, await env_file_variables(settings, base))
        writable = writable_paths(settings, launch, base)
        if settings.confine not in (None, "none"):
            writable = with_own_folder(writable, variables, launch.folder)
            variables["CLAUDE_CODE_TMPDIR"] = str(writable.scratch or "")
        session = _begin(settings, argv, variables, cwd, launch, listener, memory, agents, writable)
        await session.launched()
    except EnvFileError as wrong:
        raise CannotStart(
            program=str(program), cwd=str(cwd), why=str(wrong), remedy=wrong.remedy
        ) from wrong
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise _cannot(program, cwd, why) from error
    try:
        await session.connect(launch.prompt, launch.images, idle=launch.idle)
    except NotUp as error:
        await session.undo()
        raise _cannot(program, cwd, str(error)) from error
    except BaseException:  # whoever wanted it does not want it any more
        await asyncio.shield(session.undo())
        raise
    return session


def _for_launch(claude: ClaudeSettings, launch: Launch) -> ClaudeSettings:
    """The settings with the model and the tools of the agent's file, where they name none."""
    names = (each.partition("(")[0].strip() for each in launch.tools)
    return replace(
        claude,
        model=claude.model or ("" if launch.model == INHERIT else launch.model),
        tools=claude.tools or tuple(dict.fromkeys(names)),
        disallowed_tools=(*claude.disallowed_tools, *launch.disallowed_tools),
    )


def _begin(
    settings: AgentSettings,
    argv: list[str],
    variables: Mapping[str, str],
    cwd: Path,
    launch: Launch,
    listener: SessionListener,
    memory: Memory,
    agents: Mapping[str, JsonObject] | None,
    writable: WritablePaths,
) -> ClaudeSession:
    """Start the program, and take over its pipes."""
    with bounded(argv, settings, launch, env=variables, cwd=cwd, writable=writable) as (
        program,
        applied,
    ):
        return _session(settings, program, cwd, launch, listener, memory, agents, applied)


def _session(
    settings: AgentSettings,
    program: SpawnedProgram,
    cwd: Path,
    launch: Launch,
    listener: SessionListener,
    memory: Memory,
    agents: Mapping[str, JsonObject] | None,
    limits: AppliedLimits | None,
) -> ClaudeSession:
    """The session of a program that has just been started."""
    assert program.stdin is not None
    loop = asyncio.get_running_loop()
    budget = OutputBudget(loop.time())
    reader = MessageReader(budget, loop.time, memory.counted)
    serial = SerialListener(listener)

    async def tell(text: str) -> bool:
        return await session.send_prompt(text)

    ask = asker(
        settings.claude, serial, reader.who, tell=tell, cwd=cwd, confined=program.is_confined
    )
    session = ClaudeSession(
        program,
        launch.session,
        settings,
        stdin=program.stdin,
        respond=responder(ask, ToolServer(serial)),
        agents=agents,
        reader=reader,
        stderr=OutputStream(STDERR, budget),
        steps=StopSteps(
            interrupt_s=settings.interrupt_seconds, terminate_s=settings.terminate_seconds
        ),
        listener=serial,
        file=output_file_of(settings, launch.folder),
        folder=launch.folder,
        limits=limits,
    )
    return session


def _agents(folder: Path) -> dict[str, JsonObject]:
    """The subagents that a folder describes."""
    if not folder.is_dir():
        raise ValueError(f"there is no folder of agents {folder}")
    return {agent.name: _definition(agent) for agent in read_folders([folder]).agents}


def _definition(agent: AgentFile) -> JsonObject:
    described: JsonObject = {"description": agent.description or agent.name, "prompt": agent.body}
    optional = {
        "tools": None if agent.tools is None else list(agent.tools),
        "disallowedTools": list(agent.disallowed_tools) or None,
        "model": agent.model,
    }
    return described | {name: value for name, value in optional.items() if value is not None}


def _cannot(program: Path, cwd: Path, why: str) -> CannotStart:
    if not cwd.is_dir():
        why, remedy = "there is no such folder", "Make it, or set cwd to another."
    elif not program.exists():
        why, remedy = "there is no such program", "Install it, or correct claude.program."
    else:
        remedy = "Correct that in the agent's table in muster.toml."
    return CannotStart(program=str(program), cwd=str(cwd), why=why, remedy=remedy)
