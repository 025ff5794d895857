"""Notes and souls over HTTP, on the command line, by tool and by marker, to the next waking."""

import json
import time
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from muster.differences import TOO_LARGE
from muster.engine import ports
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.ids import SeatId
from muster.views.memory.wake_payload import as_xml, wake_payload
from tests.asking import Asker, asker
from tests.builders import ADA, run
from tests.homes import muster as command_line
from tests.homes import play
from tests.live import live
from tests.machines.teams.papers import paper
from tests.sessions.test_intake import staged
from tests.sessions.test_tools import use

SOUL = "I listen.\nI count."
LYRA = c.RegisterAgent(
    profile=e.Profile(name="Lyra", grid_position=SeatId(0), individuation_artifact=SOUL)
)
NOTES, SOULS = "/api/agents/Lyra/notes", "/api/agents/Lyra/soul"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    play(home, LYRA)
    return home


@pytest.fixture
def operator(home: Path) -> Generator[Asker]:
    with live(home) as server, asker(server, server.token) as asking:
        yield asking


def test_a_person_adds_edits_and_deletes_notes(operator: Asker) -> None:
    operator.post(NOTES, {"text": "the plan"}, 201)
    operator.asked("PUT", f"{NOTES}/1", 200, json={"text": "the new plan"})
    (note,) = operator.get(NOTES)["notes"]
    assert (note["id"], note["text"]) == (1, "the new plan")
    payload = operator.get("/api/agents/Lyra/wake-payload")
    assert payload["payload"]["notes"] == ["the new plan"]
    assert "<notes>\n<note>the new plan</note>\n</notes>" in payload["text"]
    operator.delete(f"{NOTES}/1")
    assert operator.get(NOTES)["notes"] == []
    assert "<notes>" not in operator.get("/api/agents/Lyra/wake-payload")["text"]


@pytest.mark.parametrize("note", ["0", "7", "x", "9" * 40, "-1"])
def test_a_note_that_is_not_there_is_not_found(operator: Asker, note: str) -> None:
    operator.refused("PUT", f"{NOTES}/{note}", 404, "not_found", json={"text": "x"})


def test_an_edited_soul_keeps_its_history_with_differences(operator: Asker) -> None:
    edit = {"soul": "I listen.\nI count twice.", "reason": "it does"}
    operator.asked("PUT", SOULS, 200, json=edit)
    first, second = operator.get(SOULS)["versions"]
    assert (first["soul"], first["difference"]) == (SOUL, "")
    assert second["reason"] == "it does"
    assert "-I count.\n+I count twice." in second["difference"]
    payload = operator.get("/api/agents/Lyra/wake-payload")["payload"]
    assert payload["soul"] == "I listen.\nI count twice."


HELD_UP_SECONDS = 10.0
"""Much longer than an answer takes on a busy machine, and less than the comparison took."""


def test_large_souls_are_compared_without_holding_up_anybody(operator: Asker) -> None:
    """Two souls of 130,000 lines took 25 seconds, in which muster answered nobody."""
    one, other = "\n" * 130_000 + "a", "b" + "\n" * 131_000 + "c"
    for soul in (one, other, one, other):
        operator.asked("PUT", SOULS, 200, json={"soul": soul})
    with ThreadPoolExecutor() as threads:
        asked = threads.submit(operator.get, SOULS)
        slowest = 0.0
        while not asked.done():
            began = time.monotonic()
            operator.get("/api/health")
            slowest = max(slowest, time.monotonic() - began)
        versions = asked.result()["versions"]
    assert slowest < HELD_UP_SECONDS
    assert [len(each["soul"]) for each in versions[1:]] == [len(one), len(other)] * 2
    assert versions[2]["difference"].startswith(TOO_LARGE)
    assert versions[2]["difference"].splitlines()[-1].endswith(" more lines)")
    assert len(versions[2]["difference"]) < 100_000
    operator.post(f"{SOULS}/choose", {"version": 1})
    assert operator.get("/api/agents/Lyra/wake-payload")["payload"]["soul"] == SOUL


def test_many_large_souls_are_compared_in_bounded_time_the_newest_first(operator: Asker) -> None:
    for number in range(24):
        soul = "\n".join(f"{number} {line % 7}" for line in range(900))
        operator.asked("PUT", SOULS, 200, json={"soul": soul})
    versions = operator.get(SOULS)["versions"]
    whole = [each["difference"].startswith(TOO_LARGE) for each in versions[2:]]
    assert whole == sorted(whole, reverse=True)
    assert (whole[0], whole[-1]) == (True, False)


OTHERS = ("older", -1_000_000), ("younger", 1_000_000)


@pytest.mark.parametrize(("born", "offset"), OTHERS, ids=[name for name, _ in OTHERS])
def test_a_person_chooses_between_two_souls_after_a_merge(
    tmp_path: Path, born: str, offset: int
) -> None:
    """The soul that lost is not lost: it is listed with a difference, and can be chosen."""
    home = tmp_path / "home"
    other = c.ImportTeam(documents=(paper(0, "Lyra", "A song.\nI count.", born=offset),))
    play(home, LYRA, c.ReportStatus(agents=()), other)
    with live(home) as server, asker(server, server.token) as operator:
        first, second = operator.get(SOULS)["versions"]
        assert (first["soul"], second["soul"]) == (SOUL, "A song.\nI count.")
        assert "-I listen.\n+A song." in second["difference"]
        lost = first if born == "older" else second
        assert [each.get("isCurrent", False) for each in (first, second)] == [
            each is not lost for each in (first, second)
        ]
        assert [each.get("lost", False) for each in (first, second)] == [
            each is lost for each in (first, second)
        ]
        assert (second["by"], second["reason"]) == ("agent:Lyra", "imported by person:Grace")
        operator.post(f"{SOULS}/choose", {"version": lost["number"]})
        versions = operator.get(SOULS)["versions"]
        assert [each.get("isCurrent", False) for each in versions] == [False, False, True]
        assert versions[-1]["reason"] == f"version {lost['number']} was chosen"
        payload = operator.get("/api/agents/Lyra/wake-payload")["payload"]
        assert payload["soul"] == lost["soul"]
        operator.refused("POST", f"{SOULS}/choose", 404, "not_found", json={"version": 9})
    play(home, other)  # the same machine again: the choice stays
    with live(home):
        told = command_line("memory", "souls", "Lyra", "--home", str(home))
        assert "version 3 (current)" in told.stdout
        chosen = command_line("memory", "choose-soul", "Lyra", "1", "--home", str(home))
        assert "version 1 is the soul of Lyra" in chosen.stdout


def test_the_command_line_reads_and_changes_the_memory(home: Path, tmp_path: Path) -> None:
    def memory(*args: str) -> str:
        done = command_line("memory", args[0], "--home", str(home), *args[1:])
        assert done.returncode == 0, done.stderr
        return done.stdout

    soul = tmp_path / "soul.txt"
    soul.write_text("I am new.")
    with live(home):
        assert memory("notes", "Lyra") == "Lyra has no notes.\n"
        assert "whenever it wakes" in memory("add", "Lyra", "the plan")
        assert "is changed" in memory("edit", "Lyra", "1", "the new plan")
        assert "the new plan" in memory("notes", "Lyra")
        assert json.loads(memory("notes", "Lyra", "--json"))["notes"][0]["id"] == 1
        assert "no longer told" in memory("forget", "Lyra", "1")
        assert "is changed" in memory("edit-soul", "Lyra", str(soul), "--reason", "a new start")
        told = memory("souls", "Lyra")
        assert "version 1" in told
        assert "a new start" in told
        assert "+I am new." in told
        assert len(json.loads(memory("souls", "Lyra", "--json"))["versions"]) == 2
        assert json.loads(memory("add", "Lyra", "more", "--json"))["seq"] > 0


def test_an_agent_remembers_by_tool_and_by_marker_and_is_told_when_it_wakes() -> None:
    async def story() -> None:
        async with staged() as stage:
            await stage.enrol(long_lived=True)
            ada = await stage.start()
            assert "number 1" in (await use(ada, "remember", text="the plan")).text
            marker = ports.Marker(name="AGENT_REMEMBERS", body='{"text": "the budget"}')
            await stage.say(ada, marker)
            await stage.say(ada, ports.Marker(name="AGENT_REMEMBERS", body="{}"))
            assert len(await stage.rejected()) == 1
            assert (await use(ada, "forget", note=1)).ok
            assert not (await use(ada, "forget", note=1)).ok
            team = stage.muster.team
            payload = await wake_payload(stage.muster.store, team, team.agents[ADA])
            assert payload.notes == ("the budget",)
            assert "<note>the budget</note>" in as_xml(payload)
            (letter,) = await stage.muster.prompter.memory(team.agents[ADA])
            assert "the budget" in letter

    run(story())
