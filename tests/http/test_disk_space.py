"""A disk that is nearly full: it is said, large writes are refused, and muster recovers by itself.

The home is on a small tmpfs of its own. Where none can be mounted (no root), these tests are
skipped and say so.
"""

import os
import subprocess
from collections.abc import Generator
from pathlib import Path

import pytest

from muster.errors import DiskLow
from muster.home.disk import HomeDisk, Space
from muster.limits import DISK_LOW_WRITE_BYTES, DISK_RESERVE_BYTES
from tests.asking import Asker, asker
from tests.inside import Inside, inside
from tests.waits import until

MIB = 2**20
SIZE = 64 * MIB
RESERVE = SIZE // 10
LARGE = b"x" * (4 * DISK_LOW_WRITE_BYTES)


@pytest.fixture
def small(tmp_path: Path) -> Generator[Path]:
    """A disk of 64 MiB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(disk)]
    done = subprocess.run(mount, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"A FULL DISK IS NOT TESTED: no tmpfs can be mounted here ({done.stderr})")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def fill(disk: Path, *, leave: int) -> Path:
    """A file that takes all of a disk but so many bytes."""
    free = os.statvfs(disk)
    filler = disk / "filler"
    with filler.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, free.f_bavail * free.f_frsize - leave)
    return filler


def test_the_reserve_of_a_small_disk_is_a_part_of_it() -> None:
    assert Space(free=0, total=1000).reserve == 100
    assert Space(free=0, total=2**40).reserve == DISK_RESERVE_BYTES
    assert Space(free=99, total=1000).is_low
    assert not Space(free=100, total=1000).is_low
    assert not Space(free=100, total=1000).is_ample
    assert Space(free=125, total=1000).is_ample


def test_what_is_small_is_taken_and_what_is_large_leaves_the_reserve(small: Path) -> None:
    disk = HomeDisk(small)
    disk.require_room(len(LARGE))
    with pytest.raises(DiskLow, match="Make room on the disk"):
        disk.require_room(SIZE - RESERVE + MIB)
    assert not disk.is_low
    filler = fill(small, leave=RESERVE // 2)
    with pytest.raises(DiskLow):
        disk.require_room(DISK_LOW_WRITE_BYTES + 1)
    assert disk.is_low
    disk.require_room(DISK_LOW_WRITE_BYTES)
    filler.unlink()
    disk.require_room(len(LARGE))
    assert not disk.is_low


def test_a_full_disk_is_said_and_refused_before_the_log_fails_and_muster_recovers(
    small: Path,
) -> None:
    with inside(small, "Ada") as team, asker(team.server, team.server.token) as boss:
        boss.post("/api/channels", {"channel": "hall"}, 201)
        assert _states(boss) == ("ok", [])
        filler = fill(small, leave=RESERVE // 2)
        until(lambda: _states(boss) == ("disk_low", ["disk"]))
        _refuses_only_what_is_large(boss)
        assert boss.get("/api/ready")["status"] == "ready"
        filler.unlink()
        until(lambda: _states(boss) == ("ok", []))
        assert boss.http.post("/api/files?name=a.txt", content=LARGE).status_code == 201
        assert _recorded(team, boss) == [True, False]


def _refuses_only_what_is_large(boss: Asker) -> None:
    [need] = boss.get("/api/needs")["needs"]
    assert (need["what"], need["agent"]) == ("is nearly full", None)
    upload = boss.http.post("/api/files?name=a.txt", content=LARGE)
    assert (upload.status_code, upload.json()["code"]) == (507, "disk_low")
    said = "/api/channels/hall/messages"
    boss.refused("POST", said, 507, "disk_low", json={"message": LARGE.decode()})
    boss.post(said, {"message": "make room, please"}, 201)


def _states(boss: Asker) -> tuple[str, list[str]]:
    kinds = [each["kind"] for each in boss.get("/api/needs")["needs"]]
    return boss.get("/api/health")["status"], kinds


def _recorded(team: Inside, boss: Asker) -> list[bool]:
    events = boss.get("/api/log?after=0&types=disk_reported")["events"]
    return [each["isLow"] for each in events]
