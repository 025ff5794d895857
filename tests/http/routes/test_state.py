"""Requests of the dashboard: the team in one answer, parts of it, Markdown as HTML, and why."""

from collections.abc import Generator

import pytest

from tests.asking import Asker, asker
from tests.live import Json, Server, live


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Server]:
    home = tmp_path_factory.mktemp("state") / "home"
    with live(home) as running, asker(running, running.token) as operator:
        for name in ("Ada", "Bo", "Cy"):
            operator.post("/api/agents", {"name": name}, 201)
            operator.post(f"/api/agents/{name}/connect")
        operator.post("/api/channels", {"channel": "design"}, 201)
        for name in ("Ada", "Bo"):
            operator.post("/api/channels/design/members", {"agent": name}, 201)
        yield running


@pytest.fixture
def operator(server: Server) -> Generator[Asker]:
    with asker(server, server.token) as somebody:
        yield somebody


def named(state: Json) -> list[str]:
    return [each["id"] for each in state["agents"]]


# ── the team ──────────────────────────────────────────────────────────────────────────────────────


def test_everything_is_one_answer(operator: Asker) -> None:
    state = operator.get("/api/state")
    assert state["whole"]
    assert named(state) == ["Ada", "Bo", "Cy"]
    assert [each["channel"] for each in state["channels"]] == ["design"]
    assert state["seq"] == operator.get("/api/health")["seq"]
    assert (state["button"], state["births"], state["human"]) == (None, False, "human")
    ada = state["agents"][0]
    assert (ada["status"], ada["turn"], ada["channels"]) == (
        "alive",
        "ACTIVE",
        {"design": "ACTIVE"},
    )
    assert ada["document"]["_id"] == "agent-identity:9"
    assert "individuationArtifact" not in ada["document"]  # a soul may be a book


def test_parts_bring_whoever_sits_in_a_channel(operator: Asker) -> None:
    assert named(operator.get("/api/state?seats=11")) == ["Cy"]
    part = operator.get("/api/state?channels=design")
    assert (part["whole"], named(part)) == (False, ["Ada", "Bo"])
    assert named(operator.get("/api/state?seats=11,9")) == ["Ada", "Cy"]
    assert named(operator.get("/api/state?seats=11&channels=design")) == ["Ada", "Bo", "Cy"]


def test_unknown_seats_and_channels_are_left_out(operator: Asker) -> None:
    part = operator.get("/api/state?seats=77&channels=nowhere")
    assert (part["agents"], part["channels"], part["whole"]) == ([], [], False)
    operator.refused("GET", "/api/state?seats=x", 422, "invalid")


def test_a_message_that_was_not_acted_on_is_marked(operator: Asker) -> None:
    sent = operator.post("/api/send", {"message": "hello", "targetAgent": "Cy"}, 201)
    (cy,) = operator.get("/api/state?seats=11")["agents"]
    assert cy["unread"] == sent["seq"]


def test_a_large_answer_is_compressed_for_whoever_can_unpack(operator: Asker) -> None:
    for number in range(20):
        operator.post("/api/agents", {"name": f"crowd-{number}"}, 201)
    packed = operator.http.get("/api/state")
    plain = operator.http.get("/api/state", headers={"accept-encoding": "identity"})
    assert packed.headers["content-encoding"] == "gzip"
    assert "content-encoding" not in plain.headers
    assert named(packed.json()) == named(plain.json())


# ── markdown ──────────────────────────────────────────────────────────────────────────────────────


def test_texts_are_rendered_in_order(operator: Asker) -> None:
    html = operator.post("/api/markdown", {"texts": ["**a**", "<b>"]})["html"]
    assert html == ["<p><strong>a</strong></p>\n", "<p>&lt;b&gt;</p>\n"]
    assert operator.post("/api/markdown", {"texts": []})["html"] == []
    operator.refused("POST", "/api/markdown", 422, "invalid", json={"texts": ["x"] * 257})
    operator.refused("POST", "/api/markdown", 422, "invalid", json={"text": "x"})


def test_a_stranger_is_not_served(server: Server) -> None:
    with asker(server, None) as stranger:
        for path in ("/api/state", "/api/agents/Ada/why", "/api/why?seq=1"):
            stranger.refused("GET", path, 401, "unauthenticated")


# ── why ───────────────────────────────────────────────────────────────────────────────────────────


def test_why_an_agent_is_as_it_is_follows_each_machine_to_its_causes(operator: Asker) -> None:
    accounts = operator.get("/api/agents/Ada/why")["accounts"]
    told = {each["title"]: [step["text"] for step in each["steps"]] for each in accounts}
    assert "identity: alive" in told
    assert "turns in design: ACTIVE" in told
    for account in accounts:
        seqs = [step["seq"] for step in account["steps"]]
        assert seqs == sorted(seqs, reverse=True)


def test_why_something_happened(operator: Asker) -> None:
    (account,) = operator.get("/api/why?seq=2")["accounts"]
    assert account["title"] == "event 2"
    assert account["steps"][0]["seq"] == 2
    operator.refused("GET", "/api/why?seq=999999", 404, "not_found")
    operator.refused("GET", "/api/why?seq=0", 422, "invalid")
