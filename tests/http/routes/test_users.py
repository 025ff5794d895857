"""Users: roles, names, tokens that expire and are rotated, and the matrix of routes and roles."""

from collections.abc import Iterator

import pytest

from muster.http.app import routes
from muster.http.routing import Route
from muster.identity.waking import SUMMON
from muster.machines.vocabulary import Role
from tests.asking import Asker, asker
from tests.inside import Inside, inside
from tests.waits import until

OPEN_TO_MEMBERS = {
    "POST /api/agents/sleep",
    "POST /api/agents/wake",
    "POST /api/agents/{name}/interrupt",
    "POST /api/agents/{name}/messages",
    "POST /api/agents/{name}/restart",
    "POST /api/agents/{name}/retry",
    "POST /api/approvals/{approval}",
    "POST /api/channels/{channel}/messages",
    "POST /api/channels/{channel}/turn/override",
    "POST /api/channels/{channel}/turn/resume",
    "POST /api/conversations",
    "POST /api/conversations/{conversation}/cancel",
    "POST /api/files",
    "POST /api/needs/{key}/more",
    "POST /api/needs/{key}/reopen",
    "POST /api/needs/{key}/settle",
    "POST /api/seen",
    "POST /api/send",
    "POST /api/session/code",
    "POST /api/workspaces/{workspace}/ask",
    "PUT /api/agents/{name}/run",
}
"""Routes that a member may call and a viewer may not."""

VIEWERS = {
    "DELETE /api/push",
    "PUT /api/push",
    "POST /api/markdown",
    "POST /api/permit",
    "POST /api/route",
    "POST /api/session/code",
    "POST /mcp",
}
"""Requests of a viewer that are no GET: they change nothing of the team, or its own browser."""


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inside]:
    with inside(tmp_path_factory.mktemp("users"), "Bo", "Cy") as running:
        yield running


@pytest.fixture
def boss(team: Inside) -> Iterator[Asker]:
    with asker(team.server, team.server.token) as somebody:
        yield somebody


def a_user(team: Inside, boss: Asker, name: str, role: str, token_role: str = "") -> str:
    """The secret of a token of a new user."""
    boss.asked("PUT", f"/api/users/{name}", 200, json={"role": role})
    body = {"role": token_role or role, "user": name}
    return boss.post("/api/tokens", body, 201)["secret"]


def quiet(boss: Asker, name: str) -> None:
    """Wait until an agent that was started has its messages: it causes no event after that."""

    def all_delivered() -> bool:
        said = boss.get(f"/api/agents/{name}/messages")["messages"]
        return all(each["delivery"] != "accepted" for each in said)

    until(all_delivered)


def guarded() -> list[Route]:
    return [each for each in routes() if not each.is_public]


def path_of(route: Route) -> str:
    """A path to nothing that is there."""
    parts = ("none" if each.startswith("{") else each for each in route.path.split("/"))
    return "/".join(parts)


def test_the_routes_for_members_are_those_that_are_listed() -> None:
    acts = {f"{each.method} {each.path}": each.may for each in guarded() if each.method != "GET"}
    assert {name for name, may in acts.items() if Role.MEMBER in may} == OPEN_TO_MEMBERS | VIEWERS
    assert {name for name, may in acts.items() if Role.VIEWER in may} == VIEWERS
    assert all(Role.OPERATOR in each.may for each in guarded())


def test_every_route_is_for_the_roles_that_it_names(team: Inside, boss: Asker) -> None:
    """Every route that acts, asked by every role of people: forbidden, or not."""
    secrets = {
        Role.VIEWER: a_user(team, boss, "Vera", "viewer"),
        Role.MEMBER: a_user(team, boss, "Mia", "member"),
        Role.AGENT: boss.post("/api/tokens", {"role": "agent", "agent": "Bo"}, 201)["secret"],
    }
    for role, secret in secrets.items():
        with asker(team.server, secret) as caller:
            for route in guarded():
                if role not in route.may:
                    answer = caller.http.request(route.method, path_of(route), json={})
                    told = f"{role} {route.method} {route.path}: {answer.text}"
                    assert answer.status_code == 403, told
                    assert f"A token of role {role} may not" in answer.json()["detail"], told
                elif route.method != "GET" and "{" in route.path:
                    answer = caller.http.request(route.method, path_of(route), json={})
                    assert answer.status_code in (404, 409, 422), f"{role} {route.path}"


OUTSIDE = {
    "POST /api/agents/sleep": {"agents": ["Cy"]},
    "POST /api/agents/wake": {"agents": ["Cy"]},
    "POST /api/agents/{name}/interrupt": {},
    "POST /api/agents/{name}/messages": {"message": "x"},
    "POST /api/agents/{name}/restart": {},
    "POST /api/agents/{name}/retry": {},
    "POST /api/approvals/{approval}": {"allow": True},
    "POST /api/channels/{channel}/messages": {"message": "x"},
    "POST /api/channels/{channel}/turn/override": {"agent": "Cy", "to": "QUEUED"},
    "POST /api/channels/{channel}/turn/resume": {"agent": "Cy"},
    "POST /api/conversations": {"text": "x"},
    "POST /api/conversations/{conversation}/cancel": {},
    "POST /api/needs/{key}/more": {},
    "POST /api/needs/{key}/reopen": {},
    "POST /api/needs/{key}/settle": {},
    "POST /api/seen": {"upto": 1, "agent": "Cy"},
    "POST /api/send": {"message": "x", "targetAgent": "Cy"},
    "PUT /api/agents/{name}/run": {"desired": "continuous"},
}
"""Requests about an agent and a channel, for each route that acts on the team."""

OWN = {"POST /api/files", "POST /api/session/code"}
"""Routes that act on nothing but what the caller has."""

NEEDS_WORK = {"POST /api/workspaces/{workspace}/ask"}
"""Routes about a workspace, of which this team has none: tested where there are workspaces."""


def test_a_member_with_a_scope_acts_on_nothing_outside_of_it(team: Inside, boss: Asker) -> None:
    assert set(OUTSIDE) | OWN | NEEDS_WORK == OPEN_TO_MEMBERS
    team.opens("room", "Cy")
    team.runs("Cy")
    names = {"name": "Cy", "channel": "room", "approval": team.asks("Cy"), "key": "approval:none"}
    boss.post("/api/channels", {"channel": "other"}, 201)
    scope = {"agents": [], "channels": ["other"]}
    boss.asked("PUT", "/api/users/Eve", 200, json={"role": "member", "scope": scope})
    secret = boss.post("/api/tokens", {"role": "member", "user": "Eve"}, 201)["secret"]
    before = boss.get("/api/health")["seq"]
    with asker(team.server, secret) as eve:
        assert eve.get("/api/me")["scope"] == scope
        for name, body in OUTSIDE.items():
            method, path = name.split(" ")
            path = path.format(**names, conversation="conv_1")
            eve.refused(method, path, 403, "forbidden", json=body)
        assert boss.get("/api/health")["seq"] == before
        eve.post("/api/channels/other/messages", {"message": "Hello"}, 201)


def test_a_token_with_a_scope_controls_its_agent(team: Inside, boss: Asker) -> None:
    body = {"role": "member", "scope": {"agents": ["Cy"]}}
    token = boss.post("/api/tokens", body, 201)
    assert token["scope"] == {"agents": ["Cy"], "channels": []}
    with asker(team.server, token["secret"]) as script:
        script.refused("POST", "/api/send", 403, "forbidden", json={"message": "to the lead"})
        script.post("/api/send", {"message": "hello", "targetAgent": "Cy"}, 201)
        run = script.asked("PUT", "/api/agents/Cy/run", 200, json={"desired": "continuous"})
        assert run["desired"] == "continuous"
    quiet(boss, "Cy")


def test_a_user_whose_scope_names_a_private_channel_reads_it(team: Inside, boss: Asker) -> None:
    config = {"readRule": "members"}
    boss.post("/api/channels", {"channel": "secret", "config": config}, 201)
    with asker(team.server, a_user(team, boss, "Finn", "member")) as finn:
        finn.refused("GET", "/api/channels/secret", 404, "not_found")
        limited = {"role": "member", "scope": {"channels": ["secret"]}}
        boss.asked("PUT", "/api/users/Finn", 200, json=limited)
        finn.post("/api/channels/secret/messages", {"message": "I am in"}, 201)
        assert finn.get("/api/channels/secret/messages")["messages"][0]["text"] == "I am in"
        boss.asked("PUT", "/api/users/Finn", 200, json={"role": "member"})
        finn.refused("GET", "/api/channels/secret", 404, "not_found")


def test_everybody_acts_under_their_own_name(team: Inside, boss: Asker) -> None:
    with asker(team.server, a_user(team, boss, "Ada", "member")) as ada:
        me = ada.get("/api/me")
        assert (me["user"], me["role"], me["agent"]) == ("Ada", "member", None)
        sent = ada.post("/api/send", {"message": "hello", "targetAgent": "Bo"}, 201)
        ada.refused("POST", "/api/agents/Bo/connect", 403, "forbidden")
        act = {"message": "x", "agent": "Bo"}
        ada.refused("POST", "/api/channels/none/messages", 403, "forbidden", json=act)
        summon = {"message": SUMMON}
        ada.refused("POST", "/api/send", 403, "forbidden", json=summon)
        run = ada.asked("PUT", "/api/agents/Bo/run", 200, json={"desired": "continuous"})
        assert run["setBy"] == "Ada"
    quiet(boss, "Bo")
    events = boss.get(f"/api/log?after={sent['seq'] - 1}&limit=1")["events"]
    assert (events[0]["actor"], events[0]["speakerName"]) == ("person:Ada", "Ada")
    assert boss.get("/api/me")["user"] == boss.get("/api/me")["human"]


def test_a_role_that_changes_counts_at_once(team: Inside, boss: Asker) -> None:
    with asker(team.server, a_user(team, boss, "Cleo", "operator")) as cleo:
        cleo.get("/api/tokens")
        boss.asked("PUT", "/api/users/cleo", 200, json={"role": "viewer"})
        cleo.refused("GET", "/api/tokens", 403, "forbidden")
        assert cleo.get("/api/me")["role"] == "viewer"
        boss.delete("/api/users/Cleo")
        cleo.refused("GET", "/api/me", 401, "unauthenticated")


def test_a_token_of_a_user_grants_no_more_than_the_user_may(team: Inside, boss: Asker) -> None:
    a_user(team, boss, "Dora", "member", "viewer")
    body = {"role": "operator", "user": "Dora"}
    boss.refused("POST", "/api/tokens", 422, "invalid", json=body)
    [dora] = [each for each in boss.get("/api/users")["users"] if each["name"] == "Dora"]
    assert dora == {"name": "Dora", "role": "member", "tokens": 1, "scope": None}


def test_a_rotated_token_has_one_secret(team: Inside, boss: Asker) -> None:
    body = {"role": "viewer", "days": 30}
    token = boss.post("/api/tokens", body, 201)
    assert token["expiresAt"] is not None
    with asker(team.server, token["secret"]) as caller:
        caller.get("/api/me")
        again = boss.post(f"/api/tokens/{token['id']}/rotate", {}, 201)
        caller.refused("GET", "/api/me", 401, "unauthenticated")
    assert (again["id"], again["expiresAt"]) == (token["id"], token["expiresAt"])
    with asker(team.server, again["secret"]) as caller:
        caller.get("/api/me")
