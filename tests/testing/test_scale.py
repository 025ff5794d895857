"""The simulation of many teams on one server."""

import pytest

from muster.testing.scale import Step, bend, main
from tests.postgres import shared_database


def a_step(teams: int, per_second: int) -> Step:
    return Step(
        teams=teams,
        nodes=teams,
        events=per_second,
        seconds=1.0,
        waits_ms=[1.0, 2.0, 3.0],
        bytes=400,
        wal_bytes=700,
    )


def test_a_simulation_counts_events_waits_and_bytes_for_each_number_of_teams(
    capsys: pytest.CaptureFixture[str],
) -> None:
    cluster, _ = shared_database()
    cluster.execute("CREATE DATABASE scale")
    options = ["--teams", "1", "2", "--nodes", "2", "--agents", "2", "--seconds", "0.5"]
    assert main([cluster.url("scale"), *options, "--rate", "50"]) == 0
    head, one, two, end = capsys.readouterr().out.splitlines()
    assert head.split()[:3] == ["teams", "nodes", "connections"]
    assert one.split()[:3] == ["1", "2", "6"]
    assert two.split()[:3] == ["2", "4", "12"]
    assert end.startswith("It ")
    written = "SELECT count(*) FROM muster.events WHERE type = 'user_message'"
    assert int(cluster.execute(written, "scale")) > 10


def test_a_database_with_other_teams_is_not_used() -> None:
    cluster, _ = shared_database()
    cluster.execute("CREATE DATABASE others")
    assert main([cluster.url("others"), "--teams", "1", "--seconds", "0.1"]) == 0
    cluster.execute("INSERT INTO muster.teams (name) VALUES ('ours')", "others")
    with pytest.raises(SystemExit, match="1 other teams"):
        main([cluster.url("others"), "--teams", "1"])


def test_throughput_bends_where_twice_the_teams_bring_little_more() -> None:
    steps = [a_step(1, 100), a_step(2, 190), a_step(4, 350), a_step(8, 380)]
    found = bend(steps)
    assert found is not None
    assert found.teams == 4
    assert bend(steps[:3]) is None
