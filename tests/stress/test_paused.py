"""A short run of the trials that pause real agents; by hand it makes ten thousand."""

from pathlib import Path

import pytest

from tests.stress.paused import paused


@pytest.mark.exhaustive
def test_nothing_starts_an_agent_that_is_paused(tmp_path: Path) -> None:
    """Issue 15: paused means paused, by API and by file, through storms, restarts and kill -9."""
    score = paused(tmp_path, trials=30, seed=7, agents=15)
    assert score.trials == 30
    assert score.starts > 0
