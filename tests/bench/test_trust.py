"""The benchmarks of verifying, backing up and scraping measure what they say."""

from pathlib import Path

from bench import trust
from muster.store.verifying import verify_log


def test_a_log_is_verified_and_backed_up_under_load_and_metrics_are_scraped(tmp_path: Path) -> None:
    verified, backed_up, scraped = trust.measure(tmp_path, 1, events=2000)
    assert [line.goal.unit for line in (verified, backed_up, scraped)] == ["events/s", "x", "%"]
    assert all(line.median > 0 for line in (verified, backed_up, scraped))
    assert (tmp_path / "0.tar.gz").stat().st_size > 0
    log = verify_log(tmp_path / "home" / "team.db")
    assert log.events > 2000 + trust.COMMANDS_A_SECOND  # the commands are in the log
    assert not log.damages
