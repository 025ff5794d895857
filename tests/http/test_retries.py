"""Retries: a request that is sent twice with one idempotency key is carried out once."""

from collections.abc import Callable, Generator
from pathlib import Path

import httpx
import pytest

from muster.http.app import routes
from muster.http.routing import SAFE
from muster.machines import commands as c
from muster.machines.ids import HERE, LEAD_SEAT
from muster.machines.vocabulary import Authority
from tests.asking import Asker, Json, a_name, asker
from tests.inside import Inside, inside
from tests.waits import LIFE_SECONDS

NOT_KEPT = {
    ("POST", "/api/session"): "a browser's session is not in the log",
    ("DELETE", "/api/session"): "a browser's session is not in the log",
    ("PUT", "/api/push"): "a browser that subscribes twice has subscribed",
    ("DELETE", "/api/push"): "a browser that has ended its subscription has none to end",
    ("POST", "/api/session/code"): "a code is not in the log",
    ("POST", "/api/session/sso"): "a sign-in that was begun twice is ended once",
    ("POST", "/api/session/sso/finish"): "a browser's session is not in the log",
    ("DELETE", "/api/browsers/{browser}"): "a second try is refused: the browser is signed out",
    ("POST", "/api/agents/{name}/adopt"): "a seat that is kept twice is kept",
    ("POST", "/api/conversations/{conversation}/cancel"): "a second try is refused: it is over",
    ("POST", "/api/workspaces/{workspace}/ask"): "its message, or its task, has the key",
    ("POST", "/api/workspaces/{workspace}/merge"): "a second merge finds nothing to merge",
    ("POST", "/api/workspaces/{workspace}/rebase"): "a second rebase finds nothing to move",
    ("POST", "/api/workspaces/{workspace}/discard"): "a second try is refused: it is gone",
    ("POST", "/api/markdown"): "changes nothing",
    ("POST", "/api/route"): "changes nothing",
    ("POST", "/api/permit"): "changes nothing",
    ("POST", "/api/agents/{name}/connect"): "to be connected twice is to be connected",
    ("POST", "/api/agents/{name}/next"): "what was handed over comes again without a known turn",
    ("POST", "/api/agents/{name}/heartbeat"): "a second heartbeat is as good as one",
    ("POST", "/api/agents/summon"): "see the last test",
    ("POST", "/api/agents/wake"): "an agent that is being woken is not woken a second time",
    ("POST", "/api/needs/{key}/more"): "a second try is refused: the need is gone",
    ("POST", "/api/agents/{name}/restart"): "a session that is ending for a restart ends once",
    ("POST", "/api/agents/{name}/interrupt"): "work that has stopped is not stopped again",
    ("POST", "/api/agents/{name}/retry"): "a second retry is refused: nothing is unanswered",
    ("POST", "/api/channels/{channel}/turn/partial"): "partial text is not in the log",
    ("POST", "/api/shutdown"): "to be stopped twice is to be stopped",
    ("POST", "/api/files"): "the same content is the same file",
    ("POST", "/api/settings/agents"): "a second addition is refused: the name is in the file",
    ("POST", "/api/settings/template"): "a second team is refused: the file has agents",
    ("PATCH", "/api/settings/agents/{name}"): "a second edit finds what it asks for",
    ("PATCH", "/api/settings/agents/{name}/program"): "a second choice finds what it asks for",
    ("POST", "/api/agents/{name}/past-conversations/{conversation}/resume"): "the choice is kept",
    ("DELETE", "/api/settings/agents/{name}"): "a second removal is refused: it is not in the file",
    ("POST", "/api/settings/agents/{name}/rename"): "a second rename is refused: it has the name",
    ("POST", "/api/seen"): "what was seen twice was seen",
    ("POST", "/mcp"): "a tool call has no key; each request that a tool makes has its own",
    ("POST", "/api/delegation/queue"): "carries out what is in the queue, each message once",
}
"""Routes that are not among the cases, with the reason."""

SECRETS = {
    ("POST", "/api/agents"),
    ("POST", "/api/tokens"),
    ("POST", "/api/tokens/{token}/rotate"),
}
"""Routes whose answer has a secret, which is shown once."""

Case = Callable[["Stage"], tuple[str, Json]]
CASES: dict[tuple[str, str], Case] = {}
"""For every other route that changes something: what must be so before, and the request."""


class Stage:
    """An operator, a fresh channel and two agents that connect by themselves."""

    def __init__(self, team: Inside, operator: Asker) -> None:
        self.team = team
        self.operator = operator
        self.channel = f"/api/channels/{a_name('c')}"

    def agent(self) -> str:
        """A new agent that is connected."""
        name = self.registered()
        self.operator.post(f"/api/agents/{name}/connect")
        return name

    def registered(self) -> str:
        name = a_name("x")
        self.operator.post("/api/agents", {"name": name}, 201)
        return name

    def noted(self) -> str:
        """The path of the notes of a new agent, which has one."""
        path = f"/api/agents/{self.agent()}/notes"
        self.operator.post(path, {"text": "the plan"}, 201)
        return path

    def opened(self) -> str:
        """A new channel."""
        name = self.channel.rpartition("/")[2]
        self.operator.post("/api/channels", {"channel": name}, 201)
        return name

    def with_turn(self) -> str:
        """A new channel with two members; the name of the one with the turn."""
        self.opened()
        names = [self.agent(), self.agent()]
        for name in names:
            self.operator.post(f"{self.channel}/members", {"agent": name}, 201)
        return names[0]

    def holder(self) -> str:
        return self.operator.get(self.channel)["holder"]


def case(method: str, path: str) -> Callable[[Case], Case]:
    def declare(prepare: Case) -> Case:
        CASES[method, path] = prepare
        return prepare

    return declare


@pytest.fixture(scope="module")
def muster(tmp_path_factory: pytest.TempPathFactory) -> Generator[Inside]:
    patience = f"[presence]\nheartbeat_timeout_seconds = {LIFE_SECONDS}\n"
    with inside(tmp_path_factory.mktemp("retries"), "Ada", settings=patience) as team:
        team.runs("Ada")
        yield team


@pytest.fixture
def stage(muster: Inside) -> Generator[Stage]:
    with asker(muster.server, muster.server.token) as operator:
        yield Stage(muster, operator)


# ── agents ────────────────────────────────────────────────────────────────────────────────────────


@case("POST", "/api/agents")
def _(stage: Stage) -> tuple[str, Json]:
    return "/api/agents", {"name": a_name("x")}


@case("DELETE", "/api/agents/{name}")
def _(stage: Stage) -> tuple[str, Json]:
    return f"/api/agents/{stage.agent()}", None


@case("POST", "/api/agents/{name}/usage")
def _(stage: Stage) -> tuple[str, Json]:
    return f"/api/agents/{stage.agent()}/usage", {"costUsd": 0.5}


@case("POST", "/api/agents/{name}/disconnect")
def _(stage: Stage) -> tuple[str, Json]:
    return f"/api/agents/{stage.agent()}/disconnect", None


@case("POST", "/api/agents/{name}/disable")
def _(stage: Stage) -> tuple[str, Json]:
    return f"/api/agents/{stage.agent()}/disable", None


@case("POST", "/api/agents/{name}/enable")
def _(stage: Stage) -> tuple[str, Json]:
    name = stage.agent()
    stage.operator.post(f"/api/agents/{name}/disable")
    return f"/api/agents/{name}/enable", None


@case("POST", "/api/agents/{name}/restore")
def _(stage: Stage) -> tuple[str, Json]:
    name = stage.agent()
    stage.operator.delete(f"/api/agents/{name}")
    return f"/api/agents/{name}/restore", None


@case("POST", "/api/agents/{name}/messages")
def _(stage: Stage) -> tuple[str, Json]:
    return f"/api/agents/{stage.agent()}/messages", {"message": "hello"}


@case("PUT", "/api/agents/{name}/run")
def _(stage: Stage) -> tuple[str, Json]:
    return f"/api/agents/{stage.agent()}/run", {"desired": "pause"}


@case("PUT", "/api/agents/{name}/node")
def _(stage: Stage) -> tuple[str, Json]:
    name = a_name("x")
    stage.team.send(c.EnrollAgent(name=name, authority=Authority.MUSTER))
    return f"/api/agents/{name}/node", {"node": HERE}


@case("POST", "/api/agents/sleep")
def _(stage: Stage) -> tuple[str, Json]:
    return "/api/agents/sleep", {"agents": [stage.agent()]}


@case("POST", "/api/agents/{name}/notes")
def _(stage: Stage) -> tuple[str, Json]:
    return f"/api/agents/{stage.agent()}/notes", {"text": "the plan"}


@case("PUT", "/api/agents/{name}/notes/{note}")
def _(stage: Stage) -> tuple[str, Json]:
    return f"{stage.noted()}/1", {"text": "the new plan"}


@case("DELETE", "/api/agents/{name}/notes/{note}")
def _(stage: Stage) -> tuple[str, Json]:
    return f"{stage.noted()}/1", None


@case("PUT", "/api/agents/{name}/soul")
def _(stage: Stage) -> tuple[str, Json]:
    return f"/api/agents/{stage.agent()}/soul", {"soul": "I am new."}


@case("POST", "/api/agents/{name}/soul/choose")
def _(stage: Stage) -> tuple[str, Json]:
    path = f"/api/agents/{stage.agent()}/soul"
    for soul in ("I am first.", "I am second."):
        stage.operator.asked("PUT", path, 200, json={"soul": soul})
    return f"{path}/choose", {"version": 1}


@case("POST", "/api/approvals")
def _(stage: Stage) -> tuple[str, Json]:
    return "/api/approvals", {"agent": "Ada", "tool": "deploy", "detail": "to prod"}


@case("POST", "/api/import")
def _(stage: Stage) -> tuple[str, Json]:
    return "/api/import", {"documents": [], "messages": []}


# ── tokens and approvals ──────────────────────────────────────────────────────────────────────────


@case("POST", "/api/tokens")
def _(stage: Stage) -> tuple[str, Json]:
    return "/api/tokens", {"role": "viewer"}


@case("DELETE", "/api/tokens/{token}")
def _(stage: Stage) -> tuple[str, Json]:
    issued = stage.operator.post("/api/tokens", {"role": "viewer"}, 201)
    return f"/api/tokens/{issued['id']}", None


@case("POST", "/api/tokens/{token}/rotate")
def _(stage: Stage) -> tuple[str, Json]:
    issued = stage.operator.post("/api/tokens", {"role": "viewer"}, 201)
    return f"/api/tokens/{issued['id']}/rotate", None


@case("PUT", "/api/users/{name}")
def _(stage: Stage) -> tuple[str, Json]:
    return f"/api/users/{a_name('user')}", {"role": "viewer"}


@case("DELETE", "/api/users/{name}")
def _(stage: Stage) -> tuple[str, Json]:
    path = f"/api/users/{a_name('user')}"
    stage.operator.asked("PUT", path, 200, json={"role": "viewer"})
    return path, None


@case("POST", "/api/approvals/{approval}")
def _(stage: Stage) -> tuple[str, Json]:
    return f"/api/approvals/{stage.team.asks('Ada')}", {"allow": True}


# ── channels and turns ────────────────────────────────────────────────────────────────────────────


@case("POST", "/api/channels")
def _(stage: Stage) -> tuple[str, Json]:
    return "/api/channels", {"channel": a_name("c")}


@case("PATCH", "/api/channels/{channel}")
def _(stage: Stage) -> tuple[str, Json]:
    stage.opened()
    return stage.channel, {"announceTimeouts": False}


@case("POST", "/api/channels/{channel}/members")
def _(stage: Stage) -> tuple[str, Json]:
    stage.opened()
    return f"{stage.channel}/members", {"agent": stage.agent()}


@case("DELETE", "/api/channels/{channel}/members/{agent}")
def _(stage: Stage) -> tuple[str, Json]:
    return f"{stage.channel}/members/{stage.with_turn()}", None


@case("PATCH", "/api/channels/{channel}/members/{agent}")
def _(stage: Stage) -> tuple[str, Json]:
    return f"{stage.channel}/members/{stage.with_turn()}", {"timeoutSeconds": 7}


@case("POST", "/api/channels/{channel}/members/{agent}/hand")
def _(stage: Stage) -> tuple[str, Json]:
    stage.with_turn()
    other = stage.operator.get(stage.channel)["ring"][1]
    return f"{stage.channel}/members/{other}/hand", {"raised": True}


@case("PUT", "/api/channels/{channel}/ring")
def _(stage: Stage) -> tuple[str, Json]:
    stage.with_turn()
    ring = stage.operator.get(stage.channel)["ring"]
    return f"{stage.channel}/ring", {"agents": ring[::-1]}


@case("POST", "/api/channels/{channel}/archive")
def _(stage: Stage) -> tuple[str, Json]:
    stage.opened()
    return f"{stage.channel}/archive", None


@case("POST", "/api/channels/{channel}/restore")
def _(stage: Stage) -> tuple[str, Json]:
    stage.opened()
    stage.operator.post(f"{stage.channel}/archive")
    return f"{stage.channel}/restore", None


@case("POST", "/api/channels/{channel}/messages")
def _(stage: Stage) -> tuple[str, Json]:
    stage.opened()
    return f"{stage.channel}/messages", {"message": "hello"}


@case("POST", "/api/send")
def _(stage: Stage) -> tuple[str, Json]:
    return "/api/send", {"message": "hello", "targetAgent": stage.agent()}


@case("POST", "/api/channels/{channel}/turn/complete")
def _(stage: Stage) -> tuple[str, Json]:
    return f"{stage.channel}/turn/complete", {"agent": stage.with_turn()}


@case("POST", "/api/channels/{channel}/turn/pass")
def _(stage: Stage) -> tuple[str, Json]:
    stage.with_turn()
    return f"{stage.channel}/turn/pass", {}  # of the holder, which is another one at the retry


@case("POST", "/api/channels/{channel}/turn/wait")
def _(stage: Stage) -> tuple[str, Json]:
    return f"{stage.channel}/turn/wait", {"agent": stage.with_turn()}


@case("POST", "/api/channels/{channel}/turn/resume")
def _(stage: Stage) -> tuple[str, Json]:
    name = stage.with_turn()
    stage.operator.post(f"{stage.channel}/turn/wait", {"agent": name})
    return f"{stage.channel}/turn/resume", {"agent": name}


@case("POST", "/api/channels/{channel}/turn/override")
def _(stage: Stage) -> tuple[str, Json]:
    return f"{stage.channel}/turn/override", {"agent": stage.with_turn(), "to": "QUEUED"}


# ── delegation ────────────────────────────────────────────────────────────────────────────────────


def _session(stage: Stage) -> None:
    if not stage.operator.get("/api/delegation")["open"]:
        stage.operator.post("/api/delegation", {"path": a_name("session")})


@case("POST", "/api/delegation")
def _(stage: Stage) -> tuple[str, Json]:
    if stage.operator.get("/api/delegation")["open"]:
        stage.operator.delete("/api/delegation")
    return "/api/delegation", {"path": a_name("session")}


@case("DELETE", "/api/delegation")
def _(stage: Stage) -> tuple[str, Json]:
    _session(stage)
    return "/api/delegation", None


@case("POST", "/api/delegation/log")
def _(stage: Stage) -> tuple[str, Json]:
    _session(stage)
    return "/api/delegation/log", {"entry": '{"conversation_id": "conv_900"}'}


@case("POST", "/api/delegation/choices")
def _(stage: Stage) -> tuple[str, Json]:
    _session(stage)
    return "/api/delegation/choices", {"text": "write a poem", "agent": "MAIN"}


def _needed(stage: Stage) -> str:
    """The path of something that needs a person."""
    name = stage.with_turn()
    channel = stage.channel.rpartition("/")[2]
    stage.operator.post(f"{stage.channel}/turn/wait", {"agent": name, "reason": "which?"})
    found = stage.operator.get("/api/needs")["needs"]
    key = next(each["key"] for each in found if each["channel"] == channel)
    return f"/api/needs/{key}"


@case("POST", "/api/needs/{key}/settle")
def _(stage: Stage) -> tuple[str, Json]:
    return f"{_needed(stage)}/settle", {"seconds": 600}


@case("POST", "/api/needs/{key}/reopen")
def _(stage: Stage) -> tuple[str, Json]:
    need = _needed(stage)
    stage.operator.post(f"{need}/settle", {"seconds": 600})
    return f"{need}/reopen", None


def _chosen(stage: Stage) -> int:
    """The number of a choice that is remembered."""
    _session(stage)
    chosen = {"text": a_name("poem"), "agent": "MAIN"}
    return stage.operator.post("/api/delegation/choices", chosen)["choices"][-1]["number"]


@case("DELETE", "/api/delegation/choices/{number}")
def _(stage: Stage) -> tuple[str, Json]:
    return f"/api/delegation/choices/{_chosen(stage)}", None


@case("DELETE", "/api/delegation/choices")
def _(stage: Stage) -> tuple[str, Json]:
    _chosen(stage)
    return "/api/delegation/choices", None


@case("POST", "/api/conversations")
def _(stage: Stage) -> tuple[str, Json]:
    _session(stage)
    return "/api/conversations", {"text": "hello", "to": "MAIN", "wait": True}


# ── the tests ─────────────────────────────────────────────────────────────────────────────────────


def test_every_route_that_changes_something_is_retried_here() -> None:
    changing = {(each.method, each.path) for each in routes() if each.method not in SAFE}
    assert changing == set(CASES) | set(NOT_KEPT)


def test_every_route_that_changes_something_offers_the_key(stage: Stage) -> None:
    paths = stage.operator.get("/api/openapi.json")["paths"]
    for method, path in CASES:
        parameters = paths[path][method.lower()]["parameters"]
        assert "Idempotency-Key" in [each["name"] for each in parameters], (method, path)


def acts_in(stage: Stage) -> list[Json]:
    """All events that a person caused."""
    found: list[Json] = []
    after, more = -1, True
    while more:
        page = stage.operator.get(f"/api/log?after={after}&limit=1000")
        found += [each for each in page["events"] if each["actor"].startswith("person:")]
        after, more = page["after"], page["more"]
    return found


@pytest.mark.parametrize(("method", "path"), sorted(CASES))
def test_a_request_that_is_sent_twice_with_one_key_is_carried_out_once(
    stage: Stage, method: str, path: str
) -> None:
    where, body = CASES[method, path](stage)
    key = a_name("key")

    def ask() -> httpx.Response:
        return stage.operator.http.request(
            method, where, json=body, headers={"idempotency-key": key}
        )

    first = ask()
    assert first.is_success, first.text
    before = acts_in(stage)
    again = ask()
    assert acts_in(stage) == before
    if path != "/api/import":  # nothing to import changes nothing, and leaves no key
        assert [each["seq"] for each in before if each.get("key") == key] != []
    if (method, path) in SECRETS:
        assert (again.status_code, again.json()["code"]) == (409, "secret_shown")
        assert "muster token" in again.json()["detail"]
        return
    assert again.status_code == first.status_code, again.text
    if "repeated" in first.json():
        assert (again.json()["seq"], again.json()["repeated"]) == (first.json()["seq"], True)


def test_the_answer_to_an_approval_is_given_again(stage: Stage) -> None:
    asked = stage.team.asks("Ada", "Bash", "rm -r build")
    head = {"idempotency-key": a_name("key")}
    path = f"/api/approvals/{asked}"
    first = stage.operator.http.post(path, json={"allow": True}, headers=head)
    again = stage.operator.http.post(path, json={"allow": True}, headers=head)
    assert again.json() == first.json()
    used = {"idempotency-key": a_name("key")}
    stage.opened()
    stage.operator.http.post(f"{stage.channel}/messages", json={"message": "x"}, headers=used)
    other = stage.operator.http.post(path, json={"allow": True}, headers=used)
    assert (other.status_code, other.json()["code"]) == (422, "key_reused")


def test_a_key_that_comes_with_another_request_is_refused(stage: Stage) -> None:
    stage.opened()
    head = {"idempotency-key": a_name("key")}

    def post(text: str) -> httpx.Response:
        body = {"message": text}
        return stage.operator.http.post(f"{stage.channel}/messages", json=body, headers=head)

    first = post("buy milk")
    other = post("sell milk")
    assert (other.status_code, other.json()["code"]) == (422, "key_reused")
    assert f"event {first.json()['seq']}" in other.json()["detail"]
    again = post("buy milk").json()
    assert (again["seq"], again["repeated"]) == (first.json()["seq"], True)
    said = stage.operator.get(f"{stage.channel}/messages")["messages"]
    assert [each["text"] for each in said] == ["buy milk"]


def test_agents_are_summoned_once_under_one_key(tmp_path: Path) -> None:
    with inside(tmp_path) as team, asker(team.server, team.server.token) as boss:
        team.send(c.EnrollAgent(name="Julian", authority=Authority.SELF, seat=LEAD_SEAT))
        head = {"idempotency-key": "k"}
        first = boss.asked("POST", "/api/agents/summon", 201, headers=head)
        again = boss.asked("POST", "/api/agents/summon", 201, headers=head)
        assert len(first["agents"]) == 8
        assert [each["seat"] for each in again["agents"]] == [
            each["seat"] for each in first["agents"]
        ]
        boss.refused("POST", "/api/agents/summon", 409, "already_summoned")
