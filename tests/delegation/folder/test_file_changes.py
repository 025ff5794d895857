"""Changes of files between two snapshots of a folder."""

import hashlib
import os
from pathlib import Path

import pytest

from muster.delegation.folder import file_changes
from muster.delegation.folder.file_changes import ChangedFile, difference, take_snapshot
from muster.machines.vocabulary import FileChange


def seen(folder: Path) -> file_changes.FolderSnapshot:
    found = take_snapshot(folder)
    assert found is not None
    return found


def test_created_changed_and_deleted_files_are_found_with_size_and_digest(tmp_path: Path) -> None:
    for name in ("stays", "changes", "goes"):
        (tmp_path / name).write_text("old")
    before = seen(tmp_path)
    (tmp_path / "changes").write_text("newer")
    (tmp_path / "goes").unlink()
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "comes").write_bytes(b"\0")
    assert difference(tmp_path, before, seen(tmp_path)) == [
        ChangedFile("below/comes", FileChange.CREATED, 1, hashlib.sha256(b"\0").hexdigest()),
        ChangedFile("changes", FileChange.CHANGED, 5, hashlib.sha256(b"newer").hexdigest()),
        ChangedFile("goes", FileChange.DELETED, 0, ""),
    ]


def test_links_are_recorded_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "link").symlink_to("/etc/passwd")
    found = difference(tmp_path, {}, seen(tmp_path))
    assert [each.path for each in found] == ["link", "loop"]
    assert found[0].sha256 == hashlib.sha256(b"/etc/passwd").hexdigest()


def test_an_entry_that_is_no_regular_file_has_no_digest(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    [found] = difference(tmp_path, {}, seen(tmp_path))
    assert (found.path, found.sha256) == ("pipe", "")


def test_a_snapshot_leaves_out_generated_and_excluded_folders(
    tmp_path: Path,
) -> None:
    for folder in (".git", "node_modules", "spared", "src"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "file").touch()
    found = take_snapshot(tmp_path, without=(tmp_path / "spared",))
    assert found is not None
    assert list(found) == ["src/file"]


def test_a_folder_with_too_many_files_has_no_snapshot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_changes, "FILES_MAX", 3)
    for number in range(4):
        (tmp_path / str(number)).touch()
    assert take_snapshot(tmp_path) is None


def test_a_missing_folder_has_an_empty_snapshot(tmp_path: Path) -> None:
    assert take_snapshot(tmp_path / "nowhere") == {}
