"""Reading changes nothing: no GET, of whomever, adds an event to the log, and HEAD is answered."""

from collections.abc import Generator
from typing import NamedTuple

import httpx
import pytest

from muster.http.app import routes
from muster.http.routing import Route
from tests.asking import Asker, Json, asker
from tests.inside import Inside, inside
from tests.waits import LIFE_SECONDS, WAIT_SECONDS

NAMES = {
    "name": "Ada",
    "channel": "reviews",
    "approval": "1",
    "conversation": "1",
    "digest": "0" * 64,
    "build": "x",
    "file": "x",
}
"""What the names in paths stand for."""

QUERIES = {"/api/search": "?q=hello", "/api/why": "?seq=1"}

STREAM = "/api/events"
"""Its answer does not end."""

READS = [each for each in routes() if each.method == "GET"]


class Stage(NamedTuple):
    """A team with something to hand over, and the tokens of everybody who may read."""

    team: Inside
    tokens: dict[str, str]


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Generator[Stage]:
    """An agent that has the turn, and messages that it has not been handed."""
    settings = f"[presence]\nheartbeat_timeout_seconds = {LIFE_SECONDS}\n"
    with inside(tmp_path_factory.mktemp("reads"), "Lead", settings=settings) as team:
        with asker(team.server, team.server.token) as boss:
            tokens = {"operator": team.server.token, **_prepared(boss)}
        yield Stage(team, tokens)


def _prepared(boss: Asker) -> dict[str, str]:
    viewer = boss.post("/api/tokens", {"role": "viewer"}, 201)["secret"]
    agent = boss.post("/api/agents", {"name": "Ada"}, 201)["token"]["secret"]
    boss.post("/api/agents/Ada/connect")
    boss.post("/api/channels", {"channel": "reviews"}, 201)
    boss.post("/api/channels/reviews/members", {"agent": "Ada"}, 201)
    boss.post("/api/channels/reviews/messages", {"message": "hello"}, 201)
    boss.post("/api/send", {"message": "and to you", "targetAgent": "Ada"}, 201)
    return {"viewer": viewer, "agent": agent}


def _path(route: Route) -> str:
    path = route.path
    for name, value in NAMES.items():
        path = path.replace(f"{{{name}}}", value)
    assert "{" not in path, f"say in NAMES what the names of {path} may be"
    return path + QUERIES.get(route.path, "")


@pytest.mark.parametrize("who", ["operator", "viewer", "agent", "cookie", "nobody"])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_no_read_adds_an_event_to_the_log(stage: Stage, who: str, method: str) -> None:
    with asker(stage.team.server, stage.tokens.get(who)) as somebody:
        if who == "cookie":
            somebody.post("/api/session", {"token": stage.team.server.token})
        before = stage.team.team.seq
        answers = {each.path: _read(somebody, method, each) for each in READS}
    assert {path for path, status in answers.items() if status == 405} == set()
    assert {path for path, status in answers.items() if status == 500} == set()
    told = sum(status == 200 for status in answers.values())
    assert told > (1 if who == "nobody" else len(READS) // 3), answers
    assert _events(stage, before) == []


def _events(stage: Stage, after: int) -> list[Json]:
    """Events after a place, but for the record of who was refused, which is no act of a read."""
    with asker(stage.team.server, stage.tokens["operator"]) as boss:
        found = boss.get(f"/api/log?after={after}")["events"]
    return [each for each in found if "refused requests" not in each.get("text", "")]


def _read(somebody: Asker, method: str, route: Route) -> int:
    path = _path(route)
    if route.path != STREAM or method == "HEAD":
        answer = somebody.http.request(method, path)
        assert method == "GET" or not answer.content
        return answer.status_code
    with somebody.http.stream("GET", path) as opened:
        return opened.status_code


def test_the_next_work_is_no_get_and_the_answer_names_the_method(stage: Stage) -> None:
    headers = {"authorization": f"Bearer {stage.tokens['agent']}"}
    url = f"{stage.team.server.url}/api/agents/Ada/next?wait=0"
    refused = httpx.get(url, headers=headers, timeout=WAIT_SECONDS)
    assert (refused.status_code, refused.headers["allow"]) == (405, "POST")
    assert "it takes POST" in refused.json()["detail"]
    handed = httpx.post(url, headers=headers, timeout=WAIT_SECONDS).json()
    assert [each["text"] for each in handed["messages"]] == ["hello"]
