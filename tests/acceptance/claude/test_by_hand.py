"""A Claude Code in a terminal of a person, with the plugin and a server: an agent by hand."""

import subprocess
from pathlib import Path

from muster.testing.claude_sandbox import Box
from muster.testing.model import Rule, ScriptedModel, Usage
from tests.acceptance.claude.teams import requests
from tests.acceptance.claude.test_interactive import in_a_terminal
from tests.acceptance.test_whole_life import Team
from tests.homes import MUSTER_SCRIPT, muster
from tests.live import Json, live
from tests.waits import SLOW_SECONDS, until

NAME = "terminal-1"


def install(box: Box) -> None:
    command = [MUSTER_SCRIPT, "claude-plugin", "install"]
    subprocess.run(command, cwd=box.work, env=box.environ(), check=True, timeout=SLOW_SECONDS)


def by_hand(team: Team) -> Json:
    """The first session by hand; nothing where there is none."""
    agents = team.get("/api/agents")["agents"]
    return next((each for each in agents if each["byHand"]), None)


def is_so(team: Team, **wanted: object) -> bool:
    found = by_hand(team)
    return found is not None and all(found["byHand"].get(key) == wanted[key] for key in wanted)


def test_a_terminal_is_an_agent_that_is_messaged_kept_and_gone_when_it_ends(
    model: ScriptedModel, box: Box
) -> None:
    used = Usage(1000, 100, 2000, 30000)
    model.add(Rule(match="hello again", reply=[used, "It is blue."]))
    model.add(Rule(match="hello", reply=[used, "Hello, person."]))
    home = box.work / ".muster"
    home.mkdir()
    install(box)
    with live(home) as server:
        team = Team(server)
        with in_a_terminal(box) as terminal:
            terminal.until("accept edits on")
            terminal.type("hello you")
            terminal.until("Hello, person.")
            until(lambda: is_so(team, state="idle", folder=str(box.work)), lambda: by_hand(team))
            agent = by_hand(team)
            assert (agent["name"], agent["badge"]["status"]) == (NAME, "BY HAND")
            until(lambda: by_hand(team)["used"] is not None)
            assert by_hand(team)["used"]["tokens"] == 33100
            assert agent["badge"]["controls"] == []  # muster neither starts nor stops it
            stopped = muster("stop", NAME, "--home", str(home))
            assert "run by hand" in stopped.stderr

            team.post("/api/send", {"message": "is it blue?", "targetAgent": NAME})
            terminal.type("hello again")
            terminal.until("It is blue.")
            assert "[human]: is it blue?" in requests(model)[-1]
            until(lambda: (NAME, "It is blue.") in team.thread(NAME), lambda: team.thread(NAME))

            kept = muster("adopt", NAME, "--name", "Vera", "--home", str(home))
            assert kept.stdout == "Vera keeps its seat.\n", kept.stderr
            assert by_hand(team)["byHand"]["kept"]
        until(lambda: by_hand(team)["status"] == "sleeping", lambda: by_hand(team))
        team.close()
    assert _cost(home) > 0


def _cost(home: Path) -> float:
    shown = muster("costs", "--home", str(home)).stdout
    return float(shown.splitlines()[0].partition(",")[0].lstrip("$"))
