"""The `command` runtime: a session is any program, started as `muster.toml` says."""

import errno
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from shutil import which
from typing import Final, NamedTuple

from muster.engine.ports import Ear, Launch, Leftover
from muster.errors import CannotStart
from muster.machines.vocabulary import RunMode
from muster.runtimes.process import processes
from muster.runtimes.process.group import Patience
from muster.runtimes.process.output import Tap
from muster.runtimes.process.output_file import OutputFile
from muster.runtimes.process.session import CommandSession
from muster.runtimes.process.stdin import Stdin, prompt_line
from muster.settings.agents import OUR_VARIABLES, AgentSettings

CLEANUP_FLAG: Final = "--cleanup-session"
PROMPT_FILE: Final = "prompt.md"
PROMPT_VARIABLE: Final = "MUSTER_PROMPT_FILE"


class CommandRuntime:
    """Starts the program of one agent."""

    def __init__(self, settings: AgentSettings, base: Path) -> None:
        """`base` is the folder that the settings are seen from."""
        self._settings = settings
        self._base = base.absolute()
        self._patience = Patience(
            interrupt_s=settings.interrupt_seconds, terminate_s=settings.terminate_seconds
        )

    @property
    def speaks(self) -> bool:
        """Whether what the program prints is what its agent says."""
        return self._settings.speaks == "output"

    @property
    def hears(self) -> bool:
        """Whether the program gets a prompt when it starts."""
        return self._settings.prompt != "none"

    async def start(self, launch: Launch, ear: Ear) -> CommandSession:
        """Start the program and return when it runs."""
        argv = [*self._settings.command]
        if launch.mode is RunMode.RUN_CLEANUP:
            argv.append(CLEANUP_FLAG)
        try:
            return self._start(argv, launch, ear)
        except (OSError, ValueError) as error:
            raise self._cannot(launch, *self._why(error, self._cwd(launch))) from error

    def _cwd(self, launch: Launch) -> Path:
        """Where it works: as its settings say, else where it is sent, else where they are."""
        if self._settings.cwd is None and launch.cwd is not None:
            return launch.cwd
        return self._base / (self._settings.cwd or "")

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

    def _start(self, argv: list[str], launch: Launch, ear: Ear) -> CommandSession:
        """Start it. If that fails half-way, nothing of it stays."""
        with ExitStack() as ours, ExitStack() as theirs:
            environment = self._environment(launch)
            out, err = _reading_pipe(ours, theirs), _reading_pipe(ours, theirs)
            stdin = self._stdin_pipe(launch, ours, theirs)
            program = subprocess.Popen(
                argv,
                cwd=self._cwd(launch),
                env=environment,
                stdin=subprocess.DEVNULL if stdin is None else stdin.theirs,
                stdout=out.theirs,
                stderr=err.theirs,
                process_group=0,
            )
            ours.callback(_undo, program)
            session = CommandSession(
                program,
                launch.session,
                taps=(Tap(out.ours), Tap(err.ours)),
                stdin=None if stdin is None else self._fed(Stdin(stdin.ours), launch.prompt),
                long_lived=self._settings.long_lived,
                patience=self._patience,
                ear=ear,
                file=self._output_file(launch.folder),
            )
            ours.pop_all()
        return session

    # ── what it is given ──────────────────────────────────────────────────────────────────────────

    def _environment(self, launch: Launch) -> dict[str, str]:
        """What muster itself has without what is muster's, what the settings add, and who it is."""
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith(OUR_VARIABLES)
        }
        environment |= self._settings.env
        environment |= launch.environment
        environment[processes.SESSION_VARIABLE] = launch.session
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

    def _stdin_pipe(self, launch: Launch, ours: ExitStack, theirs: ExitStack) -> "_Pipe | None":
        """A pipe where it is told something; otherwise it finds its stdin empty."""
        if self._settings.long_lived or (self._settings.prompt == "stdin" and launch.prompt):
            return _writing_pipe(ours, theirs)
        return None

    def _fed(self, stdin: Stdin, prompt: str) -> Stdin:
        """Hand it its prompt; one that lives on will be told more."""
        if self._settings.prompt == "stdin" and prompt:
            lives_on = self._settings.long_lived
            stdin.write(prompt_line(prompt) if lives_on else prompt.encode("utf-8", "replace"))
        if not self._settings.long_lived:
            stdin.close()
        return stdin

    def _output_file(self, folder: Path | None) -> OutputFile | None:
        return None if folder is None else OutputFile(folder, kept=self._settings.output_files)

    # ── what can be wrong ─────────────────────────────────────────────────────────────────────────

    def _cannot(self, launch: Launch, why: str, remedy: str) -> CannotStart:
        program = self._settings.command[0]
        return CannotStart(program=program, cwd=str(self._cwd(launch)), why=why, remedy=remedy)

    def _why(self, error: OSError | ValueError, cwd: Path) -> tuple[str, str]:
        """What is wrong, and what to do about it."""
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


class _Pipe(NamedTuple):
    ours: int
    theirs: int


def _reading_pipe(ours: ExitStack, theirs: ExitStack) -> _Pipe:
    return _owned(_Pipe(*os.pipe()), ours, theirs)


def _writing_pipe(ours: ExitStack, theirs: ExitStack) -> _Pipe:
    return _owned(_Pipe(*reversed(os.pipe())), ours, theirs)


def _owned(pipe: _Pipe, ours: ExitStack, theirs: ExitStack) -> _Pipe:
    ours.callback(os.close, pipe.ours)
    theirs.callback(os.close, pipe.theirs)
    return pipe


def _write_prompt(folder: Path, prompt: str) -> str:
    """Write the prompt into a file that nobody else can read."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = (folder / PROMPT_FILE).absolute()
    path.unlink(missing_ok=True)
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(file, "w", encoding="utf-8", errors="replace") as opened:
        opened.write(prompt)
    return str(path)


def _undo(program: subprocess.Popen[bytes]) -> None:
    """End a program that was started for nothing."""
    processes.signal_group(program.pid, signal.SIGKILL)
    program.wait()


def _what_was_found(pids: Sequence[int], pid: int | None) -> str:
    """What was left of a session, the program itself first where it was among it."""
    if not pids:
        return "nothing was left"
    first = pid if pid in pids else pids[0]
    return f"ended process {first}" + (f" and {len(pids) - 1} more" if len(pids) > 1 else "")
