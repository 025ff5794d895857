"""A native teammate of the real, interactive Claude Code is spoken to through its own inbox."""

import json
import sys
from pathlib import Path

from muster.testing.claude_sandbox import Box
from muster.testing.model import Rule, ScriptedModel, Tool
from tests.acceptance.claude.interactive_lead import SUMMON, SUMMONED
from tests.acceptance.claude.teams import claude_team, texts
from tests.waits import until

REPOSITORY = Path(__file__).parents[3]
TEAMMATE = Tool(
    "Agent",
    {
        "description": "be Lyra",
        "prompt": "BIRTH of Lyra",
        "subagent_type": "general-purpose",
        "name": "lyra",
    },
)


def lead(box: Box) -> str:
    program = [sys.executable, "-m", "tests.acceptance.claude.interactive_lead"]
    teams = {"CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS": "1", "PYTHONPATH": str(REPOSITORY)}
    variables = {**box.env, **teams}
    lines = "\n".join(f"{key} = {json.dumps(value)}" for key, value in variables.items())
    return (
        f"[agents.Julian]\nseat = 4\nlong_lived = true\ncommand = {json.dumps(program)}\n"
        f"[agents.Julian.env]\n{lines}\n"
    )


def test_a_message_to_a_native_teammate_reaches_its_own_context(
    model: ScriptedModel, box: Box
) -> None:
    for rule in (
        Rule(agent="main", match=SUMMON, times=1, reply=[TEAMMATE]),
        Rule(agent="sub", match="BIRTH of Lyra", times=1, reply="I am Lyra."),
        Rule(agent="sub", match="are you there, Lyra?", reply="I am."),
        Rule(agent="main", reply=SUMMONED),
    ):
        model.add(rule)
    inside = '[summon]\nsessions = "lead"\n'
    with claude_team(box, lead(box), inside) as (team, _):
        team.put("/api/agents/Julian/run", {"desired": "continuous"})
        team.until(lambda agents: 0 in agents and agents[0]["status"] == "alive")
        team.post("/api/send", {"message": "are you there, Lyra?", "targetAgent": "Lyra"})
        team.until(lambda _: team.log("messages_read") != [])
        [message] = team.get("/api/agents/Lyra/messages")["messages"]
        assert (message["way"], message["delivery"]) == ("teammate_inbox", "read")
        until(lambda: any("are you there, Lyra?" in each for each in texts(model)))
        told = next(each for each in texts(model) if "are you there, Lyra?" in each)
        assert '<teammate-message teammate_id="human"' in told
    assert not model.unmatched()
