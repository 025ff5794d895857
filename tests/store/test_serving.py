"""The lock of the one muster that runs a team in a database."""

import asyncio
import socket
from pathlib import Path

import pytest

from muster.errors import TeamServed
from muster.home.database import database_of, keep
from muster.home.folder import make_home
from muster.store.opening import database_at, open_store
from muster.store.postgres.connecting import SETTINGS, Connection, Database
from muster.store.postgres.opening import SQL
from muster.store.postgres.serving import NAMESPACE, PREFIX
from tests.postgres import in_database
from tests.store.building import event
from tests.store.harness import in_loop
from tests.waits import WAIT_SECONDS

END_SERVERS = """SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE application_name LIKE $1 AND datname = current_database()"""
TEAM = "SELECT id FROM teams WHERE name = $1"


@pytest.fixture
def homes(tmp_path: Path) -> tuple[Path, Path]:
    """Two homes of one team in a database."""
    first, second = tmp_path / "first", tmp_path / "second"
    for each in (first, second):
        make_home(each)
    in_database(first)
    kept = database_of(first, {})
    assert kept is not None
    keep(second, kept)
    return first, second


async def connected(home: Path) -> tuple[Connection, int]:
    """A connection to the database of a home, and the number of its team."""
    kept = database_of(home, {})
    assert kept is not None
    connection = await database_at(kept).connect()
    return connection, await connection.fetchval(TEAM, kept.team)


async def until_taken(connection: Connection, team: int) -> None:
    """Wait until a server has the team."""
    async with asyncio.timeout(WAIT_SECONDS):
        while await connection.fetchval(SQL["server_of_team"], NAMESPACE, team) is None:
            pass  # each look is a round trip to the server


@in_loop
async def test_a_team_that_another_home_runs_is_refused_with_its_machine(
    homes: tuple[Path, Path],
) -> None:
    first, second = homes
    store = await open_store(first)
    with pytest.raises(TeamServed, match=socket.gethostname()):
        await open_store(second)
    await store.append([event(1)])
    await store.close()
    after = await open_store(second)
    await after.close()


@in_loop
async def test_a_server_whose_connection_was_cut_takes_the_team_again(
    homes: tuple[Path, Path],
) -> None:
    first, second = homes
    store = await open_store(first)
    connection, team = await connected(second)
    await connection.execute(END_SERVERS, f"{PREFIX}%")
    await until_taken(connection, team)
    with pytest.raises(TeamServed):
        await open_store(second)
    await store.append([event(1)])
    await store.close()
    await connection.close()


@in_loop
async def test_a_server_that_finds_its_team_run_by_another_ends(homes: tuple[Path, Path]) -> None:
    first, second = homes
    store = await open_store(first)
    connection, team = await connected(second)
    waiting = connection.execute("SELECT pg_advisory_lock(hashtext($1), $2)", NAMESPACE, team)
    other = asyncio.ensure_future(waiting)
    cutting, _ = await connected(second)
    await cutting.execute(END_SERVERS, f"{PREFIX}%")
    await other
    with pytest.raises(TeamServed):
        async with asyncio.timeout(WAIT_SECONDS):
            await store.lost()
    await store.close()
    await connection.close()
    await cutting.close()


@in_loop
async def test_a_server_tries_to_take_its_team_again_until_the_database_is_back(
    homes: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = homes
    store = await open_store(first)
    connection, team = await connected(second)
    tries = 0
    connect = Database.connect

    async def away(self: Database, settings: dict[str, str] = SETTINGS) -> Connection:
        nonlocal tries
        tries += 1
        if tries == 1:
            raise ConnectionRefusedError
        return await connect(self, settings)

    monkeypatch.setattr(Database, "connect", away)
    await connection.execute(END_SERVERS, f"{PREFIX}%")
    await until_taken(connection, team)
    assert tries == 2
    await store.close()
    await connection.close()
