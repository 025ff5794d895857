"""Tokens, issued and revoked through the HTTP API and the command line of a real server."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.asking import Asker, a_name, asker
from tests.homes import muster
from tests.live import Server, live


class Team(NamedTuple):
    """A home with a server in it."""

    home: Path
    server: Server


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    home = tmp_path_factory.mktemp("home")
    with live(home) as running:
        yield Team(home, running)


@pytest.fixture
def boss(team: Team) -> Iterator[Asker]:
    with asker(team.server, team.server.token) as somebody:
        yield somebody


def test_a_token_is_told_once_and_counts_until_it_is_revoked(team: Team, boss: Asker) -> None:
    token = boss.post("/api/tokens", {"role": "viewer", "note": "wall display"}, 201)
    shown = {each["id"]: each for each in boss.get("/api/tokens")["tokens"]}
    assert shown[token["id"]] == {
        "id": token["id"],
        "role": "viewer",
        "agent": None,
        "note": "wall display",
        "user": None,
        "expiresAt": None,
        "scope": None,
    }
    assert token["secret"] not in json.dumps(shown)
    with asker(team.server, token["secret"]) as viewer:
        viewer.get("/api/agents")
        assert boss.delete(f"/api/tokens/{token['id']}")["seq"] > 0
        viewer.refused("GET", "/api/agents", 401, "unauthenticated")
    boss.refused("DELETE", f"/api/tokens/{token['id']}", 404, "not_found")


def test_the_log_has_no_secret_in_it(team: Team, boss: Asker) -> None:
    secret = boss.post("/api/tokens", {"role": "operator"}, 201)["secret"]
    log = muster("log", "--json", "--after", "0", "--home", str(team.home)).stdout
    assert "token_issued" in log
    assert secret not in log
    assert team.server.token not in log


@pytest.mark.parametrize(
    "wish",
    [
        {"role": "agent"},
        {"role": "queen"},
        {"note": "x"},
        {"role": "viewer", "note": "x" * 501},
    ],
)
def test_a_token_that_cannot_be_is_refused(wish: dict[str, str], boss: Asker) -> None:
    boss.refused("POST", "/api/tokens", 422, "invalid", json=wish)


def test_a_token_of_nobody_or_of_a_viewer_that_is_somebody_is_refused(boss: Asker) -> None:
    name = a_name("pm")
    boss.post("/api/agents", {"name": name}, 201)
    unknown = {"role": "agent", "agent": "nobody"}
    boss.refused("POST", "/api/tokens", 404, "not_found", json=unknown)
    mixed = {"role": "viewer", "agent": name}
    boss.refused("POST", "/api/tokens", 422, "invalid", json=mixed)


# ── the command line ──────────────────────────────────────────────────────────────────────────────


def test_the_command_line_issues_lists_and_revokes(team: Team, boss: Asker) -> None:
    name = a_name("pm")
    boss.post("/api/agents", {"name": name}, 201)
    home = ("--home", str(team.home))
    issued = muster("token", "issue", "--agent", name, "--note", "laptop", *home)
    assert issued.returncode == 0, issued.stderr
    secret = issued.stdout.strip()
    assert re.fullmatch(r"muster_[0-9a-f]{32}", secret)
    with asker(team.server, secret) as agent:
        agent.post(f"/api/agents/{name}/connect")
        listed = muster("token", "list", *home).stdout
        [row] = [line for line in listed.splitlines() if "laptop" in line]
        token_id = row.split()[0]
        assert name in row
        assert secret not in listed
        revoked = muster("token", "revoke", token_id, *home)
        assert revoked.returncode == 0, revoked.stderr
        agent.refused("GET", "/api/agents", 401, "unauthenticated")
    again = muster("token", "revoke", token_id, *home)
    assert again.returncode == 3
    assert f"There is no token '{token_id}'" in again.stderr


def test_the_command_line_speaks_to_programs(team: Team) -> None:
    home = ("--home", str(team.home))
    issued = json.loads(muster("token", "issue", "--viewer", "--json", *home).stdout)
    assert issued["role"] == "viewer"
    listed = json.loads(muster("token", "list", "--json", *home).stdout)
    assert issued["id"] in {token["id"] for token in listed["tokens"]}


def test_the_command_line_wants_to_know_for_whom(team: Team) -> None:
    for args in ([], ["--agent", "pm", "--viewer"]):
        ran = muster("token", "issue", *args, "--home", str(team.home))
        assert ran.returncode == 2, ran.stdout
        assert "--agent" in ran.stderr


def test_without_a_server_the_command_line_says_how_to_start_one(tmp_path: Path) -> None:
    ran = muster("token", "list", "--home", str(tmp_path))
    assert ran.returncode == 4
    assert "`muster up` starts one" in ran.stderr


def test_the_command_line_adds_users_changes_their_roles_and_removes_them(
    team: Team, boss: Asker
) -> None:
    def user(*words: str) -> str:
        ran = muster("user", *words, "--home", str(team.home))
        assert ran.returncode == 0, ran.stderr
        return ran.stdout.strip()

    with asker(team.server, user("add", "Ada", "--role", "member", "--days", "30")) as ada:
        assert ada.get("/api/me")["user"] == "Ada"
        assert ["Ada", "member", "-", "1"] in [line.split() for line in user("list").splitlines()]
        assert user("role", "Ada", "viewer") == "Ada is a viewer now."
        assert ada.get("/api/me")["role"] == "viewer"
        [token] = [each for each in boss.get("/api/tokens")["tokens"] if each["user"] == "Ada"]
        listed = muster("token", "list", "--home", str(team.home)).stdout
        assert token["expiresAt"][:10] in listed
        again = muster("token", "rotate", token["id"], "--home", str(team.home)).stdout.strip()
        ada.refused("GET", "/api/me", 401, "unauthenticated")
    with asker(team.server, again) as ada:
        for wrong in (("add", "Ada", "--role", "viewer"), ("role", "Eve", "viewer")):
            assert muster("user", *wrong, "--home", str(team.home)).returncode == 2
        assert user("remove", "Ada") == "Ada is no longer a user."
        ada.refused("GET", "/api/me", 401, "unauthenticated")
    assert "Ada" not in user("list", "--json")
