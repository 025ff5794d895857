"""Merges and rebases the branch of a worktree.

A merge is computed without a work tree, so a conflict leaves nothing behind. Only then the branch
moves: where it is checked out, git refuses to overwrite what a person has not committed.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from muster.errors import GitFailed
from muster.workspaces.git import Git, GitResult, reason

_CONFLICTS: Final = 1
_NAMED_MAX: Final = 5
_REPOSITORY_MODE: Final = "160000"


class WorktreePlace(NamedTuple):
    """Where a worktree is, and the name of its branch."""

    repository: Path
    folder: Path
    git_dir: Path
    branch: str
    known: str = ""
    """The commit that it was made from, or merged as last: there is nothing new in it."""

    @property
    def git(self) -> Git:
        """Git in the worktree."""
        return Git(self.folder, git_dir=self.git_dir)


class NotDoneError(Exception):
    """A step was not done and has changed nothing but the worktree's own branch."""

    def __init__(self, why: str, remedy: str = "", files: Sequence[str] = ()) -> None:
        """Keep the reason, the remedy and the files in conflict."""
        super().__init__(why)
        self.remedy = remedy
        self.files = tuple(files)


class Author(NamedTuple):
    """The names in a commit: the agent that wrote it, and the person that merges it."""

    agent: str
    person: str


# ── what is in the worktree ───────────────────────────────────────────────────────────────────────


def commit_all(place: WorktreePlace, author: Author) -> str:
    """Commit what is not committed in the worktree, and return the commit of its branch."""
    _require_own_branch(place)
    git = place.git
    if git.ok("ls-files", "--unmerged", "-z").out:
        raise NotDoneError("its agent is resolving conflicts", "Try again when that is done.")
    _require(git.run("add", "--all", writes=True), "its changes cannot be added")
    _refuse_nested(git)
    if git.run("diff", "--cached", "--quiet", "--no-ext-diff").code:
        message = f"Work of {author.agent}"
        committed = git.run(
            "commit", "--no-verify", "--quiet", "-m", message, env=_names(git, author), writes=True
        )
        _require(committed, "its changes cannot be committed")
    return git.ok("rev-parse", "HEAD^{commit}").text


def _refuse_nested(git: Git) -> None:
    """Refuse a repository inside of the worktree: only its commit would be merged, and no file."""
    told = git.ok("diff", "--cached", "--raw", "--no-renames", "--no-ext-diff", "-z", "HEAD")
    words = os.fsdecode(told.out).split("\0")
    nested = [path for raw, path in zip(words[::2], words[1::2], strict=False) if _is_nested(raw)]
    if nested:
        git.run("reset", "--quiet", writes=True)
        remedy = "Move its files out of it, or make it a submodule."
        raise NotDoneError(f"{named(nested)} in its worktree is a git repository itself", remedy)


def _is_nested(raw: str) -> bool:
    before, after, *_ = raw.split(" ")
    return before == ":000000" and after == _REPOSITORY_MODE


def _require_own_branch(place: WorktreePlace) -> None:
    """Refuse a worktree that is missing, or whose agent has checked out another branch."""
    if not place.folder.is_dir():
        raise NotDoneError(f"its worktree {place.folder} is gone", "Discard it.")
    head = place.git.run("symbolic-ref", "--quiet", "HEAD").text.removeprefix("refs/heads/")
    if head != place.branch:
        now = f"on branch {head}" if head else "on no branch"
        remedy = f"Check out {place.branch} there, with the work on it."
        raise NotDoneError(f"its worktree is {now}, and not on {place.branch}", remedy)


def _names(git: Git, author: Author) -> dict[str, str]:
    """The author of a commit, and a committer where the user has not configured one."""
    names = {"GIT_AUTHOR_NAME": author.agent, "GIT_AUTHOR_EMAIL": f"{_plain(author.agent)}@muster"}
    if git.run("config", "user.email").code:
        names |= _committer(author)
    return names


def _committer(author: Author) -> dict[str, str]:
    mail = f"{_plain(author.person)}@muster"
    return {"GIT_COMMITTER_NAME": author.person, "GIT_COMMITTER_EMAIL": mail}


def _plain(name: str) -> str:
    return "".join(each if each.isalnum() else "-" for each in name)


# ── merging ───────────────────────────────────────────────────────────────────────────────────────


def merge(place: WorktreePlace, into: str, author: Author) -> str:
    """Merge a worktree into a branch, and return the merge commit. Raises `NotDoneError`."""
    git = Git(place.repository)
    before = git.run("rev-parse", "--verify", "--quiet", f"refs/heads/{into}^{{commit}}")
    if before.code:
        raise NotDoneError(f"there is no branch {into!r}", "Name a branch that exists.")
    head, target = commit_all(place, author), before.text
    if git.run("merge-base", "--is-ancestor", head, target).code == 0:
        if git.run("merge-base", "--is-ancestor", head, place.known).code == 0:
            raise NotDoneError(f"{into} has all of it", "There is nothing to merge.")
        return target  # a person has merged it by hand
    commit = _merge_commit(git, place, into, target, head, author)
    _move(git, into, target, commit)
    return commit


def is_merged(place: WorktreePlace, into: str) -> bool:
    """Whether a branch has everything that the worktree's branch has."""
    ours, theirs = f"refs/heads/{place.branch}", f"refs/heads/{into}"
    return Git(place.repository).run("merge-base", "--is-ancestor", ours, theirs).code == 0


def _merge_commit(
    git: Git, place: WorktreePlace, into: str, target: str, head: str, author: Author
) -> str:
    """The commit that merges two commits, made without a work tree."""
    merged = git.run(
        "merge-tree",
        "--write-tree",
        "--name-only",
        "--no-messages",
        "-z",
        target,
        head,
        writes=True,
    )
    tree, *files = os.fsdecode(merged.out).split("\0")
    if merged.code == _CONFLICTS and tree:
        raise _conflict(into, [each for each in files if each])
    _require(merged, "git cannot merge it (git 2.38 or newer can)")
    message = f"Merge {place.branch} into {into}"
    names = _committer(author) if git.run("config", "user.email").code else {}
    if names:
        names |= {key.replace("COMMITTER", "AUTHOR"): value for key, value in names.items()}
    made = git.run(
        "commit-tree", tree, "-p", target, "-p", head, "-m", message, env=names, writes=True
    )
    _require(made, "the merge cannot be committed")
    return made.text


def _conflict(branch: str, files: Sequence[str]) -> NotDoneError:
    shown = [os.fsencode(each).decode("utf-8", "replace") for each in dict.fromkeys(files)]
    why = f"it conflicts with {branch} in {named(shown)}"
    return NotDoneError(why, "Nothing was changed. Ask the agent to rebase it.", shown)


def _move(git: Git, branch: str, before: str, commit: str) -> None:
    """Move a branch to a commit, with the work tree in which it is checked out."""
    place = _checked_out(git, branch)
    if place is None:
        ref = f"refs/heads/{branch}"
        moved = git.run("update-ref", "-m", "muster: merge", ref, commit, before, writes=True)
        _require(moved, f"{branch} cannot be moved")
        return
    there = Git(place)
    in_the_way = _uncommitted(there) & _changed(there, before, commit)
    if in_the_way:
        why = f"{place} has uncommitted changes in {named(sorted(in_the_way))}"
        raise NotDoneError(why, "Commit or stash them first.")
    _require(
        there.run("merge", "--ff-only", "--no-verify", "--quiet", commit, writes=True),
        f"{place} cannot be brought up to date",
    )


def _checked_out(git: Git, branch: str) -> Path | None:
    """The work tree in which a branch is checked out."""
    folder = ""
    for line in os.fsdecode(git.ok("worktree", "list", "--porcelain", "-z").out).split("\0"):
        word, _, rest = line.partition(" ")
        folder = rest if word == "worktree" else folder
        if word == "branch" and rest == f"refs/heads/{branch}":
            return Path(folder)
    return None


def _uncommitted(git: Git) -> set[str]:
    """The files that differ from the last commit, with those that git does not know."""
    told = git.ok("status", "--porcelain", "-z", "--no-renames", "--untracked-files=all")
    return {each[3:] for each in os.fsdecode(told.out).split("\0") if each}


def _changed(git: Git, before: str, after: str) -> set[str]:
    told = git.ok("diff", "--name-only", "--no-renames", "--no-ext-diff", "-z", before, after)
    return {each for each in os.fsdecode(told.out).split("\0") if each}


# ── rebasing ──────────────────────────────────────────────────────────────────────────────────────


def rebase(place: WorktreePlace, onto: str, author: Author) -> str:
    """Rebase a worktree onto a branch, and return its new commit. Raises `NotDoneError`."""
    commit_all(place, author)
    git = place.git
    names = _committer(author) if git.run("config", "user.email").code else {}
    done = git.run("rebase", "--no-verify", f"refs/heads/{onto}", env=names, writes=True)
    if done.code:
        told = git.run("diff", "--name-only", "--diff-filter=U", "--no-ext-diff", "-z")
        files = [each for each in os.fsdecode(told.out).split("\0") if each]
        abort_rebase(place)
        if files:
            raise _conflict(onto, files)
        raise NotDoneError(f"git cannot rebase it ({reason(done)})", "Nothing was changed.")
    return git.ok("rev-parse", "HEAD^{commit}").text


def abort_rebase(place: WorktreePlace) -> None:
    """End a rebase that is under way, so that the worktree is as it was before."""
    if any((place.git_dir / each).exists() for each in ("rebase-merge", "rebase-apply")):
        aborted = place.git.run("rebase", "--abort", writes=True)
        if aborted.code:
            raise GitFailed(folder=place.folder, why=reason(aborted))


def is_rebased(place: WorktreePlace, onto: str) -> bool:
    """Whether the worktree's branch has everything that another branch has."""
    ours, theirs = f"refs/heads/{place.branch}", f"refs/heads/{onto}"
    return Git(place.repository).run("merge-base", "--is-ancestor", theirs, ours).code == 0


def named(files: Sequence[str]) -> str:
    """The first files of many, as a sentence names them."""
    shown = ", ".join(os.fsencode(each).decode("utf-8", "replace") for each in files[:_NAMED_MAX])
    more = len(files) - _NAMED_MAX
    return f"{shown} and {more} more" if more > 0 else shown


def _require(result: GitResult, what: str) -> None:
    if result.code:
        remedy = "Try again when that has passed."
        raise NotDoneError(f"{what} ({reason(result)})", remedy)
