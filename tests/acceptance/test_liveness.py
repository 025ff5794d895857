"""Every verb against every kind of agent in every state: the server goes on answering.

A real `muster up` with real programs: one that works, one that waits for prompts, one that is
frozen (SIGSTOP), one that ends by itself, one on files, one that connects, a lead and its agent.
Throughout, another thread asks for the health of the server, with the bound that the watchdog has
too; and the watchdog reports no step that held the event loop.
"""

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import httpx
import pytest

from tests.forkserver import ForkedProcess
from tests.live import NO_TLS, Server, live
from tests.runtimes import conformance
from tests.waits import WAIT_SECONDS, until

Json = Any  # any JSON value

HEALTH_SECONDS = 1.0
"""The promise: health answers within this, whatever a verb does to whichever agent."""

ATTEMPTS = 20
"""Slow answers in a row that count as a hang: the machine may be busy, muster not."""

LEAD = """
import sys
print('[AGENT_REGISTERED] {"name": "Lyra", "gridPosition": 0, "individuationArtifact": "I"}')
print('[AGENT_STATUS] {"agents": [{"name": "Lyra", "gridPosition": 0}]}', flush=True)
for line in sys.stdin:
    pass
"""
BUSY = """
import sys, time
print("working", flush=True)
for line in sys.stdin:
    pass
while True:
    time.sleep(3600)
"""

SETTINGS = f"""
[agents.Julian]
seat = 4
command = {json.dumps([sys.executable, "-c", LEAD])}
long_lived = true
[agents.idle]
command = ["cat"]
long_lived = true
speaks = "lines"
interrupt_seconds = 1
terminate_seconds = 1
[agents.busy]
command = {json.dumps([sys.executable, "-c", BUSY])}
long_lived = true
interrupt_seconds = 1
terminate_seconds = 1
[agents.frozen]
command = ["cat"]
long_lived = true
interrupt_seconds = 1
terminate_seconds = 1
[agents.brief]
command = ["true"]
[agents.filed]
runtime = "file"
"""

AGENTS = ("Julian", "idle", "busy", "frozen", "brief", "filed", "pm", "Lyra")
RUN = "/api/agents/{name}/run"
VERBS: tuple[tuple[str, str, Json], ...] = (
    ("PUT", RUN, {"desired": "continuous"}),
    ("POST", "/api/send", {"message": "hello", "targetAgent": "{name}"}),
    ("POST", "/api/agents/{name}/disable", {}),
    ("PUT", RUN, {"desired": "run_once"}),
    ("POST", "/api/agents/wake", {"agents": ["{name}"]}),
    ("POST", "/api/agents/{name}/enable", {}),
    ("PUT", RUN, {"desired": "run_cleanup"}),
    ("POST", "/api/agents/sleep", {"agents": ["{name}"]}),
    ("POST", "/api/agents/wake", {"agents": ["{name}"]}),
    ("PUT", RUN, {"desired": "pause"}),
    ("PUT", RUN, {"desired": "pause", "now": True}),
    ("PUT", RUN, {"desired": "continuous"}),
    ("POST", "/api/agents/{name}/interrupt", {}),
    ("POST", "/api/agents/{name}/restart", {"now": True}),
    ("POST", "/api/agents/{name}/retry", {}),
    ("POST", "/api/agents/{name}/notes", {"text": "a note"}),
    ("PUT", "/api/agents/{name}/soul", {"soul": "another"}),
    ("GET", "/api/agents/{name}/wake-payload", None),
    ("GET", "/api/agents/{name}/why", None),
    ("GET", "/api/agents/{name}/soul", None),
    ("POST", "/api/agents/{name}/soul/choose", {"version": 1}),
    ("DELETE", "/api/agents/{name}/notes/1", None),
    ("POST", "/api/settings/agents/{name}/rename", {"name": "{name}-2"}),
    ("POST", "/api/settings/agents/{name}-2/rename", {"name": "{name}"}),
    ("PATCH", "/api/settings/agents/{name}", {"settings": {"description": "tried"}}),
    ("GET", "/api/agents/{name}/past-conversations", None),
    ("POST", "/api/agents/{name}/adopt", {}),
    ("POST", "/api/agents/{name}/disconnect", {}),
    ("POST", "/api/agents/{name}/disable", {}),
    ("DELETE", "/api/agents/{name}", None),
    ("POST", "/api/agents/{name}/restore", {}),
)


class Team:
    """A server, and how quickly it answers."""

    def __init__(self, server: Server) -> None:
        headers = {"authorization": f"Bearer {server.token}"}
        self.http = httpx.Client(
            base_url=server.url, timeout=WAIT_SECONDS, headers=headers, verify=NO_TLS
        )

    def ask(self, method: str, path: str, body: Json = None) -> httpx.Response:
        return self.http.request(method, path, json=body)

    def agent(self, name: str) -> Json:
        agents = self.ask("GET", "/api/state").json()["agents"]
        return next(each for each in agents if each["name"] == name)

    def pid(self, name: str) -> int:
        """The process of an agent; 0 while it has none."""
        running = self.agent(name)["running"]
        return int(running["pid"] or 0) if running else 0

    def names(self) -> list[str | None]:
        return [each["name"] for each in self.ask("GET", "/api/state").json()["agents"]]


class Pulse:
    """Asks for the health of a server without a pause, in a thread of its own."""

    def __init__(self, url: str) -> None:
        self.asked = 0
        self.slow_in_a_row = 0
        self.slowest_row = 0
        self._url = url
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._ask)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self._ended.set()
        self._thread.join(WAIT_SECONDS)

    def _ask(self) -> None:
        with httpx.Client(base_url=self._url, timeout=WAIT_SECONDS, verify=NO_TLS) as http:
            while not self._ended.is_set():
                begun = time.monotonic()
                assert http.get("/api/health").status_code == 200
                is_slow = time.monotonic() - begun >= HEALTH_SECONDS
                self.slow_in_a_row = self.slow_in_a_row + 1 if is_slow else 0
                self.slowest_row = max(self.slowest_row, self.slow_in_a_row)
                self.asked += 1


def stays_live(server: Server, team: Team, agents: Sequence[str], order: int = 1) -> None:
    """Try every verb against these agents; the server answers throughout."""
    with Pulse(server.url) as pulse:
        for name in agents[::order]:
            for method, path, body in VERBS[::order]:
                before = pulse.asked
                answer = team.ask(method, path.format(name=name), filled(body, name))
                assert answer.status_code < 500, (name, path, body, answer.text)
                until(lambda before=before: pulse.asked > before)
                assert pulse.slow_in_a_row < ATTEMPTS, (name, path, body)
    assert pulse.slowest_row < ATTEMPTS
    assert isinstance(server.process, ForkedProcess)
    assert "has held the event loop" not in server.process.errors()


@contextmanager
def a_team(home: Path) -> Generator[tuple[Server, Team]]:
    home.mkdir()
    (home / "muster.toml").write_text(SETTINGS)
    with live(home) as server:
        team = Team(server)
        with team.http:
            team.ask("POST", "/api/agents", {"name": "pm"})
            team.ask("POST", "/api/agents/pm/connect")
            for name in ("Julian", "idle", "busy", "frozen"):
                team.ask("PUT", RUN.format(name=name), {"desired": "continuous"})
                until(lambda name=name: team.pid(name))
            until(lambda: "Lyra" in team.names())
            os.kill(team.pid("frozen"), signal.SIGSTOP)
            yield server, team


# ── programs of every runtime ─────────────────────────────────────────────────────────────────────

SCRIPTED = Path(conformance.__file__).parent


def tables_of(kind: str, folder: Path) -> str:
    """Three agents of a runtime with a scripted program: one waits, one works, one is frozen."""
    program = [sys.executable, "-S", "-E", str(SCRIPTED / f"{kind}_agent.py")]
    table = f'runtime = "{kind}"\ninterrupt_seconds = 1\n'
    if kind == "python":
        table += f'target = "{conformance.__name__}.python_agent:work"\n'
    elif kind == "codex":
        file = folder / "codex"
        file.write_text(f'#!/bin/sh\nexec {" ".join(program)} "$@"\n')
        file.chmod(0o700)
        table += f"terminate_seconds = 1\ncodex.program = {json.dumps(str(file))}\n"
    else:
        table += f"terminate_seconds = 1\ncommand = {json.dumps(program)}\n"
    return "".join(f"[agents.{name}]\n{table}" for name in STATES)


STATES = ("waiting", "working", "frozen")


@pytest.mark.parametrize("kind", ["acp", "codex", "python"])
def test_health_answers_in_time_throughout_every_verb_against_each_runtime(
    tmp_path: Path, kind: str
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "muster.toml").write_text(tables_of(kind, tmp_path))
    with live(home) as server:
        team = Team(server)
        with team.http:
            for name in STATES:
                team.ask("PUT", RUN.format(name=name), {"desired": "continuous"})
                until(lambda name=name: team.agent(name)["status"] == "alive")
            stuck = "block" if kind == "python" else "hang"
            for name, words in (("working", "hang"), ("frozen", stuck)):
                team.ask("POST", "/api/send", {"message": f"please\n{words}", "targetAgent": name})
                until(lambda name=name: "working" in team.agent(name)["badge"]["group"])
            if kind != "python":
                os.kill(team.pid("frozen"), signal.SIGSTOP)
            stays_live(server, team, STATES)


def filled(value: Json, name: str) -> Json:
    return json.loads(json.dumps(value).replace("{name}", name))


@pytest.mark.parametrize("order", [1, -1], ids=["forwards", "backwards"])
def test_health_answers_in_time_throughout_every_verb_against_every_agent(
    tmp_path: Path, order: int
) -> None:
    with a_team(tmp_path / "home") as (server, team):
        stays_live(server, team, AGENTS, order)
