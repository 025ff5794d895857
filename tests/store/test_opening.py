"""The log of a home, in a file or in a database, as verbs and servers open it."""

import asyncio
import builtins
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from muster.engine.tasks import background
from muster.errors import (
    DatabaseUnusable,
    FileUnusable,
    HomeHidden,
    HomeInUse,
    LogCorrupt,
    LogTooNew,
    MissingExtra,
    NoTeam,
    TeamTaken,
)
from muster.home import operator_token
from muster.home.database import FILE, TeamDatabase, keep
from muster.home.folder import make_home
from muster.machines.ids import SeatId
from muster.store.base import SEQ_END, LogFilter, MessageSearch, Snapshot
from muster.store.codec import stored
from muster.store.opening import (
    begin_team,
    copy_home_log,
    examine_database,
    log_stamp,
    open_reader,
    open_store,
    verify_home_log,
)
from muster.store.postgres.connecting import Database
from muster.store.postgres.examining import VERSION_NEEDED
from muster.store.postgres.opening import POSTGRES, SQL, migrate
from muster.store.reading import LogReader
from muster.store.verifying import verify_log
from tests.postgres import a_database, in_database, new_team, shared_database
from tests.store.building import event, said
from tests.store.harness import in_loop

HI = event(2, said("hi", seat=SeatId(9)))


@pytest.fixture(params=["file", "database"])
def home(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A new home, with its log in a file or in a database."""
    if request.param == "database":
        in_database(tmp_path)
    return tmp_path


def test_a_log_is_read_as_it_was_written(home: Path) -> None:
    @in_loop
    async def write() -> None:
        store = await open_store(home)
        await store.append([event(1), HI])
        await store.save_snapshot(Snapshot(2, b"two"), 1)
        await store.save_cursor("prompts", 2)
        await store.close()

    write()
    with open_reader(home) as log:
        assert log.last_seq() == 2
        assert log.read(after=1, limit=10) == [stored(HI)]
        assert [each.seq for each in log.read(after=0, limit=1, backwards=True)] == [2]
        where = LogFilter(seat=SeatId(9))
        assert [each.seq for each in log.read(after=0, limit=9, where=where)] == [2]
        assert log.load_snapshot(1) == Snapshot(2, b"two")
        assert log.load_cursor("prompts") == 2
        assert log.load_cursor("nobody") == 0
        search = MessageSearch(words=("hi",))
        assert log.search(search, before=SEQ_END, limit=9).found == [stored(HI)]


@in_loop
async def test_a_log_is_read_while_a_server_writes_it(home: Path) -> None:
    store = await open_store(home)
    try:
        before = log_stamp(home)
        with open_reader(home) as log:
            assert log.last_seq() == 0
            await store.append([event(1)])
            assert log.read(after=0, limit=10) == [stored(event(1))]
        assert log_stamp(home) != before
    finally:
        await store.close()


@in_loop
async def test_a_home_belongs_to_one_process_at_a_time(home: Path) -> None:
    store = await open_store(home)
    with pytest.raises(HomeInUse):
        await open_store(home)
    await store.close()

    await (await open_store(home)).close()


def test_a_log_is_verified_and_copied_wherever_it_is(home: Path) -> None:
    @in_loop
    async def write() -> None:
        store = await open_store(home)
        await store.append([event(1), HI])
        await store.close()

    write()
    shares: list[float] = []
    found = verify_home_log(home, places=frozenset({1}), progress=lambda done, of: None)
    assert (found.events, found.damages, set(found.links)) == (2, (), {1})

    copy_home_log(home, home / "copy.db", shares.append)

    again = verify_log(home / "copy.db")
    assert (again.events, again.head) == (2, found.head)
    with LogReader.open(home / "copy.db") as log:
        assert log.read(after=1, limit=9) == [stored(HI)]


def test_a_server_is_examined_where_there_is_one(home: Path) -> None:
    facts = examine_database(home)

    if (home / FILE).exists():
        assert facts is not None
        assert facts.version >= VERSION_NEEDED
        assert 0 < facts.connections_free < facts.connections_max
        assert (facts.is_standby, facts.is_local, facts.standbys) == (False, True, 0)
    else:
        assert facts is None


@in_loop
async def test_the_time_is_that_of_the_server_which_keeps_the_log(home: Path) -> None:
    store = await open_store(home)
    try:
        told = await store.server_time()
        assert (told is not None) == (home / FILE).exists()
        assert not store.is_away
        async with background() as beside:  # nothing is lost: it waits until it is cancelled
            waiting = beside.create_task(store.lost())
            await asyncio.sleep(0)
            assert not waiting.done()
    finally:
        await store.close()


def test_damage_in_a_database_is_found(tmp_path: Path) -> None:
    kept = in_database(tmp_path)

    @in_loop
    async def write() -> None:
        store = await open_store(tmp_path)
        await store.append([event(1), HI, event(3)])
        await store.close()

    def verified() -> tuple[str, ...]:
        return verify_home_log(tmp_path, places=frozenset(), progress=lambda done, of: None).damages

    def change(sql: str) -> None:
        cluster, name = shared_database()
        team = f"(SELECT id FROM muster.teams WHERE name = '{kept.team}')"
        cluster.execute(sql.replace("TEAM", team), name)

    write()
    assert verified() == ()
    change("UPDATE muster.events SET data = data || ' ' WHERE team = TEAM AND seq = 2")
    assert "event 2 is not what was written" in verified()
    change("DELETE FROM muster.events WHERE team = TEAM AND seq = 3")
    assert "the log does not end at event 3, as the database says" in verified()
    change("DELETE FROM muster.events WHERE team = TEAM")
    assert "the log does not end at event 3, as the database says" in verified()


def test_a_team_that_is_not_in_its_database_is_not_created(tmp_path: Path) -> None:
    keep(tmp_path, TeamDatabase(url=a_database().url, team="nobody"))

    with pytest.raises(NoTeam, match="nobody"):
        open_reader(tmp_path)
    with pytest.raises(NoTeam, match="nobody"):
        asyncio.run(open_store(tmp_path))
    with pytest.raises(NoTeam, match="nobody"):
        asyncio.run(begin_team(TeamDatabase(url=a_database().url, team="nobody"), is_new=False))


def test_a_program_that_does_not_see_its_home_is_told_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MUSTER_HOME", str(tmp_path))
    with pytest.raises(NoTeam):
        open_reader(tmp_path)
    monkeypatch.setenv("MUSTER_URL", "http://127.0.0.1:9")
    with pytest.raises(HomeHidden, match="Ask the server"):
        open_reader(tmp_path)


def test_a_database_without_muster_has_no_team(tmp_path: Path) -> None:
    cluster, _ = shared_database()
    keep(tmp_path, TeamDatabase(url=cluster.url("template1"), team="tea"))

    with pytest.raises(NoTeam, match="template1"):
        open_reader(tmp_path)


def test_a_schema_of_a_newer_muster_is_refused_by_readers(tmp_path: Path) -> None:
    cluster, _ = shared_database()
    cluster.execute("CREATE DATABASE newer")
    kept = TeamDatabase(url=cluster.url("newer"), team="tea")
    asyncio.run(begin_team(kept, is_new=True))
    cluster.execute("INSERT INTO muster.migrations VALUES (99)", "newer")
    keep(tmp_path, kept)

    with pytest.raises(LogTooNew, match="schema 99"):
        open_reader(tmp_path)
    cluster.execute("DROP DATABASE newer")


def test_a_server_that_is_away_is_named_without_the_password(tmp_path: Path) -> None:
    keep(tmp_path, TeamDatabase(url="postgresql://ada:s3cret@127.0.0.1:1/muster", team="tea"))

    with pytest.raises(DatabaseUnusable, match=r"127\.0\.0\.1:1/muster") as away:
        open_reader(tmp_path)

    assert "s3cret" not in f"{away.value} {away.value.__cause__!r}"
    assert "s3cret" not in repr(Database("postgresql://ada:s3cret@h/d"))


def test_a_new_team_does_not_take_the_name_of_another() -> None:
    kept = TeamDatabase(url=a_database().url, team=new_team())
    asyncio.run(begin_team(kept, is_new=True))
    asyncio.run(begin_team(kept, is_new=True))  # as after a crash: nothing was written yet
    asyncio.run(begin_team(kept, is_new=False))

    @in_loop
    async def write() -> None:
        from muster.store.postgres.store import PostgresStore

        store = await PostgresStore.open(a_database(), kept.team)
        await store.append([event(1)])
        await store.close()

    write()
    with pytest.raises(TeamTaken, match="muster join"):
        asyncio.run(begin_team(kept, is_new=True))


def without(module: str) -> Callable[..., ModuleType]:
    """An import in which a module is missing."""
    real = builtins.__import__

    def imported(name: str, *args: object) -> ModuleType:
        if name.startswith("muster.store.postgres"):
            raise ModuleNotFoundError(f"No module named {module!r}", name=module)
        return real(name, *args)  # pyright: ignore[reportArgumentType] - passed on as they are

    return imported


def test_without_the_driver_the_install_line_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(tmp_path, TeamDatabase(url="postgresql://h/d", team="tea"))
    monkeypatch.setattr(builtins, "__import__", without("asyncpg"))

    with pytest.raises(MissingExtra, match=r"pip install 'muster-agents\[postgres\]'"):
        open_reader(tmp_path)


def test_a_module_that_is_missing_otherwise_is_not_hidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(tmp_path, TeamDatabase(url="postgresql://h/d", team="tea"))
    monkeypatch.setattr(builtins, "__import__", without("other"))

    with pytest.raises(ModuleNotFoundError, match="other"):
        open_reader(tmp_path)


@in_loop
async def test_a_home_whose_log_is_lost_is_refused(tmp_path: Path) -> None:
    make_home(tmp_path / "home")
    operator_token.keep(tmp_path / "home", "muster_" + "a" * 32)
    with pytest.raises(LogCorrupt, match="missing or empty"):
        await open_store(tmp_path / "home")
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(FileUnusable, match="Not a directory"):  # said by the opening itself
        await open_store(tmp_path / "file")


@in_loop
async def test_a_database_of_an_older_muster_gets_the_migrations_that_it_lacks() -> None:
    cluster, name = shared_database()
    cluster.execute(f"CREATE DATABASE {name}_older")
    connection = await Database(cluster.url(f"{name}_older")).connect()
    try:
        await migrate(connection, "there", POSTGRES[:-1])
        await migrate(connection, "there")
        assert await connection.fetchval(SQL["schema_version"]) == POSTGRES[-1].number
    finally:
        await connection.close()
