"""Signs of life: requests count, open streams do not, and a revoked token ends what it opened."""

import os
import signal
import subprocess
import sys
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from muster.http import stream as http_stream
from muster.machines.state import Status
from tests.asking import a_name, asker
from tests.inside import Inside, inside
from tests.live import Server, a_scene, live
from tests.waits import LIFE_SECONDS, WAIT_SECONDS

READER = """
import sys, urllib.request
url, token = sys.argv[1:]
asked = urllib.request.Request(url + "/api/events", headers={"Authorization": "Bearer " + token})
for line in urllib.request.urlopen(asked):
    print(line, flush=True)
"""


@contextmanager
def reader(server: Server, token: str) -> Generator["subprocess.Popen[str]"]:
    """A process that follows the event stream and does nothing else."""
    command = [sys.executable, "-c", READER, server.url, token]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline()  # its stream is open
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("is_stopped", [True, False], ids=["stopped", "reading"])
def test_an_open_event_stream_is_no_sign_of_life(tmp_path: Path, is_stopped: bool) -> None:
    with live(tmp_path / "home", 2.0) as server, a_scene(server) as scene:
        scene.connected("pm")
        with reader(server, scene.tokens["pm"]) as process:
            if is_stopped:
                os.kill(process.pid, signal.SIGSTOP)
            scene.until(lambda event: event.get("trigger") == "heartbeat_lost")
            assert scene.state("pm") == "OFFLINE"
            assert process.poll() is None  # the process and its connection are still there


@pytest.fixture(scope="module")
def muster(tmp_path_factory: pytest.TempPathFactory) -> Generator[Inside]:
    patience = f"[presence]\nheartbeat_timeout_seconds = {LIFE_SECONDS}\n"
    with inside(tmp_path_factory.mktemp("liveness"), settings=patience) as team:
        yield team


class Agent:
    """An agent that is connected, and its token."""

    def __init__(self, muster: Inside) -> None:
        self.name = a_name("pm")
        self.url = muster.server.url
        with asker(muster.server, muster.server.token) as boss:
            token = boss.post("/api/agents", {"name": self.name}, 201)["token"]
            boss.post(f"/api/agents/{self.name}/connect")
        self.token = token["id"]
        self.headers = {"authorization": f"Bearer {token['secret']}"}

    def revoked(self, muster: Inside) -> None:
        with asker(muster.server, muster.server.token) as boss:
            boss.delete(f"/api/tokens/{self.token}")


@pytest.mark.parametrize("query", ["", "?types=agent_output"], ids=["everything", "filtered"])
def test_a_revoked_token_ends_its_stream_at_once(
    muster: Inside, query: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_stream, "KEEP_ALIVE_SECONDS", LIFE_SECONDS)
    pm = Agent(muster)
    with (
        httpx.Client(timeout=WAIT_SECONDS) as http,
        http.stream("GET", f"{pm.url}/api/events{query}", headers=pm.headers) as stream,
    ):
        lines = stream.iter_lines()
        next(lines)
        pm.revoked(muster)
        rest = [line for line in lines if line.startswith("data:")]
    assert rest == []


def test_a_browser_that_signs_out_ends_its_stream_at_once(
    muster: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_stream, "KEEP_ALIVE_SECONDS", LIFE_SECONDS)
    with httpx.Client(base_url=muster.server.url, timeout=WAIT_SECONDS) as browser:
        own = {"origin": muster.server.url}
        browser.post("/api/session", json={"token": muster.server.token}, headers=own)
        with browser.stream("GET", "/api/events?types=agent_output") as stream:
            lines = stream.iter_lines()
            next(lines)
            browser.delete("/api/session", headers=own)
            told = [line for line in lines if line.startswith("data:")]
            assert [line for line in told if "people" not in line] == []  # who looks at the page


def test_a_revoked_token_ends_its_long_poll_at_once_and_its_agent_is_offline(
    muster: Inside,
) -> None:
    pm = Agent(muster)
    with ThreadPoolExecutor(1) as beside, httpx.Client(timeout=WAIT_SECONDS + 60) as http:
        path = f"{pm.url}/api/agents/{pm.name}/next?wait=60"
        polling = beside.submit(http.post, path, headers=pm.headers)
        muster.until_called(pm.name)
        pm.revoked(muster)
        answer = polling.result(WAIT_SECONDS)
    assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")
    assert muster.agent(pm.name).status is Status.SLEEPING


def test_an_agent_with_another_token_stays_alive_when_one_is_revoked(muster: Inside) -> None:
    pm = Agent(muster)
    with asker(muster.server, muster.server.token) as boss:
        boss.post("/api/tokens", {"role": "agent", "agent": pm.name}, 201)
    pm.revoked(muster)
    assert muster.agent(pm.name).status is Status.ALIVE
