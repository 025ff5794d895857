"""Starts the program of an agent within its bounds: what it may write, see and use.

Every runtime that runs a program starts it here, so no kind of agent escapes a bound.
"""

import asyncio
import subprocess
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from muster.engine.ports import Launch
from muster.runtimes.isolated import isolated
from muster.runtimes.process.cgroups import OwnCgroups, own_cgroups
from muster.runtimes.process.confined import WritablePaths, confined
from muster.runtimes.process.limited import AppliedLimits, limited
from muster.runtimes.process.output_file import OutputFile
from muster.runtimes.process.resources import MIB, Limits
from muster.runtimes.process.spawn import SpawnedProgram, spawned
from muster.settings.agents import AgentSettings
from muster.settings.env_file import read_env_file


class BoundedProgram(NamedTuple):
    """A running program, and the limits that hold for it."""

    program: SpawnedProgram
    limits: AppliedLimits | None


@contextmanager
def bounded(
    argv: Sequence[str],
    settings: AgentSettings,
    launch: Launch,
    *,
    env: Mapping[str, str],
    cwd: Path,
    writable: WritablePaths,
    stdin: int = subprocess.PIPE,
    own_cgroups: OwnCgroups = own_cgroups,
) -> Generator[BoundedProgram]:
    """Start a program, for the body to take over. If the body fails, nothing is left of it.

    The order counts: isolation hides files from the launcher of the confinement too, and limits
    hold for every process that either of them starts.
    """
    with (
        confined(argv, settings.confine or "none", writable, env, cwd) as shut_in,
        isolated(shut_in, settings, launch, cwd) as apart,
        limited(limits_of(settings), launch.session, apart.argv, env, cwd, own_cgroups) as (
            line,
            applied,
        ),
        spawned(
            line, env=env, cwd=cwd, stdin=stdin, confined=apart, may_start=launch.may_start
        ) as program,
    ):
        yield BoundedProgram(program, applied)


def limits_of(settings: AgentSettings) -> Limits:
    """The limits of an agent's sessions."""
    return Limits(*(getattr(settings, name) for name in Limits._fields))


def output_file_of(settings: AgentSettings, folder: Path | None) -> OutputFile | None:
    """The file for an agent's output in its folder; None where it has no folder."""
    if folder is None:
        return None
    return OutputFile(
        folder,
        kept=settings.output_files,
        bytes_max=settings.output_file_mb * MIB,
        days=settings.output_days,
    )


async def env_file_variables(settings: AgentSettings, base: Path) -> Mapping[str, str]:
    """The variables of the agent's environment file, as it is now. Raises `EnvFileError`."""
    if settings.env_file is None:
        return {}
    # In a thread: the file may be on a disk that does not answer.
    return await asyncio.to_thread(read_env_file, base / settings.env_file)
