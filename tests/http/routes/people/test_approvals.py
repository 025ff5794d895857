"""Approvals over HTTP: requests for permission, and the roles that may answer."""

import json
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime

import pytest

from muster.machines.commands import AnswerApproval
from tests.asking import Asker, asker
from tests.inside import Inside, inside
from tests.live import Json
from tests.waits import WAIT_SECONDS

HOSTILE = "\x1b[2J\u202eecho 'hi' && <b>rm</b>\n\nsecond line\x00"


@pytest.fixture(scope="module")
def muster(tmp_path_factory: pytest.TempPathFactory) -> Generator[Inside]:
    with inside(tmp_path_factory.mktemp("approvals"), "Ada", "Bo") as team:
        team.runs("Ada")
        team.opens("design", "Ada", "Bo")
        yield team


@pytest.fixture
def operator(muster: Inside) -> Generator[Asker]:
    with asker(muster.server, muster.server.token) as somebody:
        yield somebody
        for each in somebody.get("/api/approvals")["approvals"]:
            somebody.post(f"/api/approvals/{each['id']}", {"allow": False})


def approvals(operator: Asker) -> list[Json]:
    return operator.get("/api/approvals")["approvals"]


# ── what is asked ─────────────────────────────────────────────────────────────────────────────────


def test_a_request_is_shown_with_all_that_a_person_needs_to_decide(
    muster: Inside, operator: Asker
) -> None:
    assert approvals(operator) == []
    asked = muster.asks("Ada", "Bash", "rm -r build", by="tester", seconds=600)
    [shown] = approvals(operator)
    since, until = (datetime.fromisoformat(shown.pop(name)) for name in ("since", "until"))
    assert (until - since).total_seconds() == 600
    assert shown == {
        "id": asked,
        "agent": "Ada",
        "seat": muster.agent("Ada").seat,
        "session": muster.agent("Ada").session,
        "tool": "Bash",
        "detail": "rm -r build",
        "by": "tester",
        "default": False,
        "channel": "design",
        "rules": [],
        "folder": "",
        "effects": [],
        "change": "",
    }


def test_the_request_that_is_due_first_stands_first(muster: Inside, operator: Asker) -> None:
    late = muster.asks("Ada", seconds=600)
    soon = muster.asks("Ada", seconds=60)
    assert [each["id"] for each in approvals(operator)] == [soon, late]


def test_an_agent_with_an_open_request_is_waiting_and_so_is_its_turn(
    muster: Inside, operator: Asker
) -> None:
    asked = muster.asks("Ada")
    card = operator.get("/api/state")["agents"][0]
    assert (card["turn"], [each["id"] for each in card["approvals"]]) == ("WAITING", [asked])
    channel = operator.get("/api/channels/design")
    assert (channel["holder"], channel["waiting"]["approval"]) == ("Ada", True)
    assert channel["waiting"]["reason"] == f"approval {asked}: Bash"
    operator.post(f"/api/approvals/{asked}", {"allow": True})
    assert operator.get("/api/agents/Ada")["approvals"] == []
    assert operator.get("/api/agents/Ada")["turn"] == "ACTIVE"
    assert operator.get("/api/channels/design")["waiting"] is None


def test_a_request_is_shown_unchanged_with_any_content(muster: Inside, operator: Asker) -> None:
    muster.asks("Ada", detail=HOSTILE)
    assert approvals(operator)[0]["detail"] == HOSTILE


# ── answers ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("allow", [True, False])
def test_an_answer_is_on_record_with_who_gave_it_and_why(
    muster: Inside, operator: Asker, allow: bool
) -> None:
    asked = muster.asks("Ada")
    settled = operator.post(f"/api/approvals/{asked}", {"allow": allow, "note": "as agreed"})
    assert (settled["id"], settled["agent"], settled["tool"]) == (asked, "Ada", "Bash")
    assert settled["allow"] is allow
    [fact] = operator.get(f"/api/log?types=approval_answered&after={asked}")["events"]
    assert (fact["approval"], fact["allow"], fact["how"]) == (asked, allow, "person")
    assert (fact["note"], fact["actor"]) == ("as agreed", "person:human")
    assert approvals(operator) == []


@pytest.mark.parametrize("scope", ["once", "session", "always"])
def test_a_permission_reaches_as_far_as_its_scope_says(
    muster: Inside, operator: Asker, scope: str
) -> None:
    asked = muster.asks("Ada", rules=("Bash(make:*)",))
    [shown] = approvals(operator)
    assert shown["rules"] == ["Bash(make:*)"]
    settled = operator.post(f"/api/approvals/{asked}", {"allow": True, "scope": scope})
    assert settled["scope"] == scope
    state = operator.get(f"/api/approvals/{asked}")
    assert (state["scope"], state["rules"]) == (scope, ["Bash(make:*)"])


def test_a_request_without_rules_is_allowed_once_at_most(muster: Inside, operator: Asker) -> None:
    asked = muster.asks("Ada")
    body = {"allow": True, "scope": "always"}
    problem = operator.refused("POST", f"/api/approvals/{asked}", 422, "invalid", json=body)
    assert "offers no rule for Bash" in problem["detail"]


def test_a_request_is_answered_once_and_a_second_answer_is_refused(
    muster: Inside, operator: Asker
) -> None:
    asked = muster.asks("Ada")
    operator.post(f"/api/approvals/{asked}", {"allow": False})
    path = f"/api/approvals/{asked}"
    problem = operator.refused("POST", path, 404, "not_found", json={"allow": True})
    assert f"no open request for approval '{asked}'" in problem["detail"]


@pytest.mark.parametrize("unknown", ["0", "999999", "-1", "x", "%2e%2e"])
def test_an_unknown_request_cannot_be_answered(operator: Asker, unknown: str) -> None:
    path = f"/api/approvals/{unknown}"
    problem = operator.refused("POST", path, 404, "not_found", json={"allow": True})
    assert "no open request" in problem["detail"]


@pytest.mark.parametrize(
    "body", [{}, {"note": "yes"}, {"allow": "yes"}, {"allow": 1}, {"allow": True, "scope": "ever"}]
)
def test_an_answer_says_whether_it_is_allowed_and_nothing_that_nobody_knows(
    muster: Inside, operator: Asker, body: Json
) -> None:
    asked = muster.asks("Ada")
    operator.refused("POST", f"/api/approvals/{asked}", 422, "invalid", json=body)
    assert [each["id"] for each in approvals(operator)] == [asked]


def test_no_agent_and_no_viewer_may_answer_and_all_may_look(
    muster: Inside, operator: Asker
) -> None:
    asked = muster.asks("Ada")
    wishes = [{"role": "agent", "agent": "Ada"}, {"role": "agent", "agent": "Bo"}]
    for wish in (*wishes, {"role": "viewer"}):
        token = operator.post("/api/tokens", wish, 201)["secret"]
        with asker(muster.server, token) as somebody:
            path = f"/api/approvals/{asked}"
            somebody.refused("POST", path, 403, "forbidden", json={"allow": True})
            assert [each["id"] for each in approvals(somebody)] == [asked]
    with asker(muster.server, None) as stranger:
        stranger.asked("GET", "/api/approvals", 401)


# ── nobody answers ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("default", [True, False])
def test_what_nobody_answers_takes_its_declared_default(
    muster: Inside, operator: Asker, default: bool
) -> None:
    asked = muster.asks("Ada", seconds=0.2, default=default)
    muster.until(lambda team: not muster.agent("Ada").approvals)
    [fact] = operator.get(f"/api/log?types=approval_answered&after={asked}")["events"]
    assert (fact["allow"], fact["how"]) == (default, "deadline")


def test_the_end_of_the_session_ends_what_it_asked(muster: Inside, operator: Asker) -> None:
    muster.runs("Bo")
    asked = muster.asks("Bo")
    wish = {"desired": "pause", "now": True}
    operator.asked("PUT", "/api/agents/Bo/run", 200, json=wish)
    muster.until(lambda team: not muster.agent("Bo").approvals)
    [fact] = operator.get(f"/api/log?types=approval_answered&after={asked}")["events"]
    assert (fact["approval"], fact["allow"], fact["how"]) == (asked, False, "session_end")


# ── as it is told ─────────────────────────────────────────────────────────────────────────────────


def test_requests_and_answers_come_over_the_stream_as_facts(
    muster: Inside, operator: Asker
) -> None:
    path = f"/api/events?after={operator.get('/api/health')['seq']}"
    with operator.http.stream("GET", path) as stream:
        asked = muster.asks("Ada", "Write", "hello.py")
        muster.send(AnswerApproval(approval=asked, allow=True))
        lines = (line for line in stream.iter_lines() if line.startswith("data: "))
        heard: list[Json] = []
        while not heard or heard[-1]["type"] != "approval_answered":
            heard.append(json.loads(next(lines).removeprefix("data: ")))
    [request] = [each for each in heard if each["type"] == "approval_requested"]
    assert (request["approval"], request["seat"]) == (asked, muster.agent("Ada").seat)
    assert (request["tool"], request["detail"]) == ("Write", "hello.py")


def test_why_tells_a_turn_that_went_on_to_the_answer_and_to_the_request(
    muster: Inside, operator: Asker
) -> None:
    asked = muster.asks("Ada", "Bash", "make release")
    waits = told(operator, "turns in design: WAITING")
    assert waits[0].startswith("Ada went from ACTIVE to WAITING in design")
    assert waits[1].startswith(f"Ada needs approval {asked} for Bash: make release (else denied at")
    [*_, still] = operator.get("/api/agents/Ada/why")["accounts"]
    assert still["title"] == f"approval {asked}: nobody has answered yet"
    operator.post(f"/api/approvals/{asked}", {"allow": True, "note": "go"})
    goes_on = told(operator, "turns in design: ACTIVE")
    assert goes_on[0].endswith("because its request for approval was answered")
    assert goes_on[1] == f"approval {asked} of Ada was allowed: go (by human)"
    assert goes_on[2].startswith(f"Ada needs approval {asked} for Bash: make release")


def test_why_explains_a_request_its_answer_and_the_channel_that_waits_for_it(
    muster: Inside, operator: Asker
) -> None:
    asked = muster.asks("Ada", "Bash", "make release")
    [request] = operator.get(f"/api/approvals/{asked}/why")["accounts"]
    assert request["title"] == f"approval {asked}: nobody has answered yet"
    assert request["steps"][0]["seq"] == int(asked)
    [channel] = operator.get("/api/channels/design/why")["accounts"]
    assert channel["title"].endswith("is with Ada (ring)")
    assert channel["steps"][0]["text"].startswith("Ada went from ACTIVE to WAITING in design")
    assert channel["steps"][1]["seq"] == int(asked)
    operator.post(f"/api/approvals/{asked}", {"allow": True, "note": "go"})
    [answered] = operator.get(f"/api/approvals/{asked}/why")["accounts"]
    assert answered["title"] == f"approval {asked}: allowed"
    assert answered["steps"][0]["text"] == f"approval {asked} of Ada was allowed: go (by human)"
    assert answered["steps"][1]["seq"] == int(asked)
    for path in ("approvals/1", "approvals/x", "approvals/9" + "9" * 40, "channels/nowhere"):
        operator.refused("GET", f"/api/{path}/why", 404, "not_found")


def told(operator: Asker, title: str) -> list[str]:
    """How an account of Ada is told."""
    accounts = operator.get("/api/agents/Ada/why")["accounts"]
    [found] = [each for each in accounts if each["title"] == title]
    return [step["text"] for step in found["steps"]]


def test_the_routes_are_described_with_who_may_call_them(operator: Asker) -> None:
    paths = operator.get("/api/openapi.json")["paths"]
    assert paths["/api/approvals/{approval}"]["post"]["x-roles"] == ["member", "operator"]
    everybody = ["agent", "member", "operator", "viewer"]
    assert paths["/api/approvals"]["get"]["x-roles"] == everybody


# ── an agent that asks ────────────────────────────────────────────────────────────────────────────


def test_an_agent_that_muster_runs_asks_and_reads_the_answer(
    muster: Inside, operator: Asker
) -> None:
    token = operator.post("/api/tokens", {"role": "agent", "agent": "Ada"}, 201)["secret"]
    with asker(muster.server, token) as ada:
        asked = ada.post("/api/approvals", {"tool": "deploy", "detail": "to prod"}, 201)
        assert (asked["agent"], asked["open"]) == ("Ada", True)
        ada.refused("POST", f"/api/approvals/{asked['id']}", 403, "forbidden", json={"allow": True})
        operator.post(f"/api/approvals/{asked['id']}", {"allow": False, "note": "not today"})
        told = ada.get(f"/api/approvals/{asked['id']}")
        assert (told["open"], told["allow"], told["note"]) == (False, False, "not today")
        assert told["how"] == "person"


def test_a_request_for_the_answer_waits_for_it_or_for_as_long_as_it_says(
    muster: Inside, operator: Asker
) -> None:
    asked = muster.asks("Ada")
    path = f"/api/approvals/{asked}"
    assert operator.get(f"{path}?wait=0.01")["open"]
    with ThreadPoolExecutor(1) as beside:
        waiting = beside.submit(operator.get, f"{path}?wait=60")
        with asker(muster.server, muster.server.token) as person:
            person.post(path, {"allow": True})
        assert waiting.result(WAIT_SECONDS)["allow"]
    assert operator.get(f"{path}?wait=60")["allow"], "an answer that is there is given at once"
    operator.asked("GET", f"{path}?wait=61", 422)


def test_a_request_needs_a_session_and_its_own_agent(muster: Inside, operator: Asker) -> None:
    body = {"tool": "deploy", "detail": "to prod"}
    operator.refused("POST", "/api/approvals", 422, "invalid", json=body)
    idle = {**body, "agent": "Bo"}
    operator.refused("POST", "/api/approvals", 409, "no_session", json=idle)
    token = operator.post("/api/tokens", {"role": "agent", "agent": "Bo"}, 201)["secret"]
    with asker(muster.server, token) as bo:
        bo.refused("POST", "/api/approvals", 403, "forbidden", json={**body, "agent": "Ada"})
    for name in ("1", "0", "x", "999999999999999999999"):
        operator.refused("GET", f"/api/approvals/{name}", 404, "not_found")
