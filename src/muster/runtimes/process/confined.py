"""Confinement of sessions: the kernel enforces where the program of an agent may write.

`outputs` allows the outputs of the session and a scratch folder, `worktree` the working directory
too. The folders of muster itself (the team's home, a session's log and policy) are never writable:
a program that writes them could change its own confinement. Where the machine cannot confine, the
program runs, and the session says so.
"""

import errno
import os
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from shutil import which
from typing import Final, NamedTuple

from muster.confine import bubblewrap, kernel
from muster.confine.kernel import Support
from muster.confine.launching import launcher
from muster.confine.plan import plan_of
from muster.confine.policy import ConfinePolicy
from muster.engine.ports import Launch
from muster.settings.agents import AgentSettings, Confine

SCRATCH: Final = "scratch"
OUTPUTS: Final = "outputs"
WORKSPACE_VARIABLE: Final = "MUSTER_WORKSPACE"

_PLACES: Final = {"outputs": "its outputs", "worktree": "its working directory and its outputs"}


class WritablePaths(NamedTuple):
    """The paths of a session: what it may write, and what it may not in any case."""

    outputs: tuple[Path, ...] = ()
    """Folders and files that are the session's own; they exist."""

    workspace: Path | None = None
    """The folder for the outputs of a session that works on no task; it is made."""

    work: Path | None = None
    """The working directory, which `worktree` allows."""

    guarded: tuple[Path, ...] = ()
    """Folders in the working directory that stay read-only."""

    scratch: Path | None = None
    """The folder for temporary files."""

    sockets: bool = False
    """Whether Unix sockets may be made, which reach daemons outside of these paths."""

    ignore_metadata: bool = False
    """Whether the program is told that it set modes and times, where it may not."""


def working_directory(settings: AgentSettings, base: Path, launch: Launch) -> Path:
    """Where a session works: in its own worktree, else as its settings say, else where it is sent,
    else where the settings are.
    """
    if launch.worktree is not None:
        return launch.cwd or launch.worktree
    own = None if settings.cwd is None else base / settings.cwd
    return own or launch.cwd or base


def writable_paths(settings: AgentSettings, launch: Launch, base: Path) -> WritablePaths:
    """The paths of a session, by its agent's settings."""
    own = None if launch.folder is None or launch.outputs else launch.folder / OUTPUTS
    worktree = () if launch.worktree is None else (launch.worktree,)
    return WritablePaths(
        outputs=(*launch.outputs, *worktree),
        workspace=own,
        work=launch.worktree or base / (settings.cwd or ""),
        guarded=launch.guarded,
        scratch=None if launch.folder is None else launch.folder / SCRATCH,
        sockets=settings.sockets,
    )


class ConfinedCommand(NamedTuple):
    """A command line as it is started, and how it is confined."""

    argv: Sequence[str]
    is_confined: bool = False
    sentence: str = ""
    """How it is confined, or why it is not; empty where the settings ask for nothing."""

    files: tuple[int, ...] = ()
    """Descriptors that the command inherits."""

    report: int | None = None
    """The read end of a pipe in which its launcher says why it could not start the program."""


NOT_CONFINED: Final = ConfinedCommand(())
"""A program that is started as it is."""


@contextmanager
def confined(
    argv: Sequence[str],
    level: Confine,
    paths: WritablePaths,
    env: Mapping[str, str],
    cwd: Path,
    support: Support | None = None,
) -> Generator[ConfinedCommand]:
    """The command line that starts a program confined. Its descriptors are closed after the body.

    Raises what the start of the program would raise if it does not exist, and `ConfineError` if the
    policy cannot be enforced.
    """
    if level == "none":
        yield ConfinedCommand(argv)
        return
    found = support or _support()
    if found.way == "none":
        yield ConfinedCommand(argv, sentence=found.sentence)
        return
    _require_program(argv[0], cwd, env)
    policy, sentence = _policy(level, paths), f"writes only {_PLACES[level]}: {found.sentence}"
    if found.bubblewrap and not found.abi:
        wrapped = bubblewrap.arguments(found.bubblewrap, policy, argv)
        yield ConfinedCommand(wrapped, is_confined=True, sentence=sentence)
        return
    with ExitStack() as opened:
        plan = os.memfd_create("plan", os.MFD_CLOEXEC)
        opened.callback(os.close, plan)
        os.write(plan, plan_of(policy, found).encode("ascii"))
        line = [*launcher(), f"/proc/self/fd/{plan}", "--", *argv]
        yield ConfinedCommand(line, is_confined=True, sentence=sentence, files=(plan,))


@cache
def _support() -> Support:
    return kernel.support()


def _require_program(name: str, cwd: Path, env: Mapping[str, str]) -> None:
    """The launcher could only say in its output that there is no such program."""
    there = cwd / name if "/" in name else which(name, path=env.get("PATH"))
    if there is None or not os.access(there, os.F_OK):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
    if not os.access(there, os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), name)


def _policy(level: Confine, paths: WritablePaths) -> ConfinePolicy:
    write = [*paths.outputs]
    environment: dict[str, str] = {}
    for folder, variable in ((paths.workspace, WORKSPACE_VARIABLE), (paths.scratch, "TMPDIR")):
        if folder is not None:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            write.append(folder)
            environment[variable] = str(folder.absolute())
    if level == "worktree" and paths.work is not None:
        guarded = [path.resolve() for path in paths.guarded]
        write += _around(paths.work.resolve(), guarded)
    return ConfinePolicy(
        tuple(dict.fromkeys(str(path.absolute()) for path in write)),
        network=True,  # programs of agents talk to models
        sockets=paths.sockets,
        metadata=level == "worktree",  # building and version control set modes and times
        ignore_metadata=paths.ignore_metadata,
        environment=environment,
    )


def _around(folder: Path, guarded: Sequence[Path]) -> Iterator[Path]:
    """The folder, or everything in it apart from the guarded folders, if it has such.

    A rule of Landlock holds for all below a folder, so a folder around a guarded one has none. New
    files cannot be made directly in it.
    """
    if folder in guarded:
        return
    if not any(folder in path.parents for path in guarded):
        yield folder
        return
    for entry in sorted(folder.iterdir()):
        if not entry.is_symlink():  # it may lead out of the folder
            yield from _around(entry, guarded)
