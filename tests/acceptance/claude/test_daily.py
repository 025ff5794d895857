"""A day with the real Claude Code: what goes wrong beside the work, and costs nothing more."""

import json
import os
import signal

from muster.testing.claude_sandbox import Box
from muster.testing.model import Hold, OutOfTokens, Rule, ScriptedModel, Status, Tool, Usage
from tests.acceptance.claude.teams import MODEL, born, claude_team, start, table, texts, variables
from tests.acceptance.claude.test_round import said
from tests.acceptance.claude.test_unanswered import ask
from tests.acceptance.test_whole_life import Team
from tests.homes import muster
from tests.waits import SLOW_SECONDS, until

YOUR_TURN = "It is your turn"


def opened(team: Team, *names: str, **rules: float) -> None:
    """A channel with these members."""
    team.post("/api/channels", {"channel": "design", "config": rules})
    for name in names:
        team.post("/api/channels/design/members", {"agent": name})


def post(team: Team, text: str) -> None:
    team.post("/api/channels/design/messages", {"message": text})


def ring(team: Team) -> list[str]:
    return [each["agent"] for each in team.get("/api/channels/design")["members"]]


def test_a_model_error_in_a_turn_does_not_cost_the_place_in_the_channel(
    model: ScriptedModel, box: Box
) -> None:
    model.add(Rule(match=YOUR_TURN, reply="Ada speaks.\nTURN_COMPLETE"))
    with ScriptedModel() as other:
        other.add(Rule(match=YOUR_TURN, times=2, reply=[Status(529)]))
        other.add(Rule(match=YOUR_TURN, reply="Ben speaks.\nTURN_COMPLETE"))
        ada = table("Ada", variables(box, model, "ada"), cwd=str(box.work))
        ben = table("Ben", variables(box, other, "ben"), cwd=str(box.work), restart_seconds=0.1)
        with claude_team(box, ada, ben) as (team, _):
            start(team, "Ada", "Ben")
            opened(team, "Ada", "Ben", turnsPerMessage=4)
            post(team, "hello")
            until(lambda: ("Ben", "Ben speaks.") in said(team), lambda: said(team))
            assert ring(team) == ["Ada", "Ben"]
            [left] = team.log("member_left")
            assert left["keepsPlace"] is True
            [lost, again] = [text for text in texts(other) if YOUR_TURN in text][1:]
            assert "[human]: hello" in lost
            assert "[human] (told before): hello" in again


def test_a_turn_that_times_out_behind_other_work_is_not_worked_on(
    model: ScriptedModel, box: Box
) -> None:
    thinks = Hold()
    model.add(Rule(match="think", times=1, reply=[thinks, "Thought."]))
    model.add(Rule(match=YOUR_TURN, reply="Turn.\nTURN_COMPLETE"))
    with claude_team(box, table("Ada", box.env)) as (team, _):
        start(team, "Ada")
        ask(team, "Ada", "think")
        assert thinks.reached.wait(SLOW_SECONDS)
        opened(team, "Ada", defaultTimeoutSeconds=2)
        post(team, "hello")
        until(lambda: bool(team.log("work_stopped")))
        thinks.release()
        until(lambda: ("Ada", "Turn.") in said(team), lambda: said(team))
        assert ("Ada", "Thought.") in team.thread("Ada")  # its other work was not interrupted
        assert sum(YOUR_TURN in text for text in texts(model)) == 1


def test_a_turn_into_which_a_person_speaks_is_charged_to_the_channel_and_said_once(
    model: ScriptedModel, box: Box
) -> None:
    used, holds = Usage(1000, 100), Hold()
    works = Tool("Bash", {"command": "echo worked"})
    model.add(Rule(match=YOUR_TURN, times=1, reply=[used, holds, "Let me see.", works]))
    done = Tool("mcp__muster__turn_complete", {"message": "Done."})
    model.add(Rule(match="worked", times=1, reply=[used, done]))
    model.add(Rule(match="you are told", reply=[used, "(fine)"]))
    with claude_team(box, table("Ada", box.env, claude='allowed_tools = ["Bash"]')) as (team, _):
        start(team, "Ada")
        opened(team, "Ada")
        post(team, "hello")
        assert holds.reached.wait(SLOW_SECONDS)
        post(team, "and blue")
        holds.release()
        until(lambda: bool(team.log("session_result")))
        assert said(team) == [("Ada", "Done.")]
        assert not [each for each in team.log("agent_message") if not each.get("channel")]
        channel = team.get("/api/channels/design")["used"]
        costs = team.get("/api/costs")
        assert channel["tokens"] == costs["team"]["tokens"] == 3300
        [day] = costs["days"]
        assert (day["agent"], day["model"], day["tokens"]) == ("Ada", MODEL, 3300)


def test_an_agent_goes_on_with_the_conversation_in_which_it_was_born(
    model: ScriptedModel, box: Box
) -> None:
    birth = "I am here." + born(0, "Nova", "I am Nova.")
    model.add(Rule(match="[AGENT_REGISTERED]", times=1, reply=birth))
    model.add(Rule(match="once more", reply="Hi again."))
    model.add(Rule(match="hello", reply="Hi."))
    with claude_team(box, table("*", box.env), "[summon]\nseats = 1\n") as (team, _):
        team.post("/api/agents/summon")
        team.until(lambda agents: agents[0]["name"] == "Nova" and agents[0]["status"] == "alive")
        ask(team, "Nova", "hello")
        until(lambda: ("Nova", "Hi.") in team.thread("Nova"))
        logged = muster("logs", "Nova", "--home", str(box.work / ".muster")).stdout
        assert "Hi." in logged
        os.kill(team.pid("Nova"), signal.SIGKILL)
        until(lambda: bool(team.log("session_end")))
        ask(team, "Nova", "once more")
        until(lambda: ("Nova", "Hi again.") in team.thread("Nova"))
        first, *_, last = model.calls()
        prompt_of_birth = json.dumps(first.text.splitlines()[0]).strip('"')
        assert prompt_of_birth in json.dumps(last.body)


def test_an_answer_that_was_cut_off_is_told_whole(model: ScriptedModel, box: Box) -> None:
    model.add(Rule(match="hello", times=1, reply=["The first half, ", OutOfTokens()]))
    model.add(Rule(match="limit", reply="and the second."))
    with claude_team(box, table("Ada", box.env)) as (team, _):
        start(team, "Ada")
        ask(team, "Ada", "hello")
        until(lambda: len(team.thread("Ada")) > 1, lambda: texts(model))
        assert team.thread("Ada")[1] == ("Ada", "The first half, and the second.")


def test_an_agent_of_the_settings_wakes_without_a_claim_that_it_chose_its_name(
    model: ScriptedModel, box: Box
) -> None:
    model.add(Rule(match="who are you", reply="Ada."))
    model.add(Rule(match="hello", reply="Hi."))
    with claude_team(box, table("Ada", box.env, restart_seconds=0.1)) as (team, _):
        start(team, "Ada")
        ask(team, "Ada", "hello")
        until(lambda: ("Ada", "Hi.") in team.thread("Ada"))
        os.kill(team.pid("Ada"), signal.SIGKILL)
        until(lambda: bool(team.log("session_end")))
        ask(team, "Ada", "who are you?")
        until(lambda: ("Ada", "Ada.") in team.thread("Ada"))
        letter = texts(model)[-1]
        assert "you are waking up. The transcript is" in letter
        assert "chose this name" not in letter
