"""Makes and removes worktrees.

A worktree is half made when muster is killed meanwhile. `undo` removes whatever is there of it, so
that it can be made again; it never removes a branch with commits of its own.
"""

import os
import re
import shutil
import stat
from collections.abc import Collection
from pathlib import Path
from typing import Final

from muster.errors import GitFailed
from muster.workspaces.git import Git, reason
from muster.workspaces.repository import NoRepositoryError, Repository

FOLDER: Final = "worktrees"
PREFIX: Final = "muster/"
"""The beginning of the name of every branch that muster makes."""

_NUMBERS: Final = range(2, 100)


def free_name(wanted: str, git: Git, folder: Path, taken: Collection[str]) -> str:
    """A name whose branch and folder do not exist: the wanted one, or with a number."""
    plain = re.sub(r"[^\w-]+", "-", wanted).strip("-") or "agent"
    for name in (plain, *(f"{plain}-{number}" for number in _NUMBERS)):
        ref = f"refs/heads/{PREFIX}{name}"
        is_free = git.run("show-ref", "--verify", "--quiet", ref).code != 0
        if name not in taken and is_free and not os.path.lexists(folder / name):
            return name
    raise NoRepositoryError(
        f"there are too many branches {PREFIX}{plain}-N", "Delete those that are merged."
    )


def make(repository: Repository, folder: Path, branch: str, commit: str) -> Path:
    """Make a worktree on a new branch, and return git's own folder for it."""
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    _ignore(folder.parent)
    git = repository.git
    git.ok("worktree", "prune")
    made = git.run("worktree", "add", "-b", branch, "--", str(folder), commit, writes=True)
    if made.code:
        raise NoRepositoryError(
            f"git cannot make it ({reason(made)})", "Correct that, and start it again."
        )
    git_dir = Git(folder).ok("rev-parse", "--absolute-git-dir").text
    if not (folder / repository.inside).is_dir():
        undo(repository.top, folder, branch, commit)
        where = f"{repository.inside} is not in the last commit"
        raise NoRepositoryError(where, "Commit a file in it, or correct cwd.")
    return Path(git_dir)


def _ignore(folder: Path) -> None:
    """Keep the worktrees out of the sight of a repository around them."""
    ignore = folder / ".gitignore"
    if not ignore.exists():
        ignore.write_text("*\n")


def undo(top: Path, folder: Path, branch: str, commit: str) -> None:
    """Remove what there is of a worktree that was not used yet."""
    git = Git(top)
    _remove_worktree(git, folder)
    git.run("update-ref", "-d", f"refs/heads/{branch}", commit)  # if it has no commit of its own


def turns_ref(branch: str) -> str:
    """The ref beside a branch on which the turns in its worktree are recorded."""
    return f"refs/muster/turns/{branch}"


def remove(top: Path, folder: Path, branch: str) -> None:
    """Remove a worktree and its branch, whatever is in them."""
    git = Git(top)
    _remove_worktree(git, folder)
    git.run("update-ref", "-d", turns_ref(branch), writes=True)
    if git.run("show-ref", "--verify", "--quiet", f"refs/heads/{branch}").code == 0:
        git.ok("branch", "-D", "--", branch, writes=True)


def _remove_worktree(git: Git, folder: Path) -> None:
    """Remove a worktree, also where its agent locked it or broke its link to the repository.

    It is moved aside first: a worktree in its place is whole, however often this is interrupted.
    """
    aside = folder.with_name(f".removed-{folder.name}")
    try:
        _remove_folder(aside)
        if os.path.lexists(folder):
            folder.rename(aside)
        git.run("worktree", "remove", "--force", "--force", "--", str(folder), writes=True)
        git.run("worktree", "prune")
        _remove_folder(aside)
    except OSError as failed:
        why = f"it cannot be removed ({failed.strerror})"
        raise GitFailed(folder=folder, why=why) from failed


def _remove_folder(folder: Path) -> None:
    """Remove a folder; links in it are removed, and not followed."""
    if folder.is_symlink() or folder.is_file():
        folder.unlink()
    elif folder.exists():
        try:
            shutil.rmtree(folder)
        except PermissionError:  # read-only folders, such as a cache of modules
            for path, _, _ in os.walk(folder):
                Path(path).chmod(stat.S_IRWXU)
            shutil.rmtree(folder)
