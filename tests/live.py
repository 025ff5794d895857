"""A real `muster up` process, and scenes of a team's life that are played on it through HTTP.

Scenes share a process, so every scene has names of its own: what it calls `pm` is `pm-7` there.
"""

import json
import re
import ssl
import subprocess
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from itertools import count
from pathlib import Path
from threading import Event, Timer
from time import monotonic
from typing import Any, Final, NamedTuple

import httpx

from tests.forkserver import ForkedProcess, can_fork
from tests.homes import MUSTER_SCRIPT, environment
from tests.waits import LIFE_SECONDS, WAIT_SECONDS

LONGEST_WAIT = 60.0
"""The longest long poll for work."""

NO_TLS: Final = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""For clients of plain HTTP: without it, each loads all root certificates, which takes 30 ms."""

HEARTBEAT_SECONDS = 0.1
"""How often `heard` lets agents be heard of."""

Move = tuple[str, str, str, str]
Json = Any  # any JSON value

_numbers = count(1)


class Server(NamedTuple):
    """A muster that is up, and the operator's token for it."""

    process: ForkedProcess | subprocess.Popen[str]
    url: str
    token: str


@contextmanager
def live(home: Path, silence_s: float = LIFE_SECONDS, /, **environ: str) -> Generator[Server]:
    """Start a server, and always end it. `silence_s` is the heartbeat timeout of agents."""
    patience = {"MUSTER_PRESENCE_HEARTBEAT_TIMEOUT_SECONDS": f"{silence_s}"}
    command = [MUSTER_SCRIPT, "up", "--home", str(home), "--port", "0"]
    env = environment(patience | environ)
    assert can_fork(command, environ)
    with closing(ForkedProcess(command, env=env, piped=True)) as process:
        bound = Timer(LIFE_SECONDS, process.kill)
        bound.start()
        try:
            line = process.stdout.readline()
            found = re.search(r"http://\S+", line)
            assert found, (line, process.communicate(timeout=WAIT_SECONDS))
            yield Server(process, found[0], (home / "operator.token").read_text().strip())
        except BaseException as failed:
            failed.add_note(f"the server: exit code {process.poll()}, {process.errors()[-4000:]}")
            raise
        finally:
            bound.cancel()
            process.terminate()  # in order, so that its programs end with it
            with suppress(subprocess.TimeoutExpired):
                process.wait(WAIT_SECONDS)


class Scene:
    """A channel and its agents on a live server, seen through HTTP alone."""

    def __init__(self, server: Server) -> None:
        self.number = next(_numbers)
        self.tokens: dict[str, str] = {}
        self._server = server
        self._http = httpx.Client(base_url=server.url, timeout=WAIT_SECONDS, verify=NO_TLS)
        self.began = self.get("/api/health")["seq"]

    def close(self) -> None:
        self._http.close()

    def named(self, name: str) -> str:
        """The name on the server of this scene's `name`."""
        return f"{name}-{self.number}"

    @property
    def url(self) -> str:
        """Where the server listens."""
        return self._server.url

    @property
    def channel(self) -> str:
        """The path of this scene's channel."""
        return f"/api/channels/{self.named('reviews')}"

    # ── asking ────────────────────────────────────────────────────────────────────────────────────

    def call(
        self,
        method: str,
        path: str,
        body: Json = None,
        *,
        by: str | None = None,
        key: str | None = None,
    ) -> httpx.Response:
        """Send a request with the operator's token, or with the token of an agent."""
        token = self._server.token if by is None else self.tokens[by]
        headers = {"authorization": f"Bearer {token}"}
        if key is not None:
            headers["idempotency-key"] = key
        return self._http.request(method, path, json=body, headers=headers)

    def post(
        self, path: str, body: Json = None, *, by: str | None = None, key: str | None = None
    ) -> Json:
        return _answer(self.call("POST", path, body or {}, by=by, key=key))

    def get(self, path: str, *, by: str | None = None) -> Json:
        return _answer(self.call("GET", path, by=by))

    def refused(
        self,
        method: str,
        path: str,
        body: Json = None,
        *,
        by: str | None = None,
        status: int = 409,
    ) -> Json:
        """See a request refused, with nothing changed by it; give the problem document."""
        before = self.get(self.channel)
        answer = self.call(method, path, body, by=by)
        assert answer.status_code == status, answer.text
        assert answer.headers["content-type"] == "application/problem+json"
        assert self.get(self.channel) == before
        return answer.json()

    def next(self, name: str, *, wait: float = LONGEST_WAIT, known: int | None = None) -> Json:
        """The next work of an agent; with `known`, the turn that it is already working on."""
        turns = "" if known is None else f"&known={self.named('reviews')}:{known}"
        path = f"/api/agents/{self.named(name)}/next?wait={wait}{turns}"
        return self.post(path, by=name)

    # ── setting a scene ───────────────────────────────────────────────────────────────────────────

    def connected(self, *names: str) -> None:
        """Agents that connect by themselves."""
        for name in names:
            joined = self.post("/api/agents", {"name": self.named(name)})
            self.tokens[name] = joined["token"]["secret"]
            self.agent(name, "connect")

    def agent(self, name: str, act: str, body: Json = None) -> Json:
        return self.post(f"/api/agents/{self.named(name)}/{act}", body, by=name)

    def opened(self, *names: str, **config: Json) -> None:
        """A channel with these members, in this order."""
        self.post("/api/channels", {"channel": self.named("reviews"), "config": config})
        for name in names:
            self.joins(name)

    def joins(self, name: str, **more: Json) -> Json:
        return self.post(f"{self.channel}/members", {"agent": self.named(name), **more})

    def leaves(self, name: str) -> Json:
        return _answer(self.call("DELETE", f"{self.channel}/members/{self.named(name)}"))

    def turn(self, act: str, by: str, **body: Json) -> Json:
        return self.post(f"{self.channel}/turn/{act}", body, by=by)

    def says(self, text: str, by: str | None = None, **body: Json) -> Json:
        """Post a message, as an agent in its turn or as a human."""
        return self.post(f"{self.channel}/messages", {"message": text, **body}, by=by)

    # ── seeing ────────────────────────────────────────────────────────────────────────────────────

    def state(self, name: str) -> str:
        """An agent's own state."""
        return self.get(f"/api/agents/{self.named(name)}")["turn"]

    def holder(self) -> str | None:
        holder = self.get(self.channel)["holder"]
        return None if holder is None else self._plain(holder)

    def ring(self) -> list[str]:
        return [self._plain(each) for each in self.get(self.channel)["ring"]]

    def moves(self) -> list[Move]:
        """Every turn transition of this scene: agent, from, to, trigger."""
        path = f"/api/log?format=turn-transitions&limit=1000&after={self.began}"
        return [self._move(each) for each in self.get(path)["events"] if self._ours(each)]

    def facts(self, kind: str) -> list[Json]:
        """The events of a kind in this scene's channel."""
        where = f"types={kind}&channel={self.named('reviews')}&limit=1000&after={self.began}"
        return self.get(f"/api/log?{where}")["events"]

    def until(self, what: Callable[[Json], bool]) -> Json:
        """The first event of the log that is so, when it is there."""
        for event in self.events():
            if what(event):
                return event
        raise AssertionError("the stream ended before it happened")

    def until_moved(self, *move: str) -> Json:
        """Wait for a turn transition: agent, from, to, trigger."""
        return self.until(
            lambda event: (
                event["type"] == "state_transition"
                and event["machine"] == "turns"
                and self._ours(event)
                and self._move(event) == move
            )
        )

    def events(self) -> Iterator[Json]:
        """The log since the scene began, and then what is new, for a bounded time."""
        end = monotonic() + WAIT_SECONDS
        headers = {"authorization": f"Bearer {self._server.token}"}
        path = f"/api/events?after={self.began}"
        with self._http.stream("GET", path, headers=headers) as stream:
            for line in stream.iter_lines():  # the stream's own heartbeats are lines, too
                assert monotonic() < end, "it did not happen in time"
                if line.startswith("data: "):
                    yield json.loads(line.removeprefix("data: "))

    def _ours(self, entry: Json) -> bool:
        return entry["agentId"].endswith(f"-{self.number}")

    def _move(self, entry: Json) -> Move:
        return (self._plain(entry["agentId"]), entry["from"], entry["to"], entry["trigger"])

    def _plain(self, name: str) -> str:
        return name.rpartition("-")[0]


def _answer(response: httpx.Response) -> Json:
    assert response.is_success, response.text
    return response.json()


@contextmanager
def heard(scene: Scene, *names: str, working: bool = False) -> Generator[None]:
    """Send heartbeats of these agents beside the test, more often than any server needs them."""
    over = Event()

    def beat() -> None:
        for name in names:
            scene.agent(name, "heartbeat", {"working": working})

    def beat_on() -> None:
        while not over.wait(HEARTBEAT_SECONDS):
            beat()

    beat()
    with ThreadPoolExecutor(1) as beside:
        beating = beside.submit(beat_on)
        try:
            yield
        finally:
            over.set()
        beating.result()


@contextmanager
def a_scene(server: Server) -> Generator[Scene]:
    """A scene on a server that others use too."""
    scene = Scene(server)
    try:
        yield scene
    finally:
        scene.close()
