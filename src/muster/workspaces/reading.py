"""Reads what workspaces and shared folders change. Nothing here writes into a repository."""

from collections.abc import Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from muster.errors import GitFailed
from muster.machines.ids import WorkspaceId
from muster.machines.state import Workspace
from muster.machines.vocabulary import ChangeCount, WorkspaceState
from muster.views.answers.workspaces import ChangedFileView, Changes, FileDiff, WorkPlace
from muster.workspaces.changes import Comparison, count, listed, with_uncommitted
from muster.workspaces.diffs import ListedFile
from muster.workspaces.git import Git
from muster.workspaces.merging import WorktreePlace
from muster.workspaces.repository import top_of

EMPTY_TREE: Final = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
"""git's tree without files, with which a repository without a commit is compared."""

SHARED: Final = (
    "The folder is shared: this is all that git sees changed in it, whoever changed it. Files that"
    " tool calls of the agent named are marked; a program that reports no tool calls marks none."
)
NO_GIT: Final = "The folder is in no git work tree, so nothing can be compared."
CLOSED: Final = "The worktree is gone. This is what it had changed."
GONE: Final = "The worktree is gone: only what was committed on its branch is shown."
ELSEWHERE: Final = "Its agent has checked out {where} in the worktree; the branch is {branch}."


def place_of(workspace: Workspace) -> WorktreePlace:
    """Where a workspace is."""
    return WorktreePlace(
        Path(workspace.repository),
        Path(workspace.folder),
        Path(workspace.git_dir),
        workspace.branch,
        workspace.commit if workspace.merged else workspace.base,
    )


def is_whole(workspace: Workspace) -> bool:
    """Whether the folder of a worktree exists, and git still knows it."""
    has_git = bool(workspace.git_dir) and Path(workspace.git_dir, "HEAD").is_file()
    return has_git and Path(workspace.folder).is_dir()


# ── worktrees ─────────────────────────────────────────────────────────────────────────────────────


@contextmanager
def compared(workspace: Workspace, branch: str = "") -> Generator[Comparison]:
    """A workspace beside the branch that it is merged into, since they parted."""
    repository = Git(Path(workspace.repository))
    if workspace.state is WorkspaceState.CLOSED:
        yield Comparison(repository, _closed(workspace))
        return
    head = _commit(repository, f"refs/heads/{workspace.branch}") or workspace.base
    if not is_whole(workspace):
        base = _base(repository, workspace, branch, head)
        yield Comparison(repository, (base, head))
        return
    git = place_of(workspace).git
    base = _base(git, workspace, branch, "HEAD")
    with with_uncommitted(git, base) as comparison:
        yield comparison


def _closed(workspace: Workspace) -> tuple[str, ...]:
    if workspace.merged and workspace.commit:
        return (f"{workspace.commit}^1", workspace.commit)
    return (workspace.base, workspace.commit or workspace.base)


def _base(git: Git, workspace: Workspace, branch: str, head: str) -> str:
    """The commit at which a workspace and a branch parted."""
    target = branch or workspace.target
    found = git.run("merge-base", f"refs/heads/{target}", head) if target else None
    return workspace.base if found is None or found.code else found.text


def _commit(git: Git, ref: str) -> str:
    found = git.run("rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}")
    return "" if found.code else found.text


def count_changes(workspace: Workspace, branch: str = "") -> ChangeCount:
    """How much a workspace changes, beside a branch."""
    with compared(workspace, branch) as comparison:
        return count(comparison.files())


def is_unmerged(workspace: Workspace) -> bool:
    """Whether something would be lost with a workspace: commits, or work without a commit."""
    git = Git(Path(workspace.repository))
    places = {f"refs/heads/{workspace.branch}"}
    if is_whole(workspace):
        worktree = place_of(workspace).git
        with with_uncommitted(worktree, "HEAD") as comparison:
            if comparison.files():
                return True
        places.add(_commit(worktree, "HEAD"))
    return any(_is_lost(git, workspace, place) for place in places if _commit(git, place))


def _is_lost(git: Git, workspace: Workspace, place: str) -> bool:
    """Whether neither the branch that it is merged into nor its beginning has a commit."""
    kept = [f"refs/heads/{each}" for each in (workspace.target, workspace.into) if each]
    kept = [*kept, workspace.base]
    return all(git.run("merge-base", "--is-ancestor", place, each).code for each in kept)


def read_worktree(workspace: Workspace, others: Sequence[Workspace] = ()) -> Changes:
    """The changes of a workspace, and the other ones that change the same files."""
    with compared(workspace) as comparison:
        files = comparison.files()
    touching = {each.id: paths for each in others if (paths := _paths(each))}
    ahead, behind = _distance(workspace)
    return Changes(
        kind="worktree",
        note=_note(workspace),
        folder=workspace.folder,
        branch=workspace.branch,
        target=workspace.target or workspace.base[:12],
        ahead=ahead,
        behind=behind,
        files=tuple(_with_others(each, touching) for each in listed(files)),
        more=max(0, len(files) - len(listed(files))),
        total=count(files),
    )


def _note(workspace: Workspace) -> str:
    if workspace.state is WorkspaceState.CLOSED:
        return CLOSED
    if not is_whole(workspace):
        return GONE
    head = place_of(workspace).git.run("symbolic-ref", "--quiet", "HEAD").text
    where = head.removeprefix("refs/heads/") or "no branch"
    if where == workspace.branch:
        return ""
    return ELSEWHERE.format(where=where, branch=workspace.branch)


def _distance(workspace: Workspace) -> tuple[int, int]:
    """Commits that only the branch of a workspace has, and that only its target has."""
    git, target = Git(Path(workspace.repository)), workspace.target
    if workspace.state is WorkspaceState.CLOSED or not target:
        return 0, 0
    range_ = f"refs/heads/{workspace.branch}...refs/heads/{target}"
    told = git.run("rev-list", "--left-right", "--count", range_)
    ahead, _, behind = told.text.partition("\t")
    return (int(ahead), int(behind)) if told.code == 0 else (0, 0)


def _paths(workspace: Workspace) -> Collection[str]:
    """The paths that a workspace changes; none where git cannot say."""
    try:
        with compared(workspace) as comparison:
            return {path for each in comparison.files() for path in (each.path, each.before)}
    except GitFailed:
        return ()


def _with_others(
    found: ListedFile, touching: Mapping[WorkspaceId, Collection[str]]
) -> ChangedFileView:
    names = tuple(sorted(name for name, paths in touching.items() if found.path in paths))
    return replace(found.shown, others=names) if names else found.shown


def diff_worktree(workspace: Workspace, file: str) -> FileDiff:
    """The diff of one file of a workspace."""
    with compared(workspace) as comparison:
        return comparison.diff(file)


# ── shared folders ────────────────────────────────────────────────────────────────────────────────


@contextmanager
def _compared_shared(top: Path, home: Path | None) -> Generator[Comparison]:
    git = Git(top)
    without = () if home is None else _inside(top, home)
    base = _commit(git, "HEAD") or EMPTY_TREE
    with with_uncommitted(git, base, without=without) as comparison:
        yield comparison


def _inside(top: Path, home: Path) -> tuple[str, ...]:
    """The path of the home in a work tree, if it is in it."""
    real, root = home.resolve(), top.resolve()
    return (str(real.relative_to(root)),) if real.is_relative_to(root) and real != root else ()


def read_shared(folder: Path, home: Path | None, touched: Collection[str]) -> Changes:
    """The changes that git sees in a shared folder. `touched` are paths that tool calls named."""
    top = top_of(folder)
    if top is None:
        return Changes(kind="none", note=NO_GIT, folder=str(folder))
    with _compared_shared(top, home) as comparison:
        files = comparison.files()
        branch = comparison.git.run("symbolic-ref", "--quiet", "HEAD").text
    real = {str((folder / each).resolve()) for each in touched}
    return Changes(
        kind="shared",
        note=SHARED,
        folder=str(top),
        branch=branch.removeprefix("refs/heads/"),
        target="the last commit",
        files=tuple(_with_touch(each, top, real) for each in listed(files)),
        more=max(0, len(files) - len(listed(files))),
        total=count(files),
    )


def read_place(folder: Path) -> WorkPlace:
    """A folder, and the branch that is checked out in it."""
    top = top_of(folder)
    branch = "" if top is None else Git(top).run("symbolic-ref", "--quiet", "HEAD").text
    return WorkPlace(folder=str(folder), branch=branch.removeprefix("refs/heads/"))


def _with_touch(found: ListedFile, top: Path, touched: Collection[str]) -> ChangedFileView:
    is_touched = bool(touched) and str((top / found.path).resolve()) in touched
    return replace(found.shown, touched=True) if is_touched else found.shown


def diff_shared(folder: Path, home: Path | None, file: str) -> FileDiff:
    """The diff of one file in a shared folder."""
    top = top_of(folder)
    if top is None:
        raise GitFailed(folder=folder, why="it is in no git work tree")
    with _compared_shared(top, home) as comparison:
        return comparison.diff(file)
