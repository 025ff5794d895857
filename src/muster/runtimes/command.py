"""The `command` runtime: a session is any program, started as `muster.toml` says."""

import asyncio
import errno
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from shutil import which
from typing import Final

from msgspec.structs import replace

from muster.engine.ports import Launch, Leftover, SessionListener
from muster.errors import CannotStart
from muster.machines.vocabulary import RunMode
from muster.runtimes.bounded import bounded, env_file_variables, output_file_of
from muster.runtimes.command_session import CommandSession
from muster.runtimes.isolated import isolation_trouble, level_of, passed_environment
from muster.runtimes.lines.desk import RequestDesk
from muster.runtimes.lines.types import LINES_VARIABLE, LINES_VERSION
from muster.runtimes.once.presets import ONCE, PROMPT_FILE_ARGUMENT
from muster.runtimes.process import processes
from muster.runtimes.process.cgroups import OwnCgroups, own_cgroups
from muster.runtimes.process.confined import working_directory, writable_paths
from muster.runtimes.process.group import StopSteps
from muster.runtimes.process.listener import SerialListener
from muster.runtimes.process.stdin import StdinWriter, prompt_line
from muster.settings.agents import AgentSettings
from muster.settings.env_file import EnvFileError

CLEANUP_FLAG: Final = "--cleanup-session"
PROMPT_FILE: Final = "prompt.md"
PROMPT_VARIABLE: Final = "MUSTER_PROMPT_FILE"


class CommandRuntime:
    """Starts the program of one agent."""

    def __init__(
        self,
        settings: AgentSettings,
        base: Path,
        own_cgroups: OwnCgroups = own_cgroups,
        *,
        home: Path | None = None,
    ) -> None:
        """`base` is the folder that the settings are seen from, `home` the one that has them."""
        self._own_cgroups = own_cgroups
        self._settings = settings
        self._base = base.absolute()
        self._guarded = () if home is None else (home,)
        self._steps = StopSteps(
            interrupt_s=settings.interrupt_seconds,
            terminate_s=settings.terminate_seconds,
            first=signal.Signals[settings.stop_signal],
        )

    @property
    def is_output_speech(self) -> bool:
        """Whether the program's output is its agent's speech."""
        return self._settings.speaks == "output"

    @property
    def has_initial_prompt(self) -> bool:
        """Whether the program gets a prompt when it starts."""
        return self._settings.prompt != "none"

    @property
    def confirms_prompts(self) -> bool:
        """A program does not say which prompts it has read."""
        return False

    async def start(self, launch: Launch, listener: SessionListener) -> CommandSession:
        """Start the program and return when it runs."""
        argv = [*self._settings.command]
        if launch.mode is RunMode.RUN_CLEANUP:
            argv.append(CLEANUP_FLAG)
        try:
            variables = await env_file_variables(self._settings, self._base)
            await asyncio.to_thread(isolation_trouble, level_of(self._settings))
            launch = replace(launch, guarded=(*self._guarded, *launch.guarded))
            return await self._start(argv, launch, listener, variables).launched()
        except EnvFileError as wrong:
            raise self._cannot(launch, str(wrong), wrong.remedy) from wrong
        except (OSError, ValueError) as error:
            raise self._cannot(launch, *self._why(error, self._cwd(launch))) from error

    def _cwd(self, launch: Launch) -> Path:
        return working_directory(self._settings, self._base, launch)

    async def reclaim(self, leftover: Leftover) -> str:
        """End what is left of a session; never another process that has its number by now."""
        pid, started = leftover.pid, leftover.started
        same = pid is not None and started is not None and processes.start_time(pid) == started
        found = await processes.end(
            leftover.session,
            pid if same else None,
            seconds=self._settings.terminate_seconds,
            spared=() if same or pid is None else (pid,),
        )
        return _what_was_found([process.pid for process in found], pid)

    def _start(
        self,
        argv: list[str],
        launch: Launch,
        listener: SessionListener,
        variables: Mapping[str, str],
    ) -> CommandSession:
        settings = self._settings
        has_stdin = settings.reads_lines or (settings.prompt == "stdin" and launch.prompt)
        env, cwd = self._environment(launch, variables), self._cwd(launch)
        argv = [env[PROMPT_VARIABLE] if each == PROMPT_FILE_ARGUMENT else each for each in argv]
        with bounded(
            argv,
            settings,
            launch,
            env=env,
            cwd=cwd,
            writable=writable_paths(settings, launch, self._base),
            stdin=subprocess.PIPE if has_stdin else subprocess.DEVNULL,
            own_cgroups=self._own_cgroups,
        ) as (program, limits):
            if program.stdin is not None:
                self._write_first_prompt(program.stdin, launch)
            return CommandSession(
                program,
                launch.session,
                steps=self._steps,
                listener=listener,
                long_lived=settings.long_lived,
                file=output_file_of(settings, launch.folder),
                limits=limits,
                dialect=ONCE[settings.preset].dialect if settings.preset else None,
                turns=launch.turns,
                desk=RequestDesk(
                    SerialListener(listener),
                    cwd,
                    confined=(settings.confine or "none") != "none",
                    answers=settings.reads_lines,
                ),
            )

    # ── what it is given ──────────────────────────────────────────────────────────────────────────

    def _environment(self, launch: Launch, variables: Mapping[str, str]) -> dict[str, str]:
        """Muster's environment without its own variables, the file's, the settings', the session's.

        Each goes before those that it follows.
        """
        environment = passed_environment(self._settings)
        environment |= variables
        environment |= self._settings.env
        environment |= launch.environment
        environment[processes.SESSION_VARIABLE] = launch.session
        environment[LINES_VARIABLE] = str(LINES_VERSION)
        if self._settings.prompt == "file":
            environment[PROMPT_VARIABLE] = self._prompt_file(launch)
        return environment

    def _prompt_file(self, launch: Launch) -> str:
        if launch.folder is None:
            raise ValueError("it has no folder for its prompt")
        try:
            return _write_prompt(launch.folder, launch.prompt)
        except OSError as error:
            why = f"its prompt cannot be written in {launch.folder} ({error.strerror})"
            remedy = "Make room for it, or give it its prompt on stdin."
            raise self._cannot(launch, why, remedy) from error

    def _write_first_prompt(self, stdin: StdinWriter, launch: Launch) -> None:
        """Write the prompt; the stdin of a program that reads lines stays open for more."""
        reads_lines, prompt = self._settings.reads_lines, launch.prompt
        if self._settings.prompt in ("stdin", "lines") and prompt:
            line = prompt_line(prompt, launch.turns)
            stdin.write(line if reads_lines else prompt.encode("utf-8", "replace"))
        if not reads_lines:
            stdin.close()

    # ── what can be wrong ─────────────────────────────────────────────────────────────────────────

    def _cannot(self, launch: Launch, why: str, remedy: str) -> CannotStart:
        program = self._settings.command[0]
        return CannotStart(program=program, cwd=str(self._cwd(launch)), why=why, remedy=remedy)

    def _why(self, error: OSError | ValueError, cwd: Path) -> tuple[str, str]:
        """The reason why a program did not start, and the remedy."""
        if not cwd.is_dir():
            return "there is no such folder", "Make it, or set cwd to another."
        if not isinstance(error, OSError):
            return str(error), "Take that out of its command, its environment or its settings."
        why = error.strerror or str(error)
        if error.filename == str(cwd):
            return f"it may not work there ({why})", "Open the folder to it, or set cwd to another."
        if error.errno == errno.ENOENT and _is_there(self._settings.command[0], cwd):
            missing = "the interpreter that its first line names is missing"
            return missing, "Install that, or correct the line."
        return why[:1].lower() + why[1:], _REMEDIES.get(error.errno or 0, _RETRY)


def _is_there(program: str, cwd: Path) -> bool:
    return (cwd / program).exists() if "/" in program else which(program) is not None


_REMEDIES: Final[Mapping[int, str]] = {
    errno.ENOENT: "Install it, or correct the agent's command in muster.toml.",
    errno.ENOTDIR: "Correct the agent's command in muster.toml.",
    errno.EACCES: "Make it executable (chmod +x), or correct the agent's command in muster.toml.",
    errno.ENOEXEC: "It needs a first line such as #!/bin/sh, or a program before it in command.",
    errno.E2BIG: "Its arguments and environment are too long: hand them over in a file.",
}
_RETRY: Final = "Try again when that has passed."


def _write_prompt(folder: Path, prompt: str) -> str:
    """Write the prompt into a file that nobody else can read."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = (folder / PROMPT_FILE).absolute()
    path.unlink(missing_ok=True)
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(file, "w", encoding="utf-8", errors="replace") as opened:
        opened.write(prompt)
    return str(path)


def _what_was_found(pids: Sequence[int], pid: int | None) -> str:
    """A sentence about the processes that were left, with the program itself first."""
    if not pids:
        return "nothing was left"
    first = pid if pid in pids else pids[0]
    return f"ended process {first}" + (f" and {len(pids) - 1} more" if len(pids) > 1 else "")
