"""Hostile lines in a real bash under `muster confine`: no file outside the allowed places changes.

The lines are those of the judge's table that must be denied, and random ones. Execution is the
judge's matter, so a line may run programs; what it cannot do is leave a trace.
"""

import os
import random
import shutil
import signal
import stat
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import pytest

from muster.confine.policy import ConfinePolicy
from tests.confine.launchers import LAUNCHERS, written
from tests.permissions.test_canary import line as random_line
from tests.permissions.test_lines import lines
from tests.waits import WAIT_SECONDS

HOSTILE: Final = [command for command, verdict in lines() if verdict == "deny"]
NEVER: Final = ("at now", "ssh -o", "tmux", "watch")
"""Lines that hand their work to a server, read a terminal, or never end."""

Look = dict[str, tuple[int, int, int, int, bytes]]


def world(folder: Path) -> tuple[Path, Path, Path]:
    """A home, a project with what the lines name, and outputs that may be written."""
    home, project, out = folder / "home", folder / "project", folder / "out"
    for each in (home, project / "s", project / ".claude", out):
        each.mkdir(parents=True)
    for name in ("notes.txt", "y", "app.py", "a.tar", "hex.txt", "keys.txt", "on", "fig"):
        (project / name).write_text(f"{name}\n")
    (project / "evil.py.xz").write_bytes(b"")
    (home / ".wgetrc").write_text("tries = 1\n")  # it retries a refused connection for minutes
    subprocess.run(["git", "init", "-q", str(project)], check=True, env=environment(home))
    return home, project, out


def environment(home: Path) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(home), "LC_ALL": "C.UTF-8"}


def look(*folders: Path) -> Look:
    """Every file below these folders: mode, owner, time and content."""
    found: Look = {}
    for folder in folders:
        for path in _below(folder):
            at = path.lstat()
            content = path.read_bytes() if stat.S_ISREG(at.st_mode) else b""
            found[str(path)] = (at.st_mode, at.st_uid, at.st_gid, at.st_mtime_ns, content)
    return found


def _below(folder: Path) -> Iterator[Path]:
    yield folder
    for root, folders, files in os.walk(folder):
        yield from (Path(root, name) for name in (*folders, *files))


def run(command: str, plan: Path, home: Path, project: Path) -> None:
    """Run a line confined, and end all that it started."""
    launcher = LAUNCHERS["perl" if shutil.which("perl") else "python"]
    with subprocess.Popen(
        [*launcher, str(plan), "--", "bash", "-c", command],
        cwd=project,
        env=environment(home),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        try:
            process.wait(WAIT_SECONDS)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


@pytest.mark.parametrize("part", range(4))
def test_no_hostile_line_changes_a_file_outside_the_allowed_places(
    part: int, tmp_path: Path
) -> None:
    home, project, out = world(tmp_path)
    plan = written(tmp_path, ConfinePolicy((str(out),)))
    before = look(home, project)
    for command in HOSTILE[part::4]:
        if not command.startswith(NEVER):
            run(command, plan, home, project)
            assert look(home, project) == before, command


@pytest.mark.parametrize("seed", range(2))
def test_no_random_line_changes_a_file_outside_the_allowed_places(
    seed: int, tmp_path: Path
) -> None:
    home, project, out = world(tmp_path)
    plan = written(tmp_path, ConfinePolicy((str(out),)))
    before, chance = look(home, project), random.Random(seed)
    for command in (random_line(chance) for _ in range(150)):
        run(command, plan, home, project)
        assert look(home, project) == before, command


def test_the_canary_sings_without_confinement(tmp_path: Path) -> None:
    home, project, _ = world(tmp_path)
    before = look(home, project)
    subprocess.run(["bash", "-c", "touch evil.py"], cwd=project, check=True, env=environment(home))
    assert look(home, project) != before
