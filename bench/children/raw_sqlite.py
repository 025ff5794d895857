"""The raw baseline: the sqlite3 module, one event and one row per step, full fsync.

The minimum of work: the event's bytes are ready, nothing is decided, no caller waits.
"""

import asyncio
import sqlite3
import sys
from pathlib import Path
from typing import Final

from bench.children.serving import Task, serve

EVENT: Final = (
    b'{"seq":4711,"ts":"2026-05-09T07:00:00.123456Z","sessionId":"boot-1","actor":"person:Grace",'
    b'"cause":null,"v":1,"type":"user_message","text":"please look at the failing build first",'
    b'"speakerName":"Grace","targetAgent":null,"channel":"channel-3","mode":"inject","deliverTo":[9]}'
)
_ROW: Final = b'{"id":"channel-3","ring":[9,10,11],"cursor":0,"epoch":1,"lastMessage":4711}'
_ROWS: Final = 16
_WAL_BYTES: Final = 1000 * 4096
"""Size of the WAL at the checkpoint; afterwards it is overwritten and flushes faster."""

_SCHEMA: Final = """
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
CREATE TABLE events (seq INTEGER PRIMARY KEY, type TEXT, seat INTEGER, channel TEXT, data BLOB);
CREATE TABLE channels (id TEXT PRIMARY KEY, data BLOB);
"""
_APPEND: Final = "INSERT INTO events VALUES (?, ?, ?, ?, ?)"
_UPDATE: Final = (
    "INSERT INTO channels VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET data = excluded.data"
)


class Raw:
    """One connection, used in the simplest way."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(path, isolation_level=None)
        self._connection.executescript(_SCHEMA)
        self._wal = path.with_name(f"{path.name}-wal")
        self._seq = 0

    def warm_up(self) -> None:
        """Write until the WAL has its full size."""
        while self._wal.stat().st_size < _WAL_BYTES:
            self.write(100, per_commit=1)

    def write(self, steps: int, *, per_commit: int) -> None:
        """Write that many events and rows."""
        execute = self._connection.execute
        for _ in range(steps // per_commit):
            execute("BEGIN IMMEDIATE")
            for _ in range(per_commit):
                self._seq += 1
                channel = f"channel-{self._seq % _ROWS}"
                execute(_APPEND, (self._seq, "user_message", None, channel, EVENT))
                execute(_UPDATE, (channel, _ROW))
            execute("COMMIT")


def task(raw: Raw, per_commit: int) -> Task:
    """A task of steps, with a fixed number per commit."""

    async def run(steps: int) -> None:
        raw.write(steps, per_commit=per_commit)

    return run


if __name__ == "__main__":
    baseline = Raw(Path(sys.argv[1]) / "raw.db")
    baseline.warm_up()
    asyncio.run(serve({f"raw-{each}": task(baseline, each) for each in (1, 100)}))
