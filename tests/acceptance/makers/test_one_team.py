"""An agent of each maker in one team: denied by policy, killed in a turn, alone and with muster."""

import json
import os
import signal
from collections.abc import Collection
from pathlib import Path

from muster.runtimes.process import processes
from tests.acceptance.makers.team import REAL, MakersTeam, makers_team
from tests.live import Json
from tests.waits import SLOW_SECONDS, until

AGENTS = (*REAL, "Graph", "Shell")
PROCESSES = (*REAL, "Shell")


def test_agents_of_every_maker_are_denied_and_killed_and_go_on(tmp_path: Path) -> None:
    with makers_team(tmp_path) as up:
        team = up()
        team.start(AGENTS)
        for name in AGENTS:
            team.open(f"to-{name}", name)
        assert team.model.requests == 0, "an agent that has nothing to do costs nothing"
        are_denied_and_go_on(team)

        lives = hang(team, "first", PROCESSES)
        for life in lives.values():
            os.kill(life["pid"], signal.SIGKILL)
        come_back(team, "first", PROCESSES)
        are_gone(lives)

        lives = hang(team, "second", AGENTS)
        team.server.process.kill()
        team = up()
        come_back(team, "second", AGENTS)
        are_gone(lives)


def are_denied_and_go_on(team: MakersTeam) -> None:
    """The policy of a session denies each a write: no person is asked, and its model is told."""
    agents = team.home.parent / "agents"
    agents.mkdir()
    (agents / "qa.md").write_text("---\nname: qa\ndescription: tests\n---\n\nYou test.\n")
    opened = team.operator.asked(
        "POST", "/api/delegation", 200, json={"path": "session", "agents": ["agents"]}
    )
    rules = {"AGENT_PERMISSIONS": {"cannot_write": ["*.py"]}}
    (Path(opened["path"]) / "permissions.json").write_text(json.dumps(rules))
    for name in REAL:
        team.post(f"to-{name}", f"do: write {team.work / name}.py")
    for name in REAL:
        team.until(lambda name=name: team.said(f"to-{name}")[-1]["speaker"] == name)
    team.post("to-Gemini", "do: why")  # it goes on by itself, and is told with its next prompt
    told = f"may not write {team.work}"
    for name in REAL:
        team.until(lambda name=name: told in team.said(f"to-{name}")[-1]["text"])
    assert not [*team.work.glob("*.py")]
    assert not team.events("approval_requested")
    team.operator.asked("DELETE", "/api/delegation", 200)


def hang(team: MakersTeam, word: str, names: Collection[str]) -> dict[str, Json]:
    """Have agents work on a turn without end; the sessions that are processes, by name."""
    for name in names:
        team.post(f"to-{name}", f"do: hang {word}")
    for name in {*names} - {"Shell"}:
        assert team.model.hangs(name.lower(), word).wait(SLOW_SECONDS), (name, team.story())
    team.until((team.work.parent / "flags" / word).exists)
    return {name: team.session(name) for name in names if name in PROCESSES}


def come_back(team: MakersTeam, word: str, names: Collection[str]) -> None:
    """Each agent answers when it is back, once."""

    def answers(name: str) -> list[Json]:
        said = team.said(f"to-{name}")
        return [m for m in said if f"{name.lower()} is back from {word}" in m["text"]]

    for name in names:
        team.until(lambda name=name: answers(name))
    team.until(lambda: not any(team.operator.get(f"/api/channels/to-{n}")["holder"] for n in names))
    assert [len(answers(name)) for name in names] == [1 for _ in names]


def are_gone(lives: dict[str, Json]) -> None:
    """No process of these sessions is left."""
    for life in lives.values():
        until(lambda life=life: not processes.members(life["session"], life["pid"]))
