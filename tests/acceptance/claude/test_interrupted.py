"""A person stops the work of a Claude Code, and its session lives on."""

from muster.testing.claude_sandbox import Box
from muster.testing.model import Hold, Rule, ScriptedModel, Tool
from tests.acceptance.claude.teams import claude_team, start, table
from tests.homes import muster
from tests.waits import SLOW_SECONDS


def test_interrupted_work_stops_and_its_words_and_the_session_are_kept(
    model: ScriptedModel, box: Box
) -> None:
    thinks = Hold()
    reads = Tool("Read", {"file_path": str(box.work / "notes.txt")})
    (box.work / "notes.txt").write_text("NOTES-OF-THE-DAY")
    model.add(Rule(match="write a book", times=1, reply=["I begin with the notes.", reads]))
    model.add(Rule(match="NOTES-OF-THE-DAY", times=1, reply=[thinks, "Never said."]))
    model.add(Rule(match="a poem", reply="Roses are red."))
    with claude_team(box, table("Ada", box.env, cwd=str(box.work))) as (team, _):
        start(team, "Ada")
        pid = team.pid("Ada")
        team.post("/api/send", {"message": "write a book", "targetAgent": "Ada"})
        assert thinks.reached.wait(SLOW_SECONDS)
        home = str(box.work / ".muster")
        stopped = muster("interrupt", "Ada", "--home", home)
        assert stopped.stdout == "Ada: asked to stop its work\n", stopped.stderr
        team.until(lambda _: bool(team.log("session_result")))
        team.post("/api/send", {"message": "a poem, then", "targetAgent": "Ada"})
        team.until(lambda _: ("Ada", "Roses are red.") in team.thread("Ada"))
        said = [text for name, text in team.thread("Ada") if name == "Ada"]
        assert said == ["I begin with the notes.", "Roses are red."]
        assert team.pid("Ada") == pid
        assert not team.log("session_end")
        [interrupted] = team.log("work_interrupted")
        assert interrupted["actor"] == "person:human"
