"""What changed in a folder between two looks."""

import hashlib
import os
from pathlib import Path

import pytest

from muster.delegation.folder import footprints
from muster.delegation.folder.footprints import Found, difference, look
from muster.machines.vocabulary import FileChange


def seen(folder: Path) -> footprints.Look:
    found = look(folder)
    assert found is not None
    return found


def test_what_comes_changes_and_goes_is_told_with_size_and_digest(tmp_path: Path) -> None:
    for name in ("stays", "changes", "goes"):
        (tmp_path / name).write_text("old")
    before = seen(tmp_path)
    (tmp_path / "changes").write_text("newer")
    (tmp_path / "goes").unlink()
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "comes").write_bytes(b"\0")
    assert difference(tmp_path, before, seen(tmp_path)) == [
        Found("below/comes", FileChange.CREATED, 1, hashlib.sha256(b"\0").hexdigest()),
        Found("changes", FileChange.CHANGED, 5, hashlib.sha256(b"newer").hexdigest()),
        Found("goes", FileChange.DELETED, 0, ""),
    ]


def test_links_are_looked_at_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "link").symlink_to("/etc/passwd")
    found = difference(tmp_path, {}, seen(tmp_path))
    assert [each.path for each in found] == ["link", "loop"]
    assert found[0].sha256 == hashlib.sha256(b"/etc/passwd").hexdigest()


def test_what_is_no_file_has_no_digest(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    [found] = difference(tmp_path, {}, seen(tmp_path))
    assert (found.path, found.sha256) == ("pipe", "")


def test_folders_that_programs_fill_and_those_that_are_spared_are_passed_over(
    tmp_path: Path,
) -> None:
    for folder in (".git", "node_modules", "spared", "src"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "file").touch()
    found = look(tmp_path, without=(tmp_path / "spared",))
    assert found is not None
    assert list(found) == ["src/file"]


def test_a_folder_with_too_many_files_is_not_looked_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(footprints, "FILES_MAX", 3)
    for number in range(4):
        (tmp_path / str(number)).touch()
    assert look(tmp_path) is None


def test_a_folder_that_is_not_there_has_nothing_in_it(tmp_path: Path) -> None:
    assert look(tmp_path / "nowhere") == {}
