"""The session's own files, which its states may write without a question to the user.

Claude Code takes everything in `.claude` for sensitive and asks about each write there, in every
permission mode. The default folder of a session is in `.claude`, so a write into the outputs of a
conversation is answered here, and so is an agent's write into its dialogue. Everything else is the
user's to decide.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from muster.confine.session import confinement
from muster.delegation.folder.workspace import CONVERSATIONS
from muster.permissions.commands import acts_of
from muster.permissions.programs.catalogue import LOOKING

_WRITERS: Final = {
    "Write": "file_path",
    "Edit": "file_path",
    "MultiEdit": "file_path",
    "NotebookEdit": "notebook_path",
}


def is_own(
    root: Path,
    tool: str,
    given: Mapping[str, object],
    cwd: Path,
    *,
    by_agent: bool,
    worktree: Path | None = None,
) -> bool:
    """Whether a tool call only writes files of the session that its caller may write.

    With `worktree`, these are also the files of a git worktree that is the task's own.
    """

    def is_own_path(path: str, folder: Path) -> bool:
        in_worktree = worktree is not None and _is_in_worktree(worktree, path, folder)
        return in_worktree or _path_is_own(root, path, folder, by_agent=by_agent)

    if tool != "Bash":
        path = given.get(_WRITERS.get(tool, ""))
        return isinstance(path, str) and is_own_path(path, cwd)
    command = given.get("command")
    if not isinstance(command, str):
        return False
    return _line_is_own(command, cwd, is_own_path) if by_agent else _is_confined(root, command)


def _is_in_worktree(worktree: Path, path: str, cwd: Path) -> bool:
    """Whether a path is in a worktree, wherever links lead; git's own file in it is not."""
    try:
        inside = (cwd / path).resolve().relative_to(worktree.resolve()).parts
    except (OSError, ValueError, RuntimeError):
        return False
    return bool(inside) and inside[0] != ".git"


def _path_is_own(root: Path, path: str, cwd: Path, *, by_agent: bool) -> bool:
    try:
        real, base = (cwd / path).resolve(), (root / CONVERSATIONS).resolve()
        inside = real.relative_to(base).parts
    except (OSError, ValueError, RuntimeError):
        return False
    if len(inside) >= 3 and inside[1] == "outputs":
        return True
    return by_agent and len(inside) == 2 and inside[1] == "dialogue.md"


def _is_confined(root: Path, command: str) -> bool:
    """Whether a line of MAIN runs confined."""
    confined = confinement(str(root))
    return confined is not None and confined.has_wrapped(command)


def _line_is_own(command: str, cwd: Path, is_own_path: Callable[[str, Path], bool]) -> bool:
    """Whether a line of an agent only reads, and writes own files."""
    scene = acts_of(command, str(cwd))
    for act in scene.acts:
        if act.kind == "doubt" or (act.kind == "execute" and act.about not in LOOKING):
            return False
        if act.kind in ("write", "folder"):
            word = act.word
            if word is None or not word.plain or not scene.folders:
                return False
            if not all(is_own_path(word.text, Path(folder)) for folder in scene.folders):
                return False
    return True


def writes(tool: str, given: Mapping[str, object], cwd: Path) -> bool:
    """Whether a tool call writes a file, or may do so."""
    if tool != "Bash":
        return tool in _WRITERS
    scene = acts_of(str(given.get("command")), str(cwd))
    return any(act.kind in ("write", "folder", "doubt") for act in scene.acts)
