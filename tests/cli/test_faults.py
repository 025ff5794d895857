"""Faults of the disk and the home, as a person meets them: one line, its remedy, its exit code."""

import errno
from pathlib import Path

import pytest

from muster.errors import FileUnusable
from muster.home import address
from muster.home.faults import file_fault
from muster.home.lock import LOG_FILE
from muster.settings.model import SETTINGS_FILE
from muster.store.reading import LogReader
from tests.homes import muster
from tests.store.harness import file_size_limited


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


def test_nothing_starts_if_the_address_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "server.json.new" / "in-the-way").mkdir(parents=True)
    (tmp_path / SETTINGS_FILE).write_text(
        '[agents.ada]\nruntime = "command"\ncommand = ["sleep", "60"]\nautostart = true\n'
    )
    ran = muster("up", "--home", str(tmp_path), "--port", "0")
    assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (4, "", 1)
    with LogReader.open(tmp_path / LOG_FILE) as log:
        assert log.last_seq() == 0


def test_a_reserved_address_is_published_on_a_full_disk(tmp_path: Path) -> None:
    where = address.Address(url="http://127.0.0.1:9", pid=1)
    with address.reserved(tmp_path, where), file_size_limited(0):
        address.publish(tmp_path, where)
    assert address.find(tmp_path) == where
    assert [each.name for each in tmp_path.iterdir()] == [address.FILE]


def test_an_address_that_finds_no_room_is_named_and_leaves_nothing(tmp_path: Path) -> None:
    where = address.Address(url="http://127.0.0.1:9", pid=1)
    with (
        file_size_limited(0),
        pytest.raises(FileUnusable, match=r"server\.json\.new cannot be used"),
    ):
        address.publish(tmp_path, where)
    assert not list(tmp_path.iterdir())
