"""The templates that come with muster, with the real Claude Code behind their agents."""

import json
from pathlib import Path

import pytest

from muster.testing.claude_sandbox import Box
from muster.testing.model import Rule, ScriptedModel, Tool
from tests.acceptance.claude.teams import MODEL, claude_team, requests
from tests.acceptance.test_whole_life import Team
from tests.homes import muster
from tests.live import Json

COMPLETE = "mcp__muster__turn_complete"


def begun(box: Box, source: str) -> str:
    """The settings of a new team from a template, with the variables of the box."""
    home = box.root / "template" / ".muster"
    done = muster("init", "--home", str(home), "--from", source, "--runtime", "claude", "--yes")
    assert done.returncode == 0, done.stderr
    settings = Path(home / "muster.toml").read_text()
    names = [line[8:-1] for line in settings.splitlines() if line.startswith("[agents.")]
    variables = "\n".join(f"{key} = {json.dumps(value)}" for key, value in box.env.items())
    own = (
        f"[agents.{name}.env]\n{variables}\n"
        f"[agents.{name}.claude]\nmodel = {json.dumps(MODEL)}\nsetting_sources = []\n"
        for name in names
        if "." not in name
    )
    return settings + "\n" + "\n".join(own)


def words(team: Team, channel: str) -> list[tuple[str, str]]:
    page: Json = team.get(f"/api/channels/{channel}/messages")
    spoken = [each for each in page["messages"] if each["kind"] != "notice"]
    return [(each["speaker"], each["text"]) for each in spoken]


def test_a_pair_of_claude_codes_talks_and_stops_at_its_phrase(
    model: ScriptedModel, box: Box
) -> None:
    def says(text: str) -> list[Tool]:
        return [Tool(COMPLETE, {"message": text})]

    for rule in (
        Rule(match="You are writer", times=1, reply=says("A first version.")),
        Rule(match="You are reviewer", times=1, reply=says("One point: the ending.")),
        Rule(match="One point: the ending.", times=1, reply=says("A second version.")),
        Rule(match="A second version.", times=1, reply=says("Well done. APPROVED")),
        Rule(reply="Done."),
    ):
        model.add(rule)
    with claude_team(box, begun(box, "pair")) as (team, _):
        team.until(lambda agents: all(each["status"] == "alive" for each in agents.values()))
        team.post("/api/channels/desk/messages", {"message": "A haiku, please."})
        team.until(lambda _: "stopPhrase" in [each["limit"] for each in team.log("channel_rested")])
        assert words(team, "desk") == [
            ("human", "A haiku, please."),
            ("writer", "A first version."),
            ("reviewer", "One point: the ending."),
            ("writer", "A second version."),
            ("reviewer", "Well done. APPROVED"),
        ]
    assert any("I am the writer of a pair." in each for each in requests(model))
    assert any("I am the reviewer of a pair." in each for each in requests(model))


@pytest.mark.parametrize("source", ["review-board", "night-shift"])
def test_the_agents_of_a_template_are_up_with_their_souls(
    model: ScriptedModel, box: Box, source: str
) -> None:
    model.add(Rule(reply="Here."))
    with claude_team(box, begun(box, source)) as (team, _):
        agents = team.until(
            lambda agents: bool(agents) and any(a["status"] == "alive" for a in agents.values())
        )
        for name in [each["name"] for each in agents.values()]:
            soul = team.get(f"/api/agents/{name}")["document"]["individuationArtifact"]
            assert soul.startswith("I ")
