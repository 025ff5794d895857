"""A disk that takes a write and does not confirm it: nobody is told that nothing was accepted."""

import asyncio
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from shutil import which

import pytest

from muster.errors import Unsynced
from muster.store.batching import Batch
from tests.store.harness import in_loop
from tests.waits import WAIT_SECONDS

SHIM = """
#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
static int sync_unless(long call, int fd) {
    if (access(getenv("NO_SYNC"), F_OK) == 0) { errno = EIO; return -1; }
    return (int) syscall(call, fd);
}
int fsync(int fd) { return sync_unless(SYS_fsync, fd); }
int fdatasync(int fd) { return sync_unless(SYS_fdatasync, fd); }
"""
"""Lets every fsync fail while a file is there."""

CHILD = """
import asyncio, os, sys
from pathlib import Path
from muster.errors import StoreFailed
from muster.store.sqlite import SqliteStore
from tests.store.building import Counter, said

async def main():
    store = await SqliteStore.open(Path(sys.argv[1]))
    counter = Counter(await store.last_seq())
    await store.append(counter.decide(said("first")))
    Path(os.environ["NO_SYNC"]).touch()
    try:
        await store.append(counter.decide(said("second")))
    except StoreFailed as error:
        print(error.code, error)
    Path(os.environ["NO_SYNC"]).unlink()
    sys.stdout.flush()
    os.kill(os.getpid(), 9)

asyncio.run(main())
"""


def test_a_commit_that_the_disk_did_not_confirm_is_in_doubt(tmp_path: Path) -> None:
    compiler = which("cc")
    if compiler is None:
        pytest.skip("A FAILING FSYNC IS NOT TESTED: there is no C compiler")
    source, shim = tmp_path / "shim.c", tmp_path / "shim.so"
    source.write_text(SHIM)
    subprocess.run([compiler, "-shared", "-fPIC", "-o", shim, source], check=True)
    home = tmp_path / "home"
    home.mkdir()
    environ = {**os.environ, "LD_PRELOAD": str(shim), "NO_SYNC": str(tmp_path / "no-sync")}
    done = subprocess.run(
        [sys.executable, "-c", CHILD, home],
        env=environ,
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
        check=False,
    )
    assert done.returncode == -9, done.stderr
    assert done.stdout.startswith("unsynced "), done.stdout
    assert "not known whether this was carried out" in done.stdout


@in_loop
async def test_a_commit_that_was_not_synced_is_not_called_refused() -> None:
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = sqlite3.SQLITE_IOERR_FSYNC
    batch = Batch(1)
    waiter = asyncio.get_running_loop().create_future()
    batch.waiters.append(waiter)
    batch.refuse(error)
    with pytest.raises(Unsynced):
        await waiter
