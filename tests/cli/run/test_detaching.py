"""`muster up --detach`, `muster down` and `muster restart`, with real servers."""

import os
import re
import signal
import subprocess
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from muster.cli.act.restart import restart
from muster.cli.run import detaching
from muster.cli.run.down import is_stopping
from muster.home import address
from muster.home.file_lock import holder_pid
from muster.home.lock import running_pid
from muster.home.restart import LOCK_FILE, RestartGivenUp
from muster.runtimes.process.processes import alive
from tests.cli.act.test_run_control import typed
from tests.cli.run.test_stopping import Team
from tests.cli.run.test_up import types_of
from tests.homes import muster
from tests.live import NO_TLS
from tests.waits import LIFE_SECONDS, WAIT_SECONDS, until


@pytest.fixture
def team(tmp_path: Path) -> Generator[Team]:
    made = Team(tmp_path)
    yield made
    made.finish()
    pid = running_pid(made.home)
    if pid is not None:
        os.kill(pid, signal.SIGKILL)


def up(team: Team, *options: str, drain_s: float = 0.0) -> str:
    ran = muster(
        *("up", "--detach", "--port", "0", *options, "--home", str(team.home)),
        MUSTER_SERVER_DRAIN_SECONDS=str(drain_s),
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_a_server_in_the_background_is_ready_when_the_command_returns(team: Team) -> None:
    said = up(team)
    found = address.find(team.home)
    assert found is not None
    assert found.pid == running_pid(team.home)
    assert re.search(rf"Sign in: {re.escape(found.url)}/sign-in#[0-9a-f]{{32}}\n", said)
    assert team.token not in said
    assert httpx.get(f"{found.url}/api/health", verify=NO_TLS).json()["status"] == "ok"
    assert os.getsid(found.pid) == found.pid  # no terminal can end it
    second = muster("up", "--detach", "--port", "0", "--home", str(team.home))
    assert second.returncode == 3
    assert "Another muster" in second.stderr
    down = muster("down", "--home", str(team.home))
    assert (down.returncode, running_pid(team.home)) == (0, None)
    assert types_of(team.home)[-1] == "muster_stopped"
    log = team.home / "server.log"
    assert "muster is up" in log.read_text()
    assert team.token not in log.read_text()
    assert log.stat().st_mode & 0o077 == 0
    again = muster("down", "--home", str(team.home))
    assert (again.returncode, again.stdout) == (0, f"No muster runs in {team.home}.\n")


def test_a_server_in_the_background_that_others_reach_without_tls_warns(team: Team) -> None:
    line = ("up", "--detach", "--host", "0.0.0.0", "--port", "0", "--home", str(team.home))
    ran = muster(*line)
    assert ran.returncode == 0, ran.stderr
    assert "listens on 0.0.0.0 without TLS" in ran.stderr


def test_the_error_of_a_start_in_the_background_is_shown_with_its_code(team: Team) -> None:
    (team.home / "muster.toml").write_text("[server]\nport = 70000\n")
    ran = muster("up", "--detach", "--home", str(team.home))
    assert ran.returncode == 2
    assert "server.port is 70000" in ran.stderr


def test_down_stops_sessions_now_if_asked_to(team: Team) -> None:
    up(team)
    team.runs("start")
    down = muster("down", "--now", "--home", str(team.home))
    assert down.returncode == 0, down.stderr
    assert not team.is_alive()


def test_a_server_that_hangs_is_killed_and_so_are_the_programs_that_it_leaves(team: Team) -> None:
    up(team)
    team.runs("start")
    pid = running_pid(team.home)
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    down = muster("down", "--now", "--home", str(team.home))
    assert down.returncode == 0, down.stderr
    assert "does not answer" in down.stderr
    assert "1 program that it left running ended" in down.stderr
    assert running_pid(team.home) is None
    assert not team.is_alive()


def test_down_during_a_restart_leaves_muster_down(team: Team) -> None:
    """Issue 15: the restart, which waited for the sessions too, started the server again."""
    up(team, drain_s=LIFE_SECONDS)
    team.runs("once")
    with ThreadPoolExecutor() as threads:
        restarted = threads.submit(muster, "restart", "--home", str(team.home))
        until(lambda: holder_pid(team.home / LOCK_FILE))
        second = muster("restart", "--home", str(team.home))
        pid = holder_pid(team.home / LOCK_FILE)
        assert pid is not None
        os.kill(pid, signal.SIGTERM)  # as `down` does first, so that the order is certain
        down = threads.submit(muster, "down", "--home", str(team.home))
        team.finish()
        assert second.returncode == 3
        assert down.result().returncode == 0, down.result().stderr
        assert restarted.result().returncode == 143
        assert "ended the restart. muster " in restarted.result().stderr
        assert "not started again" in restarted.result().stderr
    assert running_pid(team.home) is None


def test_a_restart_that_begins_during_a_down_leaves_muster_down(team: Team) -> None:
    """Both waited for the sessions, and the restart started the server again."""
    up(team, drain_s=LIFE_SECONDS)
    team.runs("once")
    with ThreadPoolExecutor() as threads:
        down = threads.submit(muster, "down", "--home", str(team.home))
        until(lambda: is_stopping(team.home))
        restarted = threads.submit(muster, "restart", "--home", str(team.home))
        until(lambda: holder_pid(team.home / LOCK_FILE))
        team.finish()
        assert down.result().returncode == 0, down.result().stderr
        assert restarted.result().returncode == 143, restarted.result().stderr
    assert running_pid(team.home) is None


def test_ctrl_c_during_a_restart_says_that_the_server_still_stops(team: Team) -> None:
    """Issue 15: it ended without a word, and the server stopped a minute later."""
    up(team, drain_s=LIFE_SECONDS)
    team.runs("once")
    with typed(team.home, "restart") as running:
        assert running.stdout is not None
        assert "Stopping: waits for worker" in running.stdout.readline()
        running.send_signal(signal.SIGINT)
        _, said = running.communicate(timeout=WAIT_SECONDS)
    assert running.returncode == 130
    assert "Ctrl-C ended the restart. muster (process " in said
    assert "still stops, as it was asked to, and is not started again" in said
    team.finish()
    until(lambda: running_pid(team.home) is None)
    assert types_of(team.home)[-1] == "muster_stopped"


@pytest.mark.parametrize(
    ("cut", "code"), [(KeyboardInterrupt, 130), (RestartGivenUp, 143)], ids=["Ctrl-C", "SIGTERM"]
)
def test_a_restart_that_is_cut_short_while_the_new_server_starts_leaves_none(
    team: Team,
    cut: type[BaseException],
    code: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    started: list[int] = []

    def interrupted(ready: object, process: subprocess.Popen[bytes]) -> bool:
        started.append(process.pid)
        raise cut

    up(team)
    monkeypatch.setattr(detaching, "_wait", interrupted)
    assert restart.callback is not None
    nothing = dict.fromkeys(("wait", "as_json", "everybody"), False)
    request = {"names": (), "groups": (), "note": None, "timeout_s": None, **nothing}
    assert restart.callback(now=False, home=team.home, **request) == code
    assert "muster has stopped and was not started again" in capsys.readouterr().err
    assert running_pid(team.home) is None
    assert [alive(pid) for pid in started] == [None]


def test_a_restart_keeps_the_address_and_the_agents_that_run(team: Team) -> None:
    up(team)
    before = address.find(team.home)
    team.runs("start")
    valid = (team.home / "muster.toml").read_text()
    (team.home / "muster.toml").write_text(f"{valid}\n[server]\nport = 70000\n")
    refused = muster("restart", "--home", str(team.home))
    assert (refused.returncode, "server.port is 70000" in refused.stderr) == (2, True)
    assert address.find(team.home) == before  # it runs on: it could not be started again
    (team.home / "muster.toml").write_text(valid)
    ran = muster("restart", "--home", str(team.home))
    assert ran.returncode == 0, ran.stderr
    after = address.find(team.home)
    assert before is not None
    assert after is not None
    assert (after.url, after.pid != before.pid) == (before.url, True)
    until(lambda: len(team.begun()) == 2)
    muster("down", "--now", "--home", str(team.home))
    none = muster("restart", "--home", str(team.home))
    assert none.returncode == 4
    assert "No muster runs" in none.stderr
