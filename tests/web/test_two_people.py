"""Two people in two browsers: each acts under their own name, with the rights of their role."""

from collections.abc import Generator

import pytest
from playwright.sync_api import expect

from muster.http import stream
from tests.asking import asker
from tests.inside import Inside, inside
from tests.live import Server
from tests.web.pages import Watched


@pytest.fixture(scope="module")
def muster(tmp_path_factory: pytest.TempPathFactory) -> Generator[Inside]:
    with inside(tmp_path_factory.mktemp("two"), "Ada", "Bo") as team:
        team.runs("Ada")
        yield team


def as_user(
    team: Inside, name: str, role: str, scope: dict[str, list[str]] | None = None
) -> Server:
    """The server, with the token of a new user."""
    with asker(team.server, team.server.token) as operator:
        body = {"role": role, "scope": scope}
        operator.asked("PUT", f"/api/users/{name}", 200, json=body)
        secret = operator.post("/api/tokens", {"role": role, "user": name}, 201)["secret"]
    return Server(team.server.process, team.server.url, secret)


def test_people_see_who_else_has_the_page_open(
    person: Watched, visitor: Watched, muster: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "LOOKING_SECONDS", 0.05)
    nora = person.signed_in(as_user(muster, "Nora", "member"))
    expect(nora.locator("people-looking")).to_be_hidden()
    omar = visitor.signed_in(as_user(muster, "Omar", "viewer"))
    expect(nora.locator("people-looking")).to_have_text("with Omar")
    expect(omar.locator("people-looking")).to_have_text("with Nora")
    omar.close()
    expect(nora.locator("people-looking")).to_be_hidden()


def test_a_member_with_a_scope_is_offered_what_works(person: Watched, muster: Inside) -> None:
    muster.opens("open", "Bo")
    muster.opens("closed", "Bo")
    scope = {"agents": ["Bo"], "channels": ["open"]}
    page = person.signed_in(as_user(muster, "Lena", "member", scope=scope), "#/agent/Bo")
    notice = page.locator(".notice.reader")
    expect(notice).to_contain_text("you act on Bo, #open, and read the rest")
    expect(page.locator("run-controls button").first).to_be_visible()
    expect(page.get_by_role("button", name="Settings")).to_be_hidden()
    page.get_by_role("textbox", name="Message").fill("Hello Bo")
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.locator("chat-thread")).to_contain_text("Hello Bo")
    at = page.url.partition("#")[0]
    page.goto(f"{at}#/agent/Ada")
    expect(page.locator("agent-view h1")).to_have_text("Ada")
    expect(page.locator("run-controls")).to_be_hidden()
    expect(page.locator("chat-thread textarea")).to_be_hidden()
    page.goto(f"{at}#/channel/closed")
    expect(page.locator("h1")).to_have_text("#closed")
    expect(page.locator("channel-post")).to_be_hidden()
    page.goto(f"{at}#/channel/open")
    expect(page.locator("channel-post")).to_be_visible()
    expect(page.get_by_role("button", name="Archive")).to_be_hidden()


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
