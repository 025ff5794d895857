"""What the tests of the channel page share: opening it, and finding members and messages in it."""

from playwright.sync_api import Locator, Page, expect

from tests.live import Scene, Server
from tests.web.pages import Watched


def opened(person: Watched, server: Server, scene: Scene) -> Page:
    """The page of a scene's channel."""
    page = person.signed_in(server, f"#/channel/{scene.named('reviews')}")
    expect(page.get_by_role("heading", level=1)).to_have_text(f"#{scene.named('reviews')}")
    return page


def member(page: Page, scene: Scene, name: str) -> Locator:
    """The row of a member."""
    return page.locator(".members li", has_text=scene.named(name))


def said(page: Page, text: str) -> Locator:
    """The messages in the thread that have this text."""
    return page.locator("channel-thread .entries .said", has_text=text)


def more_about(page: Page, scene: Scene, name: str) -> None:
    """Unfold the actions of a member."""
    page.get_by_role("button", name=f"More about {scene.named(name)}").click()
