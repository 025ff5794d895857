"""How `muster up` ends: it drains, stops now, survives its terminal, and forgets no one-shot."""

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from muster.runtimes.process.processes import alive
from tests.cli.run.test_up import Up, log_of, types_of, up
from tests.homes import MUSTER_SCRIPT, environment, muster
from tests.live import NO_TLS
from tests.waits import LIFE_SECONDS, WAIT_SECONDS, until

PROGRAM = """
import os, sys, time
folder = sys.argv[1]
open(os.path.join(folder, "pid"), "w").write(str(os.getpid()))
open(os.path.join(folder, "begun"), "a").write(os.environ["MUSTER_MODE"] + "\\n")
while not os.path.exists(os.path.join(folder, "finish")):
    time.sleep(0.01)
"""
Json = Any  # any JSON value

PATIENT = {"MUSTER_SERVER_DRAIN_SECONDS": str(LIFE_SECONDS)}


class Team:
    """A home with one agent, whose program runs until it is told to finish."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.folder = folder
        self.home.mkdir()
        command = json.dumps([sys.executable, "-S", "-c", PROGRAM, str(folder)])
        (self.home / "muster.toml").write_text(f"[agents.worker]\ncommand = {command}\n")

    def runs(self, verb: str) -> None:
        """Let the agent run, and wait for its program."""
        before = len(self.begun())
        done = muster(verb, "worker", "--home", str(self.home))
        assert done.returncode == 0, done.stderr
        until(lambda: len(self.begun()) > before and self.state("current_state") != "pause")

    def begun(self) -> list[str]:
        book = self.folder / "begun"
        return book.read_text().splitlines() if book.exists() else []

    def finish(self) -> None:
        (self.folder / "finish").touch()

    def state(self, field: str) -> str:
        path = self.home / "agents" / "worker" / "agent_state.json"
        return json.loads(path.read_text())[field] if path.exists() else "pause"

    def is_alive(self) -> bool:
        pid = (self.folder / "pid").read_text()
        return bool(pid) and alive(int(pid)) is not None

    def ends(self) -> list[tuple[str, str]]:
        """The outcome and the reason of every session."""
        found = [event for event in log_of(self.home) if event["type"] == "session_end"]
        return [(event["outcome"], event.get("reason", "")) for event in found]

    def get(self, running: Up, path: str) -> Json:
        headers = {"authorization": f"Bearer {self.token}"}
        return httpx.get(f"{running.url}{path}", headers=headers, verify=NO_TLS).json()

    @property
    def token(self) -> str:
        return (self.home / "operator.token").read_text().strip()


@pytest.fixture
def team(tmp_path: Path) -> Generator[Team]:
    made = Team(tmp_path)
    yield made
    made.finish()


def line(running: Up) -> str:
    assert running.process.stdout is not None
    return running.process.stdout.readline()


# ── draining ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_first_signal_lets_sessions_finish_and_says_which(
    team: Team, how: signal.Signals
) -> None:
    with up(team.home, **PATIENT) as running:
        team.runs("once")
        assert "Sign in" in line(running)
        running.process.send_signal(how)
        assert "Stopping: waits for worker (run_once," in line(running)
        assert team.get(running, "/api/health")["status"] == "stopping"
        shown = team.get(running, "/api/state")
        assert [each["agent"] for each in shown["shutdown"]["working"]] == ["worker"]
        assert "muster is stopping" in shown["notice"]
        status = muster("status", "--home", str(team.home))
        assert "muster is stopping" in status.stdout
        assert "waits for worker" in status.stdout
        team.finish()
        assert running.process.wait(WAIT_SECONDS) == 0
    assert team.ends() == [("completed", "")]
    assert team.state("desired_state") == "pause"
    assert types_of(team.home)[-1] == "muster_stopped"


def test_nothing_starts_during_a_drain_and_the_refusal_says_why(team: Team) -> None:
    with up(team.home, **PATIENT) as running:
        team.runs("start")
        running.process.send_signal(signal.SIGTERM)
        until(lambda: team.get(running, "/api/health")["status"] == "stopping")
        refused = muster("once", "worker", "--home", str(team.home))
        assert refused.returncode == 3
        assert "muster is stopping, and nothing starts any more" in refused.stderr
        stopped = muster("stop", "worker", "--now", "--home", str(team.home))
        assert stopped.returncode == 0, stopped.stderr
        assert running.process.wait(WAIT_SECONDS) == 0
    assert len(team.begun()) == 1


def test_a_drain_that_takes_too_long_ends_sessions_now(team: Team) -> None:
    with up(team.home, MUSTER_SERVER_DRAIN_SECONDS="0.2") as running:
        team.runs("start")
        assert running.end(signal.SIGTERM) == (0, "")
    assert not team.is_alive()
    assert team.ends() == [("cut_off", "stopped")]
    assert team.state("current_state") == "pause"
    assert team.state("desired_state") == "continuous"


def test_a_request_over_http_drains_and_a_second_one_stops_now(team: Team) -> None:
    with up(team.home, **PATIENT) as running:
        team.runs("start")
        headers = {"authorization": f"Bearer {team.token}"}
        path = f"{running.url}/api/shutdown"
        stranger = {"authorization": "Bearer nobody"}
        assert httpx.post(path, headers=stranger, verify=NO_TLS).status_code == 401
        assert team.get(running, "/api/shutdown")["shutdown"] is None
        asked = httpx.post(path, json={}, headers=headers, verify=NO_TLS).json()["shutdown"]
        assert (asked["urgency"], asked["working"][0]["agent"]) == ("graceful", "worker")
        assert running.process.poll() is None
        httpx.post(path, json={"now": True}, headers=headers, verify=NO_TLS)
        assert running.process.wait(WAIT_SECONDS) == 0
    assert not team.is_alive()


# ── one-shots that were cut off ───────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("verb", ["once", "cleanup"])
def test_the_second_signal_stops_now_and_a_one_shot_is_still_wanted(team: Team, verb: str) -> None:
    mode = f"run_{verb}"
    with up(team.home, **PATIENT) as running:
        team.runs(verb)
        running.process.send_signal(signal.SIGINT)
        until(lambda: team.get(running, "/api/health")["status"] == "stopping")
        assert running.end(signal.SIGINT)[0] == 0
    assert team.ends() == [("cut_off", f"stopped; {mode} is still wanted")]
    assert (team.state("desired_state"), team.state("current_state")) == (mode, "pause")
    assert not team.is_alive()
    team.finish()
    with up(team.home, **PATIENT) as running:
        until(lambda: team.state("desired_state") == "pause")
        assert running.end(signal.SIGTERM)[0] == 0
    assert team.begun() == [mode, mode]
    assert team.ends()[1] == ("completed", "")


def test_sigquit_stops_now_in_order(team: Team) -> None:
    """Issue 15: Ctrl-backslash ended muster at once, and its agents went on without it."""
    with up(team.home, **PATIENT) as running:
        team.runs("once")
        assert running.end(signal.SIGQUIT)[0] == 0
    assert team.ends() == [("cut_off", "stopped; run_once is still wanted")]
    assert not team.is_alive()
    assert types_of(team.home)[-1] == "muster_stopped"


def test_a_one_shot_whose_muster_was_killed_runs_once_more(team: Team) -> None:
    with up(team.home) as running:
        team.runs("once")
        running.end(signal.SIGKILL)
    team.finish()
    with up(team.home) as running:
        until(lambda: team.state("desired_state") == "pause" and len(team.ends()) == 2)
        assert running.end(signal.SIGTERM)[0] == 0
    assert team.begun() == ["run_once", "run_once"]
    (lost, reason), done = team.ends()
    assert (lost, done) == ("lost", ("completed", ""))
    assert reason.endswith("; run_once is still wanted")


# ── the terminal ──────────────────────────────────────────────────────────────────────────────────


@contextmanager
def in_terminal(*args: str) -> Generator[tuple[subprocess.Popen[bytes], int]]:
    """A program in a terminal of its own, and our end of the terminal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [MUSTER_SCRIPT, *args],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        preexec_fn=lambda: os.close(os.open(os.ttyname(0), os.O_RDWR)),  # it controls it now
        env=environment({}),
    )
    os.close(theirs)
    try:
        yield process, ours
    finally:
        process.kill()
        process.wait(WAIT_SECONDS)


def test_closing_the_terminal_ends_muster_in_order(team: Team) -> None:
    with in_terminal("up", "--home", str(team.home), "--port", "0") as (process, terminal):
        until(lambda: (team.home / "server.json").exists())
        team.runs("start")
        os.close(terminal)
        assert process.wait(WAIT_SECONDS) == 0
    assert not team.is_alive()
    assert not (team.home / "server.json").exists()
    assert (team.state("desired_state"), team.state("current_state")) == ("continuous", "pause")
    assert types_of(team.home)[-1] == "muster_stopped"
    stopping = next(each for each in log_of(team.home) if each["type"] == "muster_stopping")
    assert stopping["reason"] == "its terminal was closed"


def test_a_muster_that_ignores_the_end_of_its_terminal_goes_on(tmp_path: Path) -> None:
    command = ["nohup", MUSTER_SCRIPT, "up", "--home", str(tmp_path), "--port", "0"]
    with subprocess.Popen(
        command, env=environment({}), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            process.send_signal(signal.SIGHUP)
            assert muster("agent", "list", "--home", str(tmp_path)).returncode == 0
            process.terminate()
            assert process.wait(WAIT_SECONDS) == 0
        finally:
            process.kill()
    stopping = next(each for each in log_of(tmp_path) if each["type"] == "muster_stopping")
    assert stopping["reason"] == "SIGTERM"


def test_programs_can_be_stopped_by_signals_that_muster_itself_ignores(tmp_path: Path) -> None:
    """A shell starts background jobs so that they ignore SIGINT and SIGQUIT."""
    seen = tmp_path / "agents" / "worker" / "seen"
    look = json.dumps(["sh", "-c", f"grep SigIgn /proc/self/status > {seen}"])
    (tmp_path / "muster.toml").write_text(f"[agents.worker]\ncommand = {look}\n")
    deaf = ["sh", "-c", "trap '' HUP INT QUIT USR1; exec \"$@\"", "sh"]
    command = [*deaf, MUSTER_SCRIPT, "up", "--home", str(tmp_path), "--port", "0"]
    with subprocess.Popen(
        command, env=environment({}), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            ran = muster("once", "worker", "--wait", "--home", str(tmp_path))
            assert ran.returncode == 0, ran.stderr
        finally:
            process.terminate()
    ignored = int(seen.read_text().split()[1], 16)
    heard = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGUSR1)
    assert [each.name for each in heard if ignored >> (each - 1) & 1] == []


def test_a_pipe_that_nobody_reads_any_more_does_not_keep_it_from_ending_in_order(
    team: Team,
) -> None:
    with up(team.home, MUSTER_SERVER_DRAIN_SECONDS="0.2") as running:
        team.runs("start")
        assert running.process.stdout is not None
        running.process.stdout.close()
        running.process.send_signal(signal.SIGTERM)
        assert running.process.wait(WAIT_SECONDS) == 0
    assert types_of(team.home)[-1] == "muster_stopped"
    assert not team.is_alive()
