"""The start of Claude Code, which is compared with the times of files."""

import os
import sys
from pathlib import Path
from subprocess import PIPE, Popen

import pytest

from muster.claude_plugin.typed.surroundings import Surroundings

WAITS = "import sys; sys.stdin.read()"


@pytest.mark.parametrize("trial", range(20))
def test_a_file_is_older_than_a_process_that_was_started_right_after(
    tmp_path: Path, trial: int
) -> None:
    file = tmp_path / "command.md"
    file.write_text(f"Hi {trial}.")
    with Popen([sys.executable, "-Sc", WAITS], stdin=PIPE) as process:
        where = Surroundings.of(tmp_path, tmp_path, process.pid, os.environ)
        assert file.stat().st_ctime <= where.began < file.stat().st_ctime + 60
        process.communicate()
