"""Starts programs: pipes, a process group of their own, and no leftovers if starting fails."""

import os
import signal
import subprocess
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from muster.engine.fencing import always
from muster.runtimes.process import processes
from muster.runtimes.process.confined import NOT_CONFINED, ConfinedCommand
from muster.runtimes.process.marks import marking
from muster.runtimes.process.orphans import ORPHANS
from muster.runtimes.process.output import PipeReader
from muster.runtimes.process.stdin import StdinWriter


class SpawnedProgram(NamedTuple):
    """A program that has just been started, and muster's ends of its pipes."""

    process: subprocess.Popen[bytes]
    stdin: StdinWriter | None = None
    outputs: tuple[PipeReader, ...] = ()
    """Stdout and stderr; empty where the program inherits those of muster."""

    confinement: str = ""
    """How the kernel confines it, or why not."""

    is_confined: bool = False

    report: PipeReader | None = None
    """The report of its launcher; it ends when the program itself runs."""


@contextmanager
def spawned(
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: Path | None = None,
    stdin: int = subprocess.DEVNULL,
    has_piped_output: bool = True,
    confined: ConfinedCommand = NOT_CONFINED,
    may_start: Callable[[], None] = always,
) -> Generator[SpawnedProgram]:
    """Start a program in its own process group, for the body to take over.

    `env` names its session, whose mark it gets.

    `stdin` is a descriptor, `DEVNULL` or `PIPE`, as for `Popen`. `confined` says how the program is
    confined, and what it inherits for that. `may_start` is asked in the last moment: the order may
    have waited longer than the lease of this node. If the body fails, the program is killed and its
    pipes are closed.
    """
    with ExitStack() as ours, ExitStack() as theirs:
        writer = None
        if stdin == subprocess.PIPE:
            stdin, write_end = os.pipe()
            theirs.callback(os.close, stdin)
            writer = StdinWriter(write_end)
            ours.callback(writer.abandon)
        out, err = (
            (_reader(ours, theirs), _reader(ours, theirs)) if has_piped_output else (None, None)
        )
        with marking(env.get(processes.SESSION_VARIABLE)):
            may_start()
            process = subprocess.Popen(
                argv,
                cwd=cwd,
                env=env,
                stdin=stdin,
                stdout=None if out is None else out.write_end,
                stderr=None if err is None else err.write_end,
                pass_fds=confined.files,
                process_group=0,
            )
        ORPHANS.register(process.pid, env.get(processes.SESSION_VARIABLE, ""))
        ours.callback(_kill, process)
        theirs.close()  # the program has copies; with ours open, its pipes would never end
        report = None if confined.report is None else PipeReader(os.dup(confined.report))
        if report is not None:
            ours.callback(report.close)
        outputs = tuple(pipe.reader for pipe in (out, err) if pipe is not None)
        yield SpawnedProgram(
            process,
            writer,
            outputs,
            confinement=confined.sentence,
            is_confined=confined.is_confined,
            report=report,
        )
        ours.pop_all()


class _OutputPipe(NamedTuple):
    reader: PipeReader
    write_end: int


def _reader(ours: ExitStack, theirs: ExitStack) -> _OutputPipe:
    read_end, write_end = os.pipe()
    theirs.callback(os.close, write_end)
    reader = PipeReader(read_end)
    ours.callback(reader.close)
    return _OutputPipe(reader, write_end)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill and reap a program that nobody took over."""
    processes.signal_group(process.pid, signal.SIGKILL)
    process.wait()
    ORPHANS.release(process.pid)
