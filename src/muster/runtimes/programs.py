"""Programs for agents that are installed on this machine, and how each is run."""

import asyncio
import os
from asyncio import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from shutil import which
from typing import Final

from muster.engine.detected import DetectedProgram
from muster.errors import MusterError
from muster.limits import VERSION_CHARS_MAX, VERSION_SECONDS
from muster.runtimes.claude.program import installed_program
from muster.settings.agent_programs import ClaudeSettings
from muster.settings.agents import CLAUDE
from muster.settings.programs import OUR_VARIABLES

COMMAND: Final = "command"

_COMMANDS: Final = (
    ("Codex", ("codex", "exec", "-"), "npm install -g @openai/codex"),
    ("Gemini CLI", ("gemini",), "npm install -g @google/gemini-cli"),
    ("opencode", ("opencode", "run"), "npm install -g opencode-ai"),
)
"""Agents that read their prompt on standard input and end by themselves: name, command, and how
they are installed."""


async def detect_programs(base: Path) -> Sequence[DetectedProgram]:
    """Look for the programs that muster knows; `base` is the folder that settings are seen from."""
    found = [_claude(base), *(_command(*each) for each in _COMMANDS)]
    return await asyncio.gather(*(_with_version(each) for each in found))


def _claude(base: Path) -> DetectedProgram:
    try:
        program = str(installed_program(ClaudeSettings(), base))
    except MusterError as missing:
        return DetectedProgram(runtime=CLAUDE, label="Claude Code", remedy=str(missing))
    return DetectedProgram(runtime=CLAUDE, label="Claude Code", program=program)


def _command(label: str, command: tuple[str, ...], install: str) -> DetectedProgram:
    program = which(command[0])
    remedy = "" if program else f"Install it: {install}"
    return DetectedProgram(
        runtime=COMMAND, label=label, program=program or "", command=command, remedy=remedy
    )


async def _with_version(found: DetectedProgram) -> DetectedProgram:
    """The program with its version, if it says that in time."""
    from msgspec.structs import replace

    if not found.program:
        return found
    environment = {k: v for k, v in os.environ.items() if not k.startswith(OUR_VARIABLES)}
    with suppress(OSError, TimeoutError):
        process = await subprocess.create_subprocess_exec(
            found.program,
            "--version",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
        )
        try:
            async with asyncio.timeout(VERSION_SECONDS):
                printed, _ = await process.communicate()
        finally:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
        line = printed.decode(errors="replace").strip().partition("\n")[0]
        return replace(found, version=line[:VERSION_CHARS_MAX])
    return found
