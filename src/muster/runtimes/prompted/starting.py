"""Starts the program of a prompted session: its environment, its confinement, its pipes."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

from muster.engine.ports import Launch, SessionListener
from muster.errors import CannotStart
from muster.runtimes.bounded import bounded, env_file_variables, output_file_of
from muster.runtimes.isolated import isolation_trouble, level_of, passed_environment
from muster.runtimes.process import processes
from muster.runtimes.process.confined import working_directory, writable_paths
from muster.runtimes.process.group import StopSteps
from muster.runtimes.process.limited import AppliedLimits
from muster.runtimes.process.listener import SerialListener
from muster.runtimes.process.pipes import STDERR, OutputBudget, OutputStream
from muster.runtimes.process.spawn import SpawnedProgram
from muster.runtimes.prompted.json_lines import JsonLines
from muster.runtimes.prompted.private_folder import PrivateFolder, make_private
from muster.runtimes.prompted.reader import WorkReader
from muster.runtimes.prompted.session import NotUp, PromptedSession, SessionParts
from muster.settings.agents import AgentSettings
from muster.settings.env_file import EnvFileError

S = TypeVar("S", bound=PromptedSession)


class AgentProgram(NamedTuple):
    """How the program of an agent is started."""

    label: str
    argv: Sequence[str]
    variables: Mapping[str, str] = {}
    """Variables that the program needs; the agent's settings win over them."""

    own_paths: Sequence[str] = ()
    """Folders that the program itself writes, relative to HOME: made and writable if confined."""

    private: PrivateFolder | None = None
    """How the program is given a folder of its own instead of them, where it can be."""

    sets_modes: bool = False
    """Whether it does not start where it may not set the modes of its own files."""

    remedy: str = "Correct that in the agent's table in muster.toml."


async def started(
    settings: AgentSettings,
    base: Path,
    launch: Launch,
    listener: SessionListener,
    program: AgentProgram,
    take_over: Callable[[SessionParts], S],
) -> S:
    """Start the program, and return when it is up and has its prompt. Raises `CannotStart`."""
    cwd = working_directory(settings, base, launch)
    try:
        variables = _environment(
            program.variables, await env_file_variables(settings, base), settings, launch
        )
        await asyncio.to_thread(isolation_trouble, level_of(settings))
        session = _begin(settings, base, launch, listener, program, variables, cwd, take_over)
        await session.launched()
    except EnvFileError as wrong:
        raise _cannot(program, cwd, str(wrong), wrong.remedy) from wrong
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise _cannot(program, cwd, why) from error
    try:
        await session.connect(launch.prompt, idle=launch.idle)
    except NotUp as error:
        await session.undo()
        raise _cannot(program, cwd, str(error)) from error
    except BaseException:  # whoever wanted it does not want it any more
        await asyncio.shield(session.undo())
        raise
    return session


def _environment(
    needed: Mapping[str, str],
    variables: Mapping[str, str],
    settings: AgentSettings,
    launch: Launch,
) -> dict[str, str]:
    """Muster's environment without its own variables, the file's, the settings', the session's."""
    return {
        **passed_environment(settings),
        **needed,
        **variables,
        **settings.env,
        **launch.environment,
        processes.SESSION_VARIABLE: launch.session,
    }


def _begin(
    settings: AgentSettings,
    base: Path,
    launch: Launch,
    listener: SessionListener,
    program: AgentProgram,
    variables: dict[str, str],
    cwd: Path,
    take_over: Callable[[SessionParts], S],
) -> S:
    writable = writable_paths(settings, launch, base)
    if (settings.confine or "none") != "none":
        own = _own_paths(program, variables, launch.folder)
        writable = writable._replace(
            outputs=(*writable.outputs, *own), ignore_metadata=program.sets_modes
        )
    with bounded(program.argv, settings, launch, env=variables, cwd=cwd, writable=writable) as (
        child,
        applied,
    ):
        return take_over(_parts(settings, launch, listener, program, cwd, child, applied))


def _parts(
    settings: AgentSettings,
    launch: Launch,
    listener: SessionListener,
    program: AgentProgram,
    cwd: Path,
    child: SpawnedProgram,
    applied: AppliedLimits | None,
) -> SessionParts:
    assert child.stdin is not None
    now = asyncio.get_running_loop().time
    budget = OutputBudget(now())
    return SessionParts(
        child,
        launch.session,
        JsonLines(child.stdin, child.outputs[0], program.label),
        WorkReader(budget, now),
        OutputStream(STDERR, budget),
        StopSteps(interrupt_s=settings.interrupt_seconds, terminate_s=settings.terminate_seconds),
        SerialListener(listener),
        cwd,
        output_file_of(settings, launch.folder),
        launch.folder,
        applied,
    )


def _own_paths(program: AgentProgram, variables: dict[str, str], folder: Path | None) -> list[Path]:
    """The folders that a confined program itself writes: private ones, where it can be told so."""
    if program.private is None or folder is None:
        return _made(program.own_paths, variables)
    return make_private(program.private, variables, folder)


def _made(folders: Sequence[str], variables: Mapping[str, str]) -> list[Path]:
    home = Path(variables.get("HOME") or Path.home())
    made = [home / each for each in folders]
    for folder in made:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return made


def _cannot(program: AgentProgram, cwd: Path, why: str, remedy: str = "") -> CannotStart:
    if not cwd.is_dir():
        why, remedy = "there is no such folder", "Make it, or set cwd to another."
    return CannotStart(
        program=program.argv[0], cwd=str(cwd), why=why, remedy=remedy or program.remedy
    )
