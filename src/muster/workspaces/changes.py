"""The differences of a work tree, with work that is not committed.

git compares a commit with a work tree; an index says which files are new. The index here is a copy,
so that looking at a work tree writes nothing into it and never meets a lock of its agent. New files
are only noted in it (`--intent-to-add`), and read when they are compared: a huge one costs nothing.
"""

import shutil
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from muster.errors import GitFailed, NotFound
from muster.limits import CHANGED_FILES_MAX, DIFF_BYTES_MAX, DIFF_FILE_BYTES_MAX
from muster.machines.vocabulary import ChangeCount
from muster.views.answers.workspaces import FileDiff
from muster.workspaces.diffs import ListedFile, parse_diff, parse_list
from muster.workspaces.git import Git, reason

_DIFF: Final = (
    *("-c", f"core.bigFileThreshold={DIFF_FILE_BYTES_MAX}"),
    *("diff", "--no-ext-diff", "--no-textconv", "--no-color", "--find-renames"),
)
"""A file beyond the threshold counts as binary: it is not read."""


class Comparison(NamedTuple):
    """Two states of files, as arguments of `git diff`."""

    git: Git
    arguments: tuple[str, ...]

    def files(self) -> list[ListedFile]:
        """The files that differ."""
        told = self.git.run(*_DIFF, "--raw", "--numstat", "-z", *self.arguments)
        if told.cut:
            raise GitFailed(folder=self.git.folder, why="more files differ than can be listed")
        if told.code:
            raise GitFailed(folder=self.git.folder, why=reason(told))
        return parse_list(told.out)

    def diff(self, file: str) -> FileDiff:
        """The diff of the file with this name; raises `NotFound` if it does not differ."""
        found = next((each for each in self.files() if each.shown.file == file), None)
        if found is None:
            raise NotFound(kind="changed file", name=file)
        if found.shown.binary:
            note = "A binary or huge file: its lines are not compared."
            return FileDiff(file=found.shown, note=note)
        return self._compared(found)

    def _compared(self, found: ListedFile) -> FileDiff:
        paths = [path for path in (found.before, found.path) if path]
        told = self.git.run(*_DIFF, *self.arguments, "--", *paths)
        if told.code:
            raise GitFailed(folder=self.git.folder, why=reason(told))
        hunks = parse_diff(told.out[:DIFF_BYTES_MAX])
        is_cut, note = len(told.out) > DIFF_BYTES_MAX, ""
        if is_cut:
            note = f"The diff is cut after {DIFF_BYTES_MAX // 1024} KiB."
        elif not hunks:
            note = "Its content is the same: only its name or its mode changed."
        return FileDiff(file=found.shown, hunks=hunks, note=note)


def copied_index(git: Git, folder: Path) -> Path:
    """A copy of the index of a work tree, with its time: git compares the time of an index with
    those of files to know which of them it must read."""
    index = folder / "index"
    current = Path(git.ok("rev-parse", "--path-format=absolute", "--git-path", "index").text)
    if current.is_file():
        shutil.copy2(current, index)
    return index


@contextmanager
def with_uncommitted(
    git: Git, base: str, *, without: tuple[str, ...] = ()
) -> Generator[Comparison]:
    """The work tree beside a commit, with files that git does not know, apart from `without`."""
    with TemporaryDirectory(prefix="muster-git-") as scratch:
        folder = Path(scratch)
        index, objects = copied_index(git, folder), folder / "objects"
        objects.mkdir()
        store = git.ok("rev-parse", "--path-format=absolute", "--git-path", "objects").text
        variables = {
            "GIT_INDEX_FILE": str(index),
            "GIT_OBJECT_DIRECTORY": str(objects),
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": store,
        }
        aside = git.with_environment(variables)
        noted = ("add", "--intent-to-add", *_paths(without))
        added = aside.run(*noted, env=_MAGIC if without else None)
        if added.code:
            raise GitFailed(folder=git.folder, why=reason(added))
        yield Comparison(aside, (base,))


_MAGIC: Final = {"GIT_LITERAL_PATHSPECS": "0"}


def _paths(without: tuple[str, ...]) -> Iterator[str]:
    yield from ("--", ":(top)" if without else ".")
    yield from (f":(top,exclude,literal){each}" for each in without)


def count(files: list[ListedFile]) -> ChangeCount:
    """How much differs in all."""
    return ChangeCount(
        files=len(files),
        insertions=sum(each.shown.insertions for each in files),
        deletions=sum(each.shown.deletions for each in files),
    )


def listed(files: list[ListedFile]) -> list[ListedFile]:
    """The files that are shown."""
    return files[:CHANGED_FILES_MAX]
