"""Turns in a worktree and their changes: a chain of commits beside the branch of the worktree.

At the end of a turn the files of the worktree are recorded as a commit on a ref of muster's own,
whose parent is the commit of the turn before. The agent's branch, index and files are not touched.
A turn that changes nothing has no commit.
"""

from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from muster.errors import NotFound
from muster.limits import TURNS_SHOWN_MAX
from muster.machines.state import Workspace
from muster.views.answers.workspaces import Changes, FileDiff, TurnList, TurnView
from muster.workspaces.changes import Comparison, copied_index, count, listed
from muster.workspaces.git import Git
from muster.workspaces.reading import is_whole, place_of
from muster.workspaces.worktrees import turns_ref

STEP: Final = "muster"
"""The label of a commit that is no turn: a merge or a rebase of muster's came between two."""

THIS_TURN: Final = "This is what the turn changed, as far as the files were there at its end."
_NAMES: Final = {
    "GIT_AUTHOR_NAME": STEP,
    "GIT_AUTHOR_EMAIL": "muster@muster",
    "GIT_COMMITTER_NAME": STEP,
    "GIT_COMMITTER_EMAIL": "muster@muster",
}


def record_turn(workspace: Workspace, label: str) -> bool:
    """Record the files of a worktree as they are now; returns whether the turn changed any."""
    if not is_whole(workspace):
        return False
    git, ref = place_of(workspace).git, _ref(workspace)
    found = git.run("rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}")
    last = workspace.base if found.code else found.text
    tree = _tree(git)
    if tree == git.ok("rev-parse", f"{last}^{{tree}}").text:
        return False
    made = git.with_environment(_NAMES).ok("commit-tree", tree, "-p", last, "-m", label)
    git.ok("update-ref", ref, made.text, writes=True)
    return True


def _tree(git: Git) -> str:
    """The files of a work tree as a tree, with those that git does not know yet. The index is a
    copy: the agent may be using its own."""
    with TemporaryDirectory(prefix="muster-git-") as scratch:
        index = copied_index(git, Path(scratch))
        aside = git.with_environment({"GIT_INDEX_FILE": str(index)})
        aside.ok("add", "--all", writes=True)
        return aside.ok("write-tree", writes=True).text


def read_turns(workspace: Workspace) -> TurnList:
    """The turns that changed something, the newest first."""
    git = Git(Path(workspace.repository))
    told = git.run(
        "log",
        "--first-parent",
        f"--max-count={TURNS_SHOWN_MAX}",
        "--format=%H%x00%ct%x00%s",
        f"{workspace.base}..{_ref(workspace)}",
        "--",
    )
    lines = told.text.splitlines() if told.code == 0 else []
    turns = (_turn(line) for line in lines)
    return TurnList(turns=tuple(each for each in turns if each.label != STEP))


def _turn(line: str) -> TurnView:
    commit, seconds, label = line.split("\0")
    return TurnView(turn=commit, label=label, at=datetime.fromtimestamp(int(seconds), UTC))


@contextmanager
def _compared(workspace: Workspace, turn: str) -> Generator[Comparison]:
    if turn not in {each.turn for each in read_turns(workspace).turns}:
        raise NotFound(kind="turn with changes", name=turn)
    yield Comparison(Git(Path(workspace.repository)), (f"{turn}^", turn))


def turn_changes(workspace: Workspace, turn: str) -> Changes:
    """The files that a turn changed."""
    with _compared(workspace, turn) as comparison:
        files = comparison.files()
    return Changes(
        kind="worktree",
        note=THIS_TURN,
        folder=workspace.folder,
        branch=workspace.branch,
        target="the turn before",
        files=tuple(each.shown for each in listed(files)),
        more=max(0, len(files) - len(listed(files))),
        total=count(files),
    )


def turn_diff(workspace: Workspace, turn: str, file: str) -> FileDiff:
    """The diff of one file that a turn changed."""
    with _compared(workspace, turn) as comparison:
        return comparison.diff(file)


def _ref(workspace: Workspace) -> str:
    return turns_ref(workspace.branch)
