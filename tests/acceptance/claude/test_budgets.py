"""Limits of a Claude Code bind in the middle of its work, and say why it stands still."""

from muster.testing.claude_sandbox import Box
from muster.testing.model import Hold, Rule, ScriptedModel, Tool
from tests.acceptance.claude.teams import claude_team, start, table
from tests.homes import muster
from tests.waits import until

LIMIT = "[agents.Ada.budget]\nsession_tokens = 12\n"


def test_a_limit_interrupts_the_work_and_everybody_is_told_why(
    model: ScriptedModel, box: Box
) -> None:
    (box.work / "notes.txt").write_text("NOTES-OF-THE-DAY")
    reads = Tool("Read", {"file_path": str(box.work / "notes.txt")})
    thinks = Hold()
    model.add(Rule(match="write a book", times=1, reply=["I begin with the notes.", reads]))
    model.add(Rule(match="NOTES-OF-THE-DAY", reply=[thinks, "Never said."]))
    home = str(box.work / ".muster")
    with claude_team(box, table("Ada", box.env, cwd=str(box.work)), LIMIT) as (team, _):
        start(team, "Ada")
        team.post("/api/send", {"message": "write a book", "targetAgent": "Ada"})
        until(lambda: bool(team.log("session_end")), lambda: team.log("work_spending"))
        assert ("Ada", "I begin with the notes.") in team.thread("Ada")
        assert len(team.log("work_interrupted")) == 1
        reason = "tokens used in one session, and 12 are allowed"
        shown = muster("status", "--home", home).stdout
        why = muster("why", "Ada", "--home", home).stdout
        needs = muster("needs", "--home", home).stdout
        for told in (shown, why, needs):
            assert reason in " ".join(told.split()), told
