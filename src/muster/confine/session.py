"""MAIN's commands in a state machine session: confined to the outputs of its conversations.

The plan is made once for a session and kernel, and kept in the session's home, so that a hook only
reads its first lines. A file that the judge allows a line to write is added for that line alone.
"""

from __future__ import annotations

import os

from muster.confine import kernel
from muster.confine.git_trust import git_variables, install_git
from muster.confine.launching import launcher, quoted
from muster.confine.plan import head, plan_of
from muster.confine.policy import ConfinePolicy

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Sequence

FOLDER = ".muster/confine"
PLAN = "main.plan"
SCRATCH = "scratch"
PROGRAMS = "bin"

OUTPUTS_MAX = 3
"""The newest conversations whose outputs a line may write: parallel inputs are few."""

_NOT_CONFINED = "not-confined"
_BUBBLEWRAP = "bubblewrap"


class LineConfinement:
    """How a line of MAIN is confined in one session."""

    __slots__ = ("_bubblewrap", "_root")

    def __init__(self, root: str, bubblewrap: str = "") -> None:
        self._root = root
        self._bubblewrap = bubblewrap

    def wrapped(
        self,
        line: str,
        *,
        files: Sequence[str],
        folders: Sequence[str],
        network: bool,
        sockets: bool = False,
    ) -> str:
        """The line that runs a line confined."""
        outputs = newest_outputs(self._root)
        inner = ["bash", "-c", self._with_programs(line)]
        if self._bubblewrap:
            command = self._in_bubblewrap([*outputs, *_created(files)], network, inner)
        else:
            command = [*launcher(), f"{self._root}/{FOLDER}/{PLAN}"]
            command += ["--network"] if network else []
            command += ["--sockets"] if sockets else []
            for option, paths in (("folder", outputs), ("parent", folders), ("file", files)):
                for path in paths:
                    command += [f"--{option}", path]
            command += ["--", *inner]
        return " ".join(quoted(word) for word in command)

    def has_wrapped(self, line: str) -> bool:
        """Whether a line is one that runs another confined."""
        if self._bubblewrap:
            return line.startswith(f"{quoted(self._bubblewrap)} '--die-with-parent' '--ro-bind' ")
        start = [*launcher(), f"{self._root}/{FOLDER}/{PLAN}"]
        return line.startswith(" ".join(quoted(word) for word in start) + " ")

    def _with_programs(self, line: str) -> str:
        """A line whose PATH begins with the programs of the session.

        A colon would divide their folder into two, of which one could be a folder of the project.
        """
        programs = f"{self._root}/{FOLDER}/{PROGRAMS}"
        return line if ":" in programs else f"PATH={quoted(programs)}:$PATH; {line}"

    def _in_bubblewrap(self, write: list[str], network: bool, inner: list[str]) -> list[str]:
        from muster.confine import bubblewrap

        return bubblewrap.arguments(
            self._bubblewrap, _policy(self._root, tuple(write), network=network), inner
        )


def confinement(root: str) -> LineConfinement | None:
    """The confinement of a session's folder; None where the machine cannot confine."""
    path = f"{root}/{FOLDER}/{PLAN}"
    first, second = _read_head(path)
    if first != head():
        support = kernel.support()
        first, second = _make(root, path, support)
    if second.startswith(_NOT_CONFINED):
        return None
    way, _, program = second.partition(" ")
    return LineConfinement(root, program if way == _BUBBLEWRAP else "")


def newest_outputs(root: str) -> list[str]:
    """The outputs folders of the newest conversations."""
    try:
        names = [name for name in os.listdir(f"{root}/conversations") if name[:5] == "conv_"]  # noqa: PTH208
    except OSError:
        return []
    names.sort(key=lambda name: (len(name), name))
    found = [f"{root}/conversations/{name}/outputs" for name in names[-OUTPUTS_MAX:]]
    return [path for path in found if os.path.isdir(path)]  # noqa: PTH112


def _policy(root: str, write: tuple[str, ...] = (), *, network: bool = False) -> ConfinePolicy:
    scratch = f"{root}/{FOLDER}/{SCRATCH}"
    environment = {"TMPDIR": scratch, **git_variables()}
    return ConfinePolicy((scratch, *write), network=network, environment=environment)


def _make(root: str, path: str, support: kernel.Support) -> tuple[str, str]:
    os.makedirs(f"{root}/{FOLDER}/{SCRATCH}", exist_ok=True)  # noqa: PTH103
    install_git(f"{root}/{FOLDER}/{PROGRAMS}")
    if support.way == "landlock":
        text = plan_of(_policy(root), support)
    elif support.way == _BUBBLEWRAP:
        text = f"{head()}\n{_BUBBLEWRAP} {support.bubblewrap}\n"
    else:
        text = f"{head()}\n{_NOT_CONFINED} {support.why}\n"
    aside = f"{path}.{os.getpid()}"
    with open(aside, "w", encoding="ascii", errors="replace") as file:  # noqa: PTH123
        file.write(text)
    os.replace(aside, path)  # noqa: PTH105
    first, second, *_ = text.split("\n")
    return first, second


def _read_head(path: str) -> tuple[str, str]:
    try:
        with open(path, encoding="ascii") as file:  # noqa: PTH123
            return file.readline().rstrip("\n"), file.readline().rstrip("\n")
    except (OSError, ValueError):
        return "", ""


def _created(files: Sequence[str]) -> list[str]:
    for path in files:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o666))
    return list(files)
