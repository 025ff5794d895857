"""The command line of Claude Code: program, arguments, environment."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from typing import Final

from muster.claude_plugin.copying import SOURCE, write_copy
from muster.engine.ports import Launch
from muster.errors import CannotStart, MissingExtra
from muster.limits import CLAUDE_ANSWER_SECONDS
from muster.runtimes.isolated import passed_environment
from muster.runtimes.process import processes
from muster.settings.agent_programs import ClaudeSettings
from muster.settings.agents import AgentSettings

TESTED: Final = "2.1.325"
"""The version of Claude Code that muster is tested with: it comes with the pinned SDK."""

ENFORCEMENT: Final = (
    "What its permission rules neither allow nor deny needs an approval; a hook checks the policy"
    " of an open session before each tool call."
)
VERSION_SECONDS: Final = 10.0

PLUGIN_FOLDER: Final = "claude-plugin"
PROMPT_FILE: Final = "claude-system-prompt.md"

_USELESS: Final = ("AskUserQuestion",)
"""A question to whoever sits in front of it: nobody does. It has muster's tools for that."""

_NESTED: Final = frozenset(
    {
        "CLAUDECODE",
        "CLAUDE_CODE_ENTRYPOINT",
        "CLAUDE_CODE_SESSION_ID",
        "CLAUDE_CODE_SSE_PORT",
        "CLAUDE_ENV_FILE",
        "CLAUDE_PID",
        "CLAUDE_PLUGIN_DATA",
        "CLAUDE_PLUGIN_ROOT",
        "CLAUDE_PROJECT_DIR",
    }
)
"""Variables that Claude Code sets for its children; muster may be one of them."""


def find_program(settings: ClaudeSettings, base: Path) -> Path:
    """The program that the settings name, the one that came with the SDK, or that in the PATH."""
    if settings.program:
        named = None if "/" in settings.program else which(settings.program)
        return Path(named) if named else base / Path(settings.program).expanduser()
    spec = find_spec("claude_agent_sdk")
    for folder in (spec and spec.submodule_search_locations) or ():
        bundled = Path(folder) / "_bundled" / "claude"
        if bundled.exists():
            return bundled
    found = which("claude")
    if found is None:
        raise MissingExtra(
            what="The runtime 'claude', without a Claude Code in the PATH,", extra="claude"
        )
    return Path(found)


def installed_program(settings: ClaudeSettings, base: Path) -> Path:
    """The program that a session would run. Raises what the start of a session would raise."""
    program = find_program(settings, base)
    if which(str(program)) is None:
        raise CannotStart(
            program=str(program),
            cwd=str(base),
            why="there is no such program here, or it is not executable",
            remedy="Install Claude Code, or set program to where it is.",
        )
    return program


def program_version(program: Path) -> str:
    """The version that a program says it has; empty where it says none."""
    try:
        ran = subprocess.run(
            [program, "--version"], capture_output=True, timeout=VERSION_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return ran.stdout.decode("utf-8", "replace").partition(" ")[0].strip()


def other_version(settings: ClaudeSettings, program: Path) -> str:
    """The complaint about a program with another version than the settings want; else empty."""
    if not settings.version:
        return ""
    found = program_version(program)
    if found == settings.version:
        return ""
    return f"it has the version {found or 'unknown'}, and claude.version is {settings.version}"


def plugin(launch: Launch) -> Path:
    """The plugin that comes with muster, whose hooks keep policy and record: a copy of the agent's
    own, which names the Python that muster runs on."""
    if launch.folder is None:
        return SOURCE
    folder = launch.folder.absolute() / PLUGIN_FOLDER
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_copy(folder)
    return folder


def arguments(
    settings: ClaudeSettings,
    *,
    resume: str,
    instructions: str,
    plugin: Path,
    allowed: list[str],
    servers: Mapping[str, Mapping[str, object]],
) -> list[str]:
    """The arguments of the program. The prompt is not among them: it goes over the wire."""
    return [
        "--output-format=stream-json",
        "--input-format=stream-json",
        "--verbose",
        "--include-partial-messages",  # so that a model that talks for minutes is seen to work
        "--permission-prompt-tool=stdio",
        f"--permission-mode={settings.permission_mode}",
        f"--setting-sources={','.join(settings.setting_sources)}",
        f"--plugin-dir={plugin}",
        f"--mcp-config={json.dumps({'mcpServers': servers})}",
        f"--allowedTools={','.join([*allowed, *settings.allowed_tools])}",
        *_optional(settings, resume, instructions),
    ]


def _optional(settings: ClaudeSettings, resume: str, instructions: str) -> Iterator[str]:
    yield f"--disallowedTools={','.join([*_USELESS, *settings.disallowed_tools])}"
    if settings.tools:
        yield f"--tools={','.join(settings.tools)}"
    if settings.model:
        yield f"--model={settings.model}"
    if instructions:
        yield instructions
    if resume:
        yield f"--resume={resume}"


def environment(
    settings: AgentSettings, launch: Launch, variables: Mapping[str, str]
) -> dict[str, str]:
    """Muster's environment without its own variables, the file's, the settings', the session's."""
    ours = {
        name: value for name, value in passed_environment(settings).items() if name not in _NESTED
    }
    return {
        **_defaults(settings.claude),
        **ours,
        **variables,
        **settings.env,
        **_NEEDED,
        **launch.environment,
        processes.SESSION_VARIABLE: launch.session,
    }


def _defaults(settings: ClaudeSettings) -> dict[str, str]:
    """Without these, a dead model server is asked for minutes."""
    milliseconds = str(CLAUDE_ANSWER_SECONDS * 1000)
    return {
        "CLAUDE_CODE_MAX_RETRIES": str(settings.retries),
        "API_TIMEOUT_MS": milliseconds,
        "CLAUDE_ENABLE_BYTE_WATCHDOG": "1",
        "CLAUDE_BYTE_STREAM_IDLE_TIMEOUT_MS": milliseconds,
        # Without these two it does not say how long a busy server asks it to wait. With them it
        # would ask for ever: the reader gives up after as many retries as are set.
        "CLAUDE_CODE_RETRY_WATCHDOG": "1",
        "CLAUDE_CODE_RETRY_WATCHDOG_SCOPE": "capacity",
    }


_NEEDED: Final = {
    "CLAUDE_CODE_ENTRYPOINT": "sdk-py",
    "CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS": "1",  # says when there is nothing more to come
    "MUSTER_PYTHON": sys.executable,  # for what a hook has the command line do
}


def system_prompt(launch: Launch, settings: ClaudeSettings) -> str:
    """The argument that adds to the program's own instructions; nothing where nothing is added.

    What it is told there is in every request, so it outlasts compaction. It goes into a file: it
    may be longer than an argument can be, and is nobody else's to read.
    """
    text = "\n\n".join(part for part in (settings.system_prompt, launch.soul) if part.strip())
    if not text:
        return ""
    if launch.folder is None:
        return f"--append-system-prompt={text}"
    launch.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = launch.folder.absolute() / PROMPT_FILE
    path.unlink(missing_ok=True)
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(file, "w", encoding="utf-8", errors="replace") as opened:
        opened.write(text)
    return f"--append-system-prompt-file={path}"
