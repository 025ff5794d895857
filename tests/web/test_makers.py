"""One channel with agents of every maker, all real programs, and a person who watches and answers.

Claude Code, Codex, Gemini CLI, opencode and a LangGraph agent call scripted models on loopback; a
bash script needs none. One is interrupted, one is killed in its turn and comes back, one needs an
approval.
"""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import expect

from tests.acceptance.makers.team import MakersTeam, makers_team
from tests.live import Json
from tests.waits import SLOW_SECONDS
from tests.web.pages import Watched

MEMBERS = ("Claude", "Codex", "Gemini", "Opencode", "Graph", "Shell")
TURNS = 24

PICTURE = "MAKERS_PICTURE"
"""The variable that names a file for a picture of the channel."""


def test_agents_of_every_maker_take_turns_in_one_channel(person: Watched, tmp_path: Path) -> None:
    with makers_team(tmp_path) as up:
        team = up()
        team.start(MEMBERS)
        team.open("all", *MEMBERS)
        play(person, team)
        check(team)


def play(person: Watched, team: MakersTeam) -> None:
    page = person.signed_in(team.server, "#/channel/all")
    notes = team.work / "notes.txt"
    team.post("all", f"Hello, everybody. do@gemini: write {notes}")
    allow = page.get_by_role("button", name="Allow Gemini: Edit")
    expect(allow).to_be_visible(timeout=SLOW_SECONDS * 1000)
    assert not notes.exists()
    allow.click()
    team.until(lambda: [m for m in team.said("all") if "gemini is told" in m["text"]])
    assert notes.exists()

    team.post("all", "do@codex: hang first")
    assert team.model.hangs("codex", "first").wait(SLOW_SECONDS)
    team.operator.post("/api/agents/Codex/interrupt")
    team.post("all", "do@opencode: hang second")
    assert team.model.hangs("opencode", "second").wait(SLOW_SECONDS)
    killed = team.session("Opencode")
    os.kill(killed["pid"], signal.SIGKILL)
    team.until(lambda: (team.session("Opencode") or killed)["session"] != killed["session"])
    team.post("all", "Go on.")
    back = "opencode is back from second"
    team.until(lambda: [m for m in team.said("all") if back in m["text"]])
    team.until(lambda: team.operator.get("/api/channels/all")["epoch"] >= TURNS)
    if folder := os.environ.get(PICTURE):
        page.screenshot(path=folder)
    team.operator.post("/api/channels/all/archive")


def check(team: MakersTeam) -> None:
    words = [m for m in team.said("all") if m["speaker"] in MEMBERS]
    epochs = [m["epoch"] for m in words]
    assert epochs == sorted(set(epochs)), "each turn has one message, in the order of turns"
    assert {m["speaker"] for m in words} == set(MEMBERS)
    assert not [m for m in words if "TURN_COMPLETE" in m["text"]]
    assert len([m for m in words if "back from second" in m["text"]]) == 1, "nothing twice"
    assert not [m for m in words if "back from first" in m["text"]], "an interrupt ends the work"
    turns = list(granted(team))
    assert len(turns) >= TURNS
    for one, two, present in turns:
        ring = MEMBERS[MEMBERS.index(one) + 1 :] + MEMBERS[: MEMBERS.index(one) + 1]
        assert two == next(each for each in ring if each in present), turns


def granted(team: MakersTeam) -> Iterator[tuple[str, str, set[str]]]:
    """Each grant of the channel: the holder before, the new one, and the members then."""
    present, last = set[str](MEMBERS), ""
    names = {team.operator.get(f"/api/agents/{name}")["seat"]: name for name in MEMBERS}
    for event in team.events("state_transition", "member_left", "member_joined"):
        if event.get("channel") != "all":
            continue
        name = names[event["seat"]]
        if event["type"] != "state_transition":
            (present.add if event["type"] == "member_joined" else present.discard)(name)
        elif _is_grant(event):
            yield last or MEMBERS[-1], name, set(present)
            last = name


def _is_grant(event: Json) -> bool:
    return event["from"] == "QUEUED" and event["to"] == "ACTIVE"
