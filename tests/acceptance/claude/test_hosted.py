"""A team under a real Claude Code lead: each agent that it registers is a session of its own."""

import json
import os
import signal

from muster.testing.claude_sandbox import Box
from muster.testing.model import Rule, ScriptedModel, Tool
from tests.acceptance.claude.teams import WORDS, born, claude_team, requests, start, table
from tests.acceptance.test_whole_life import Team
from tests.live import Json

SOULS = {
    "Lyra": "I am Lyra and I listen first.",
    "Kael": "I am Kael and I count twice.",
    "Nova": "I am Nova and I burn bright.",
}
SEATS = {"Lyra": 0, "Kael": 1, "Nova": 2}
SUMMON = "[summon]\nseats = 3\n"
SEND = "mcp__muster__send_message"


def script(model: ScriptedModel) -> None:
    births = "".join(born(SEATS[name], name, soul) for name, soul in SOULS.items())
    # A waking agent is given what it heard before: what is new to it is looked for first.
    rules = [Rule(match=f"who are you, {name}?", reply=f"Still {name}.") for name in SOULS]
    rules += [
        Rule(pattern=WORDS + r"\[SUMMON", times=1, reply="They are born." + births),
        Rule(match="[AGENT ENDED: Nova]", reply="Noted."),
        Rule(match="tell Kael", times=1, reply=[Tool(SEND, {"to": "Kael", "text": "hi Kael"})]),
        Rule(match="]: hi Kael", times=1, reply=[Tool(SEND, {"to": "Lyra", "text": "hi back"})]),
        Rule(match="Sent to", reply="Said."),
        Rule(match="[Kael]: hi back", reply="Kael has answered."),
    ]
    rules += [Rule(match=f"a word for {name}", reply=f"{name} has heard.") for name in SOULS]
    for rule in rules:
        model.add(rule)


def answers(team: Team, name: str) -> list[str]:
    page: Json = team.get(f"/api/agents/{name}/messages")
    mine = (each for each in page["messages"] if each["speakerType"] == "agent")
    return [each["text"] for each in mine if each["speakerName"] == name]


def asked(model: ScriptedModel, words: str) -> str:
    """The request in which a model first read these words, with its system prompt."""
    return next(each for each in requests(model) if words in each)


def all_alive(agents: Json) -> bool:
    return all(agents[seat]["status"] == "alive" for seat in SEATS.values())


def test_agents_of_a_real_lead_are_sessions_of_their_own_and_stay_themselves(
    model: ScriptedModel, box: Box
) -> None:
    script(model)
    lead = table("Julian", box.env, seat=4)
    with claude_team(box, lead, SUMMON) as (team, server):
        start(team, "Julian")
        team.post("/api/agents/summon")
        agents = team.until(all_alive)
        assert [agents[seat]["name"] for seat in SEATS.values()] == list(SOULS)
        pids = {team.pid(name) for name in ("Julian", *SOULS)}
        assert len(pids) == 4  # a process each

        for name in SOULS:  # a person talks to each, and reaches that agent alone
            team.post("/api/send", {"message": f"a word for {name}", "targetAgent": name})
            team.until(lambda _, name=name: f"{name} has heard." in answers(team, name))
            request = json.loads(asked(model, f"a word for {name}"))
            system = json.dumps(request["system"])
            assert SOULS[name] in system
            assert all(soul not in system for other, soul in SOULS.items() if other != name)

        team.post("/api/send", {"message": "tell Kael hello", "targetAgent": "Lyra"})
        team.until(lambda _: "Kael has answered." in answers(team, "Lyra"))

        os.kill(team.pid("Nova"), signal.SIGKILL)
        team.until(lambda _: "Noted." in answers(team, "Julian"))  # the lead is told
        team.until(all_alive)  # and Nova is tried again
        server.process.kill()
        server.process.wait()

    with claude_team(box, lead, SUMMON) as (team, _):
        team.until(all_alive)
        for name in SOULS:
            team.post("/api/send", {"message": f"who are you, {name}?", "targetAgent": name})
            team.until(lambda _, name=name: f"Still {name}." in answers(team, name))
            request = asked(model, f"who are you, {name}?")
            assert SOULS[name] in json.dumps(json.loads(request)["system"])
            assert f"a word for {name}" in request  # what it heard before
            others = [other for other in SOULS if other != name]
            assert all(f"a word for {other}" not in request for other in others)
    assert not model.unmatched()


def test_the_place_of_a_retired_agent_of_a_real_lead_is_taken_by_another(
    model: ScriptedModel, box: Box
) -> None:
    """The lead is told the seat of the successor, which is a session with a soul of its own."""
    for rule in (
        Rule(match='position="1000"', times=1, reply="Mira." + born(1000, "Mira", "I am Mira.")),
        Rule(pattern=WORDS + r"\[SUMMON", times=1, reply="Lyra." + born(0, "Lyra", "I am Lyra.")),
        Rule(match="[AGENT ENDED: Lyra]", reply="Noted."),
        Rule(match="a word for Lyra", reply="Lyra has heard."),
        Rule(match="who are you, Mira?", reply="Mira, and nobody else."),
    ):
        model.add(rule)
    with claude_team(box, table("Julian", box.env, seat=4), SUMMON) as (team, _):
        start(team, "Julian")
        team.post("/api/agents/summon", {"seats": [0]})
        team.until(lambda agents: 0 in agents and agents[0]["status"] == "alive")
        team.post("/api/send", {"message": "a word for Lyra", "targetAgent": "Lyra"})
        team.until(lambda _: "Lyra has heard." in answers(team, "Lyra"))
        team.put("/api/agents/Lyra/run", {"desired": "pause", "now": True})
        team.until(lambda agents: agents[0]["session"] is None)
        assert team.delete("/api/agents/Lyra")["retired"]
        team.post("/api/agents/summon", {"seats": [0]})
        agents = team.until(lambda agents: agents.get(1000, {}).get("status") == "alive")
        assert agents[1000]["place"] == 0
        team.post("/api/send", {"message": "who are you, Mira?", "targetAgent": "Mira"})
        team.until(lambda _: "Mira, and nobody else." in answers(team, "Mira"))
        request = asked(model, "who are you, Mira?")
        assert "I am Mira." in json.dumps(json.loads(request)["system"])
        assert "a word for Lyra" not in request
        assert "Lyra has heard." in answers(team, "Lyra")  # the retired one has its words
    assert not model.unmatched()
