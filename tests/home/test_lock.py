import asyncio
import fcntl
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path
from threading import Event as Signal
from threading import Thread

import pytest

from muster.errors import FileUnusable, HomeInUse
from muster.home.file_lock import FileLock
from muster.home.folder import IGNORE_FILE, IGNORED
from muster.home.lock import LOCK_FILE, LOG_FILE, lock_home, running_pid
from muster.store import sqlite
from muster.store.sqlite import SqliteStore
from tests.store.harness import file_size_limited, in_loop
from tests.waits import WAIT_SECONDS, until
from tests.workspaces.repositories import a_repository, git

HOLD = """
import sys
from pathlib import Path
from muster.home.lock import lock_home
lock = lock_home(Path(sys.argv[1]))
print("locked", flush=True)
sys.stdin.read()
"""


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_missing_home_has_no_running_process_and_is_not_created(tmp_path: Path) -> None:
    assert running_pid(tmp_path / "home") is None
    assert not (tmp_path / "home").exists()


def test_the_pid_of_a_home_s_holder_is_known_until_it_releases_the_lock(tmp_path: Path) -> None:
    lock = lock_home(tmp_path / "deep" / "home")
    assert running_pid(tmp_path / "deep" / "home") == os.getpid()

    lock.release()
    lock.release()

    assert running_pid(tmp_path / "deep" / "home") is None


def test_a_home_can_be_locked_once(tmp_path: Path) -> None:
    lock = lock_home(tmp_path)

    with pytest.raises(HomeInUse, match=f"process {os.getpid()}"):
        lock_home(tmp_path)

    assert running_pid(tmp_path) == os.getpid()
    lock.release()
    lock_home(tmp_path).release()


def test_a_lock_without_a_pid_in_its_file_counts(tmp_path: Path) -> None:
    descriptor = os.open(tmp_path / LOCK_FILE, os.O_RDWR | os.O_CREAT)
    fcntl.flock(descriptor, fcntl.LOCK_EX)

    with pytest.raises(HomeInUse, match="process unknown"):
        lock_home(tmp_path)
    assert running_pid(tmp_path) is None
    os.close(descriptor)


def test_asking_for_the_running_pid_does_not_prevent_a_start(tmp_path: Path) -> None:
    lock_home(tmp_path).release()
    enough = Signal()

    def ask() -> None:
        while not enough.is_set():
            running_pid(tmp_path)

    asking = Thread(target=ask)
    asking.start()
    try:
        for _ in range(20):
            lock_home(tmp_path).release()
    finally:
        enough.set()
        asking.join(WAIT_SECONDS)


def test_the_kernel_releases_the_home_of_a_killed_holder(tmp_path: Path) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert holder.stdout is not None
    with holder:
        assert holder.stdout.readline() == b"locked\n"
        assert running_pid(tmp_path) == holder.pid
        with pytest.raises(HomeInUse, match=f"process {holder.pid}"):
            lock_home(tmp_path)
        holder.send_signal(signal.SIGKILL)
        holder.wait(WAIT_SECONDS)

    assert running_pid(tmp_path) is None
    lock_home(tmp_path).release()


def test_a_lock_that_cannot_be_written_is_not_kept(tmp_path: Path) -> None:
    with file_size_limited(0), pytest.raises(FileUnusable, match=str(tmp_path)):
        lock_home(tmp_path)

    lock_home(tmp_path).release()
    assert (tmp_path / IGNORE_FILE).read_text() == IGNORED


@pytest.mark.parametrize("by_hand", [False, True])
def test_a_repository_and_other_users_do_not_see_a_home(tmp_path: Path, by_hand: bool) -> None:
    home, ignore = tmp_path / ".muster", tmp_path / ".muster" / IGNORE_FILE
    a_repository(tmp_path, **{"app.py": "pass\n"})
    if by_hand:
        home.mkdir()
        home.chmod(0o755)
        (home / "muster.toml").write_text("")
    lock_home(home).release()
    assert git(tmp_path, "status", "--porcelain", "--untracked-files=all") == ""
    assert mode(home) == 0o700
    ignore.write_text("*\n!muster.toml\n")
    lock_home(home).release()
    assert ignore.read_text() == "*\n!muster.toml\n"  # a person changed it


def test_the_files_of_a_project_that_is_the_home_stay_in_git(tmp_path: Path) -> None:
    a_repository(tmp_path, **{"app.py": "pass\n"})
    tmp_path.chmod(0o755)
    lock_home(tmp_path).release()
    assert mode(tmp_path) == 0o755
    assert not (tmp_path / IGNORE_FILE).exists()


@in_loop
async def test_only_its_owner_can_read_a_home(tmp_path: Path) -> None:
    home = tmp_path / "home"
    store = await SqliteStore.open(home)

    assert mode(home) == 0o700
    names = {IGNORE_FILE, LOCK_FILE, LOG_FILE, f"{LOG_FILE}-wal", f"{LOG_FILE}-shm"}
    assert {path.name: mode(path) for path in home.iterdir()} == dict.fromkeys(names, 0o600)
    await store.close()
    assert {path.name for path in home.iterdir()} == {IGNORE_FILE, LOCK_FILE, LOG_FILE}


@pytest.mark.parametrize("in_use", [False, True])
def test_a_home_is_free_after_its_opening_was_cancelled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_use: bool
) -> None:
    opening, cancelled, over = Signal(), Signal(), Signal()

    def take_late(home: Path) -> FileLock:
        opening.set()
        assert cancelled.wait(WAIT_SECONDS)
        try:
            return lock_home(home)
        finally:
            over.set()

    @in_loop
    async def cancel_opening() -> None:
        task = asyncio.ensure_future(SqliteStore.open(tmp_path))
        assert await asyncio.to_thread(opening.wait, WAIT_SECONDS)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        cancelled.set()  # the thread goes on after its caller, and takes the lock
        assert await asyncio.to_thread(over.wait, WAIT_SECONDS)

    held = lock_home(tmp_path) if in_use else None
    monkeypatch.setattr(sqlite, "lock_home", take_late)
    cancel_opening()
    if held is not None:
        held.release()
    until(lambda: running_pid(tmp_path) is None)
