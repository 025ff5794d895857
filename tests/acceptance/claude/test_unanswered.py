"""Messages that a Claude Code could not answer: what a person sees, and that none is lost."""

import os
import signal
from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

import pytest

from muster.testing.claude_sandbox import Box
from muster.testing.model import Hold, Part, Refusal, Rule, ScriptedModel, Status
from tests.acceptance.claude.teams import Json, claude_team, start, table
from tests.acceptance.test_whole_life import Team
from tests.homes import muster
from tests.waits import SLOW_SECONDS

SERVER = "the model server "


class ModelError(NamedTuple):
    """A model server that does not answer, and what a person is told about it."""

    reply: Part
    told: str
    env: Mapping[str, str] = {}


ERRORS = {
    "401": ModelError(Status(401), SERVER + "refuses the key (401)"),
    "no key": ModelError("?", "Claude Code is not logged in", {"ANTHROPIC_API_KEY": ""}),
    "404": ModelError(Status(404), SERVER + "does not know the model (404)"),
    "429": ModelError(Status(429, retry_after=1), SERVER + "takes no more for now (429), asked 2"),
    "529": ModelError(Status(529), SERVER + "is overloaded (529), asked 2 times"),
    "refused": ModelError(
        "?",
        SERVER + "cannot be reached: connection refused, asked 2 times",
        {"ANTHROPIC_BASE_URL": "http://127.0.0.1:1"},
    ),
    "timeout": ModelError(
        Hold(), SERVER + "does not answer: timed out, asked 2 times", {"API_TIMEOUT_MS": "1000"}
    ),
}


def handed(team: Team) -> list[str]:
    """The prompts that the sessions of the agent have taken."""
    return [each["text"] for each in team.log("prompt_taken")]


def ask(team: Team, name: str, text: str) -> None:
    team.post("/api/send", {"message": text, "targetAgent": name})


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def named(agents: Mapping[int, Json]) -> dict[str, Json]:
    return {each["name"]: each for each in agents.values()}


@pytest.mark.parametrize("error", ERRORS.values(), ids=ERRORS)
def test_a_message_that_a_model_error_ends_twice_waits_for_a_person_with_the_cause(
    model: ScriptedModel, box: Box, error: ModelError
) -> None:
    model.add(Rule(reply=[error.reply]))
    with claude_team(box, table("Ada", {**box.env, **error.env}, restart_seconds=0.1)) as (team, _):
        start(team, "Ada")
        ask(team, "Ada", "hello")
        ada = named(team.until(lambda agents: bool(named(agents)["Ada"]["unanswered"])))["Ada"]
        assert ada["unanswered"]["reason"].startswith(error.told)
        assert error.told in ada["lastFailure"]["reason"]
        assert ada["lastFailure"]["count"] == 2
        assert "Try again" in [each["label"] for each in ada["badge"]["controls"]]
        status = muster("status", "--home", str(box.work / ".muster")).stdout
        assert "Ada: failed 2 times" in status
        assert "`muster retry Ada`" in status
        why = muster("why", "Ada", "--home", str(box.work / ".muster")).stdout
        assert f"it left one unanswered ({error.told}" in why
        first, second = handed(team)
        assert "[human]: hello" in first
        assert "[human] (told before): hello" in second


def test_a_person_tries_again_and_the_failure_is_told_until_work_succeeds(
    model: ScriptedModel, box: Box
) -> None:
    model.add(Rule(times=4, reply=[Status(401)]))  # two sessions, which ask twice each
    model.add(Rule(match="hello", reply="Here I am."))
    with claude_team(box, table("Ada", box.env, restart_seconds=0.1)) as (team, _):
        start(team, "Ada")
        ask(team, "Ada", "hello")
        team.until(lambda agents: bool(named(agents)["Ada"]["unanswered"]))
        team.until(lambda agents: named(agents)["Ada"]["badge"]["status"] == "RUNNING")
        line = named(team.agents())["Ada"]["badge"]["line"]
        assert line == f"left a message unanswered: {SERVER}refuses the key (401)"
        home = str(box.work / ".muster")
        tried = muster("retry", "Ada", "--home", home)
        assert tried.stdout == "Ada gets its unanswered messages again.\n", tried.stderr
        team.until(lambda _: ("Ada", "Here I am.") in team.thread("Ada"))
        ada = named(team.until(lambda agents: named(agents)["Ada"]["lastFailure"] is None))["Ada"]
        assert ada["unanswered"] is None
        assert len(handed(team)) == 3
        again = muster("retry", "Ada", "--home", home)
        assert "has no unanswered message" in again.stderr


def test_a_server_that_asks_for_a_pause_gets_it_and_the_message_waits(
    model: ScriptedModel, box: Box
) -> None:
    model.add(Rule(reply=[Status(429, retry_after=3600)]))
    with claude_team(box, table("Ada", box.env)) as (team, _):
        start(team, "Ada")
        ask(team, "Ada", "hello")
        team.until(lambda agents: bool(named(agents)["Ada"]["nextStart"]))
        [retry] = team.log("retry_scheduled")
        seconds = moment(retry["until"]) - moment(retry["ts"])
        assert 3590 <= seconds.total_seconds() <= 3600
        failure = named(team.agents())["Ada"]["lastFailure"]["reason"]
        assert failure.endswith("takes no more for now (429), and asks to wait 3600 s")
        assert len(model.calls()) == 1
        assert [each["reason"] for each in team.log("messages_returned")]


def test_a_message_is_answered_by_the_next_session_after_a_kill(
    model: ScriptedModel, box: Box
) -> None:
    thinks = Hold()
    model.add(Rule(match="hello", times=1, reply=[thinks, "Lost."]))
    model.add(Rule(match="hello", reply="Here I am."))
    with claude_team(box, table("Ada", box.env, restart_seconds=0.1)) as (team, _):
        start(team, "Ada")
        ask(team, "Ada", "hello")
        assert thinks.reached.wait(SLOW_SECONDS)
        os.kill(team.pid("Ada"), signal.SIGKILL)
        team.until(lambda _: ("Ada", "Here I am.") in team.thread("Ada"))
        assert len(handed(team)) == 2
        assert not team.log("messages_unanswered")


def stop_and_wake(team: Team, box: Box) -> None:
    """A person stops Ada at once, and wakes it again."""
    home = str(box.work / ".muster")
    for act in (["stop", "Ada", "--now", "--wait"], ["wake", "Ada"]):
        done = muster(*act, "--home", home)
        assert done.returncode == 0, done.stderr
    team.until(lambda _: ("Ada", "Here I am.") in team.thread("Ada"))
    assert "[human] (told before): hello" in handed(team)[-1]
    assert not team.log("messages_unanswered")


def test_a_message_to_a_frozen_program_is_answered_after_a_stop(
    model: ScriptedModel, box: Box
) -> None:
    model.add(Rule(match="hello", reply="Here I am."))
    with claude_team(box, table("Ada", box.env)) as (team, _):
        start(team, "Ada")
        os.kill(team.pid("Ada"), signal.SIGSTOP)
        ask(team, "Ada", "hello")
        team.until(lambda _: bool(team.log("messages_delivered")))
        stop_and_wake(team, box)
        assert len(handed(team)) == 1


def test_a_message_whose_work_a_stop_cuts_off_is_answered_by_the_next_session(
    model: ScriptedModel, box: Box
) -> None:
    thinks = Hold()
    model.add(Rule(match="hello", times=1, reply=[thinks, "Lost."]))
    model.add(Rule(match="hello", reply="Here I am."))
    with claude_team(box, table("Ada", box.env)) as (team, _):
        start(team, "Ada")
        ask(team, "Ada", "hello")
        assert thinks.reached.wait(SLOW_SECONDS)
        stop_and_wake(team, box)
        assert len(handed(team)) == 2


def test_a_model_that_refuses_has_answered(model: ScriptedModel, box: Box) -> None:
    model.add(Rule(match="fine", reply="Fine."))
    model.add(Rule(reply=["No.", Refusal()]))
    with claude_team(box, table("Ada", box.env)) as (team, _):
        start(team, "Ada")
        ask(team, "Ada", "hello")
        team.until(lambda _: len(team.thread("Ada")) == 2)
        assert team.thread("Ada")[1][1].startswith("The model refused to answer.")
        ask(team, "Ada", "fine?")
        team.until(lambda _: ("Ada", "Fine.") in team.thread("Ada"))
        assert not team.log("session_end")
