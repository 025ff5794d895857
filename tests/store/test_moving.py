"""A log that moves into a database and back: the same bytes, and nothing is lost on the way."""

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from muster.backup.moving import KEPT, move_home, move_to_database
from muster.engine.loading import load
from muster.errors import (
    AlreadyMoved,
    CopyDiffers,
    HomeInUse,
    LogCorrupt,
    NoTeam,
    TeamInUse,
    TeamLeft,
    TeamTaken,
)
from muster.home.database import FILE, TeamDatabase, database_of, find
from muster.home.lock import LOG_FILE
from muster.machines.commands import PostMessage
from muster.store.base import Snapshot
from muster.store.log_files import reading_file
from muster.store.opening import begin_team, open_reader, open_store, verify_home_log
from muster.store.postgres.copying import leave, upload
from tests.homes import DESIGN, TWO_AGENTS, muster, play
from tests.postgres import a_database, new_team, shared_database
from tests.store.harness import in_loop
from tests.waits import until

Rows = list[tuple[object, ...]]


def nothing(*_: object) -> None:
    """Take progress."""


def post(text: str) -> PostMessage:
    """A message of the person in the channel."""
    return PostMessage(channel=DESIGN, speaker_name="Grace", text=text)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with a team in a file, as a server leaves it."""
    posts = [post(f"tea {number} ☕") for number in range(20)]
    play(tmp_path, *TWO_AGENTS, *posts)
    return tmp_path


@pytest.fixture
def target() -> TeamDatabase:
    """A team that is not there yet."""
    return TeamDatabase(url=a_database().url, team=new_team())


def rows_of(path: Path) -> dict[str, Rows]:
    """Everything in the file of a log but the index of words, which is made anew."""
    with closing(sqlite3.connect(path)) as connection:
        found = {
            table: connection.execute(f"SELECT * FROM {table}").fetchall()
            for table in ("events", "snapshots", "cursors")
        }
    found["cursors"] = [row for row in found["cursors"] if row[0] != "search"]
    return found


@in_loop
async def _with_more(home: Path) -> None:
    store = await open_store(home)
    await store.save_snapshot(Snapshot(3, b"three"), 1)
    await store.save_cursor("prompts", 7)
    await store.close()


def test_a_log_moves_there_and_back_with_the_same_bytes(home: Path, target: TeamDatabase) -> None:
    _with_more(home)
    before, head = rows_of(home / LOG_FILE), verify_home_log(home, progress=nothing).head
    with open_reader(home) as log:
        team = load(log)
    shares: list[tuple[str, float]] = []

    def note(step: str, share: float) -> None:
        shares.append((step, share))

    moved = asyncio.run(move_to_database(home, target, note))

    assert moved.events == len(before["events"])
    assert shares[-1] == ("copying", 1.0)
    assert find(home) == target
    assert not (home / LOG_FILE).exists()
    assert rows_of(home / KEPT) == before
    assert verify_home_log(home, progress=nothing).head == head
    with open_reader(home) as log:
        assert load(log) == team
        assert log.load_cursor("prompts") == 7
        assert log.load_snapshot(1) == Snapshot(3, b"three")

    back = asyncio.run(move_home(home, note))

    assert back.events == moved.events
    assert shares[-1] == ("verifying", 1.0)
    assert rows_of(home / LOG_FILE) == before
    assert verify_home_log(home, progress=nothing).head == head
    assert not (home / FILE).exists()
    assert {path.name for path in home.glob("team.*")} == {LOG_FILE, KEPT}


def test_a_log_that_moved_is_written_on_and_moves_again(home: Path, target: TeamDatabase) -> None:
    for number in range(2):
        asyncio.run(move_to_database(home, target, nothing))
        play(home, post(f"in the database {number}"))
        asyncio.run(move_home(home, nothing))
        play(home, post(f"at home {number}"))

    assert verify_home_log(home, progress=nothing).damages == ()
    assert (home / f"{KEPT}-2").exists()
    found = muster("search", "home", "--home", str(home))
    assert "at home 1" in found.stdout


def test_an_old_log_without_a_hash_chain_moves_as_it_is(home: Path, target: TeamDatabase) -> None:
    with closing(sqlite3.connect(home / LOG_FILE)) as connection, connection:
        connection.execute("UPDATE events SET chain = NULL")
    before = rows_of(home / LOG_FILE)

    asyncio.run(move_to_database(home, target, nothing))
    assert verify_home_log(home, progress=nothing).unchained == len(before["events"])
    play(home, post("chained"))
    asyncio.run(move_home(home, nothing))

    after = rows_of(home / LOG_FILE)["events"]
    assert after[: len(before["events"])] == before["events"]
    assert verify_home_log(home, progress=nothing).damages == ()


def test_the_name_of_a_team_that_is_used_is_refused(home: Path, target: TeamDatabase) -> None:
    other = home.parent / "other"
    play(other, *TWO_AGENTS)
    asyncio.run(move_to_database(other, target, nothing))
    play(other)  # somebody opens it: it is no mere copy any more

    with pytest.raises(TeamTaken, match=target.team):
        asyncio.run(move_to_database(home, target, nothing))

    assert (home / LOG_FILE).exists()
    assert find(home) is None
    assert verify_home_log(other, progress=nothing).damages == ()


@in_loop
async def test_a_team_that_runs_is_not_moved(home: Path, target: TeamDatabase) -> None:
    store = await open_store(home)
    with pytest.raises(HomeInUse):
        await move_to_database(home, target, nothing)
    await store.close()
    await move_to_database(home, target, nothing)

    elsewhere = home.parent / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / FILE).write_bytes((home / FILE).read_bytes())
    store = await open_store(elsewhere)
    counted = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ShareLock'"
    await asyncio.to_thread(until, lambda: shared_database()[0].execute(counted) != "0")
    with pytest.raises(TeamInUse, match="muster down"):
        await move_home(home, nothing)
    await store.close()
    await move_home(home, nothing)


def test_a_damaged_log_is_not_moved(home: Path, target: TeamDatabase) -> None:
    with closing(sqlite3.connect(home / LOG_FILE)) as connection, connection:
        connection.execute("UPDATE events SET data = CAST(data || ' ' AS BLOB) WHERE seq = 5")

    with pytest.raises(LogCorrupt, match="event 5 is not what was written"):
        asyncio.run(move_to_database(home, target, nothing))

    assert events_in_database(target) == "0"
    assert find(home) is None


def events_in_database(target: TeamDatabase) -> str:
    cluster, name = shared_database()
    team = f"SELECT id FROM muster.teams WHERE name = '{target.team}'"
    return cluster.execute(f"SELECT count(*) FROM muster.events WHERE team = ({team})", name)


def test_there_is_nothing_to_move_in_a_home_without_a_team(
    tmp_path: Path, home: Path, target: TeamDatabase
) -> None:
    with pytest.raises(NoTeam):
        asyncio.run(move_to_database(tmp_path / "none", target, nothing))
    with pytest.raises(NoTeam):
        asyncio.run(move_home(tmp_path / "none", nothing))
    with pytest.raises(AlreadyMoved):
        asyncio.run(move_home(home, nothing))
    asyncio.run(move_to_database(home, target, nothing))
    with pytest.raises(AlreadyMoved):
        asyncio.run(move_to_database(home, target, nothing))


def in_team(target: TeamDatabase, sql: str) -> None:
    cluster, name = shared_database()
    team = f"(SELECT id FROM muster.teams WHERE name = '{target.team}')"
    cluster.execute(sql.replace("TEAM", team), name)


def test_a_copy_that_differs_from_its_source_is_not_taken(home: Path, target: TeamDatabase) -> None:
    asyncio.run(begin_team(target, is_new=True))
    cluster, name = shared_database()
    cluster.execute(
        "CREATE FUNCTION spoil() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN NEW.data = NEW.data || ' '; RETURN NEW; END $$; "
        "CREATE TRIGGER spoil BEFORE INSERT ON muster.events FOR EACH ROW EXECUTE FUNCTION spoil()",
        name,
    )
    try:
        with pytest.raises(CopyDiffers):
            asyncio.run(move_to_database(home, target, nothing))
    finally:
        cluster.execute("DROP FUNCTION spoil CASCADE", name)
    assert (events_in_database(target), find(home)) == ("0", None)
    asyncio.run(move_to_database(home, target, nothing))


def test_a_log_that_lost_its_end_is_not_moved_home(home: Path, target: TeamDatabase) -> None:
    asyncio.run(move_to_database(home, target, nothing))
    in_team(target, "UPDATE muster.teams SET last_seq = last_seq + 1 WHERE id = TEAM")

    with pytest.raises(CopyDiffers, match="it ends at"):
        asyncio.run(move_home(home, nothing))
    assert not (home / LOG_FILE).exists()
    in_team(target, "DELETE FROM muster.teams WHERE id = TEAM")
    with pytest.raises(NoTeam, match=target.team):
        asyncio.run(move_home(home, nothing))


# ── interrupted ───────────────────────────────────────────────────────────────────────────────────


def killed_in(home: Path, *line: str, waits: str) -> None:
    """Run a move that waits for a lock of the database, and kill it there."""
    process = subprocess.Popen(
        [sys.executable, "-m", "muster", "move-store", "--home", str(home), *line],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    cluster, name = shared_database()
    until(lambda: cluster.execute(waits, name) != "0")
    os.kill(process.pid, signal.SIGKILL)
    process.wait()


WAITING = (
    "SELECT count(*) FROM pg_stat_activity "
    "WHERE wait_event_type = 'Lock' AND datname = current_database()"
)


@in_loop
async def test_a_move_that_is_killed_leaves_nothing(home: Path, target: TeamDatabase) -> None:
    before = rows_of(home / LOG_FILE)["events"]
    await move_to_database(home, target, nothing)
    await move_home(home, nothing)  # so that the tables are there
    (home / KEPT).unlink()
    patient = {"search_path": "muster"}  # an idle holder of the lock is not ended
    holder = await a_database().connect(patient)
    async with holder.transaction():
        await holder.execute("LOCK TABLE muster.snapshots")  # it has copied the events then
        there = (target.url, "--team", target.team)
        await asyncio.to_thread(killed_in, home, *there, waits=WAITING)
    await asyncio.to_thread(until, lambda: shared_database()[0].execute(WAITING) == "0")
    assert database_of(home, {}) is None
    assert rows_of(home / LOG_FILE)["events"] == before

    await move_to_database(home, target, nothing)

    async with holder.transaction():
        await holder.execute("LOCK TABLE muster.snapshots")
        await asyncio.to_thread(killed_in, home, "--back", waits=WAITING)
    await holder.close()
    assert not (home / LOG_FILE).exists()
    assert len(before) == verify_home_log_in_thread(home)
    await move_home(home, nothing)
    assert rows_of(home / LOG_FILE)["events"] == before


def verify_home_log_in_thread(home: Path) -> int:
    with open_reader(home) as log:
        return log.last_seq()


def test_a_copy_that_was_not_taken_into_use_is_replaced(home: Path, target: TeamDatabase) -> None:
    @in_loop
    async def copy_only() -> None:
        with reading_file(home / LOG_FILE) as source:
            await upload(source, a_database(), target.team, nothing)

    copy_only()  # and killed before the home was told
    play(home, post("meanwhile"))
    before = rows_of(home / LOG_FILE)

    asyncio.run(move_to_database(home, target, nothing))

    assert rows_of(home / KEPT) == before
    assert events_in_database(target) == str(len(before["events"]))


def test_a_way_back_that_was_cut_off_at_its_end_is_finished(
    home: Path, target: TeamDatabase
) -> None:
    before = rows_of(home / LOG_FILE)
    asyncio.run(move_to_database(home, target, nothing))

    asyncio.run(leave(a_database(), target.team, home / "half", nothing))  # and killed there
    with pytest.raises(TeamLeft, match="muster move-store --back"):
        open_reader(home)
    with pytest.raises(TeamLeft):
        asyncio.run(open_store(home))
    asyncio.run(move_home(home, nothing))

    assert rows_of(home / LOG_FILE) == before


# ── by the command line ───────────────────────────────────────────────────────────────────────────


def test_the_command_line_moves_a_log_there_and_back(home: Path, target: TeamDatabase) -> None:
    there = muster("move-store", "--home", str(home), "--team", target.team, target.url)
    assert there.returncode == 0, there.stderr
    assert "events moved to postgresql://" in there.stdout
    named = muster("move-store", "--home", str(home), "--back", MUSTER_STORE_DATABASE=target.url)
    assert "store.database" in named.stderr
    back = muster("move-store", "--home", str(home), "--back")
    assert back.returncode == 0, back.stderr
    assert f"moved to {home / LOG_FILE}" in back.stdout
    for wrong in (("--back", target.url), (), ("mysql://h/d",)):
        assert muster("move-store", "--home", str(home), *wrong).returncode == 2


def test_a_team_in_a_database_is_backed_up_and_restored(home: Path, target: TeamDatabase) -> None:
    asyncio.run(move_to_database(home, target, nothing))
    before = rows_of(home / KEPT)["events"]

    made = muster("backup", "--home", str(home), str(home / "backup"))
    assert made.returncode == 0, made.stderr
    again = muster("restore", "--home", str(home / "again"), str(home / "backup"))
    assert again.returncode == 0, again.stderr

    assert rows_of(home / "again" / LOG_FILE)["events"][: len(before)] == before
    verified = muster("doctor", "--verify", "--home", str(home))
    assert "hash chain unbroken" in verified.stdout


def test_a_home_joins_a_team_that_is_there(home: Path, target: TeamDatabase) -> None:
    asyncio.run(move_to_database(home, target, nothing))
    second = home / "second"

    named = ("--team", target.team, "--node", "gpu-box")
    assert muster("join", "--home", str(second), "--node", "a b", target.url).returncode == 2
    joined = muster("join", "--home", str(second), *named, target.url)

    assert joined.returncode == 0, joined.stderr
    assert find(second) == msgspec.structs.replace(target, node="gpu-box")
    assert (second / "muster.toml").exists()
    assert "design" in muster("status", "--home", str(second)).stdout
    assert muster("join", "--home", str(second), target.url).returncode == 3
    nobody = muster("join", "--home", str(home / "third"), "--team", "nobody", target.url)
    assert nobody.returncode == 6
    assert "no team 'nobody' in" in nobody.stderr
    assert not (home / "third").exists()
    assert muster("join", "--home", str(home / "third"), "nowhere").returncode == 2
