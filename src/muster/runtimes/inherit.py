"""The runtime of `muster run`: a program that inherits muster's own terminal, pipe or file.

Its output is not read. All else is as with the `command` runtime: a process group of its own, an
escalating stop, and no process left behind.
"""

import os
import subprocess
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from muster.engine.ports import Launch, Leftover, SessionListener
from muster.errors import CannotStart
from muster.machines.vocabulary import RunMode
from muster.runtimes.command import CLEANUP_FLAG
from muster.runtimes.command_session import CommandSession
from muster.runtimes.process import processes
from muster.runtimes.process.group import StopSteps
from muster.runtimes.process.spawn import spawned
from muster.settings.programs import OUR_VARIABLES

STATE_FILE_VARIABLE: Final = "MUSTER_STATE_FILE"
MODE_VARIABLE: Final = "MUSTER_MODE"


class InheritingRuntime:
    """Starts one program, again and again, for one state file."""

    def __init__(
        self, command: Sequence[str], state_file: Path, prompt: Path | None, steps: StopSteps
    ) -> None:
        """The prompt is read anew by each session, on its stdin."""
        self._command = tuple(command)
        self._state_file = str(state_file)
        self._mark = str(state_file.resolve())
        """By this its processes are found again, whichever link led to the file."""

        self._prompt = prompt
        self._steps = steps

    @property
    def is_output_speech(self) -> bool:
        """Its output is not read."""
        return False

    @property
    def has_initial_prompt(self) -> bool:
        """Its user gives it a prompt of their own."""
        return False

    @property
    def confirms_prompts(self) -> bool:
        """There is nothing to confirm."""
        return False

    async def start(self, launch: Launch, listener: SessionListener) -> CommandSession:
        """Start the program and return when it runs."""
        argv = [*self._command]
        if launch.mode is RunMode.RUN_CLEANUP:
            argv.append(CLEANUP_FLAG)
        try:
            return self._start(argv, launch.mode, listener)
        except (OSError, ValueError) as error:
            raise CannotStart(
                program=argv[0],
                cwd=str(Path.cwd()),
                why=str(error),
                remedy="Correct what stands after -- on the command line.",
            ) from error

    async def reclaim(self, leftover: Leftover) -> str:
        """There is nothing to reclaim: this runtime has no memory but the file."""
        return "nothing was left"

    async def end_leftovers(self) -> str:
        """End whatever an earlier runner of this file has left running, and say which it was."""
        found = await processes.end(self._mark, None, seconds=self._steps.terminate_s)
        return ", ".join(f"process {each.pid}" for each in found)

    def _start(self, argv: list[str], mode: RunMode, listener: SessionListener) -> CommandSession:
        with ExitStack() as opened:
            stdin = subprocess.DEVNULL
            if self._prompt is not None:
                stdin = os.open(self._prompt, os.O_RDONLY | os.O_CLOEXEC)
                opened.callback(os.close, stdin)
            environment = self._environment(mode)
            with spawned(argv, env=environment, stdin=stdin, has_piped_output=False) as program:
                return CommandSession(program, self._mark, steps=self._steps, listener=listener)

    def _environment(self, mode: RunMode) -> dict[str, str]:
        """Muster's own environment, and the state file that the program runs for."""
        ours = {name: text for name, text in os.environ.items() if _is_theirs(name)}
        return ours | {
            STATE_FILE_VARIABLE: self._state_file,
            processes.SESSION_VARIABLE: self._mark,
            MODE_VARIABLE: str(mode),
        }


def _is_theirs(variable: str) -> bool:
    return not variable.startswith(OUR_VARIABLES)
