"""Two people in two browsers: each acts under their own name, with the rights of their role."""

from collections.abc import Generator

import pytest
from playwright.sync_api import expect

from tests.asking import asker
from tests.inside import Inside, inside
from tests.live import Server
from tests.web.pages import Watched


@pytest.fixture(scope="module")
def muster(tmp_path_factory: pytest.TempPathFactory) -> Generator[Inside]:
    with inside(tmp_path_factory.mktemp("two"), "Ada", "Bo") as team:
        team.runs("Ada")
        yield team


def as_user(team: Inside, name: str, role: str) -> Server:
    """The server, with the token of a new user."""
    with asker(team.server, team.server.token) as operator:
        operator.asked("PUT", f"/api/users/{name}", 200, json={"role": role})
        secret = operator.post("/api/tokens", {"role": role, "user": name}, 201)["secret"]
    return Server(team.server.process, team.server.url, secret)


def test_a_member_stops_an_agent_under_their_own_name_and_a_viewer_sees_it(
    person: Watched, visitor: Watched, muster: Inside
) -> None:
    mia = person.signed_in(as_user(muster, "Mia", "member"), "#/agent/Ada")
    vera = visitor.signed_in(as_user(muster, "Vera", "viewer"), "#/agent/Ada")
    expect(mia.locator(".notice.reader")).to_contain_text("signed in as Mia, a member")
    expect(vera.locator(".notice.reader")).to_contain_text("signed in as a viewer")
    stop = "Stop Agent"
    expect(vera.get_by_role("button", name=stop, exact=True)).to_be_hidden()
    mia.get_by_role("button", name=stop, exact=True).click()
    expect(vera.locator("agent-view")).to_contain_text("Mia")
    expect(mia.locator("team-button")).to_be_hidden()
