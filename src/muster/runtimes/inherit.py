"""The runtime of `muster run`: a program that keeps the terminal, pipe or file that muster has.

What it prints is nobody's business but its reader's. All else is as with the `command` runtime: a
process group of its own, asked harder each time it is to stop now, and nobody left behind.
"""

import os
import subprocess
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from muster.engine.ports import Ear, Launch, Leftover
from muster.errors import CannotStart
from muster.machines.vocabulary import RunMode
from muster.runtimes.command import CLEANUP_FLAG
from muster.runtimes.process import processes
from muster.runtimes.process.group import Patience
from muster.runtimes.process.output import Tap
from muster.runtimes.process.session import CommandSession
from muster.settings.agents import OUR_VARIABLES

STATE_FILE_VARIABLE: Final = "MUSTER_STATE_FILE"
MODE_VARIABLE: Final = "MUSTER_MODE"


class InheritingRuntime:
    """Starts one program, again and again, for one state file."""

    def __init__(
        self, command: Sequence[str], state_file: Path, prompt: Path | None, patience: Patience
    ) -> None:
        """The prompt is read anew by each session, on its stdin."""
        self._command = tuple(command)
        self._state_file = str(state_file)
        self._mark = str(state_file.resolve())
        """By this its processes are found again, whichever link led to the file."""

        self._prompt = prompt
        self._patience = patience

    @property
    def speaks(self) -> bool:
        """What it prints is not heard, so it says nothing by that."""
        return False

    @property
    def hears(self) -> bool:
        """Its prompt is its user's own."""
        return False

    async def start(self, launch: Launch, ear: Ear) -> CommandSession:
        """Start the program and return when it runs."""
        argv = [*self._command]
        if launch.mode is RunMode.RUN_CLEANUP:
            argv.append(CLEANUP_FLAG)
        try:
            return self._start(argv, launch.mode, ear)
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
        found = await processes.end(self._mark, None, seconds=self._patience.terminate_s)
        return ", ".join(f"process {each.pid}" for each in found)

    def _start(self, argv: list[str], mode: RunMode, ear: Ear) -> CommandSession:
        with ExitStack() as opened:
            stdin = subprocess.DEVNULL
            if self._prompt is not None:
                stdin = os.open(self._prompt, os.O_RDONLY | os.O_CLOEXEC)
                opened.callback(os.close, stdin)
            program = subprocess.Popen(
                argv, env=self._environment(mode), stdin=stdin, process_group=0
            )
        return CommandSession(
            program,
            self._mark,
            taps=(_silence(), _silence()),
            stdin=None,
            long_lived=False,
            patience=self._patience,
            ear=ear,
            file=None,
        )

    def _environment(self, mode: RunMode) -> dict[str, str]:
        """What we have ourselves, and for which file it runs."""
        ours = {name: text for name, text in os.environ.items() if _is_theirs(name)}
        return ours | {
            STATE_FILE_VARIABLE: self._state_file,
            processes.SESSION_VARIABLE: self._mark,
            MODE_VARIABLE: str(mode),
        }


def _is_theirs(variable: str) -> bool:
    return not variable.startswith(OUR_VARIABLES)


def _silence() -> Tap:
    """A pipe in which nothing ever comes."""
    reading, writing = os.pipe()
    os.close(writing)
    return Tap(reading)
