"""The files of a task: snapshots before and after an agent works on it, and what changed."""

import os
from collections.abc import Sequence
from pathlib import Path

import msgspec

from muster.delegation.assignments import Assignment
from muster.delegation.folder import file_changes
from muster.machines import commands as c


class FilesChanged(msgspec.Struct, frozen=True):
    """The files that a task changed, and notes about what could not be seen."""

    files: tuple[c.RecordFile, ...]
    notes: tuple[str, ...] = ()


class FilesBefore(msgspec.Struct, frozen=True):
    """Snapshots of the outputs and the project, taken before an agent works on a task."""

    task: Assignment
    spared: Sequence[Path]
    outputs: file_changes.FolderSnapshot
    project: Path | None
    around: file_changes.FolderSnapshot | None

    @classmethod
    def take(cls, task: Assignment, project: Path | None, spared: Sequence[Path]) -> "FilesBefore":
        """Take snapshots of the outputs and of the project."""
        outputs = file_changes.take_snapshot(task.outputs) or {}
        around = None if project is None else file_changes.take_snapshot(project, without=spared)
        return cls(task, spared, outputs, project, around)

    def difference(self) -> FilesChanged:
        """The files that were created, changed or deleted since."""
        task, project = self.task, self.project
        after = file_changes.take_snapshot(task.outputs) or {}
        inside = file_changes.difference(task.outputs, self.outputs, after)
        files = [_file(task, each) for each in inside]
        if project is None:
            return FilesChanged(tuple(files))
        around = file_changes.take_snapshot(project, without=self.spared)
        if self.around is None or around is None:
            note = f"{project} has too many files to see what else was written."
            return FilesChanged(tuple(files), (note,))
        for each in file_changes.difference(project, self.around, around):
            full = each._replace(path=str(project / each.path))
            named = each.path in task.text or Path(each.path).name in task.text
            files.append(_file(task, full, outside=True, named=named))
        return FilesChanged(tuple(files))


def _file(
    task: Assignment, found: file_changes.ChangedFile, *, outside: bool = False, named: bool = False
) -> c.RecordFile:
    path = os.fsencode(found.path).decode("utf-8", "replace")  # whatever bytes its name has
    return c.RecordFile(
        conversation=task.conversation,
        path=path,
        change=found.change,
        size=found.size,
        sha256=found.sha256,
        outside=outside,
        named=named,
    )
