"""The benchmark of idle sessions: muster's share is measured apart from the program's own."""

import subprocess
from pathlib import Path

import pytest

from bench import sessions


@pytest.mark.parametrize("runtime", ["claude", "python"])
def test_the_share_of_muster_is_measured_for_each_runtime(
    runtime: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "SESSIONS", 2)
    monkeypatch.setattr(sessions, "SETTLE_SECONDS", 0.01)
    monkeypatch.setattr(sessions, "LOOK_SECONDS", 0.01)
    [share] = sessions.shares(tmp_path, runtime, 1)
    assert share >= 0


def test_a_program_counts_with_all_that_it_has_started() -> None:
    line = "sleep 1800 & echo $!; wait"
    with subprocess.Popen(["sh", "-c", line], stdout=subprocess.PIPE, text=True) as shell:
        assert shell.stdout is not None
        child = int(shell.stdout.readline())
        assert list(sessions.descendants(shell.pid)) == [child]
        shell.kill()
        subprocess.run(["kill", str(child)], check=True)
