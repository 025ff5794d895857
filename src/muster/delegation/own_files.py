"""The session's own files, which its states may write without a question to the user.

Claude Code takes everything in `.claude` for sensitive and asks about each write there, in every
permission mode. The default folder of a session is in `.claude`, so a write into the outputs of a
conversation is answered here, and so is an agent's write into its dialogue. Everything else is the
user's to decide.
"""

from collections.abc import Mapping
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
    root: Path, tool: str, given: Mapping[str, object], cwd: Path, *, by_agent: bool
) -> bool:
    """Whether a tool call only writes files of the session that its caller may write."""
    if tool == "Bash":
        command = given.get("command")
        return isinstance(command, str) and _line_is_own(root, command, cwd, by_agent=by_agent)
    path = given.get(_WRITERS.get(tool, ""))
    return isinstance(path, str) and _path_is_own(root, path, cwd, by_agent=by_agent)


def _path_is_own(root: Path, path: str, cwd: Path, *, by_agent: bool) -> bool:
    try:
        real, base = (cwd / path).resolve(), (root / CONVERSATIONS).resolve()
        inside = real.relative_to(base).parts
    except (OSError, ValueError, RuntimeError):
        return False
    if len(inside) >= 3 and inside[1] == "outputs":
        return True
    return by_agent and len(inside) == 2 and inside[1] == "dialogue.md"


def _line_is_own(root: Path, command: str, cwd: Path, *, by_agent: bool) -> bool:
    """A line of MAIN that runs confined, or one of an agent that reads, and writes own files."""
    if not by_agent:
        confined = confinement(str(root))
        return confined is not None and confined.has_wrapped(command)
    scene = acts_of(command, str(cwd))
    for act in scene.acts:
        if act.kind == "doubt" or (act.kind == "execute" and act.about not in LOOKING):
            return False
        if act.kind in ("write", "folder"):
            word = act.word
            if word is None or not word.plain or not scene.folders:
                return False
            for folder in scene.folders:
                if not _path_is_own(root, word.text, Path(folder), by_agent=True):
                    return False
    return True


def writes(tool: str, given: Mapping[str, object], cwd: Path) -> bool:
    """Whether a tool call writes a file, or may do so."""
    if tool != "Bash":
        return tool in _WRITERS
    scene = acts_of(str(given.get("command")), str(cwd))
    return any(act.kind in ("write", "folder", "doubt") for act in scene.acts)
