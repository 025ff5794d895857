"""Every view and every dialog is usable for everybody: axe finds nothing, in light and dark, on a
desk, on a phone, and at twice the size."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Literal, cast

from axe_playwright_python.sync_playwright import Axe  # pyright: ignore[reportMissingTypeStubs]
from playwright.sync_api import Browser, Page, ViewportSize, expect

from muster.machines.commands import PostMessage, ReportPlan
from muster.machines.ids import ChannelId, person
from muster.machines.vocabulary import Activity, PlanState, PlanStep
from tests.inside import Inside, inside
from tests.web.pages import DESKTOP, PHONE, watched

TWICE: Final[ViewportSize] = {"width": 640, "height": 430}
"""A desk at 200 %: as many pixels of the page are left."""

LOOKS: Final[tuple[tuple[Literal["light", "dark"], ViewportSize], ...]] = (
    ("light", DESKTOP),
    ("dark", DESKTOP),
    ("light", PHONE),
    ("dark", TWICE),
)
RUN: Final = "where => axe.run(where, {resultTypes: ['violations']})"
VIEWS: Final = {
    "#/": "agent-card",
    "#/agent/Ada": "agent-work li",
    "#/channel/design": "channel-ring .place",
    "#/conversation": "session-panel",
    "#/time": "time-line[data-work]",
    "#/agent/Nobody": "agent-view .empty",
}


def found_by_axe(page: Page, where: str = "html") -> list[str]:
    """All violations, of any weight, in a part of the page."""
    if not page.evaluate("Boolean(window.axe)"):
        page.evaluate(Axe().axe_script)
    # Any: what axe tells is JSON
    told = cast("dict[str, Any]", page.evaluate(RUN, where))
    return [f"{each['id']}: {each['nodes'][0]['html']}" for each in told["violations"]]


def looked_at(page: Page, what: str) -> list[str]:
    """The violations that axe finds, in each look."""
    wrong: list[str] = []
    for scheme, size in LOOKS:
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size(size)
        wrong += [f"{what}, {scheme}, {size['width']}: {each}" for each in found_by_axe(page)]
        width = page.evaluate("document.documentElement.scrollWidth")
        if width > size["width"]:
            wrong.append(f"{what}: {width} wide on {size['width']}")
    page.set_viewport_size(DESKTOP)
    return wrong


def dialogs(page: Page) -> dict[str, Callable[[], object]]:
    """The buttons that open each dialog and menu, by view."""
    card = page.locator("agent-card").first
    return {
        "#/ help": lambda: page.keyboard.press("?"),
        "#/ search": lambda: page.keyboard.press("/"),
        "#/ add": lambda: page.get_by_role("button", name="Add an agent").first.click(),
        "#/ menu": lambda: card.locator(".menu-button").click(),
        "#/ several": lambda: page.get_by_role("button", name="Stop 1 agent").click(),
        "#/agent/Ada settings": lambda: page.get_by_role("button", name="Settings").click(),
        "#/ notifications": lambda: open_notifications(page),
        "#/time why": lambda: page.get_by_role("button", name="Why event").first.click(),
    }


def open_notifications(page: Page) -> None:
    page.keyboard.press("?")
    page.get_by_role("button", name="Notifications").click()
    expect(page.get_by_role("button", name="Turn on")).to_be_visible()


def every_tab(page: Page) -> list[str]:
    """The violations in each tab of an agent: of the tabs alone, for the rest is the same."""
    wrong: list[str] = []
    for tab in page.get_by_role("tab").all():
        tab.click()
        expect(page.get_by_role("tabpanel")).not_to_be_empty()
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            wrong += [
                f"{tab.text_content()}, {scheme}: {each}" for each in found_by_axe(page, "tab-set")
            ]
    return wrong


def arrive(page: Page, url: str, place: str) -> None:
    """Show a view, and wait until it is there with its heading."""
    page.goto(f"{url}/{place}")
    expect(page.locator(VIEWS[place]).first).to_be_visible()
    heading = page.locator("h1").filter(visible=True)  # a hidden one is none for axe
    expect(heading.first).not_to_be_empty()


def test_axe_finds_nothing_in_any_view_and_any_dialog(browser: Browser, tmp_path: Path) -> None:
    with (
        inside(tmp_path, "Ada", "Bo") as muster,
        watched(browser, bypass_csp=True) as somebody,
    ):
        at_work(muster)
        page = somebody.signed_in(muster.server)
        wrong: list[str] = []
        for place in VIEWS:
            arrive(page, muster.server.url, place)
            for folded in page.locator("channel-members .more, channel-rules summary").all():
                folded.click()
            wrong += looked_at(page, place)
        for name, open_it in dialogs(page).items():
            arrive(page, muster.server.url, name.partition(" ")[0])
            open_it()
            opened = page.locator("dialog[open], .menu:popover-open")
            expect(opened).to_be_visible()
            wrong += looked_at(page, name)
            page.keyboard.press("Escape")
            expect(opened).to_have_count(0)
        arrive(page, muster.server.url, "#/agent/Ada")
        wrong += every_tab(page)
        page.get_by_role("button", name="Sign out").click()
        expect(page.get_by_label("Token")).to_be_visible()
        wrong += looked_at(page, "/sign-in")
        assert not wrong, "\n".join(wrong)


def at_work(muster: Inside) -> None:
    """A team with something of everything."""
    session = muster.runs("Ada")
    muster.opens("design", "Ada", "Bo")
    steps = tuple(PlanStep(text=f"step {state}", state=state) for state in PlanState)
    muster.send(ReportPlan(session=session, steps=steps))
    muster.calls("Ada", Activity.TOOL_CALL, "Bash", '{"command": "make"}', "call-1")
    table = "| a | b |\n|---|---|\n| 1 | 2 |"
    said = PostMessage(channel=ChannelId("design"), text=table, speaker_name="Grace")
    muster.send(said, actor=person("Grace"))
    muster.asks("Ada", "Bash", "rm -r build", effects=("deletes build",), folder="/srv/app")
