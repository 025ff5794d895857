"""`muster up --demo` with real processes: births, turns, waiting, a crash, and a clean stop."""

import json
import os
import re
import signal
import subprocess
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Timer
from time import monotonic

import httpx
import pytest

from muster.demo.cast import APPROVALS, CREW, LEAD, WORKSHOP
from muster.demo.story import BUGS, REVIEWER, TESTER
from tests.homes import MUSTER_SCRIPT, environment, muster
from tests.live import NO_TLS, Json
from tests.waits import LIFE_SECONDS, WAIT_SECONDS

PACE = "0.02"
BUSY = re.compile("muster had almost no CPU time .*\n")
"""What a server says on a machine that is too busy for it."""

WORKERS = {LEAD.name} | {each.name for each in CREW if each.channel == WORKSHOP}

QUIET_SECONDS = 2.0
QUIET_CPU_SECONDS = 0.2


class Demo:
    """A running demo, as a person sees it."""

    def __init__(self, process: subprocess.Popen[str], url: str, home: Path) -> None:
        self.process = process
        self.home = home
        token = (home / "operator.token").read_text().strip()
        headers = {"authorization": f"Bearer {token}"}
        self.http = httpx.Client(base_url=url, headers=headers, timeout=WAIT_SECONDS, verify=NO_TLS)

    def close(self) -> None:
        self.http.close()

    def get(self, path: str) -> Json:
        answer = self.http.get(path)
        assert answer.is_success, answer.text
        return answer.json()

    def post(self, path: str, **body: Json) -> Json:
        answer = self.http.post(path, json=body)
        assert answer.is_success, answer.text
        return answer.json()

    def wants(self, name: str, desired: str) -> None:
        """Set the desired state of an agent."""
        answer = self.http.put(f"/api/agents/{name}/run", json={"desired": desired})
        assert answer.is_success, answer.text

    @property
    def seq(self) -> int:
        return self.get("/api/health")["seq"]

    def agents(self) -> dict[str, Json]:
        return {each["name"]: each for each in self.get("/api/agents")["agents"]}

    def pids(self) -> list[int]:
        """The pids of the nine agents."""
        names = [LEAD.name, *(each.name for each in CREW)]
        return [int(self.get(f"/api/agents/{name}/run")["session"]["pid"]) for name in names]

    def events(self, after: int, silence: float = WAIT_SECONDS) -> Iterator[Json]:
        """Events after a `seq`; raises `ReadTimeout` after that many seconds without one."""
        end = monotonic() + WAIT_SECONDS
        path = f"/api/events?after={after}"
        with self.http.stream(
            "GET", path, timeout=httpx.Timeout(WAIT_SECONDS, read=silence)
        ) as stream:
            for line in stream.iter_lines():
                assert monotonic() < end, "it did not happen in time"
                if line.startswith("data: "):
                    yield json.loads(line.removeprefix("data: "))

    def until(self, what: Callable[[Json], bool], after: int = 0) -> Json:
        """Wait for the first event that satisfies a predicate."""
        for event in self.events(after):
            if what(event):
                return event
        raise AssertionError("the stream ended before it happened")

    def said(self, name: str, words: str, after: int = 0) -> Json:
        """Wait for a message."""
        return self.until(
            lambda event: (
                event["type"] == "agent_message"
                and event["agentName"] == name
                and words in event["content"][0]["text"]
            ),
            after,
        )

    def moved(self, name: str, target: str, after: int = 0) -> Json:
        """Wait for a state transition of an agent."""
        return self.until(
            lambda event: (
                event["type"] == "state_transition"
                and (event["agentId"], event["to"]) == (name, target)
            ),
            after,
        )

    def rests(self, after: int = 0, channel: str = WORKSHOP) -> Json:
        """Wait until a channel rests."""
        return self.until(
            lambda event: event["type"] == "channel_rested" and event["channel"] == channel, after
        )

    def settles(self) -> None:
        """Wait until the workshop rests after each of its agents had the turn. They are born one
        after the other, and on a busy machine the first ones rest before the last one is there."""
        silent = WORKERS.copy()
        for event in self.events(0):
            if event.get("channel") != WORKSHOP:
                continue
            if event["type"] == "state_transition" and event["to"] == "ACTIVE":
                silent.discard(event["agentId"])
            if event["type"] == "channel_rested" and not silent:
                return

    def end(self) -> None:
        """Stop the demo with Ctrl-C."""
        self.http.close()
        self.process.send_signal(signal.SIGINT)
        _, complaint = self.process.communicate(timeout=WAIT_SECONDS)
        assert (self.process.returncode, BUSY.sub("", complaint)) == (0, "")


@contextmanager
def demo(folder: Path, *args: str, **environ: str) -> Generator[Demo]:
    """Run a demo in a folder; kill it at the end in any case."""
    with subprocess.Popen(
        [MUSTER_SCRIPT, "up", "--demo", "--port", "0", *args],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment({"DEMO_PACE": PACE, "DEMO_STORY": "0", **environ}),
        text=True,
    ) as process:
        bound = Timer(LIFE_SECONDS, process.kill)
        bound.start()
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            found = re.match(r"muster is up at (\S+) for (.+)\. Ctrl-C", line)
            assert found, (line, process.communicate(timeout=WAIT_SECONDS))
            with closing(Demo(process, found[1], Path(found[2]))) as running:
                yield running
        finally:
            process.kill()
            bound.cancel()


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Generator[Demo]:
    """A demo for several tests, after its first rest."""
    with demo(tmp_path_factory.mktemp("demo")) as running:
        running.settles()
        yield running


def cpu_seconds(pids: list[int]) -> float:
    """CPU time of these processes."""
    ticks = 0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def test_eight_agents_are_born_with_names_and_souls_around_a_lead(team: Demo) -> None:
    agents = team.agents()
    assert set(agents) == {LEAD.name, *(each.name for each in CREW)}
    assert {agent["status"] for agent in agents.values()} == {"alive"}
    births = [event["agent"] for event in team.get("/api/log?types=agent_registered")["events"]]
    assert {each["name"]: each["individuationArtifact"] for each in births} == {
        each.name: each.soul for each in CREW
    }


def test_the_first_message_says_that_no_model_is_behind_the_demo(team: Demo) -> None:
    first = team.until(
        lambda event: event["type"] == "agent_message" and event.get("channel") == WORKSHOP
    )
    assert first["agentName"] == LEAD.name
    assert "No model is behind any of us" in first["content"][0]["text"]


def test_the_turn_passes_round_the_ring_until_all_agents_are_silent(team: Demo) -> None:
    granted = [
        event["agentId"]
        for event in team.get(f"/api/log?types=state_transition&channel={WORKSHOP}&limit=1000")[
            "events"
        ]
        if event["to"] == "ACTIVE"
    ]
    ring = team.get(f"/api/channels/{WORKSHOP}")["ring"]
    assert set(granted) == set(ring) == WORKERS
    assert team.get(f"/api/channels/{WORKSHOP}")["resting"]


def test_a_task_was_handed_out_and_a_file_is_there(team: Demo) -> None:
    team.until(lambda event: event["type"] == "conversation_end")
    found = team.get("/api/conversations")["conversations"][0]
    assert (found["outcome"], found["route"]["agent"]) == ("answered", "Wren")
    (file,) = found["files"]
    written = Path(team.get("/api/delegation")["path"], "conversations", found["conversation"])
    text = (written / "outputs" / file["path"]).read_text()
    assert "No model has read the task" in text


def test_a_person_s_message_wakes_the_channel_and_an_agent_answers(team: Demo) -> None:
    before = team.seq
    team.post(f"/api/channels/{WORKSHOP}/messages", message="Good morning!")
    answer = team.until(
        lambda event: event["type"] == "agent_message" and event.get("channel") == WORKSHOP, before
    )
    assert "Good morning!" in answer["content"][0]["text"]
    rest = team.rests(before)
    after = team.seq
    team.post(f"/api/channels/{WORKSHOP}/messages", message="Hugo, who are you?")
    team.said("Hugo", "I am Hugo", rest["seq"])
    team.rests(after)
    log = team.get(f"/api/log?types=agent_message&channel={WORKSHOP}&after={before}")["events"]
    assert len(log) == 2  # one answer each


def test_an_agent_waits_for_a_person_and_resumes_at_the_answer(team: Demo) -> None:
    waiting = team.moved("Nora", "WAITING")
    assert "A person has to answer" in waiting["reason"]
    assert team.agents()["Nora"]["turn"] == "WAITING"
    before = team.seq
    team.post(f"/api/channels/{APPROVALS}/messages", message="Yes, green.")
    team.said("Nora", "Yes, green.", before)
    rested = team.rests(before, APPROVALS)
    team.post(f"/api/channels/{APPROVALS}/messages", message="What else?")
    again = team.moved("Nora", "WAITING", rested["seq"])
    team.post("/api/send", message="Rather not.", targetAgent="Nora")
    team.said("Nora", "That was what I waited for", again["seq"])
    team.said("Nora", "Rather not.", again["seq"])
    team.rests(again["seq"], APPROVALS)


def test_an_idle_demo_does_nothing(team: Demo) -> None:
    processes = [team.process.pid, *team.pids()]
    before, used = team.seq, cpu_seconds(processes)
    with pytest.raises(httpx.ReadTimeout):
        next(team.events(before, silence=QUIET_SECONDS))
    assert cpu_seconds(processes) - used < QUIET_CPU_SECONDS
    assert team.seq == before


def test_a_crashed_agent_comes_back_with_its_name_and_soul(tmp_path: Path) -> None:
    with demo(tmp_path, DEMO_CRASH_TURN="2") as team:
        # The sessions of delegated tasks end too, before or after this one.
        crashed = team.until(
            lambda event: event["type"] == "session_end" and event["outcome"] == "failed"
        )
        assert crashed["code"] == 1
        assert "on purpose" in crashed["reason"]
        lost = team.moved("Rusty", "OFFLINE", crashed["seq"])
        assert lost["trigger"] == "agent_crashes"
        back = team.moved("Rusty", "alive", crashed["seq"])
        team.until(
            lambda event: event["type"] == "member_joined" and event["channel"] == WORKSHOP,
            back["seq"],
        )
        # A question to somebody else: asked itself, Rusty would answer instead of saying its line.
        team.post(f"/api/channels/{WORKSHOP}/messages", message="Juno, is everybody there?")
        team.said("Rusty", "same soul", back["seq"])


def test_the_story_reports_delegates_fixes_and_reviews_a_bug(tmp_path: Path) -> None:
    bug = BUGS[0]
    with demo(tmp_path, DEMO_STORY="1") as team:
        team.said(LEAD.name, "I delegate it")
        asked = team.until(lambda event: event["type"] == "approval_requested")
        assert (asked["tool"], asked["detail"].split("  ")[0]) == ("Bash", "rm -rf build")
        team.post(f"/api/approvals/{asked['approval']}", allow=True)
        ended = team.until(lambda event: event["type"] == "conversation_end", asked["seq"])
        team.said(REVIEWER, bug.review, ended["seq"])
        team.said(TESTER, bug.trial, ended["seq"])
        calls = team.get("/api/log?types=agent_activity&agent=Otto")["events"]
        assert [each["kind"] for each in calls] == [
            *("tool_call", "tool_done", "tool_call", "tool_failed"),
            *("tool_call", "tool_done") * 3,
        ]
        [fixed] = [
            each
            for each in team.get("/api/conversations")["conversations"]
            if each["conversation"] == ended["conversation"]
        ]
        assert "as a person allowed" in fixed["answer"]
        outputs = team.home / "work" / "conversations" / ended["conversation"] / "outputs"
        assert (outputs / bug.file).read_text() == bug.right
        assert not (outputs / "build").exists()
        assert team.get("/api/costs")["team"]["costUsd"] == bug.cost_usd


def test_a_clean_stop_leaves_no_process_and_the_next_start_has_the_same_team(
    tmp_path: Path,
) -> None:
    with demo(tmp_path) as team:
        team.settles()
        pids = team.pids()
        team.end()
        assert not [pid for pid in pids if Path(f"/proc/{pid}").exists()]
    with demo(tmp_path) as team:
        started = team.until(lambda event: event["type"] == "muster_started", 1)["seq"]
        for character in (LEAD, *CREW):
            team.moved(character.name, "alive", started)
        team.said(LEAD.name, "awake again", started)
        team.moved("Nora", "WAITING", started)
        kinds = {
            event["type"] for event in team.get(f"/api/log?after={started}&limit=1000")["events"]
        }
        assert not kinds & {"agents_summoned", "agent_registered", "conversation_start"}
        team.wants("Otto", "pause")
        slept = team.moved("Otto", "sleeping", started)
        team.wants("Otto", "run_once")
        team.moved("Otto", "sleeping", team.moved("Otto", "alive", slept["seq"])["seq"])
        assert team.get("/api/agents/Otto/run")["desired"] == "pause"
        team.end()


def test_the_user_s_own_team_is_left_alone(tmp_path: Path) -> None:
    own = tmp_path / ".muster"
    assert muster("init", "--home", str(own)).returncode == 0
    with demo(tmp_path, MUSTER_HOME=str(own)) as team:
        assert team.home == tmp_path / ".muster-demo"
    assert not (own / "team.db").exists()
    refused = muster("up", "--demo", "--home", str(own), "--port", "0")
    assert refused.returncode == 2
    assert "already holds a team" in refused.stderr
    with demo(tmp_path, "--home", str(tmp_path / "elsewhere")) as team:
        assert team.home == tmp_path / "elsewhere"
