"""A Claude Code that leaves a helper to work, and tells a person later what came of it."""

from muster.testing.claude_sandbox import Box
from muster.testing.model import Hold, Rule, ScriptedModel, Tool
from tests.acceptance.claude.teams import claude_team, helper, start, table

SENT = "I have sent somebody, and will tell you."
FOUND = "The bug is in line 42."


def test_what_an_agent_says_after_its_helper_has_ended_reaches_the_chat(
    model: ScriptedModel, box: Box
) -> None:
    works = Hold()
    waited_for = helper("scout", "SCOUT-THE-CODE")
    left = Tool("Agent", {**waited_for.input, "run_in_background": True})
    model.add(Rule(agent="sub", match="SCOUT-THE-CODE", reply=[works, "Line 42."]))
    model.add(Rule(agent="main", match="look for the bug", times=1, reply=[left]))
    model.add(Rule(agent="main", match="Async agent", reply=SENT))
    model.add(Rule(agent="main", match="thanks", reply="You are welcome."))
    model.add(Rule(agent="main", reply=FOUND))
    with claude_team(box, table("Ada", box.env)) as (team, _):
        start(team, "Ada")
        team.post("/api/send", {"message": "look for the bug", "targetAgent": "Ada"})
        team.until(lambda _: ("Ada", SENT) in team.thread("Ada"))
        works.release()
        team.until(lambda _: ("Ada", FOUND) in team.thread("Ada"))
        team.post("/api/send", {"message": "thanks", "targetAgent": "Ada"})
        team.until(lambda _: ("Ada", "You are welcome.") in team.thread("Ada"))
        assert [text for name, text in team.thread("Ada") if name == "Ada"] == [
            SENT,
            FOUND,
            "You are welcome.",
        ]
