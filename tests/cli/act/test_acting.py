"""The verbs that act, as a person types them, on a real server."""

import json
import os
import pty
import re
import signal
import subprocess
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from threading import Timer
from typing import NamedTuple

import pytest

from muster.cli.act.channel import parsed
from muster.cli.act.watch import Happening, view
from muster.cli.render import Look
from muster.client.sync import Client
from muster.machines.ids import ChannelId, SeatId
from muster.machines.state import TurnState
from muster.views.answers.channels import ChannelState, MemberView, Rules
from tests.homes import MUSTER_SCRIPT, environment, muster
from tests.live import Json, live
from tests.waits import LIFE_SECONDS, WAIT_SECONDS

_numbers = count(1)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Generator[Path]:
    """The home of a team that is up."""
    path = tmp_path_factory.mktemp("acting") / "home"
    with live(path):
        yield path


class Team(NamedTuple):
    """Two agents that are here, and a channel of theirs in which the first has the turn."""

    home: Path
    pm: str
    dev: str
    channel: str

    def does(self, *args: str, token: str = "") -> str:
        """Type a verb that works; give what it prints."""
        ran = muster(*args, "--home", str(self.home), MUSTER_TOKEN=token)
        assert (ran.returncode, ran.stderr) == (0, "")
        return ran.stdout

    def told(self, *args: str) -> Json:
        return json.loads(self.does(*args, "--json"))

    def refused(self, *args: str) -> str:
        """Type a verb that is refused; give what is said about it."""
        ran = muster(*args, "--home", str(self.home))
        assert (ran.returncode, ran.stdout) == (3, ""), ran.stderr
        return ran.stderr

    def holder(self) -> str | None:
        return self.told("channel", "show", self.channel)["holder"]


@pytest.fixture
def team(home: Path) -> Team:
    number = next(_numbers)
    team = Team(home, f"pm-{number}", f"dev-{number}", f"reviews-{number}")
    with Client(home=home) as client:
        for name in (team.pm, team.dev):
            client.register(name)
            client.connect(name)
        client.create_channel(team.channel)
        client.add_member(team.channel, team.pm)
        client.add_member(team.channel, team.dev)
    return team


# ── agents ────────────────────────────────────────────────────────────────────────────────────────


def test_an_agent_is_registered_and_acts_with_the_token_that_is_told(team: Team) -> None:
    told = team.does("agent", "register", "newcomer", "--max-turns", "2")
    found = re.fullmatch(r"newcomer has seat \d+\. Its token, .*:\nMUSTER_TOKEN=(\S+)\n", told)
    assert found
    assert "newcomer" in team.does("agent", "list", token=found[1])
    ran = muster("agent", "register", "x", "--home", str(team.home), MUSTER_TOKEN=found[1])
    assert (ran.returncode, "may not" in ran.stderr) == (3, True)
    assert "belongs to seat" in team.refused("agent", "register", "NEWCOMER")


def test_agents_are_listed_with_their_turns(team: Team) -> None:
    told = team.does("agent", "list")
    where = team.channel
    assert re.search(rf"{team.pm} +CONNECTED +{where} \(ACTIVE\) +working in {where}", told)
    assert re.search(rf"{team.dev} +CONNECTED +{where} \(QUEUED\) +waiting for its turn", told)
    assert {team.pm, team.dev} <= {each["name"] for each in team.told("agent", "list")["agents"]}


def test_an_agent_is_taken_out_and_let_in_again(team: Team) -> None:
    assert team.does("agent", "disable", team.pm, "--reason", "it rambles") == (
        f"{team.pm}: NOT CONNECTED, disabled\n"
    )
    assert team.holder() == team.dev
    assert team.does("agent", "enable", team.pm).startswith(f"{team.pm}: CONNECTED, ")
    assert team.told("agent", "enable", team.pm)["disabled"] is False


# ── channels ──────────────────────────────────────────────────────────────────────────────────────


def test_a_channel_is_opened_with_rules_and_members(team: Team) -> None:
    name = f"{team.channel}-b"
    rule = "defaultTimeoutSeconds=30"
    told = team.does("channel", "create", name, team.dev, team.pm, "--set", rule)
    assert re.search(rf"{name} +active +{team.dev} +1 +\d+ s +{team.dev} → {team.pm}", told)
    assert "already" in team.refused("channel", "create", name)
    shown = team.does("channel", "show", name)
    assert re.search(rf"{team.pm} +QUEUED +30 s +0", shown)


def test_channels_are_listed(team: Team) -> None:
    told = team.does("channel", "list")
    assert re.search(rf"{team.channel} +active +{team.pm} +1 +", told)
    names = [each["channel"] for each in team.told("channel", "list")["channels"]]
    assert team.channel in names


def test_members_come_and_go(team: Team) -> None:
    told = team.does("channel", "remove", team.channel, team.pm)
    assert re.search(rf"{team.channel} +active +{team.dev}", told)
    told = team.told("channel", "add", team.channel, team.pm, "--timeout", "5")
    assert told["ring"] == [team.dev, team.pm]
    assert told["members"][1]["timeoutSeconds"] == 5.0
    assert "in channel" in team.refused("channel", "add", team.channel, team.pm)


def test_rules_are_shown_and_changed(team: Team) -> None:
    shown = team.does("channel", "config", team.channel)
    assert re.search(r"humanInterruptMode +inject\n", shown)
    assert re.search(r"announceTimeouts +true\n", shown)
    changed = team.told(
        "channel", "config", team.channel, "human_interrupt_mode=queue", "announceTimeouts=false"
    )
    assert (changed["humanInterruptMode"], changed["announceTimeouts"]) == ("queue", False)


@pytest.mark.parametrize("rule", ["nonsense=1", "announceTimeouts", "=", ""])
def test_a_rule_that_does_not_exist_is_explained(team: Team, rule: str) -> None:
    ran = muster("channel", "config", team.channel, rule, "--home", str(team.home))
    assert ran.returncode == 2
    assert "the rules are defaultTimeoutSeconds" in ran.stderr


@pytest.mark.parametrize("rule", ["defaultTimeoutSeconds=-1", "humanInterruptMode=shout"])
def test_a_value_that_a_rule_cannot_have_is_refused(team: Team, rule: str) -> None:
    ran = muster("channel", "config", team.channel, rule, "--home", str(team.home))
    assert ran.returncode == 2
    assert team.told("channel", "config", team.channel)["humanInterruptMode"] == "inject"


def test_values_are_numbers_truths_or_texts() -> None:
    typed = ["defaultTimeoutSeconds=2.5", "announceTimeouts=true", "humanInterruptMode=queue"]
    assert list(parsed(typed).values()) == [2.5, True, "queue"]


# ── turns ─────────────────────────────────────────────────────────────────────────────────────────


def test_a_turn_is_completed_passed_paused_and_resumed(team: Team) -> None:
    told = team.does("turn", "complete", team.channel, "my last words")
    assert re.fullmatch(rf"{team.dev} has the turn\. \(message \d+\)\n", told)
    assert team.holder() == team.dev
    team.does("turn", "pass", team.channel, "--agent", team.dev, "--epoch", "2")
    assert team.holder() == team.pm
    team.does("turn", "wait", team.channel, "for the build", "--timeout", "60")
    assert "waiting: for the build" in team.does("channel", "show", team.channel)
    team.does("turn", "resume", team.channel)
    assert team.told("channel", "show", team.channel)["waiting"] is None


def test_a_turn_that_is_over_or_another_s_cannot_be_ended(team: Team) -> None:
    team.does("turn", "complete", team.channel)
    assert "is over" in team.refused("turn", "complete", team.channel, "--epoch", "1")
    assert "holds the turn" in team.refused("turn", "pass", team.channel, "--agent", team.pm)


def test_a_person_decides_whose_turn_it_is(team: Team) -> None:
    assert team.told("turn", "override", team.channel, "queued")["seq"] > 0
    assert team.holder() == team.dev
    assert "is in" not in team.does("turn", "override", team.channel, "QUEUED", team.dev)
    assert team.holder() is None  # both were stopped until there is something new
    team.does("send", "--channel", team.channel, "go on")
    assert team.holder() == team.pm


# ── messages ──────────────────────────────────────────────────────────────────────────────────────


def test_a_person_speaks_to_a_channel_to_an_agent_and_to_the_lead(team: Team) -> None:
    seq = team.told("send", "--channel", team.channel, "hello all")["seq"]
    team.does("send", "--to", team.dev, "hello you")
    with Client(home=team.home) as client:
        said = client.messages(team.channel).messages
        assert [(each.seq, each.text) for each in said] == [(seq, "hello all")]
        told = client.next(team.dev, wait_s=0)
        assert [each.text for each in told.messages] == ["hello you"]
    assert "no lead" in team.refused("send", "hello lead")


def test_a_message_is_for_one_or_for_all(team: Team) -> None:
    ran = muster("send", "--to", "a", "--channel", "b", "hello", "--home", str(team.home))
    assert (ran.returncode, "exclude each other" in ran.stderr) == (2, True)


def test_a_long_message_comes_from_standard_input(team: Team) -> None:
    where = ("--channel", team.channel, "--home", str(team.home))
    muster("send", "-", *where, stdin="first line\nsecond line\n").check_returncode()
    with Client(home=team.home) as client:
        assert client.messages(team.channel).messages[0].text == "first line\nsecond line\n"


# ── no server ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "verb",
    [
        "agent list",
        "agent register pm",
        "channel list",
        "channel create reviews",
        "turn complete reviews",
        "send hello",
        "watch reviews",
    ],
)
def test_where_no_server_runs_it_is_said_how_to_start_one(tmp_path: Path, verb: str) -> None:
    ran = muster(*verb.split(), "--home", str(tmp_path))
    assert (ran.returncode, ran.stdout) == (4, "")
    assert ran.stderr == f"muster: No muster runs in {tmp_path}. `muster up` starts one.\n"


# ── watching ──────────────────────────────────────────────────────────────────────────────────────


@contextmanager
def watching(team: Team, output: int) -> Generator[subprocess.Popen[bytes]]:
    """A running `muster watch`, with a timeout."""
    with subprocess.Popen(
        [MUSTER_SCRIPT, "watch", team.channel, "--home", str(team.home)],
        stdout=output,
        stderr=subprocess.PIPE,
        env=environment({"COLUMNS": "60", "TERM": "xterm"}),
    ) as process:
        bound = Timer(LIFE_SECONDS, process.kill)
        bound.start()
        try:
            yield process
        finally:
            process.kill()
            bound.cancel()


def test_into_a_pipe_what_happens_is_a_line_each(team: Team) -> None:
    team.does("send", "--channel", team.channel, "before")
    with watching(team, subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline().decode().rstrip().endswith("human: before")
        team.does("turn", "complete", team.channel, "my \x1b[31mlast\nwords")
        lines = [process.stdout.readline().decode() for _ in range(3)]
        process.send_signal(signal.SIGINT)
        assert process.wait(WAIT_SECONDS) == 0
    assert lines[0].endswith(f"{team.pm}: my \\x1b[31mlast words\n")
    assert lines[1].endswith(f"{team.pm}: ACTIVE → QUEUED (TURN_COMPLETE)\n")
    assert lines[2].endswith(f"{team.dev}: QUEUED → ACTIVE (turn_granted)\n")


def test_every_message_is_shown_where_there_are_fewer_than_asked_for(team: Team) -> None:
    with Client(home=team.home) as client:
        for number in range(12):
            client.post(team.channel, f"message {number}")
    with watching(team, subprocess.PIPE) as process:
        assert process.stdout is not None
        first = process.stdout.readline().decode().rstrip()
        process.send_signal(signal.SIGINT)
        assert process.wait(WAIT_SECONDS) == 0
    assert first.endswith("human: message 0")


def test_in_a_terminal_the_ring_the_turn_and_the_messages_are_shown(team: Team) -> None:
    ours, theirs = pty.openpty()
    with watching(team, theirs) as process, os.fdopen(ours, "rb", 0) as terminal:
        os.close(theirs)
        shown = _until(terminal.fileno(), b"\xe2\x96\xb6 " + team.pm.encode())
        team.does("turn", "complete", team.channel, "my last words")
        shown += _until(terminal.fileno(), b"my last words")
        shown += _until(terminal.fileno(), b"\xe2\x96\xb6 " + team.dev.encode())
        process.send_signal(signal.SIGINT)
        shown += _until(terminal.fileno(), b"\x1b[?1049l")
        assert process.wait(WAIT_SECONDS) == 0
    assert b": active, turn 1, ends in " in shown


def _until(terminal: int, wanted: bytes) -> bytes:
    """Read a terminal until it shows something; the process that writes to it is bounded."""
    shown = b""
    while wanted not in shown:
        shown += os.read(terminal, 65536)
    return shown


def test_a_channel_that_does_not_exist_cannot_be_watched(team: Team) -> None:
    assert "no channel 'nowhere'" in team.refused("watch", "nowhere")


# ── the view ──────────────────────────────────────────────────────────────────────────────────────

SOON = datetime.now(UTC) + timedelta(hours=1)  # noqa: TID251 - a countdown is to the real clock


def a_member(name: str, state: TurnState, *, present: bool = True, unread: int = 0) -> MemberView:
    return MemberView(
        agent=name,
        seat=SeatId(9),
        state=state,
        present=present,
        timeout_seconds=60,
        unread=unread,
        delivered=0,
        read=0,
    )


def a_channel(members: Sequence[MemberView], **changes: Json) -> ChannelState:
    fields: dict[str, Json] = {
        "channel": ChannelId("reviews"),
        "config": Rules(),
        "ring": tuple(each.agent for each in members),
        "next": None,
        "members": tuple(members),
        "holder": None,
        "epoch": 0,
        "timeout_at": None,
        "ends_at": None,
        "waiting": None,
        "stopping": None,
        "resting": False,
        "last_message": 0,
    }
    return ChannelState(**fields | changes)


def test_the_view_marks_who_has_the_turn_and_who_comes_next() -> None:
    members = [
        a_member("pm", TurnState.ACTIVE),
        a_member("dev", TurnState.QUEUED, unread=2),
        a_member("qa", TurnState.QUEUED, unread=1000),
        a_member("qa", TurnState.QUEUED, present=False),
    ]
    state = a_channel(members, holder="pm", next="dev", epoch=7, timeout_at=SOON)
    head, *rest = view(state, ["1", "2"], Look(), 24)
    assert re.fullmatch(r"reviews: active, turn 7, ends in \d+ min", head)
    assert rest == [
        " ▶ pm  ACTIVE",
        " · dev  QUEUED, 2 unread",
        "   qa  QUEUED, 1000+ unread",
        "   qa  QUEUED, away",
        "",
        "1",
        "2",
    ]


def test_the_view_fits_the_terminal_and_shows_the_newest() -> None:
    lines = [f"{number} {'x' * 100}" for number in range(50)]
    shown = view(a_channel([]), lines, Look(width=40), 10)
    assert len(shown) <= 10
    assert max(map(len, shown)) <= 40
    assert shown[-1].startswith("49 ")
    assert view(a_channel([]), lines, Look(), 1)[-1] == ""


def test_the_view_says_when_no_server_answers() -> None:
    told = view(a_channel([], resting=True), [], Look(), 24, lost=True)
    assert told == [
        "reviews: resting",
        "The server does not answer. This is the last known state.",
        "",
    ]


def test_nothing_that_was_said_can_steer_the_terminal() -> None:
    said = Happening(type="announcement", ts=SOON, text="a\x1b[2J\nb\u202ec")
    assert said.line is not None
    assert said.line.endswith("· a\\x1b[2J b\\u202ec")
    assert Happening(type="member_joined", ts=SOON).line is None
