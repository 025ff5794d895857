"""Programs for agents that are installed on this machine, and how each is run."""

import asyncio
import os
from asyncio import subprocess
from collections.abc import Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from typing import Final

from muster.engine.programs import DetectedProgram
from muster.errors import MissingExtra, MusterError
from muster.limits import VERSION_CHARS_MAX, VERSION_SECONDS
from muster.runtimes.acp.presets import PRESETS
from muster.runtimes.claude.program import ENFORCEMENT as CLAUDE_ENFORCEMENT
from muster.runtimes.claude.program import installed_program
from muster.runtimes.codex.runtime import ENFORCEMENT, INSTALL
from muster.runtimes.codex.runtime import PROGRAM as CODEX
from muster.runtimes.sign_in import CLAUDE_SIGNS, NOT_FOUND, sign_in_of
from muster.settings.agent_programs import AcpPreset, ClaudeSettings
from muster.settings.agents import CLAUDE
from muster.settings.programs import OUR_VARIABLES

COMMAND: Final = "command"

_OFFERED: Final[tuple[AcpPreset, ...]] = ("gemini", "opencode", "qwen")
"""The presets that are offered: Codex and Claude Code have runtimes of their own."""

_ONCE: Final = {"gemini": ("gemini",), "opencode": ("opencode", "run")}
"""How a program is run that reads its prompt on standard input and ends by itself: the way without
the extra for the protocol."""


async def detect_programs(base: Path) -> Sequence[DetectedProgram]:
    """Look for the programs that muster knows; `base` is the folder that settings are seen from."""
    found = [_claude(base), _codex(), *map(_acp, _OFFERED)]
    return await asyncio.gather(*(_with_version(each) for each in found))


def _claude(base: Path) -> DetectedProgram:
    try:
        program = str(installed_program(ClaudeSettings(), base))
    except MusterError as missing:
        return DetectedProgram(runtime=CLAUDE, label="Claude Code", remedy=str(missing))
    lacks = sign_in_of(CLAUDE_SIGNS, {}) == NOT_FOUND
    return DetectedProgram(
        runtime=CLAUDE,
        label="Claude Code",
        program=program,
        enforcement=CLAUDE_ENFORCEMENT,
        remedy=f"Run `claude` and sign in, or set {CLAUDE_SIGNS[0]}." if lacks else "",
        lacks_sign_in=lacks,
    )


def _codex() -> DetectedProgram:
    program = which(CODEX)
    return DetectedProgram(
        runtime=CODEX,
        label="Codex",
        program=program or "",
        enforcement=ENFORCEMENT,
        remedy="" if program else INSTALL,
    )


def _acp(name: AcpPreset) -> DetectedProgram:
    preset, has_extra = PRESETS[name], find_spec("acp") is not None
    program, once = which(preset.command[0]), _ONCE.get(name)
    remedy = "" if program else f"Install it: npm install -g {preset.package}"
    if program and not has_extra and once is not None:
        return DetectedProgram(runtime=COMMAND, label=preset.label, program=program, command=once)
    if program and not has_extra:
        remedy = str(MissingExtra(what=preset.label, extra="acp"))
    return DetectedProgram(
        runtime="acp",
        label=preset.label,
        program=program or "" if has_extra else "",
        preset=name,
        enforcement=preset.enforcement,
        remedy=remedy,
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
