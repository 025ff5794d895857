"""The folders in which an agent's edits are its own affair, as far as settings allow them."""

from pathlib import Path
from typing import NamedTuple


class WritableRoots(NamedTuple):
    """The working directory and the outputs of an agent."""

    cwd: Path
    outputs: tuple[Path, ...] = ()
    guarded: tuple[Path, ...] = ()
    """Folders in the working directory that are never written."""

    def has(self, path: str) -> bool:
        """Whether a file is in one of the folders, wherever links lead."""
        real = (self.cwd / path).resolve()
        if any(_is_in(real, each) for each in self.outputs):
            return True
        # A worktree of muster is in the home, which is guarded as a whole.
        guarded = (each for each in self.guarded if not _is_in(self.cwd.resolve(), each))
        return _is_in(real, self.cwd) and not any(_is_in(real, each) for each in guarded)


def _is_in(real: Path, folder: Path) -> bool:
    root = folder.resolve()
    return real != root and real.is_relative_to(root)
