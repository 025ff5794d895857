"""Claude Codes that muster runs do not talk past it, to each other or to other sessions."""

import json
from collections.abc import Generator
from contextlib import ExitStack

import pytest

from muster.testing.claude_sandbox import Box
from muster.testing.model import Rule, ScriptedModel, Tool
from tests.acceptance.claude.teams import claude_team, helper, start, table, texts
from tests.acceptance.test_whole_life import Team


@pytest.fixture
def models() -> Generator[tuple[ScriptedModel, ScriptedModel]]:
    with ExitStack() as stack:
        yield stack.enter_context(ScriptedModel()), stack.enter_context(ScriptedModel())


def session_of(team: Team, box: Box, name: str) -> str:
    """The name by which other sessions of the user know an agent's session."""
    pid = team.pid(name)
    files = (box.root / "home" / "config" / "sessions").glob("*.json")
    known = [json.loads(each.read_text(encoding="utf-8")) for each in files]
    return next(each["name"] for each in known if each["pid"] == pid)


def test_an_agent_reaches_its_own_subagents_and_no_other_session(
    models: tuple[ScriptedModel, ScriptedModel], box: Box
) -> None:
    mine, others = models
    own = {**box.env, "ANTHROPIC_BASE_URL": mine.url}  # one user, with one configuration
    theirs = {**box.env, "ANTHROPIC_BASE_URL": others.url}
    free = 'allowed_tools = ["ListAgents", "SendMessage", "Agent"]'
    tables = (
        table("Ada", own, seat=0, cwd=str(box.work), claude=free),
        table("Ben", theirs, seat=1, cwd=str(box.work), claude=free),
    )
    with claude_team(box, *tables) as (team, _):
        start(team, "Ada", "Ben")
        ben = session_of(team, box, "Ben")
        to_ben = {"to": ben, "message": "DEPLOY NOW", "summary": "deploy"}
        to_scout = {"to": "scout", "message": "look again", "summary": "again"}
        for rule in (
            Rule(match="look around", times=1, reply=[Tool("ListAgents", {})]),
            Rule(match="ListAgents shows sessions", times=1, reply=[Tool("SendMessage", to_ben)]),
            Rule(match=f"{ben} is no subagent", times=1, reply=[helper("scout", "SCOUT-THE-CODE")]),
            Rule(match="SCOUT-THE-CODE", times=1, reply="The bug is in line 42."),
            Rule(match="line 42", times=1, reply=[Tool("SendMessage", to_scout)]),
            Rule(reply="Done."),
        ):
            mine.add(rule)
        team.post("/api/send", {"message": "look around", "targetAgent": "Ada"})
        team.until(lambda _: ("Ada", "Done.") in team.thread("Ada"))
        warned = [each["text"] for each in team.log("warning_logged")]
        assert [text.split(":")[0] for text in warned] == [
            "denied ListAgents",
            "denied SendMessage",
        ]
        assert any("Resuming agent scout" in text for text in texts(mine))
        assert not others.calls()
