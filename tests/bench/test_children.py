"""The benchmarks' children: a boot boots, and a command is executed."""

import asyncio
from pathlib import Path

from bench import following
from bench.boot import write_log
from bench.contestants import running
from bench.processes import output, python
from bench.teams import found_home
from muster.engine.loading import load
from muster.home.lock import LOG_FILE
from muster.machines.kernel.invariants import violations
from muster.store.codec import decode
from muster.store.reading import LogReader
from tests.postgres import shared_database


def log_types(home: Path) -> list[str]:
    with LogReader.open(home / LOG_FILE) as reader:
        return [decode(each.data).type for each in reader.read(after=0, limit=1_000_000)]


def test_the_simulated_load_has_every_kind_of_event_that_it_promises(tmp_path: Path) -> None:
    asyncio.run(write_log(tmp_path, 2000))
    types = log_types(tmp_path)
    assert len(types) >= 2000
    promised = {"agent_message", "user_message", "turn_renewed", "state_transition", "member_left"}
    assert promised <= set(types)


def test_the_simulated_load_breaks_no_invariant(tmp_path: Path) -> None:
    asyncio.run(write_log(tmp_path, 2000))
    with LogReader.open(tmp_path / LOG_FILE) as reader:
        assert list(violations(load(reader))) == []


def test_the_boot_child_runs_until_the_boot_is_in_the_log(tmp_path: Path) -> None:
    asyncio.run(found_home(tmp_path, channels=1, members=2, snapshot=True))
    before = log_types(tmp_path)
    assert float(output(python("-m", "bench.children.boot", str(tmp_path)))) > 0
    assert log_types(tmp_path) == [*before, "muster_started"]


def test_the_memory_child_prints_its_unique_set_size(tmp_path: Path) -> None:
    asyncio.run(found_home(tmp_path, channels=1, members=2))
    assert int(output(python("-m", "bench.children.memory", str(tmp_path)))) > 1_000_000


def test_a_contestant_executes_as_many_steps_as_requested(tmp_path: Path) -> None:
    folder = tmp_path / "ours"
    with running("bench.children.muster_commands", folder, environment={}) as contestant:
        cost = contestant.do("muster-16", 32)
    assert cost.steps == 32
    assert cost.seconds > 0
    assert log_types(folder / "home").count("user_message") == 32


def test_every_measured_command_is_seen_by_another_process() -> None:
    cluster, database = shared_database()
    line = following.measure(cluster.url(database), "this disk", rounds=1)
    assert line.median > 0


def test_two_contestants_write_to_one_team_in_postgres(tmp_path: Path) -> None:
    cluster, database = shared_database()
    given = (cluster.url(database), "contest")
    module = "bench.children.muster_postgres"
    with (
        running(module, tmp_path / "1", environment={}, arguments=(*given, "first")) as first,
        running(module, tmp_path / "2", environment={}, arguments=(*given, "other")) as other,
    ):
        assert first.do("muster-16", 32).seconds > 0
        assert other.do("muster-1", 8).seconds > 0
    team = "SELECT id FROM muster.teams WHERE name = 'contest'"
    count = f"SELECT count(*) FROM muster.events WHERE type = 'user_message' AND team = ({team})"
    assert cluster.execute(count, database) == "40"
