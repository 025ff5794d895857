"""Slash commands of a person: the real Claude Code runs them, and its model is not asked."""

from collections.abc import Generator

import pytest

from muster.testing.claude_sandbox import Box
from muster.testing.model import Rule, ScriptedModel, Tool
from tests.acceptance.claude.teams import claude_team, start, table, texts
from tests.acceptance.test_whole_life import Team
from tests.homes import muster
from tests.waits import until


@pytest.fixture
def ada(model: ScriptedModel, box: Box) -> Generator[Team]:
    commands = box.work / ".claude" / "commands"
    commands.mkdir(parents=True)
    (commands / "greet.md").write_text("Say hello to $ARGUMENTS, the GUEST-OF-HONOUR.")
    (box.work / "notes.txt").write_text("NOTES-OF-THE-DAY")
    settings = table("Ada", box.env, cwd=str(box.work))
    settings = settings.replace("setting_sources = []", 'setting_sources = ["project"]')
    with claude_team(box, settings) as (team, _):
        start(team, "Ada")
        yield team


def says(team: Team, text: str) -> None:
    team.post("/api/send", {"message": text, "targetAgent": "Ada"})


def until_said(team: Team, text: str) -> None:
    until(
        lambda: any(text in said for name, said in team.thread("Ada") if name == "Ada"),
        lambda: team.thread("Ada"),
    )


def test_commands_are_run_and_not_told_to_the_model(model: ScriptedModel, ada: Team) -> None:
    model.add(Rule(match="and now", reply="Now."))
    model.add(Rule(match="GUEST-OF-HONOUR", times=1, reply="Hello, Bo."))
    model.add(Rule(match="summary", reply="<summary>We greeted Bo.</summary>"))
    says(ada, "/greet Bo")
    until_said(ada, "Hello, Bo.")
    assert "Say hello to Bo, the GUEST-OF-HONOUR." in texts(model)[0]
    says(ada, "/compact")
    until(lambda: any(each["kind"] == "compacted" for each in ada.log("agent_activity")))
    until_said(ada, "/compact is done.")
    says(ada, "/clear")
    until_said(ada, "/clear is done.")
    says(ada, "/model claude-haiku-4-5")
    until_said(ada, "The model of this session is claude-haiku-4-5 now.")
    says(ada, "/mode acceptEdits")
    until_said(ada, "The permission mode of this session is acceptEdits now.")
    says(ada, "/tmp is full, and now?")
    until_said(ada, "Now.")
    assert model.calls()[-1].body["model"] == "claude-haiku-4-5"
    assert not ada.log("session_end")
    assert not any("[human]: /compact" in each for each in texts(model))
    assert ada.get("/api/agents/Ada")["unanswered"] is None


def test_model_and_mode_are_switched_in_the_running_session_and_kept(
    model: ScriptedModel, ada: Team, box: Box
) -> None:
    home = str(box.work / ".muster")
    model.add(Rule(match="write it", times=1, reply=[_writes(box)]))
    model.add(Rule(match="written.txt", reply="It is written."))
    model.add(Rule(match="hello", reply="Hi."))
    says(ada, "hello")
    until_said(ada, "Hi.")
    chosen = muster("model", "Ada", "claude-haiku-4-5", "--home", home)
    assert chosen.stdout == "Ada: model claude-haiku-4-5; it takes effect now\n", chosen.stderr
    chosen = muster("mode", "Ada", "acceptEdits", "--home", home)
    assert chosen.stdout == "Ada: mode acceptEdits; it takes effect now\n", chosen.stderr
    says(ada, "write it")
    until_said(ada, "It is written.")  # in the default mode a person would have been asked
    assert model.calls()[-1].body["model"] == "claude-haiku-4-5"
    assert not ada.log("session_end")
    assert 'model = "claude-haiku-4-5"' in (box.work / ".muster/muster.toml").read_text()
    refused = muster("mode", "Ada", "whatever", "--home", home)
    assert refused.returncode == 2
    assert 'Give one of "default", "acceptEdits", "plan", "dontAsk".' in refused.stderr
    assert muster("mode", "Ada", "--home", home).stdout == "Ada: mode acceptEdits\n"
    says(ada, "/mode plan")
    until_said(ada, "The permission mode of this session is plan now.")
    shown = "Ada: mode acceptEdits in muster.toml, mode plan in the running session\n"
    assert muster("mode", "Ada", "--home", home).stdout == shown
    chosen = muster("mode", "Ada", "acceptEdits", "--home", home)  # muster.toml has it already
    assert chosen.stdout == "Ada: mode acceptEdits; it takes effect now\n", chosen.stderr
    model.add(Rule(match="write once more", times=1, reply=[_writes(box, "more.txt")]))
    model.add(Rule(match="more.txt", reply="There is more."))
    says(ada, "write once more")
    until_said(ada, "There is more.")  # in the mode `plan` nothing would have been written
    assert (box.work / "more.txt").exists()


def _writes(box: Box, name: str = "written.txt") -> Tool:
    return Tool("Write", {"file_path": str(box.work / name), "content": "x"})


def test_tools_are_among_the_logs(model: ScriptedModel, ada: Team, box: Box) -> None:
    reads = Tool("Read", {"file_path": str(box.work / "notes.txt")})
    model.add(Rule(match="look", times=1, reply=[reads]))
    model.add(Rule(match="NOTES-OF-THE-DAY", reply="I have seen them."))
    says(ada, "look")
    until_said(ada, "I have seen them.")
    shown = muster("logs", "Ada", "--home", str(box.work / ".muster")).stdout
    assert "[Read] {" in shown
    assert "[Read done]" in shown
    assert shown.index("[Read done]") < shown.index("I have seen them.")
