"""Earlier conversations of an agent: listed with their first words and cost, and resumed."""

import json

from muster.testing.claude_sandbox import Box
from muster.testing.model import Rule, ScriptedModel
from tests.acceptance.claude.teams import claude_team, start, table
from tests.acceptance.test_whole_life import Team
from tests.homes import muster
from tests.waits import until


def until_said(team: Team, text: str) -> None:
    until(lambda: ("Ada", text) in team.thread("Ada"), lambda: team.thread("Ada"))


def says(team: Team, text: str) -> None:
    team.post("/api/send", {"message": text, "targetAgent": "Ada"})


def test_an_earlier_conversation_is_listed_and_the_next_session_resumes_it(
    model: ScriptedModel, box: Box
) -> None:
    home = str(box.work / ".muster")
    for topic in ("apples", "pears"):
        model.add(Rule(match=f"about {topic}", times=1, reply=f"I like {topic}."))
    model.add(Rule(match="and then", reply="Then I eat them."))
    settings = table("Ada", box.env, cwd=str(box.work), claude="resume = false\n")
    with claude_team(box, settings) as (team, _):
        for topic in ("apples", "pears"):
            start(team, "Ada")
            says(team, f"tell me about {topic}")
            until_said(team, f"I like {topic}.")
            assert muster("stop", "Ada", "--wait", "--home", home).returncode == 0
        listed = muster("sessions", "Ada", "--home", home).stdout.splitlines()
        assert [line.split()[0] for line in listed] == ["#", "1", "2"]
        assert "tell me about pears" in listed[1]
        assert "tell me about apples" in listed[2]
        assert "$" in listed[2]
        resumed = muster("sessions", "Ada", "--resume", "2", "--home", home)
        assert resumed.stdout == "Ada resumes: tell me about apples\n", resumed.stderr
        until(lambda: team.get("/api/agents/Ada/run")["session"])
        says(team, "and then?")
        until_said(team, "Then I eat them.")
        messages = model.calls()[-1].body["messages"]
        own = json.dumps([each for each in messages if each["role"] == "assistant"])
        assert "I like apples." in own
        assert "I like pears." not in own
        again = team.get("/api/agents/Ada/past-conversations")["conversations"]
        assert [(each["firstWords"], each["sessions"]) for each in again] == [
            ("tell me about apples", 2),
            ("tell me about pears", 1),
        ]
        unknown = muster("sessions", "Ada", "--resume", "7", "--home", home)
        assert (unknown.returncode, unknown.stdout) == (2, "")


def test_a_resumed_conversation_has_the_present_name_and_soul(
    model: ScriptedModel, box: Box
) -> None:
    home = str(box.work / ".muster")
    model.add(Rule(match="second", reply="I grow pears."))
    model.add(Rule(match="first", reply="I grow apples."))
    settings = table("Ada", box.env, soul="I love apples.", cwd=str(box.work))
    with claude_team(box, settings) as (team, _):
        start(team, "Ada")
        says(team, "first")
        until_said(team, "I grow apples.")
        file = box.work / "soul.txt"
        file.write_text("I love pears.")
        edited = muster("memory", "edit-soul", "Ada", str(file), "--home", home)
        assert edited.returncode == 0, edited.stderr
        assert muster("agent", "rename", "Ada", "Bea", "--home", home).returncode == 0
        assert muster("restart", "Bea", "--home", home).returncode == 0
        team.post("/api/send", {"message": "second", "targetAgent": "Bea"})
        until(lambda: ("Bea", "I grow pears.") in team.thread("Bea"), lambda: team.thread("Bea"))
    body = model.calls()[-1].body
    system = json.dumps(body["system"])
    assert "I love pears." in system
    assert "You are Bea." in system
    assert "I love apples." not in system
    assert "You are Ada." not in system
    assert "I grow apples." in json.dumps(body["messages"]), "it is the same conversation"
