"""`muster export` and `muster import`: one team on two machines, with real files and servers."""

import json
import stat
from pathlib import Path

import pytest

from muster.client import AsyncClient, Client, requests
from muster.machines import commands as c
from muster.machines.identity.palette import PALETTE
from muster.machines.ids import LEAD_SEAT, SeatId, SessionId
from muster.machines.vocabulary import Authority, Profile
from tests.asking import Asker, asker
from tests.builders import run
from tests.homes import muster, play
from tests.live import Json, live
from tests.machines.teams.papers import paper, said

LYRA, KAEL = SeatId(0), SeatId(1)
JULIAN = c.EnrollAgent(name="Julian", authority=Authority.SELF, seat=LEAD_SEAT)
SOUL = "I listen first.\n</soul> – 🎻"


def life(name: str) -> c.StartMuster:
    """A life of muster on a machine of its own."""
    return c.StartMuster(server_session=SessionId(name), muster_version="0.1.0", human="Grace")


def born(name: str, seat: SeatId, soul: str) -> c.RegisterAgent:
    profile = Profile(name=name, grid_position=seat, individuation_artifact=soul)
    return c.RegisterAgent(profile=profile)


LIVED: tuple[c.Command, ...] = (
    life("desk-1"),
    JULIAN,
    c.SummonAgents(placeholders=PALETTE[:2], authority=Authority.LEAD),
    born("Lyra", LYRA, SOUL),
    c.SendMessage(text="good morning", speaker_name="Grace", seat=LYRA),
    c.TellHuman(seat=LYRA, text="good morning, Grace"),
)
"""Lyra was born and is alive, and a second place is prepared."""


def exported(home: Path, file: Path) -> Json:
    done = muster("export", "--home", str(home), str(file))
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(file.read_bytes())


def documents(team: Json) -> dict[str, Json]:
    return {each["_id"]: each for each in team["documents"]}


def taken_in(home: Path, file: Path) -> Json:
    done = muster("import", "--home", str(home), "--json", str(file))
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


def test_a_team_is_exported_without_a_server_in_the_document_format(tmp_path: Path) -> None:
    home, file = tmp_path / "desk", tmp_path / "team.json"
    play(home, *LIVED)
    team = exported(home, file)
    assert (team["format"], team["version"], team["human"]) == ("muster-team", 1, "Grace")
    lyra = documents(team)["agent-identity:0"]
    assert (lyra["type"], lyra["category"], lyra["status"]) == (
        "agent-identity",
        "identity",
        "alive",
    )
    assert (lyra["name"], lyra["individuationArtifact"]) == ("Lyra", SOUL)
    assert documents(team)["agent-identity:1"]["status"] == "hatching"
    assert [each["text"] for each in team["messages"]] == ["good morning", "good morning, Grace"]
    assert all(each["id"].startswith("desk-1:") for each in team["messages"])
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert muster("export", "--home", str(home), "-").stdout == file.read_text()
    assert sorted(tmp_path.iterdir()) == [home, file]


def test_two_machines_that_exchange_their_files_agree_and_the_second_time_nothing_changes(
    tmp_path: Path,
) -> None:
    desk, laptop = tmp_path / "desk", tmp_path / "laptop"
    play(desk, *LIVED)
    play(
        laptop,
        life("laptop-1"),
        JULIAN,
        born("Kael", KAEL, "I look."),
        born("Lyra", SeatId(5), "too late"),
    )
    one, other = tmp_path / "desk.json", tmp_path / "laptop.json"
    first = exported(desk, one)
    exported(laptop, other)
    with live(laptop):
        done = taken_in(laptop, one)
        assert done["messages"] == 2
        assert "Lyra" in done["changed"]
        again = taken_in(laptop, one)
        assert (again["changed"], again["messages"], again["lost"]) == ([], 0, 0)
        exported(laptop, other)  # beside a server
    with live(desk):
        back = taken_in(desk, other)
        assert back["messages"] == 0, "its own words came back"
        exported(desk, one)
    mine, theirs = (
        documents(json.loads(one.read_bytes())),
        documents(json.loads(other.read_bytes())),
    )
    for seat in (0, 1, 5):
        a, b = mine[f"agent-identity:{seat}"], theirs[f"agent-identity:{seat}"]
        assert (a["name"], a["individuationArtifact"]) == (b["name"], b["individuationArtifact"])
    names = [mine[f"agent-identity:{seat}"]["name"] for seat in (0, 1, 5)]
    assert names == ["Lyra", "Kael", "Lyra-5"]
    assert json.loads(other.read_bytes())["messages"] == first["messages"]


def test_an_alive_from_elsewhere_is_shown_as_unknown_and_nothing_is_started(
    tmp_path: Path,
) -> None:
    desk, laptop, file = tmp_path / "desk", tmp_path / "laptop", tmp_path / "team.json"
    play(desk, *LIVED)
    play(laptop, life("laptop-1"), JULIAN)
    exported(desk, file)
    with live(laptop) as server, asker(server, server.token) as operator:
        taken_in(laptop, file)
        lyra = operator.get("/api/agents/Lyra")
        assert (lyra["status"], lyra["document"]["status"]) == ("unknown", "alive")
        events = operator.get("/api/log?limit=100")["events"]
        assert "session_requested" not in {each["type"] for each in events}
        told = [each for each in events if each["type"] == "message_imported"]
        assert [each["message"]["text"] for each in told] == ["good morning", "good morning, Grace"]
    log = muster("log", "--home", str(laptop), "--type", "documents_imported").stdout
    assert "imported 2 messages and the documents of Lyra" in log


def test_a_large_file_goes_in_whole(tmp_path: Path) -> None:
    home, file = tmp_path / "home", tmp_path / "team.json"
    play(home, JULIAN)
    souls = [
        {"gridPosition": seat, "name": f"Agent {seat}", "individuationArtifact": "s" * 250_000}
        for seat in (0, 1, 2, 3, 5, 6, 7, 8)
    ]
    words = [
        {
            "id": f"elsewhere:{number}",
            "type": "message",
            "speakerName": "Grace",
            "speakerType": "human",
            "targetAgent": None,
            "text": "x" * 400_000,
            "serverSessionId": "elsewhere",
            "createdAt": "2026-02-17T12:00:00Z",
        }
        for number in range(1, 9)
    ]
    file.write_text(json.dumps({"documents": souls, "messages": words}))
    with live(home):
        done = taken_in(home, file)
        assert (len(done["changed"]), done["messages"]) == (8, 8)
        assert taken_in(home, file)["changed"] == []


# ── what is wrong ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("", "is not JSON"),
        ("{", "is not JSON"),
        ("[]", "is not an exported team"),
        ('{"format": "other"}', "is not an exported team"),
        ('{"version": 2}', "Update muster"),
        ('{"documents": [{"gridPosition": "three"}]}', "is not an exported team"),
        ('{"documents": [{"name": "Lyra"}]}', "gridPosition"),
        ('{"documents": [{"gridPosition": 3, "name": "../x"}]}', "may have letters"),
        ('{"documents": [{"gridPosition": 3, "status": "alive"}]}', "has no name"),
        ('{"documents": [{"gridPosition": 3, "createdAt": "2026-02-17"}]}', "createdAt"),
        ('{"messages": [{"id": "x"}]}', "is not an exported team"),
    ],
)
def test_a_file_that_is_not_as_it_should_be_is_refused_before_a_server_is_asked(
    tmp_path: Path, content: str, told: str
) -> None:
    file = tmp_path / "team.json"
    file.write_text(content)
    done = muster("import", "--home", str(tmp_path / "home"), str(file))
    assert (done.returncode, done.stdout) == (2, "")
    assert told in done.stderr


def test_a_file_that_is_not_there_and_a_server_that_does_not_run_are_said(tmp_path: Path) -> None:
    home, file = tmp_path / "home", tmp_path / "team.json"
    assert "team.json" in muster("import", "--home", str(home), str(file)).stderr
    file.write_text("{}")
    assert "muster up" in muster("import", "--home", str(home), str(file)).stderr
    play(home, *LIVED)
    nowhere = muster("export", "--home", str(home), str(tmp_path / "no" / "team.json"))
    assert nowhere.returncode == 4
    assert "no/" in nowhere.stderr


def test_what_is_refused_over_http_changes_nothing(tmp_path: Path) -> None:
    home = tmp_path / "home"
    play(home, JULIAN)
    good: Json = {"gridPosition": 0, "name": "Lyra"}
    with live(home) as server, asker(server, server.token) as operator:
        for wrong, status, code in (
            ({"gridPosition": 1, "name": "a/b"}, 422, "invalid"),
            ({"gridPosition": 1, "name": "Human"}, 409, "name_reserved"),
            ({"gridPosition": 1, "name": "MAIN"}, 409, "name_reserved"),
            ({"gridPosition": 1, "name": 7}, 422, "invalid"),
        ):
            body = {"documents": [good, wrong]}
            operator.refused("POST", "/api/import", status, code, json=body)
        operator.refused("POST", "/api/import", 422, "invalid", json={"version": 9})
        _only_the_operator(operator)
        nothing = operator.post("/api/import", {})
        assert (nothing["changed"], nothing["messages"]) == ([], 0)


def _only_the_operator(operator: Asker) -> None:
    token = operator.post("/api/agents", {"name": "pm"}, 201)["token"]["secret"]
    answer = operator.http.post(
        "/api/import", json={}, headers={"authorization": f"Bearer {token}"}
    )
    assert answer.status_code == 403


def test_a_program_imports_with_either_client(tmp_path: Path) -> None:
    home = tmp_path / "home"
    play(home, JULIAN)
    with live(home):
        with Client(home=home) as client:
            done = client.ask(requests.import_team([paper(0)], [said(1)]))
        assert (done.changed, done.messages) == (("Lyra",), 1)

        async def again() -> None:
            async with AsyncClient(home=home) as client:
                done = await client.ask(requests.import_team([paper(0)], [said(1)]))
            assert (done.changed, done.messages) == ((), 0)

        run(again())


def test_two_machines_agree_on_what_a_person_renamed_and_edited(tmp_path: Path) -> None:
    """An older export undid a rename, and an edited soul travelled only if its letter was first."""
    desk, laptop = tmp_path / "desk", tmp_path / "laptop"
    play(desk, *LIVED, c.ReportStatus(agents=()))
    play(laptop, life("laptop-1"), JULIAN)
    with live(laptop):
        exported(desk, before := tmp_path / "before.json")
        taken_in(laptop, before)
    play(desk, c.EditSoul(seat=LYRA, soul="Zzz."), c.RenameAgent(seat=LYRA, name="Zoe"))
    with live(desk), live(laptop):
        exported(desk, after := tmp_path / "after.json")
        assert taken_in(laptop, after)["changed"] == ["Zoe"]
        exported(laptop, back := tmp_path / "back.json")
        for old in (back, before):
            assert taken_in(desk, old).get("changed", []) == []
        found = [exported(home, after)["documents"] for home in (desk, laptop)]
    lyras = [next(each for each in team if each["_id"] == "agent-identity:0") for team in found]
    assert lyras[0] == lyras[1]
    assert (lyras[0]["name"], lyras[0]["individuationArtifact"]) == ("Zoe", "Zzz.")
