"""The runtimes, each with its scripted program, and what a program of it can do."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from muster.engine.ports import Runtime
from muster.runtimes.acp.runtime import AcpRuntime
from muster.runtimes.claude.runtime import ClaudeRuntime
from muster.runtimes.codex.runtime import CodexRuntime
from muster.runtimes.command import CommandRuntime
from muster.runtimes.python.runtime import PythonRuntime
from muster.settings.agent_programs import AcpSettings, ClaudeSettings, CodexSettings
from muster.settings.agents import AgentSettings
from tests.waits import LIFE_SECONDS

HERE = Path(__file__).parent
PLAIN = AcpSettings()
CODEX = CodexSettings()


class Subject(NamedTuple):
    """A runtime under test."""

    name: str
    make: Callable[[Path, str, float], Runtime]
    """A runtime whose program works in a folder, is deaf or absent, and has so long to stop."""

    confirms: bool = True
    """Whether each prompt is confirmed, and whether one that waits for work is held back."""

    resumes: bool = True
    """Whether a new session goes on with the conversation of the last."""

    is_process: bool = True
    injects: bool = False
    """Whether a prompt in the middle of work becomes a part of it."""

    has_costs: bool = True
    """Whether it tells costs beside tokens."""


def _program(name: str, how: str) -> tuple[str, ...]:
    path = str(HERE / f"{name}.py")
    return (sys.executable, "-S", "-E", path, *(how.split() if how else ()))


def _command(folder: Path, how: str, stop_s: float) -> Runtime:
    return CommandRuntime(
        AgentSettings(
            command=_program("line_agent", how),
            long_lived=True,
            speaks="lines",
            interrupt_seconds=stop_s,
            terminate_seconds=stop_s,
        ),
        folder,
    )


def acp_settings(
    how: str = "", stop_s: float = LIFE_SECONDS, acp: AcpSettings = PLAIN
) -> AgentSettings:
    return AgentSettings(
        runtime="acp",
        command=_program("acp_agent", how),
        interrupt_seconds=stop_s,
        terminate_seconds=stop_s,
        acp=acp,
    )


def _acp(folder: Path, how: str, stop_s: float) -> Runtime:
    return AcpRuntime(acp_settings(how, stop_s), folder)


def codex_settings(
    folder: Path, how: str = "", stop_s: float = LIFE_SECONDS, codex: CodexSettings = CODEX
) -> AgentSettings:
    return AgentSettings(
        runtime="codex",
        env={"HOW": how},
        interrupt_seconds=stop_s,
        terminate_seconds=stop_s,
        codex=replace(codex, program=_script(folder, "codex_agent")),
    )


def _script(folder: Path, name: str) -> str:
    """A scripted program with a path of its own, as settings name one."""
    script = folder / name
    line = " ".join(f'"{each}"' for each in _program(name, ""))
    script.write_text(f'#!/bin/sh\nexec {line} "$@"\n')
    script.chmod(0o700)
    return str(script)


def _claude(folder: Path, how: str, stop_s: float) -> Runtime:
    settings = AgentSettings(
        runtime="claude",
        env={"HOW": how},
        interrupt_seconds=stop_s,
        terminate_seconds=stop_s,
        claude=ClaudeSettings(program=_script(folder, "claude_agent")),
    )
    return ClaudeRuntime(settings, folder)


def _codex(folder: Path, how: str, stop_s: float) -> Runtime:
    return CodexRuntime(codex_settings(folder, how, stop_s), folder)


def _python(folder: Path, how: str, stop_s: float) -> Runtime:
    module = (
        "tests.runtimes.conformance.absent" if how == "absent" else f"{__package__}.python_agent"
    )
    settings = AgentSettings(runtime="python", target=f"{module}:work", interrupt_seconds=stop_s)
    return PythonRuntime(settings, folder)


SUBJECTS = (
    Subject("command", _command, confirms=False, resumes=False),
    Subject("acp", _acp),
    Subject("claude", _claude),
    Subject("codex", _codex, injects=True, has_costs=False),
    Subject("python", _python, resumes=False, is_process=False),
)
