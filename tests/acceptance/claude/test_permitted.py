"""A person allows a tool of a Claude Code: for its session, for good, and with a word."""

import json

import pytest

from muster.testing.claude_sandbox import Box
from muster.testing.model import Rule, ScriptedModel, Tool
from tests.acceptance.claude.teams import Json, claude_team, requests, start, table
from tests.acceptance.test_whole_life import Team
from tests.homes import muster
from tests.waits import until

SOURCES = 'setting_sources = ["project", "local"]'
COUNTS = "with open('count', 'a+') as f: f.write('x'); print('run', f.tell())"


def have_run(team: Team, model: ScriptedModel, number: int) -> None:
    """Ask Ada to run the program that counts its runs."""
    run = Tool("Bash", {"command": "python3 counts.py"})
    model.add(Rule(match=f"go {number}", times=1, reply=[run]))
    model.add(Rule(match=f"run {number}", times=1, reply=f"Done: {number}."))
    team.post("/api/send", {"message": f"go {number}", "targetAgent": "Ada"})


def asked(team: Team) -> Json:
    until(lambda: bool(team.get("/api/approvals")["approvals"]))
    [found] = team.get("/api/approvals")["approvals"]
    return found


def until_done(team: Team, number: int) -> None:
    said = ("Ada", f"Done: {number}.")
    until(lambda: said in team.thread("Ada"), lambda: team.thread("Ada"))


@pytest.mark.parametrize("scope", ["session", "always"])
def test_a_call_that_is_allowed_for_longer_is_not_asked_about_again(
    model: ScriptedModel, box: Box, scope: str
) -> None:
    (box.work / "counts.py").write_text(COUNTS)
    settings = table("Ada", box.env, cwd=str(box.work)).replace("setting_sources = []", SOURCES)
    with claude_team(box, settings) as (team, _):
        start(team, "Ada")
        have_run(team, model, 1)
        request = asked(team)
        assert request["rules"]
        assert all(each.startswith("Bash(python3") for each in request["rules"]), request["rules"]
        home = str(box.work / ".muster")
        answered = muster("approve", request["id"], "--scope", scope, "--home", home)
        assert answered.returncode == 0, answered.stderr
        until_done(team, 1)
        have_run(team, model, 2)
        until_done(team, 2)
        assert len(team.log("approval_requested")) == 1
        [answer] = team.log("approval_answered")
        assert answer["scope"] == scope
        local = box.work / ".claude" / "settings.local.json"
        assert local.exists() is (scope == "always")
        if local.exists():
            kept = json.loads(local.read_text())["permissions"]["allow"]
            assert kept == request["rules"]


def test_what_a_person_says_with_a_permission_reaches_the_model(
    model: ScriptedModel, box: Box
) -> None:
    (box.work / "counts.py").write_text(COUNTS)
    with claude_team(box, table("Ada", box.env, cwd=str(box.work))) as (team, _):
        start(team, "Ada")
        have_run(team, model, 1)
        answer = {"allow": True, "note": "but keep the cache"}
        team.post(f"/api/approvals/{asked(team)['id']}", answer)
        until_done(team, 1)
        assert any("A person allowed it: but keep the cache" in each for each in requests(model))
