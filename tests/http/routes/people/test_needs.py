"""What needs a person, over HTTP: one list for every client, and what is put aside of it."""

from collections.abc import Generator

import pytest

from tests.asking import Asker, asker
from tests.inside import Inside, inside
from tests.live import Json


@pytest.fixture(scope="module")
def muster(tmp_path_factory: pytest.TempPathFactory) -> Generator[Inside]:
    with inside(tmp_path_factory.mktemp("needs"), "Ada", "Bo") as team:
        team.runs("Ada")
        team.opens("design", "Ada", "Bo")
        yield team


@pytest.fixture
def operator(muster: Inside) -> Generator[Asker]:
    with asker(muster.server, muster.server.token) as somebody:
        yield somebody


def needs(asks: Asker) -> list[Json]:
    return asks.get("/api/needs")["needs"]


def test_an_approval_is_listed_with_all_that_a_client_needs_and_goes_with_its_answer(
    muster: Inside, operator: Asker
) -> None:
    asked = muster.asks("Ada", "Bash", "rm -r build", seconds=600)
    [need] = needs(operator)
    since, until = need.pop("since"), need.pop("until")
    assert since < until
    assert need == {
        "kind": "approval",
        "key": f"approval:{asked}",
        "what": "is waiting for your approval",
        "why": "Bash: rm -r build",
        "seat": muster.agent("Ada").seat,
        "agent": "Ada",
        "channel": None,
        "conversation": None,
        "approval": asked,
        "canBeDone": False,
        "isWhole": True,
        "canGoOn": False,
    }
    state = operator.get("/api/state?seats=0")
    assert [each["key"] for each in state["needs"]["needs"]] == [f"approval:{asked}"]
    refused = operator.post(f"/api/needs/approval:{asked}/settle", status=422)
    assert "waits for an answer" in refused["detail"]
    operator.post(f"/api/approvals/{asked}", {"allow": False})
    assert needs(operator) == []


def test_what_is_put_off_is_counted_comes_back_and_is_taken_back(
    muster: Inside, operator: Asker
) -> None:
    asked = muster.asks("Ada")
    path = f"/api/needs/approval:{asked}"
    told = operator.post(f"{path}/settle", {"seconds": 600})
    assert (told["needs"], told["putOff"]) == ([], 1)
    assert told["changesAt"] is not None
    assert operator.get("/api/needs")["putOff"] == 1
    told = operator.post(f"{path}/reopen")
    assert [each["approval"] for each in told["needs"]] == [asked]
    assert operator.post(f"{path}/settle", {"seconds": 1}, 422)["code"] == "invalid"
    operator.post(f"/api/approvals/{asked}", {"allow": False})
    assert operator.post("/api/needs/nonsense/settle", status=404)["code"] == "not_found"


def test_a_message_to_the_person_is_unread_until_it_was_seen_anywhere(
    muster: Inside, operator: Asker
) -> None:
    secret = operator.post("/api/agents", {"name": "Cy"}, 201)["token"]["secret"]
    operator.post("/api/channels", {"channel": "talk"}, 201)
    with asker(muster.server, secret) as agent:
        agent.post("/api/agents/Cy/connect")
        operator.post("/api/channels/talk/members", {"agent": "Cy"}, 201)
        agent.post("/api/channels/talk/turn/complete", {"agent": "Cy", "message": "@human: merge"})
        seen = {"channel": "talk", "upto": 10**6}
        assert agent.post("/api/seen", seen, 403)["code"] == "forbidden"
        assert [each["kind"] for each in needs(agent)] == ["message"]
    [need] = needs(operator)
    assert (need["kind"], need["agent"], need["channel"]) == ("message", "Cy", "talk")
    assert need["why"] == "@human: merge"
    [channel] = operator.get("/api/state?channels=talk")["channels"]
    assert channel["newest"] > channel["seen"]
    assert operator.post("/api/seen", seen)["needs"] == []
    [channel] = operator.get("/api/state?channels=talk")["channels"]
    assert channel["newest"] == channel["seen"]
    operator.post("/api/seen", {"upto": 1, "agent": "Nobody"}, 404)
