"""The real Claude Code as a lead: it brings agents to life in its own process, and they sleep with
it."""

import os
import signal

from muster.testing.claude_sandbox import Box
from muster.testing.model import Rule, ScriptedModel
from tests.acceptance.claude.teams import (
    WORDS,
    born,
    claude_team,
    helper,
    present,
    start,
    table,
    texts,
)

LYRA, KAEL = (0, "Lyra"), (1, "Kael")


def test_a_real_lead_brings_a_team_to_life_and_wakes_it_after_its_own_death(
    model: ScriptedModel, box: Box
) -> None:
    for rule in (
        # SUMMON: two helpers, one after the other, and what they say becomes registrations
        Rule(pattern=WORDS + r"\[SUMMON", times=1, reply=[helper("Lyra", "be born in seat 0")]),
        Rule(agent="sub", match="be born in seat 0", reply="I am Lyra."),
        Rule(match="I am Lyra.", times=1, reply=[helper("Kael", "be born in seat 1")]),
        Rule(agent="sub", match="be born in seat 1", reply="I am Kael."),
        Rule(
            match="I am Kael.",
            times=1,
            reply="Both are here."
            + born(*LYRA, "I listen first.")
            + born(*KAEL, "I count twice.")
            + present(LYRA, KAEL),
        ),
        Rule(pattern=WORDS + "who is left", reply="Kael has gone." + present(LYRA)),
        Rule(pattern=WORDS + r"\[WAKE AGENTS\]\n<agent", reply="All." + present(LYRA, KAEL)),
    ):
        model.add(rule)
    lead, inside = table("Julian", box.env, seat=4), '[summon]\nsessions = "lead"\n'
    with claude_team(box, lead, inside) as (team, _):
        start(team, "Julian")
        team.post("/api/agents/summon")
        agents = team.until(lambda a: {a[0]["status"], a[1]["status"]} == {"alive"})
        assert [agents[seat]["name"] for seat in (0, 1)] == ["Lyra", "Kael"]
        assert {agents[seat]["status"] for seat in (2, 3, 5, 6, 7, 8)} == {"hatching"}
        helpers = [e["name"] for e in team.log("agent_activity") if e["kind"] == "helper_started"]
        assert helpers == ["Lyra", "Kael"]

        team.post("/api/send", {"message": "who is left?"})
        team.until(lambda a: (a[0]["status"], a[1]["status"]) == ("alive", "sleeping"))

        # A message that was not answered before the kill would be handed to the next session again.
        team.until(lambda _: any("Kael has gone" in text for _, text in team.thread("Julian")))
        os.kill(team.pid("Julian"), signal.SIGKILL)
        team.until(lambda a: (a[0]["status"], a[1]["status"]) == ("sleeping", "sleeping"))
        team.until(lambda a: a[4]["status"] == "alive")  # it is tried again by itself
        team.post("/api/agents/wake")
        team.until(lambda a: (a[0]["status"], a[1]["status"]) == ("alive", "alive"))
        (woken,) = [text for text in texts(model) if "[WAKE AGENTS]\n<agent" in text]
        assert "<soul>\nI listen first.\n</soul>" in woken
        assert "<soul>\nI count twice.\n</soul>" in woken
    assert not model.unmatched()
