"""The verbs that look at a team: status, log, why."""

import json
import os
import signal
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from typing import Any

import pytest

from muster.engine.loading import load
from muster.home.lock import LOG_FILE
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.ids import ChannelId, SeatId
from muster.machines.state import Status
from muster.store.reading import LogReader
from muster.testing.clock import EPOCH
from muster.views.agents import view_team
from tests.homes import (
    ADA,
    BO,
    DESIGN,
    MUSTER_SCRIPT,
    TWO_AGENTS,
    append,
    environment,
    muster,
    play,
)
from tests.waits import LIFE_SECONDS, WAIT_SECONDS

HOSTILE = "\x1b[2J\x1b]0;owned\x07\u202eEve\x9b31m"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Two agents in a channel; the first has the turn."""
    play(tmp_path, *TWO_AGENTS)
    return tmp_path


def lines_of(*args: str, home: Path) -> list[Any]:  # any JSON value
    ran = muster(*args, "--json", "--home", str(home))
    assert ran.returncode == 0, ran.stderr
    return [json.loads(line) for line in ran.stdout.splitlines()]


# ── status ────────────────────────────────────────────────────────────────────────────────────────


def test_status_shows_agents_and_channels(home: Path) -> None:
    text = muster("status", "--home", str(home)).stdout
    assert f"{home}: server not running" in text
    assert "2 agents (2 unknown), 1 channel" in text
    ada = next(line for line in text.splitlines() if "Ada" in line)
    assert ada.split()[:3] == ["9", "Ada", "UNKNOWN"]
    assert "heartbeat" in ada
    assert ada.endswith("muster does not run")
    design = next(line for line in text.splitlines() if line.startswith("design"))
    assert design.split()[:4] == ["design", "active", "Ada", "1"]
    assert design.endswith("Ada → Bo  ring")


def test_status_as_json_tells_the_same_and_more(home: Path) -> None:
    (report,) = lines_of("status", home=home)
    assert report["home"] == str(home)
    assert report["running"] is False
    assert [agent["name"] for agent in report["team"]["agents"]] == ["Ada", "Bo"]
    (channel,) = report["team"]["channels"]
    assert (channel["holder"], channel["epoch"], channel["ring"]) == ("Ada", 1, ["Ada", "Bo"])
    assert report["team"]["agents"][0]["evidence"]["kind"] == "heartbeat"


def test_the_status_of_an_empty_team_says_what_to_do_next(tmp_path: Path) -> None:
    play(tmp_path)
    text = muster("status", "--home", str(tmp_path)).stdout
    assert "The team has no agents yet." in text
    assert "`muster up`" in text


def test_an_agent_is_shown_as_alive_only_while_a_server_runs(home: Path) -> None:
    with LogReader.open(home / LOG_FILE) as reader:
        team = load(reader)
    running = view_team(team, EPOCH, running=True)
    assert [agent.status for agent in running.agents] == [Status.ALIVE, Status.ALIVE]
    stopped = view_team(team, EPOCH, running=False)
    assert [agent.status for agent in stopped.agents] == [Status.UNKNOWN, Status.UNKNOWN]


def test_a_channel_says_what_it_waits_for_and_how_long(home: Path) -> None:
    play(home, c.WaitTurn(channel=DESIGN, seat=ADA, reason="a review"))
    with LogReader.open(home / LOG_FILE) as reader:
        (channel,) = view_team(load(reader), EPOCH, running=True).channels
    assert (channel.state, channel.waits_for) == ("waiting", "a review")
    assert channel.remaining_seconds == 300.0


def test_reading_changes_nothing(home: Path) -> None:
    before = (home / LOG_FILE).read_bytes()
    for args in (["status"], ["log"], ["why", "Ada"], ["doctor"]):
        muster(*args, "--home", str(home))
    assert (home / LOG_FILE).read_bytes() == before


# ── log ───────────────────────────────────────────────────────────────────────────────────────────


def test_the_log_is_told_in_sentences(home: Path) -> None:
    text = muster("log", "--home", str(home), TZ="UTC").stdout
    assert text.splitlines()[0] == "     1  2026-01-01 09:00:00  muster 0.1.0 started"
    assert "Ada went from QUEUED to ACTIVE in design (turn 1)" in text


def test_the_log_as_json_is_what_lies_in_the_log(home: Path) -> None:
    events = lines_of("log", home=home)
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert events[0]["type"] == "muster_started"


def test_the_log_can_be_narrowed_down(home: Path) -> None:
    every = lines_of("log", home=home)

    def seqs(*args: str) -> list[int]:
        return [event["seq"] for event in lines_of("log", *args, home=home)]

    assert seqs("--after", "5") == [event["seq"] for event in every[5:]]
    assert seqs("--after", "5", "--limit", "2") == [6, 7]
    assert seqs("--limit", "2") == [len(every) - 1, len(every)]
    assert seqs("--after", "1000000") == []
    seats = [event.get("seat") or event.get("agent", {}).get("gridPosition") for event in every]
    of_bo = [event["seq"] for event, seat in zip(every, seats, strict=True) if seat == BO]
    assert seqs("--agent", "bo") == seqs("--agent", "10") == of_bo
    in_design = [event["seq"] for event in every if event.get("channel") == "design"]
    assert seqs("--channel", "design") == in_design
    joined = [event["seq"] for event in every if event["type"] == "member_joined"]
    assert seqs("--type", "member_joined") == joined
    assert seqs("--type", "member_joined", "--agent", "Ada") == joined[:1]


def test_asking_for_what_does_not_exist_is_refused(home: Path) -> None:
    nobody = muster("log", "--agent", "Nobody", "--home", str(home))
    assert (nobody.returncode, "no agent 'Nobody'" in nobody.stderr) == (3, True)
    nowhere = muster("log", "--channel", "nowhere", "--home", str(home))
    assert (nowhere.returncode, "no channel 'nowhere'" in nowhere.stderr) == (3, True)
    nothing = muster("log", "--type", "nothing", "--home", str(home))
    assert nothing.returncode == 2
    assert "state_transition" in nothing.stderr


@contextmanager
def following(home: Path, *args: str) -> Generator[subprocess.Popen[str]]:
    """A real `log --follow`, which is killed where a test would wait for ever."""
    with subprocess.Popen(
        [MUSTER_SCRIPT, "log", "--follow", "--json", *args, "--home", str(home)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment({}),
        text=True,
    ) as process:
        bound = Timer(LIFE_SECONDS, process.kill)
        bound.start()
        try:
            yield process
        finally:
            process.kill()
            bound.cancel()


def some_lines(process: subprocess.Popen[str], number: int) -> list[Any]:  # as above
    assert process.stdout is not None
    return [json.loads(process.stdout.readline()) for _ in range(number)]


def test_following_goes_on_with_what_happens_and_ends_on_ctrl_c(home: Path) -> None:
    last = len(lines_of("log", home=home))
    with following(home, "--limit", "1") as process:
        assert some_lines(process, 1)[0]["seq"] == last
        play(home, c.CompleteTurn(channel=DESIGN, seat=ADA))
        news = some_lines(process, 3)
        assert [event["seq"] for event in news] == [last + 1, last + 2, last + 3]
        process.send_signal(signal.SIGINT)
        _, complaint = process.communicate(timeout=WAIT_SECONDS)
        assert (process.returncode, complaint) == (0, "")


def test_following_keeps_to_its_conditions(home: Path) -> None:
    with following(home, "--agent", "Bo", "--limit", "1") as process:
        before = some_lines(process, 1)[0]
        play(home, c.CompleteTurn(channel=DESIGN, seat=ADA))
        after = some_lines(process, 1)[0]
        assert (before["seat"], after["seat"]) == (BO, BO)


def test_a_reader_that_closes_the_pipe_ends_the_log_quietly(home: Path) -> None:
    with following(home, "--limit", "1") as process:
        some_lines(process, 1)
        assert process.stdout is not None
        process.stdout.close()
        play(home, c.CompleteTurn(channel=DESIGN, seat=ADA))
        assert process.wait(WAIT_SECONDS) == 0
        assert process.stderr is not None
        assert process.stderr.read() == ""


# ── why ───────────────────────────────────────────────────────────────────────────────────────────


def test_why_follows_an_event_to_its_cause(home: Path) -> None:
    (grant,) = (
        event for event in lines_of("log", home=home) if event.get("trigger") == "turn_granted"
    )
    chain = lines_of("why", str(grant["seq"]), home=home)
    assert [event["seq"] for event in chain] == [grant["seq"], grant["cause"]]
    text = muster("why", str(grant["seq"]), "--home", str(home)).stdout
    assert "← Ada went from IDLE to QUEUED in design" in text


def test_why_tells_of_an_agent_how_each_of_its_states_came_about(home: Path) -> None:
    text = muster("why", "Ada", "--home", str(home)).stdout
    assert "Ada, turns in design: ACTIVE" in text
    assert "Ada, identity: alive" in text
    for same in ("ada", "agent:9", "seat:9", "agent-identity:9", "agent:agent-identity:9"):
        assert muster("why", same, "--home", str(home)).stdout == text


def test_why_takes_a_number_for_an_event_and_says_how_to_ask_for_the_seat(home: Path) -> None:
    asked = muster("why", "9", "--home", str(home))
    assert asked.stdout.startswith("event 9\n")
    assert asked.stderr == "(9 is an event here. Ada in seat 9: muster why seat:9)\n"
    assert muster("why", "1", "--home", str(home)).stderr == ""


def test_why_tells_of_a_channel_how_the_turn_came_to_its_holder(home: Path) -> None:
    text = muster("why", "design", "--home", str(home)).stdout
    assert text.startswith("design: turn 1 is with Ada (ring)\n")
    assert "Ada went from QUEUED to ACTIVE" in text
    assert muster("why", "channel:design", "--home", str(home)).stdout == text


def test_why_tells_of_a_channel_without_a_holder_what_happened_last(tmp_path: Path) -> None:
    play(tmp_path, c.CreateChannel(channel=ChannelId("quiet")))
    text = muster("why", "quiet", "--home", str(tmp_path)).stdout
    assert text.startswith("quiet: nobody has the turn\n")
    assert "channel quiet was opened" in text


def test_a_number_is_an_event_unless_somebody_is_called_so(home: Path) -> None:
    assert muster("why", "9", "--home", str(home)).stdout.startswith("event 9\n")
    play(
        home,
        c.EnrollAgent(name="9", authority=e.Authority.SELF),
        c.ConnectAgent(seat=SeatId(11)),
    )
    assert muster("why", "9", "--home", str(home)).stdout.startswith("9, ")
    assert muster("why", "event:9", "--home", str(home)).stdout.startswith("event 9\n")


@pytest.mark.parametrize(
    "subject", ["Nobody", "0", "99999", "event:x", "agent:x", "channel:x", "event:99999"]
)
def test_why_of_what_does_not_exist_is_refused(home: Path, subject: str) -> None:
    ran = muster("why", subject, "--home", str(home))
    assert ran.returncode == 3
    assert ran.stderr.startswith("muster: There is no ")


# ── hostile text ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "args",
    [
        ["status"],
        ["status", "--json"],
        ["log"],
        ["log", "--json"],
        ["why", "agent:11"],
        ["why", "agent:11", "--json"],
        ["log", "--agent", HOSTILE],
        ["log", "--agent", "\x1b[31m"],
        ["doctor"],
    ],
)
def test_nothing_that_an_agent_wrote_reaches_the_terminal_as_a_command(
    home: Path, args: list[str]
) -> None:
    play(home, c.Speak(channel=DESIGN, seat=ADA, text=f"look: {HOSTILE}"))
    append(
        home,
        e.AgentEnrolled(
            agent=e.Profile(name=HOSTILE, grid_position=SeatId(11)), authority=e.Authority.SELF
        ),
        e.StateTransition(
            machine=e.Machine.IDENTITY,
            agent_id=HOSTILE,
            source="none",
            target="sleeping",
            trigger=HOSTILE,
            seat=SeatId(11),
            reason=HOSTILE,
        ),
        e.CommandRefused(command="X", code="y", reason=HOSTILE),
    )
    ran = muster(*args, "--home", str(home))
    for line in (ran.stdout + ran.stderr).splitlines():
        assert line.isprintable(), line


def test_a_hostile_name_keeps_its_meaning_in_json(home: Path) -> None:
    append(
        home,
        e.AgentEnrolled(
            agent=e.Profile(name=HOSTILE, grid_position=SeatId(11)), authority=e.Authority.SELF
        ),
    )
    assert lines_of("log", "--limit", "1", home=home)[0]["agent"]["name"] == HOSTILE


def test_a_terminal_that_lacks_a_letter_still_gets_an_answer(home: Path) -> None:
    ran = muster("status", "--home", str(home), PYTHONIOENCODING="latin-1")
    assert ran.returncode == 0
    assert r"Ada \u2192 Bo" in ran.stdout


# ── damage ────────────────────────────────────────────────────────────────────────────────────────


def test_a_damaged_log_is_said_to_be_damaged_with_code_5(home: Path) -> None:
    os.truncate(home / LOG_FILE, 5000)
    ran = muster("status", "--home", str(home))
    assert ran.returncode == 5
    assert "damaged" in ran.stderr
