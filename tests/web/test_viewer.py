"""The dashboard of a viewer: everything can be read, and nothing that acts is offered."""

from collections.abc import Generator

import pytest
from playwright.sync_api import Page, expect

from muster.machines import commands as c
from muster.machines.ids import ChannelId
from tests.asking import Asker, asker
from tests.inside import Inside, inside
from tests.live import Server
from tests.web.pages import Watched

READER = "You are signed in as a viewer: you can read everything, and change nothing."

OFFERED = """
() => [...document.querySelectorAll("button, input, textarea, select, a.button, [role=menuitem]")]
  .filter((each) => each.checkVisibility() && !each.disabled && !each.readOnly)
  .filter((each) => each.role !== "tab" && each.getAttribute("role") !== "tab")
  .map((each) => each.getAttribute("aria-label") ?? each.textContent.trim())
"""
"""The names of all controls on a page that can be used, without its tabs."""

READING = {
    "Search",
    "Theme: system",
    "Sign out",
    "Help",
    "Copy the message of Grace",
    "Search in the output",
    "Wrap long lines",
}
"""Controls that only read, or change nothing but what this browser shows."""


@pytest.fixture(scope="module")
def muster(tmp_path_factory: pytest.TempPathFactory) -> Generator[Inside]:
    """A team in which there is something to do everywhere: a turn, an approval, a retired agent."""
    with inside(tmp_path_factory.mktemp("viewer"), "Ada", "Bo") as team:
        team.runs("Ada")
        team.opens("design", "Ada", "Bo")
        team.send(c.PostMessage(channel=ChannelId("design"), text="Begin.", speaker_name="Grace"))
        team.asks("Ada")
        yield team


@pytest.fixture
def operator(muster: Inside) -> Generator[Asker]:
    with asker(muster.server, muster.server.token) as somebody:
        yield somebody


@pytest.fixture
def viewer(muster: Inside, operator: Asker) -> Server:
    """The server, with the token of a viewer."""
    secret = operator.post("/api/tokens", {"role": "viewer"}, 201)["secret"]
    return Server(muster.server.process, muster.server.url, secret)


def offered(page: Page) -> set[str]:
    """The names of the controls that a page offers, without those that every page has."""
    return set(page.evaluate(OFFERED)) - READING


@pytest.mark.parametrize(
    ("place", "shown", "operated"),
    [
        ("", "agent-card[data-run] >> text=Ada", "Stop Agent Ada"),
        ("#/agent/Ada", "agent-view .who >> text=Ada", "Stop Agent"),
        ("#/channel/design", "channel-thread >> text=Begin.", "Take the turn away"),
        ("#/conversation", "session-panel >> text=Session", "Open a session"),
    ],
)
def test_a_viewer_is_offered_nothing_that_acts(
    person: Watched, muster: Inside, viewer: Server, place: str, shown: str, operated: str
) -> None:
    page = person.signed_in(viewer, place)
    expect(page.locator(".notice.reader")).to_have_text(READER)
    expect(page.locator(shown).first).to_be_visible()
    expect(page.locator("approval-list:visible li .answer:visible")).to_have_count(0)
    assert offered(page) == set()
    page.close()
    mine = person.signed_in(muster.server, place)
    expect(mine.get_by_role("button", name=operated, exact=True)).to_be_visible()
    expect(mine.locator(".notice.reader")).to_have_count(0)


def test_the_tabs_of_an_agent_and_the_rules_of_a_channel_only_show_themselves_to_a_viewer(
    person: Watched, operator: Asker, viewer: Server
) -> None:
    operator.post("/api/agents/Ada/notes", {"text": "a note to keep"}, 201)
    page = person.signed_in(viewer, "#/agent/Ada")
    for name in page.get_by_role("tab").all_text_contents():
        page.get_by_role("tab", name=name, exact=True).click()
        expect(page.get_by_role("tab", name=name, exact=True)).to_have_attribute(
            "aria-selected", "true"
        )
        if name == "Notes":
            expect(page.get_by_role("textbox", name="Note 1")).to_have_value("a note to keep")
            assert offered(page) == set()
    page.goto(f"{viewer.url}/#/channel/design")
    page.locator("channel-rules summary").click()
    expect(page.locator("channel-rules [name=maxTurns]")).to_be_visible()
    expect(page.locator("channel-rules [name=maxTurns]")).to_be_disabled()
    assert offered(page) == set()


def test_the_keys_of_a_viewer_change_nothing_and_are_not_listed(
    visitor: Watched, viewer: Server
) -> None:
    page = visitor.signed_in(viewer, "#/channel/design")
    expect(page.locator("channel-thread")).to_contain_text("Begin.")
    sent: list[str] = []
    page.on("request", lambda request: sent.append(f"{request.method} {request.url}"))
    for key in "pmwsx":
        page.keyboard.press(key)
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("Show keyboard shortcuts")
    expect(page.get_by_role("dialog")).not_to_contain_text("Pass the turn")
    assert [each for each in sent if not each.startswith("GET ")] == []
