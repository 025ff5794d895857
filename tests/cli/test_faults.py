"""Faults of the disk and the home, as a person meets them: one line, its remedy, its exit code."""

import errno
from pathlib import Path

import pytest

from muster.home.faults import file_fault
from tests.homes import muster


@pytest.mark.parametrize(
    ("number", "remedy"),
    [
        (errno.EACCES, "Make it writable for you"),
        (errno.EROFS, "Make it writable for you"),
        (errno.ENOSPC, "Make room on its disk"),
        (errno.EIO, "Look at it, then retry"),
    ],
)
def test_an_error_of_the_system_names_the_file_and_the_remedy(number: int, remedy: str) -> None:
    said = str(file_fault(OSError(number, "it says no", "/home/x")))
    assert said.startswith("/home/x cannot be used (it says no). ")
    assert remedy in said


def test_a_home_that_cannot_be_made_is_one_line_with_its_code(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    ran = muster("up", "--home", str(tmp_path / "file" / "home"), "--port", "0")
    assert ran.returncode == 4
    assert ran.stderr.count("\n") == 1
    assert "cannot be used" in ran.stderr
    assert "Errno" not in ran.stderr


def test_an_address_that_cannot_be_written_is_no_bug_of_muster(tmp_path: Path) -> None:
    (tmp_path / "server.json.new" / "in-the-way").mkdir(parents=True)
    ran = muster("up", "--home", str(tmp_path), "--port", "0")
    assert ran.returncode == 4
    assert f"{tmp_path / 'server.json.new'} cannot be used" in ran.stderr
    assert "Traceback" not in ran.stderr
