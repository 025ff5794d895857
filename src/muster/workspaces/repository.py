"""The git repository that a folder belongs to."""

import os
from pathlib import Path
from typing import Final, NamedTuple

from muster.workspaces.git import Git

SHARED: Final = 'or set workspace = "shared".'


class NoRepositoryError(Exception):
    """A folder has no repository in which a worktree can be made; the message says why."""

    def __init__(self, why: str, remedy: str) -> None:
        """Keep the reason and the remedy."""
        super().__init__(why)
        self.remedy = remedy


class Repository(NamedTuple):
    """The work tree that a folder is in."""

    top: Path
    """The folder of the work tree."""

    inside: Path
    """The path of the folder in it."""

    commit: str
    branch: str
    """The branch that is checked out; empty for a detached HEAD."""

    @property
    def git(self) -> Git:
        """Git in the work tree."""
        return Git(self.top)


def find_repository(folder: Path) -> Repository:
    """The repository of a folder; raises `NoRepositoryError` where no worktree can be made."""
    git = Git(folder)
    found = git.run("rev-parse", "--show-toplevel", "--is-inside-work-tree")
    if found.code or not found.text:
        init = f"Run `git init` and commit there, {SHARED}"
        raise NoRepositoryError("it is in no git work tree", init)
    top = Path(found.text.rpartition("\n")[0])
    commit = git.run("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    if commit.code:
        raise NoRepositoryError("its repository has no commit", f"Commit something, {SHARED}")
    branch = git.run("symbolic-ref", "--quiet", "HEAD").text.removeprefix("refs/heads/")
    real = Path(os.path.realpath(folder))
    return Repository(top, real.relative_to(os.path.realpath(top)), commit.text, branch)


def top_of(folder: Path) -> Path | None:
    """The work tree of a folder; None where it is in none."""
    found = Git(folder).run("rev-parse", "--show-toplevel")
    return None if found.code or not found.text else Path(found.text)
