"""Agents that `muster up` runs, with real programs: seen over HTTP, and in their state files."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from muster.runtimes.process import processes
from tests.asking import Asker, asker
from tests.homes import muster
from tests.live import Server, live
from tests.waits import WAIT_SECONDS, until

Json = Any  # any JSON value

WORKER = """
import os, sys, time

folder = sys.argv[1]
os.makedirs(folder, exist_ok=True)
def note(*words):
    with open(os.path.join(folder, "book"), "a") as book:
        book.write(" ".join(words) + "\\n")
note("begin", os.environ["MUSTER_MODE"], *sys.argv[2:])
while not os.path.exists(os.path.join(folder, "finish")):
    time.sleep(0.01)
note("end")
"""
"""Notes that it began, ends when it is let, and notes that too."""

LEAVER = """
import os, subprocess, sys, time

child = subprocess.Popen(["sleep", "600"], start_new_session=True)
with open(sys.argv[1], "a") as book:
    book.write(f"{os.getpid()} {child.pid}\\n")
time.sleep(600)
"""
"""Starts another process that leaves its process group."""

LOOP = """
import json, os, sys, time

path, book, finish = sys.argv[1:]

def load():
    try:
        with open(path) as file:
            return json.load(file)
    except (OSError, ValueError):
        return {"desired_state": "pause", "current_state": "pause"}

def save(**changes):
    state = load()
    state.update(changes)
    with open(path, "w") as file:
        json.dump(state, file)

def session(*flags):
    with open(book, "a") as file:
        print("session", *flags, file=file)
    while not os.path.exists(finish):
        time.sleep(0.05)

while True:
    wanted = load()["desired_state"]
    save(current_state=wanted)
    if wanted == "pause":
        time.sleep(0.05)
        continue
    session(*(["--cleanup-session"] if wanted == "run_cleanup" else []))
    if wanted != "continuous":
        save(desired_state="pause", current_state="pause")
"""
"""Knows nothing of muster: it polls, and writes the whole file in place. Its sessions end when
they are let."""

CALLER = """
import json, os, sys, urllib.request

prompt = sys.stdin.read()
url, token = os.environ["MUSTER_URL"], os.environ["MUSTER_TOKEN"]
request = urllib.request.Request(
    url + "/api/channels/errands/messages",
    json.dumps({"message": "posted by the program itself", "complete": True}).encode(),
    {"authorization": "Bearer " + token, "content-type": "application/json"},
)
urllib.request.urlopen(request).read()
with open(sys.argv[1], "w") as file:
    file.write(token)
"""
"""Speaks in its turn over HTTP, and leaves its token where a thief finds it."""


def table(name: str, *command: str, budget: dict[str, object] | None = None, **more: object) -> str:
    """The settings of one agent."""
    settings = {"command": list(command), **more} if command else more
    lines = [f"{key} = {json.dumps(value)}" for key, value in settings.items()]
    lines += [f"budget.{key} = {value}" for key, value in (budget or {}).items()]
    return "\n".join([f"[agents.{name}]", *lines, ""])


def python(program: str, *arguments: object) -> tuple[str, ...]:
    return (sys.executable, "-S", "-c", program, *map(str, arguments))


# ── a place with a muster ─────────────────────────────────────────────────────────────────────────


class Place:
    """A folder with a home in it, and the muster that is up there."""

    def __init__(self, folder: Path, server: Server, operator: Asker) -> None:
        self.folder = folder
        self.home = folder / ".muster"
        self.server = server
        self.operator = operator

    def run(self, agent: str) -> Json:
        return self.operator.get(f"/api/agents/{agent}/run")

    def want(self, agent: str, desired: str, **more: object) -> Json:
        body = {"desired": desired, **more}
        return self.operator.asked("PUT", f"/api/agents/{agent}/run", 200, json=body)

    def opens(self, channel: str, agent: str, message: str) -> None:
        """A channel with an agent in it, and something said."""
        path = f"/api/channels/{channel}"
        self.operator.post("/api/channels", {"channel": channel}, 201)
        self.operator.post(f"{path}/members", {"agent": agent}, 201)
        self.operator.post(f"{path}/messages", {"message": message}, 201)

    def said(self, channel: str) -> list[str]:
        messages = self.operator.get(f"/api/channels/{channel}/messages")["messages"]
        return [each["text"] for each in messages]

    def file(self, agent: str) -> Path:
        return self.home / "agents" / agent / "agent_state.json"

    def fields(self, agent: str) -> Json:
        return json.loads(self.file(agent).read_bytes())

    def lines(self, name: str) -> list[str]:
        """The complete lines that a program has written into a file of this folder."""
        path = self.folder / name
        text = path.read_text() if path.exists() else ""
        return [line.removesuffix("\n") for line in text.splitlines(True) if line.endswith("\n")]

    def events(self, agent: str, *types: str, after: int = 0) -> Iterator[Json]:
        """The events of an agent, past and new, for a bounded time."""
        bound = time.monotonic() + WAIT_SECONDS
        path = f"/api/events?agent={agent}&types={','.join(types)}&after={after}"
        with self.operator.http.stream("GET", path) as stream:
            for line in stream.iter_lines():
                assert time.monotonic() < bound, f"{types} of {agent} did not come"
                if line.startswith("data: "):
                    yield json.loads(line.removeprefix("data: "))

    def first(self, agent: str, kind: str, after: int = 0) -> Json:
        return next(self.events(agent, kind, after=after))

    def until_states(self, agent: str, desired: str, current: str) -> None:
        """Wait until API and file both say so."""

        def seen() -> list[tuple[str, str]]:
            run, written = self.run(agent), self.file(agent).exists()  # soon after the start
            fields = self.fields(agent) if written else {"desired_state": "", "current_state": ""}
            in_file = (fields["desired_state"], fields["current_state"])
            return [(run["desired"], run["current"]), in_file]

        until(lambda: seen() == [(desired, current)] * 2, lambda: (desired, current, seen()))

    def ends(self) -> None:
        """End in order, with every session."""
        self.server.process.send_signal(signal.SIGTERM)
        _, complaint = self.server.process.communicate(timeout=WAIT_SECONDS)
        assert (self.server.process.returncode, complaint) == (0, "")


@contextmanager
def up(folder: Path) -> Generator[Place]:
    """The muster of a folder; whatever happens, no program of it is left."""
    with live(folder / ".muster") as server, asker(server, server.token) as operator:
        place = Place(folder, server, operator)
        try:
            yield place
        finally:
            if server.process.poll() is None:
                server.process.send_signal(signal.SIGTERM)
                server.process.wait(WAIT_SECONDS)


def prepared(folder: Path, *tables: str) -> Path:
    """A folder with settings for a muster."""
    (folder / ".muster").mkdir(mode=0o700)
    (folder / ".muster" / "muster.toml").write_text("\n".join(tables))
    return folder


WAYS = ("api", "file")
WORKFLOWS = ("continuous", "pause", "run_once", "run_cleanup")
BUDGETS: dict[str, tuple[dict[str, object], tuple[str, ...], str]] = {
    "often": (
        {"sessions_per_hour": 1},
        ("true",),
        "1 session in an hour, as many as its budget allows",
    ),
    "long": (
        {"session_seconds": 0.2},
        ("sleep", "600"),
        "a session of 0.2 s, as long as its budget allows",
    ),
    "wrong": (
        {"failures": 1},
        ("sh", "-c", "echo no model >&2; exit 3"),
        "1 failure, as many as its budget allows: no model",
    ),
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Generator[Place]:
    """One muster for all tests that need no end of it; each has agents of its own."""
    folder = tmp_path_factory.mktemp("place")
    workers = [f"{workflow}-{way}" for workflow in WORKFLOWS for way in WAYS]
    loop = folder / "loop"
    loop.mkdir()
    prepared(
        folder,
        *(table(name, *python(WORKER, folder / name), loop=True) for name in workers),
        *(
            table(name, *command, budget=some, loop=True)
            for name, (some, command, _) in BUDGETS.items()
        ),
        table("fails", "sh", "-c", "echo no model >&2; exit 3"),
        table("caller", *python(CALLER, folder / "token"), speaks="lines"),
        table("speaker", "sh", "-c", "cat > heard; echo I looked at it; echo; echo TURN_COMPLETE"),
        table("loop", runtime="file", state_file="loop/agent_state.json"),
        table("listener", "cat", long_lived=True, speaks="lines"),
    )
    with up(folder) as running:
        yield running


# ── the four workflows ────────────────────────────────────────────────────────────────────────────


class Worker:
    """An agent whose buttons somebody presses: here, or in a Mission Control that is not ours."""

    def __init__(self, place: Place, name: str) -> None:
        self.place = place
        self.name = name
        self._by_file = name.endswith("-file")

    def press(self, desired: str) -> None:
        """Have something else wanted of it."""
        if not self._by_file:
            self.place.want(self.name, desired)
            return
        path = self.place.file(self.name)
        fields = self.place.fields(self.name) | {"desired_state": desired, "setBy": "human"}
        aside = path.with_name("person.tmp")
        aside.write_text(json.dumps(fields))
        aside.replace(path)

    def until(self, desired: str, current: str) -> None:
        self.place.until_states(self.name, desired, current)

    def book(self) -> list[str]:
        return self.place.lines(f"{self.name}/book")

    def until_book(self, *lines: str) -> None:
        until(lambda: self.book() == list(lines), self.book)

    def finish(self) -> None:
        """Let its programs come to their end from now on."""
        (self.place.folder / self.name / "finish").touch()

    def badge(self) -> str:
        return self.place.run(self.name)["badge"]["status"]


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> str:
    return request.param


def test_start_runs_one_session_after_another_until_something_else_is_wanted(
    place: Place, way: str
) -> None:
    worker = Worker(place, f"continuous-{way}")
    worker.until("pause", "pause")
    worker.press("continuous")
    worker.until("continuous", "continuous")
    worker.until_book("begin continuous")
    assert worker.badge() == "RUNNING"
    worker.finish()
    until(lambda: worker.book().count("end") >= 2, worker.book)
    assert place.run(worker.name)["desired"] == "continuous"
    worker.press("pause")
    worker.until("pause", "pause")
    assert worker.book().count("begin continuous") == worker.book().count("end")


def test_stop_lets_the_session_finish_and_waits_for_something_else(place: Place, way: str) -> None:
    worker = Worker(place, f"pause-{way}")
    worker.until("pause", "pause")
    worker.press("continuous")
    worker.until("continuous", "continuous")
    worker.until_book("begin continuous")
    worker.press("pause")
    worker.until("pause", "continuous")
    assert worker.badge() == "RUNNING"
    assert worker.book() == ["begin continuous"]
    worker.finish()
    worker.until("pause", "pause")
    assert worker.badge() == "IDLE"
    assert worker.book() == ["begin continuous", "end"]
    worker.press("run_once")
    worker.until_book("begin continuous", "end", "begin run_once", "end")
    worker.until("pause", "pause")


@pytest.mark.parametrize(
    ("mode", "flags"), [("run_once", ""), ("run_cleanup", " --cleanup-session")]
)
def test_a_one_shot_is_one_session_and_then_nothing_is_wanted(
    place: Place, way: str, mode: str, flags: str
) -> None:
    worker = Worker(place, f"{mode}-{way}")
    worker.until("pause", "pause")
    worker.press(mode)
    worker.until(mode, mode)
    worker.until_book(f"begin {mode}{flags}")
    assert worker.badge() == "RUNNING"
    worker.finish()
    worker.until("pause", "pause")
    assert worker.book() == [f"begin {mode}{flags}", "end"]
    assert worker.badge() == "IDLE"


# ── a program that goes wrong ─────────────────────────────────────────────────────────────────────


def test_a_program_that_fails_is_tried_again_later_each_time_and_why_says_so(place: Place) -> None:
    place.want("fails", "continuous")
    retries = place.events("fails", "retry_scheduled")
    pauses = [_seconds(each["ts"], each["until"]) for each in (next(retries), next(retries))]
    assert pauses == [pytest.approx(1.0, abs=0.01), pytest.approx(2.0, abs=0.01)]
    run = place.run("fails")
    assert (run["desired"], run["current"], run["failures"]) == ("continuous", "pause", 2)
    end = place.first("fails", "session_end")
    assert (end["outcome"], end["code"], end["reason"]) == ("failed", 3, "no model")
    told = muster("why", "fails", "--home", str(place.home)).stdout
    assert "no model" in told
    place.want("fails", "pause")
    place.until_states("fails", "pause", "pause")


def _seconds(begin: str, end: str) -> float:
    return (datetime.fromisoformat(end) - datetime.fromisoformat(begin)).total_seconds()


@pytest.mark.parametrize("agent", list(BUDGETS))
def test_a_budget_that_is_used_up_pauses_with_the_reason_as_note(place: Place, agent: str) -> None:
    place.want(agent, "continuous")
    desired = next(each for each in place.events(agent, "desired_set") if each["setBy"] == "muster")
    assert (desired["desired"], desired["note"]) == ("pause", BUDGETS[agent][2])
    place.until_states(agent, "pause", "pause")  # perhaps those from before it ran
    note = BUDGETS[agent][2]
    until(lambda: place.fields(agent)["note"] == note, lambda: place.fields(agent))
    assert place.run(agent)["note"] == note


# ── speaking ──────────────────────────────────────────────────────────────────────────────────────


def test_a_session_speaks_with_its_token_and_the_token_ends_with_it(place: Place) -> None:
    place.opens("errands", "caller", "how is it going?")
    place.want("caller", "run_once")
    end = place.first("caller", "session_end")
    assert (end["outcome"], end["code"]) == ("completed", 0)
    assert place.said("errands") == ["how is it going?", "posted by the program itself"]
    token = (place.folder / "token").read_text()
    with asker(place.server, token) as thief:
        thief.asked("GET", "/api/channels/errands", 401)


def test_a_program_is_told_of_its_turn_and_what_it_prints_is_what_it_says(place: Place) -> None:
    place.opens("reviews", "speaker", "please look at it")
    place.want("speaker", "run_once")
    place.first("speaker", "session_end")
    heard = (place.folder / "heard").read_text()
    assert "You are speaker" in heard
    assert "It is your turn in the channel reviews" in heard
    assert "please look at it" in heard
    assert place.said("reviews") == ["please look at it", "I looked at it"]


# ── a loop of its own ─────────────────────────────────────────────────────────────────────────────


@contextmanager
def looping(place: Place) -> Generator[None]:
    folder = place.folder / "loop"
    command = python(LOOP, folder / "agent_state.json", folder / "book", folder / "finish")
    with subprocess.Popen(command) as loop:
        try:
            yield
        finally:
            loop.kill()


def test_a_loop_that_knows_nothing_of_muster_is_started_and_stopped(place: Place) -> None:
    def until_current(current: str) -> None:
        until(lambda: place.run("loop")["current"] == current, lambda: place.run("loop"))

    def sessions() -> list[str]:
        return place.lines("loop/book")

    finish = place.folder / "loop" / "finish"
    with looping(place):
        # A loop that has found no file writes a pause of its own, which counts.
        until((place.folder / "loop" / "agent_state.json").exists)
        place.want("loop", "continuous")
        until_current("continuous")
        finish.touch()
        until(lambda: len(sessions()) >= 2, sessions)
        place.want("loop", "pause")
        until_current("pause")
        ran = sessions()
        for mode in ("run_once", "run_cleanup"):
            finish.unlink()
            place.want("loop", mode)
            until_current(mode)
            finish.touch()
            until_current("pause")
            until(lambda: place.run("loop")["desired"] == "pause", lambda: place.run("loop"))
        assert sessions() == [*ran, "session", "session --cleanup-session"]
        assert place.run("loop")["authority"] == "file"


# ── the end of muster ─────────────────────────────────────────────────────────────────────────────


def test_what_a_killed_muster_left_running_is_ended_and_what_is_wanted_runs_once(
    tmp_path: Path,
) -> None:
    book = tmp_path / "book"
    prepared(tmp_path, table("leaver", *python(LEAVER, book)))
    with up(tmp_path) as place:
        place.want("leaver", "continuous")
        until(lambda: place.lines("book"), lambda: "it does not run")
        until(lambda: place.run("leaver")["current"] == "continuous", lambda: "it is not known")
        place.server.process.kill()
        place.server.process.wait(WAIT_SECONDS)
    program, child = map(int, place.lines("book")[0].split())
    assert processes.alive(program)
    assert processes.alive(child)
    with up(tmp_path) as place:
        end = place.first("leaver", "session_end")
        assert end["outcome"] == "lost"
        assert end["reason"] == f"muster ended before it did; ended process {program} and 1 more"
        assert processes.alive(program) is None
        assert processes.alive(child) is None
        again = place.first("leaver", "session_start", after=end["seq"])
        place.until_states("leaver", "continuous", "continuous")
        until(lambda: len(place.lines("book")) == 2, lambda: place.lines("book"))
        assert place.run("leaver")["session"]["pid"] == again["pid"]
        place.ends()
    assert len(place.lines("book")) == 2
    assert not [pid for line in place.lines("book") for pid in line.split() if _lives(pid)]


def _lives(pid: str) -> bool:
    return processes.alive(int(pid)) is not None


def test_a_muster_that_ends_in_order_ends_its_sessions_and_says_so_in_the_files(
    tmp_path: Path,
) -> None:
    prepared(tmp_path, table("leaver", *python(LEAVER, tmp_path / "book")), table("idle", "true"))
    with up(tmp_path) as place:
        place.want("leaver", "continuous")
        until(lambda: place.lines("book"), lambda: "it does not run")
        place.until_states("leaver", "continuous", "continuous")
        place.until_states("idle", "pause", "pause")
        place.ends()
    assert not [pid for pid in place.lines("book")[0].split() if _lives(pid)]
    # what is wanted stays, so that it goes on when muster does
    assert place.fields("leaver")["desired_state"] == "continuous"
    assert place.fields("leaver")["current_state"] == "pause"
    assert place.fields("idle")["current_state"] == "pause"


# ── disabled ──────────────────────────────────────────────────────────────────────────────────────


def test_a_long_lived_agent_that_is_disabled_ends_and_muster_goes_on(place: Place) -> None:
    place.want("listener", "continuous")
    start = place.first("listener", "session_start")
    disabled = place.operator.post("/api/agents/listener/disable")
    assert (disabled["disabled"], disabled["turn"]) == (True, "OFFLINE")
    end = place.first("listener", "session_end", after=start["seq"])
    assert end["session"] == start["session"]
    assert place.run("listener")["current"] == "pause"
    assert place.operator.post("/api/agents/listener/enable")["disabled"] is False
    again = place.first("listener", "session_start", after=end["seq"])
    assert again["session"] != start["session"]
