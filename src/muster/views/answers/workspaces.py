"""Answers about the changes of agents and tasks, and the worktrees that they are in."""

from datetime import datetime
from typing import Literal

from muster.machines.ids import ConversationId, WorkspaceId
from muster.machines.vocabulary import ChangeCount, FileChange, WorkspaceState
from muster.views.answers import View


class WorkspaceView(View, frozen=True, kw_only=True):
    """A worktree and its branch."""

    workspace: WorkspaceId
    agent: str
    """The agent that works in it."""

    conversation: ConversationId | None = None
    state: WorkspaceState
    since: datetime
    repository: str
    folder: str
    branch: str
    target: str
    """The branch that it is merged into, unless a merge names another."""

    changes: ChangeCount
    """The unmerged changes, as they were counted at the end of the last session in it."""

    working: bool
    """Whether a session works in it."""

    merged: bool
    commit: str
    """The last merge; for a discarded workspace the last commit of its branch."""

    conflict: tuple[str, ...] = ()
    problem: str = ""


class WorkPlace(View, frozen=True, kw_only=True):
    """Where an agent works."""

    folder: str
    branch: str = ""
    """The branch that is checked out there; empty without git, or on no branch."""


class WorkspaceList(View, frozen=True, kw_only=True):
    """The workspaces of a team, those of agents first."""

    workspaces: tuple[WorkspaceView, ...]


class ChangedFileView(View, frozen=True, kw_only=True):
    """A file that differs."""

    file: str
    """Names it in requests: a path can be any bytes."""

    path: str
    before: str = ""
    """Its path before, where it was renamed."""

    change: FileChange
    insertions: int = 0
    deletions: int = 0
    binary: bool = False
    link: bool = False
    """Whether it is a symbolic link: the diff shows where it leads."""

    touched: bool = False
    """Whether tool calls of the agent named it, where the folder is shared."""

    others: tuple[str, ...] = ()
    """Other workspaces that change the same file."""


class Changes(View, frozen=True, kw_only=True):
    """The changes of an agent or a task."""

    kind: Literal["worktree", "shared", "none"]
    """`shared`: all that git sees in the folder, whoever did it. `none`: there is no git."""

    note: str = ""
    """A sentence that belongs to the list."""

    folder: str = ""
    branch: str = ""
    target: str = ""
    """The branch, or the commit, that the files are compared with."""

    ahead: int = 0
    behind: int = 0
    """Commits that only the branch has, and that only the other one has."""

    files: tuple[ChangedFileView, ...] = ()
    more: int = 0
    """Files that are not listed."""

    total: ChangeCount = ChangeCount()
    workspace: WorkspaceView | None = None


class TurnView(View, frozen=True, kw_only=True):
    """A turn that changed files in a worktree."""

    turn: str
    """Names it in requests."""

    label: str
    at: datetime


class TurnList(View, frozen=True, kw_only=True):
    """The turns of an agent or a task that changed files, the newest first."""

    turns: tuple[TurnView, ...] = ()


class DiffLine(View, frozen=True, kw_only=True, omit_defaults=True):
    """One line of a diff, with its number before and after."""

    text: str
    old: int | None = None
    new: int | None = None


class DiffHunk(View, frozen=True, kw_only=True):
    """Lines that follow each other."""

    head: str
    lines: tuple[DiffLine, ...]


class FileDiff(View, frozen=True, kw_only=True):
    """The diff of one file, or the reason why there is none."""

    file: ChangedFileView
    hunks: tuple[DiffHunk, ...] = ()
    note: str = ""
    """Why lines are missing: a binary file, a huge one, a diff that was cut."""
