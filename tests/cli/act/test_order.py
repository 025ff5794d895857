"""Who speaks next, typed by a person: order, timeouts, hands, handoffs, limits and archives."""

import json
import re
from collections.abc import Generator
from itertools import count
from pathlib import Path
from typing import NamedTuple

import pytest

from muster.cli.act.channel_facts import channel_facts
from muster.cli.act.rule_options import given_rules
from muster.client.sync import Client
from muster.machines.ids import ChannelId
from muster.machines.vocabulary import Claim, JoinRule, ReadRule, SpeakerOrder
from muster.views.answers.agents import UsageView
from muster.views.answers.channels import ChannelState, ClaimView, Rules
from tests.homes import muster
from tests.live import Json, live

_numbers = count(1)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Generator[Path]:
    """The home of a team that is up."""
    path = tmp_path_factory.mktemp("order") / "home"
    with live(path):
        yield path


class Team(NamedTuple):
    """Three agents and the name of a channel."""

    home: Path
    pm: str
    dev: str
    qa: str
    channel: str

    def does(self, *args: str) -> str:
        """Type a verb that works; give what it prints."""
        ran = muster(*args, "--home", str(self.home))
        assert (ran.returncode, ran.stderr) == (0, "")
        return ran.stdout

    def told(self, *args: str) -> Json:
        return json.loads(self.does(*args, "--json"))

    def refused(self, *args: str, code: int = 3) -> str:
        """Type a verb that is refused; give what is said about it."""
        ran = muster(*args, "--home", str(self.home))
        assert (ran.returncode, ran.stdout) == (code, ""), ran.stderr
        return ran.stderr

    def shown(self) -> Json:
        return self.told("channel", "show", self.channel)


@pytest.fixture
def registered(home: Path) -> Team:
    """Agents that are not connected yet, and no channel."""
    number = next(_numbers)
    team = Team(home, f"pm-{number}", f"dev-{number}", f"qa-{number}", f"design-{number}")
    with Client(home=home) as client:
        for name in (team.pm, team.dev, team.qa):
            client.register(name)
    return team


@pytest.fixture
def team(registered: Team) -> Team:
    """Agents that are connected, in a channel; pm has the turn."""
    team = registered
    with Client(home=team.home) as client:
        for name in (team.pm, team.dev, team.qa):
            client.connect(name)
    team.does("channel", "create", team.channel, team.pm, team.dev, team.qa)
    return team


# ── creating ──────────────────────────────────────────────────────────────────────────────────────


def test_a_channel_is_created_with_agents_that_are_not_connected_yet(registered: Team) -> None:
    team = registered
    told = team.does("channel", "create", team.channel, team.dev, team.pm)
    assert re.search(rf"{team.channel} +idle +- +- +- +{team.dev} → {team.pm}", told)
    assert team.shown()["ring"] == [team.dev, team.pm]


def test_the_same_command_works_after_a_refusal(registered: Team) -> None:
    team = registered
    create = ("channel", "create", team.channel, team.pm, f"{team.qa}-2")
    assert f"{team.qa}-2" in team.refused(*create)
    assert "no channel" in team.refused("channel", "show", team.channel)
    team.does("agent", "register", f"{team.qa}-2")
    team.does(*create)
    assert "already" in team.refused(*create)


def test_rules_are_options_of_create_and_set(team: Team) -> None:
    name = f"{team.channel}-b"
    options = ["--selector", team.pm, "--stop-phrase", "that is all", "--turns-per-message", "7"]
    team.does("channel", "create", name, team.pm, team.dev, *options, "--no-announce-timeouts")
    config = team.told("channel", "config", name)
    assert (config["speakerOrder"], config["selector"]) == ("selector", team.pm)
    assert (config["stopPhrase"], config["turnsPerMessage"]) == ("that is all", 7)
    assert config["announceTimeouts"] is False
    changed = team.told(
        "channel", "set", name, "--speaker-order", "mention", "--cost-usd-per-message", "0.5"
    )
    assert (changed["speakerOrder"], changed["costUsdPerMessage"]) == ("mention", 0.5)
    assert changed["turnsPerMessage"] == 7
    shown = team.does("channel", "set", name, "--max-turns", "9")
    assert re.search(r"speakerOrder +mention\n", shown)


def test_a_rule_with_a_wrong_value_is_refused_with_its_name(team: Team) -> None:
    change = ("channel", "set", team.channel)
    assert "--turns-per-message 20" in team.refused(*change, code=2)
    assert "turnsPerMessage" in team.refused(*change, "--turns-per-message", "-1", code=2)
    assert "'mention'" in team.refused(*change, "--speaker-order", "loudest", code=2)
    assert "selector" in team.refused(*change, "--speaker-order", "selector", code=2)


def test_a_selector_is_asked_without_naming_the_order_again() -> None:
    assert given_rules({"selector": "pm", "max_turns": None}) == {
        "selector": "pm",
        "speakerOrder": "selector",
    }
    assert given_rules({"selector": "pm", "speaker_order": "ring"})["speakerOrder"] == "ring"


# ── order and timeouts ────────────────────────────────────────────────────────────────────────────


def test_the_order_of_turns_is_changed(team: Team) -> None:
    told = team.does("channel", "order", team.channel, team.qa, team.pm, team.dev)
    assert f"{team.qa} → {team.pm} → {team.dev}" in told
    wrong = team.refused("channel", "order", team.channel, team.pm, code=2)
    assert f"every member once: {team.qa}, {team.pm}, {team.dev}" in wrong


def test_the_timeout_of_a_member_is_changed_and_given_back(team: Team) -> None:
    change = ("channel", "timeout", team.channel, team.dev)
    team.does(*change, "7")
    assert team.shown()["members"][1]["timeoutSeconds"] == 7
    team.does(*change, "default")
    assert team.shown()["members"][1]["timeoutSeconds"] == 60
    assert "a number of seconds, or `default`" in team.refused(*change, "long", code=2)
    assert "timeoutSeconds" in team.refused(*change, "0", code=2)


# ── who speaks next ───────────────────────────────────────────────────────────────────────────────


def test_a_person_says_who_speaks_next(team: Team) -> None:
    told = team.does("turn", "next", team.qa)
    assert told == f"{team.qa} speaks next, after {team.pm}\n"
    assert f"Next: {team.qa}, chosen by human\n" in team.does("channel", "show", team.channel)
    team.does("turn", "complete", team.channel, "done")
    shown = team.does("channel", "show", team.channel)
    assert f"{team.qa} has the turn: chosen by human\n" in shown
    assert team.does("turn", "next", team.qa) == f"{team.qa} has the turn\n"


def test_an_agent_that_speaks_elsewhere_is_next_when_it_is_done_there(team: Team) -> None:
    other = f"{team.channel}-other"
    team.does("channel", "create", other, team.dev, team.pm)
    told = team.does("turn", "next", team.pm, "--channel", other)
    assert told == f"{team.pm} speaks next, when its turn in {team.channel} is over\n"
    several = team.refused("turn", "next", team.pm, code=2)
    assert f"--channel must name one channel: {team.pm!r} is in" in several
    team.does("turn", "pass", other)
    assert team.told("channel", "show", other)["holder"] == team.dev  # nobody waits for pm
    team.does("turn", "complete", team.channel)
    team.does("turn", "pass", other)
    assert team.told("channel", "show", other)["holder"] == team.pm


def test_a_turn_is_handed_to_a_member(team: Team) -> None:
    team.does("turn", "complete", team.channel, "your part", "--to", team.qa)
    assert team.shown()["grantedBecause"] == f"handed over by {team.pm}"
    team.does("turn", "pass", team.channel, "--to", team.pm)
    assert team.shown()["holder"] == team.pm


def test_a_hand_is_raised_and_lowered(team: Team) -> None:
    team.does("turn", "hand", team.qa)
    assert [each["agent"] for each in team.shown()["claims"]] == [team.qa]
    team.does("turn", "hand", team.qa, "--lower", "--channel", team.channel)
    assert team.shown()["claims"] == []


def test_a_wait_says_what_ends_it(team: Team) -> None:
    team.does("turn", "wait", team.channel, "the build", "--for", "resume")
    assert team.shown()["waiting"]["awaits"] == "resume"
    assert "'person'" in team.refused("turn", "wait", team.channel, "--for", "rain", code=2)


# ── archives and rests ────────────────────────────────────────────────────────────────────────────


def test_an_archived_channel_is_put_aside_and_brought_back(team: Team) -> None:
    assert re.search(rf"{team.channel} +archived", team.does("channel", "archive", team.channel))
    assert team.channel not in team.does("channel", "list")
    assert team.channel in team.does("channel", "list", "--archived")
    said = team.refused("send", "--channel", team.channel, "hello")
    assert f"`muster channel restore {team.channel}`" in said
    assert "brings it back" in team.does("channel", "show", team.channel)
    assert re.search(rf"{team.channel} +active", team.does("channel", "restore", team.channel))


def test_status_and_show_say_why_a_channel_rests(team: Team) -> None:
    team.does("channel", "set", team.channel, "--turns-per-message", "1")
    team.does("turn", "complete", team.channel, "one")
    why = "1 turns since the last message of a person (turnsPerMessage); a message starts it again"
    assert f"Resting: {why}\n" in team.does("channel", "show", team.channel)
    assert why in team.does("channel", "list")
    assert why in team.does("status")
    assert why in team.does("why", f"channel:{team.channel}")


def test_status_says_why_somebody_has_the_turn_and_since_when_it_is_heard(team: Team) -> None:
    told = team.does("status")
    assert re.search(rf"{team.channel} +active +{team.pm} .* ring\n", told)
    assert re.search(rf"{team.pm} .* heartbeat for \d+ ", told)


def test_a_person_s_removal_is_shown_with_its_remedy(team: Team) -> None:
    team.does("channel", "remove", team.channel, team.qa)
    add = f"muster channel add {team.channel} {team.qa}"
    shown = team.does("channel", "show", team.channel)
    assert f"Barred: {team.qa}, removed by a person; `{add}` adds it again\n" in shown
    assert "only a person can add it again" in team.does("why", team.qa)


# ── the facts of a channel ────────────────────────────────────────────────────────────────────────


def a_channel(config: Rules, **changes: Json) -> ChannelState:
    fields: dict[str, Json] = {
        "channel": ChannelId("design"),
        "config": config,
        "ring": ("pm", "dev"),
        "next": "dev",
        "members": (),
        "holder": "pm",
        "epoch": 3,
        "timeout_at": None,
        "ends_at": None,
        "waiting": None,
        "stopping": None,
        "resting": False,
        "last_message": 0,
    }
    return ChannelState(**fields | changes)


def test_the_facts_of_a_channel_are_its_holder_next_order_and_limits() -> None:
    config = Rules(turns_per_message=20, cost_usd_per_message=1.5, max_tokens=1000)
    used = UsageView(cost_usd=0.25, tokens=12)
    state = a_channel(config, granted_because="ring", turns_since_message=2, turns=9, used=used)
    assert list(channel_facts(state)) == [
        "pm has the turn: ring",
        "Next: dev",
        "Order: ring",
        "Limits per message of a person: 20 turns, $1.5 (so far 2 turns)",
        "Limits in all: 1000 tokens (so far 9 turns, $0.2500, 12 tokens)",
    ]


def test_the_facts_name_a_selector_that_is_no_member_and_rules_of_access() -> None:
    config = Rules(
        speaker_order=SpeakerOrder.SELECTOR,
        selector="lead",
        stop_phrase="that is all",
        turns_per_message=0,
        cost_usd_per_message=0,
        join_rule=JoinRule.INVITED,
        read_rule=ReadRule.MEMBERS,
    )
    claims = tuple(
        ClaimView(agent=name, claim=Claim.HAND, by=name, reason="raised its hand")
        for name in ("dev", "pm")
    )
    facts = list(channel_facts(a_channel(config, holder=None, claims=claims)))
    assert facts == [
        "Next: dev, raised its hand",
        "Then: pm, raised its hand",
        "Order: selector, by lead, who is no member: the ring decides",
        "Limits per message of a person: none (so far 0 turns)",
        "Limits in all: none (so far 0 turns)",
        "Ends when an agent says 'that is all'",
        "Only people add members",
        "Only members and operators read it",
    ]
    choosing = a_channel(Rules(), choosing=True, granted_because="choose the next speaker")
    assert next(channel_facts(choosing)) == (
        "pm has the turn and is asked who speaks next: choose the next speaker"
    )
