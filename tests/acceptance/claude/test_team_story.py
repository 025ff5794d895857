"""A team of the real Claude Code under muster: the lead is MAIN, a person is asked, costs count."""

import json
import sys
from pathlib import Path

import pytest

from muster.testing.claude_sandbox import Box
from muster.testing.model import Rule, ScriptedModel, Status, Tool, Usage
from tests.acceptance.claude.teams import (
    WORDS,
    Json,
    claude_team,
    speaks_in_turn,
    start,
    table,
    texts,
)
from tests.acceptance.test_whole_life import Team
from tests.delegation.stage import agent_file

REQUEST = "Write a Python script that says hello"


def send(team: Team, text: str, name: str = "Ada") -> None:
    team.post("/api/send", {"message": text, "targetAgent": name})


def answer_of(team: Team, name: str = "Ada") -> list[str]:
    return [text for who, text in team.thread(name) if who == name]


# ── the lead is MAIN ──────────────────────────────────────────────────────────────────────────────


def test_the_lead_is_main_and_what_it_may_not_do_its_subagent_does(
    model: ScriptedModel, box: Box
) -> None:
    agent_file(box.work / ".claude" / "agents", "builder", "Use to write Python scripts.")
    root, foo = box.work / "session", box.work / "foo.py"
    outputs = root / "conversations/conv_001/outputs"
    heredoc = Tool("Bash", {"command": f"cat > {foo} <<'E'\nprint('main')\nE", "description": "w"})
    task = Tool(
        "Agent",
        {
            "description": "say hello",
            "prompt": f"SUBTASK: write {foo}",
            "subagent_type": "builder",
            "run_in_background": False,
        },
    )
    for rule in (
        Rule(agent="main", pattern=WORDS + REQUEST, times=1, reply=[write(foo, "main")]),
        Rule(agent="main", match="foo.py (matches", times=1, reply=[heredoc]),
        Rule(agent="main", match="MAIN may not", times=1, reply=[task]),
        Rule(agent="sub", match="SUBTASK", times=1, reply=[write(outputs / "hello.py", "hello")]),
        Rule(agent="sub", match="hello.py", times=1, reply="Hello is written."),
        Rule(agent="main", match="Hello is written.", reply="There it is."),
    ):
        model.add(rule)
    settings = 'permission_mode = "acceptEdits"\n'
    lead = table("Julian", box.env, seat=4, claude=settings).replace(
        "setting_sources = []", 'setting_sources = ["project"]'
    )
    with claude_team(box, lead) as (team, _):
        team.post("/api/delegation", {"path": str(root)})
        start(team, "Julian")
        team.post("/api/send", {"message": REQUEST})
        team.until(lambda _: "There it is." in answer_of(team, "Julian"))
        # The answer comes first, then the end of the conversation, then what it cost.
        team.until(lambda _: any(each.get("conversation") for each in team.log("session_result")))
        team.until(lambda _: team.log("conversation_end") != [])
        [conversation] = team.get("/api/conversations")["conversations"]
        assert (conversation["conversation"], conversation["outcome"]) == ("conv_001", "answered")
        [result] = [each for each in team.log("session_result") if each.get("conversation")]
        assert result["conversation"] == "conv_001"
        [cost] = team.get("/api/costs")["conversations"]
        assert cost["conversation"] == "conv_001"
        denied = [each["rule"] for each in team.log("permission_denied")]
        assert len(denied) == 2
    assert not foo.exists()
    assert (outputs / "hello.py").read_text() == "hello"
    states = [json.loads(line)["state"] for line in (root / "state.jsonl").read_text().splitlines()]
    assert states == ["MAIN", "MAIN", "builder", "MAIN", "MAIN"]
    dialogue = (root / "conversations/conv_001/dialogue.md").read_text()
    for told in (REQUEST, "SUBTASK", "Hello is written.", "There it is.", "main.write"):
        assert told in dialogue, dialogue
    assert not model.unmatched()


def write(path: Path, text: str) -> Tool:
    return Tool("Write", {"file_path": str(path), "content": text})


# ── a person is asked ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("allow", [True, False])
def test_a_person_is_asked_before_a_tool_is_used_and_the_agent_waits(
    model: ScriptedModel, box: Box, allow: bool
) -> None:
    made = box.work / "made"
    touch = Tool("Bash", {"command": f'python3 -c \'open("{made}", "w")\'', "description": "m"})
    for rule in (
        Rule(match="please make it", times=1, reply=[touch]),
        Rule(match="keep the cache", times=1, reply="Then I do not."),
        Rule(reply="Made."),
    ):
        model.add(rule)
    with claude_team(box, table("Ada", box.env, seat=0)) as (team, _):
        start(team, "Ada")
        send(team, "please make it")
        agents = team.until(lambda a: a[0]["turn"] == "WAITING")
        [asked] = team.get("/api/approvals")["approvals"]
        assert (asked["agent"], asked["tool"]) == ("Ada", "Bash")
        assert str(made) in asked["detail"]
        assert agents[0]["approvals"]
        assert not made.exists()
        note = "" if allow else "keep the cache"
        team.post(f"/api/approvals/{asked['id']}", {"allow": allow, "note": note})
        team.until(lambda _: answer_of(team) == ["Made." if allow else "Then I do not."])
        assert made.exists() is allow
    assert not model.unmatched()


def test_what_nobody_answers_takes_its_declared_default(model: ScriptedModel, box: Box) -> None:
    made = box.work / "made"
    touch = Tool("Bash", {"command": f'python3 -c \'open("{made}", "w")\'', "description": "m"})
    model.add(Rule(match="please make it", times=1, reply=[touch]))
    model.add(Rule(match="Nobody answered in time", times=1, reply="Nobody said so."))
    settings = "approval_seconds = 0.5"
    with claude_team(box, table("Ada", box.env, seat=0, claude=settings)) as (team, _):
        start(team, "Ada")
        send(team, "please make it")
        team.until(lambda _: answer_of(team) == ["Nobody said so."])
        [settled] = team.log("approval_answered")
        assert (settled["how"], settled.get("allow", False)) == ("deadline", False)
    assert not made.exists()


# ── costs, and servers that fail ──────────────────────────────────────────────────────────────────


def test_a_limit_pauses_it_before_its_next_turn_and_says_which(
    model: ScriptedModel, box: Box
) -> None:
    used = Usage(input_tokens=1000, output_tokens=500)
    model.add(Rule(match="hello", times=1, reply=[used, "Hi."]))
    limited = table("Ada", box.env, seat=0).replace(
        '[agents."Ada"]\n', '[agents."Ada"]\nbudget = { tokens = 1500 }\n'
    )
    with claude_team(box, limited) as (team, _):
        start(team, "Ada")
        send(team, "hello")
        team.until(lambda a: a[0]["status"] == "sleeping")
        run = team.get("/api/agents/Ada/run")
        assert run["desired"] == "pause"
        assert run["note"] == "1500 tokens used, and 1500 are allowed"
        assert answer_of(team) == ["Hi."]
        [ada] = team.get("/api/costs")["agents"]
        assert ada["outputTokens"] == 500


def test_a_refusing_model_server_is_named_as_the_reason(model: ScriptedModel, box: Box) -> None:
    model.add(Rule(reply=[Status(401)]))
    with claude_team(box, table("Ada", box.env, seat=0)) as (team, _):
        start(team, "Ada")
        send(team, "hello")
        team.until(lambda _: bool(team.log("session_end")))
        ended = team.log("session_end")[0]
        assert (ended["outcome"], ended["reason"]) == (
            "failed",
            "the model server refuses the key (401)",
        )


# ── it costs nothing to wait ──────────────────────────────────────────────────────────────────────


def test_an_idle_agent_asks_its_model_nothing_and_is_told_who_it_is_with_the_first_word(
    model: ScriptedModel, box: Box
) -> None:
    for rule in speaks_in_turn("Ada", 1):
        model.add(rule)
    with claude_team(box, table("Ada", box.env, seat=0)) as (team, _):
        start(team, "Ada")
        assert model.calls() == []
        send(team, "are you there?")
        team.until(lambda _: answer_of(team) == ["Ada is here."])
        [told] = texts(model)
        assert told.startswith("You are Ada, in seat 0")
        assert told.endswith("[human]: are you there?")


# ── the plugin and the team ───────────────────────────────────────────────────────────────────────


def test_python_of_the_hooks_is_musters_own(model: ScriptedModel, box: Box) -> None:
    model.add(Rule(reply="Hi."))
    bare = {**box.env, "PATH": "/nowhere"}  # no python3 there
    with claude_team(box, table("Ada", bare, seat=0)) as (team, _):
        start(team, "Ada")
        send(team, "hello")
        team.until(lambda _: answer_of(team) == ["Hi."])
        copy = box.work / ".muster/agents/Ada/claude-plugin/hooks/hooks.json"
        hooks: Json = json.loads(copy.read_text())["hooks"]
        hook = hooks["PreToolUse"][0]["hooks"][0]
        assert str(Path(sys.executable).parent) in " ".join([hook["command"], *hook["args"]])
