"""Every verb against every kind of agent in every state: the server goes on answering.

A real `muster up` with real programs: one that works, one that waits for prompts, one that is
frozen (SIGSTOP), one that ends by itself, one on files, one that connects, a lead and its agent.
After every verb the health of the server is asked, with the bound that the watchdog has too.
"""

import json
import os
import signal
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.live import NO_TLS, Server, live
from tests.waits import WAIT_SECONDS, until

Json = Any  # any JSON value

HEALTH_SECONDS = 1.0
"""The promise: health answers within this, whatever a verb does to whichever agent."""

ATTEMPTS = 20
"""How often health is asked before it counts as too slow: the machine may be busy, muster not."""

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
    ("POST", "/api/agents/{name}/disable", {}),
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

    def is_quick(self) -> bool:
        """Whether health answers in time, in one of some attempts."""
        for _ in range(ATTEMPTS):
            begun = time.monotonic()
            assert self.ask("GET", "/api/health").status_code == 200
            if time.monotonic() - begun < HEALTH_SECONDS:
                return True
        return False


@contextmanager
def a_team(home: Path) -> Generator[Team]:
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
            yield team


def filled(value: Json, name: str) -> Json:
    return json.loads(json.dumps(value).replace("{name}", name))


@pytest.mark.parametrize("order", [1, -1], ids=["forwards", "backwards"])
def test_health_answers_in_time_after_every_verb_against_every_agent(
    tmp_path: Path, order: int
) -> None:
    with a_team(tmp_path / "home") as team:
        for name in AGENTS[::order]:
            for method, path, body in VERBS[::order]:
                answer = team.ask(method, path.format(name=name), filled(body, name))
                assert answer.status_code < 500, (name, path, body, answer.text)
                assert team.is_quick(), (name, path, body)
