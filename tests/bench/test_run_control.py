"""The benchmarks of run control: programs really start, stop and flood."""

from pathlib import Path

import pytest

from bench import flood
from bench.run_control import measure_settings, measure_starts, measure_stops
from bench.supervised import p99, up
from muster.home.lock import LOG_FILE
from muster.store.codec import decode
from muster.store.reading import LogReader


def log_types(home: Path) -> list[str]:
    with LogReader.open(home / LOG_FILE) as reader:
        return [decode(each.data).type for each in reader.read(after=0, limit=1_000_000)]


def test_every_measured_start_is_a_session_in_the_log(tmp_path: Path) -> None:
    lines = measure_starts(tmp_path / "starts", 1, starts=2)
    assert [line.goal.unit for line in lines] == ["x", "ms", "ms"]
    assert all(line.median > 0 for line in lines)
    types = log_types(tmp_path / "starts" / "team" / "home")
    assert types.count("session_start") == 2 * 2  # one warm-up round, and one that counts


def test_every_measured_change_of_the_settings_is_an_agent_that_ran(tmp_path: Path) -> None:
    [line] = measure_settings(tmp_path / "settings", 3)
    assert line.median > 0
    types = log_types(tmp_path / "settings" / "team" / "home")
    assert types.count("session_start") == types.count("settings_applied") == 3


def test_every_measured_stop_ends_a_session_or_finds_none(tmp_path: Path) -> None:
    lines = measure_stops(tmp_path / "stops", 2)
    assert [len(line.figures) for line in lines] == [1, 1]
    types = log_types(tmp_path / "stops" / "home")
    assert types.count("session_end") == 2 * 3
    assert types.count("stop_requested") == 3


def test_a_measured_flood_is_left_out_of_the_log_and_kept_in_files(tmp_path: Path) -> None:
    lines = flood.measure(tmp_path / "flood", 1, size=5_000_000, calm_s=0.5)
    assert "files keep all 5 MB" in lines[-1].aside
    assert "are left out" in lines[-1].aside


def test_a_flood_that_is_not_kept_in_files_is_an_error(tmp_path: Path) -> None:
    with (
        up(tmp_path, '[agents.flood]\ncommand = ["true"]\n') as team,
        pytest.raises(RuntimeError, match="of 1000 bytes 0 are told, 0 not, and 0 kept"),
    ):
        flood.check_what_is_kept(team, 1000)


@pytest.mark.parametrize(("count", "expected"), [(1, 0), (100, 98), (101, 99), (1000, 989)])
def test_the_p99_is_exceeded_by_one_in_a_hundred(count: int, expected: int) -> None:
    assert p99([float(each) for each in reversed(range(count))]) == expected
