"""Three real Claude Codes in a channel: they speak in turn, and the death of one stops nobody."""

import os
import signal
from collections.abc import Generator
from contextlib import ExitStack

import pytest

from muster.runtimes.process import processes
from muster.testing.claude_sandbox import Box
from muster.testing.model import Rule, ScriptedModel, Tool
from tests.acceptance.claude.teams import (
    Json,
    claude_team,
    requests,
    speaks_in_turn,
    start,
    table,
    texts,
    told_through,
    variables,
)
from tests.acceptance.test_whole_life import Team

NAMES = ("Ada", "Bea", "Cal")
SOUL = "I am Bea, and I finish what I begin."


@pytest.fixture
def models() -> Generator[dict[str, ScriptedModel]]:
    with ExitStack() as stack:
        yield {name: stack.enter_context(ScriptedModel()) for name in NAMES}


def soul_of_bea() -> Json:
    """The document of Bea from another machine."""
    return {
        "documents": [
            {
                "_id": "agent-identity:1",
                "type": "agent-identity",
                "name": "Bea",
                "gridPosition": 1,
                "individuationArtifact": SOUL,
                "color": "#c9b1e8",
                "gender": "woman",
                "createdAt": "2026-01-01T00:00:00Z",
                "lastAliveAt": "2026-01-02T00:00:00Z",
            }
        ]
    }


def said(team: Team) -> list[tuple[str, str]]:
    """Speaker and text of every message in the channel, in order."""
    return [
        (event["agentName"], event["content"][0]["text"])
        for event in team.log("agent_message")
        if event.get("channel") == "design"
    ]


def opened(team: Team) -> None:
    """A channel with all three, which rests after one round of silence."""
    rules = {"restAfterIdleRounds": 1, "defaultTimeoutSeconds": 60}
    team.post("/api/channels", {"channel": "design", "config": rules})
    for name in NAMES:
        team.post("/api/channels/design/members", {"agent": name})


def moved(team: Team, *move: str) -> bool:
    return any(
        (event["agentId"], event["from"], event["to"]) == move
        for event in team.log("state_transition")
        if event["machine"] == "turns"
    )


def test_three_speak_in_turn_and_a_killed_one_wakes_with_its_soul_and_repeats_nothing(
    models: dict[str, ScriptedModel], box: Box
) -> None:
    ran, lives = box.work / "ran", box.work / "lives"
    os.mkfifo(lives)
    work = f"echo x >> {ran}; echo $$ > {lives}; exec python3 -c 'import time; time.sleep(600)'"
    models["Bea"].add(
        Rule(match="turn 5)", times=1, reply=[Tool("Bash", {"command": work, "timeout": 90000})])
    )
    for name, model in models.items():
        for rule in speaks_in_turn(name, 2):
            model.add(rule)
    tables = [
        table(
            name,
            variables(box, models[name], name.lower()),
            seat=seat,
            cwd=str(box.work),
            claude='allowed_tools = ["Bash"]',
            unasked=True,
        )
        for seat, name in enumerate(NAMES)
    ]
    with claude_team(box, *tables) as (team, _):
        team.post("/api/import", soul_of_bea())
        start(team, *NAMES)
        opened(team)
        round_one = [(name, f"{name} was here") for name in NAMES]
        team.until(lambda _: said(team)[:3] == round_one)

        # the second round: Bea works on something in her turn, and is killed
        worker = int(told_through(lives))
        os.kill(team.pid("Bea"), signal.SIGKILL)
        team.until(lambda _: moved(team, "Bea", "ACTIVE", "OFFLINE"))
        team.until(lambda _: [who for who, _ in said(team)][3:5] == ["Ada", "Cal"])
        team.until(lambda a: a[1]["status"] == "alive")
        team.post("/api/send", {"message": "are you there?", "targetAgent": "Bea"})
        team.until(lambda _: ("Bea", "Bea is here.") in team.thread("Bea"))
        woken = [text for text in texts(models["Bea"]) if "you are waking up" in text]
        assert SOUL in woken[-1]
        assert "Bea was here" in woken[-1]
        assert SOUL in requests(models["Bea"])[-1]
        assert ran.read_text() == "x\n"  # what it had begun was not begun again
        assert processes.alive(worker) is None
    for model in models.values():
        assert not model.unmatched()
