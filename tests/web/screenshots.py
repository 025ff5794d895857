"""The pictures of the dashboard in the documentation: the demo team, as a newcomer sees it.

    python -m tests.web.screenshots docs/images

A picture is taken when what it is to show is there, so it looks alike each time.
"""

import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import ViewportSize, expect

from tests.live import Server
from tests.waits import SLOW_SECONDS
from tests.web.pages import PHONE, Watched, a_free_port, chromium, live_at, watched

DESKTOP: ViewportSize = {"width": 1280, "height": 900}


class Picture(NamedTuple):
    """A view, and what must be there before it is worth looking at."""

    name: str
    place: str
    ready: tuple[str, ...]


PICTURES = (
    Picture("team", "#/", ("needs-list li", "team-view agent-card[data-status=alive]")),
    Picture("agent", "#/agent/Wren", ("agent-view .bubble", "live-output .lines div")),
    Picture("channel", "#/channel/workshop", ("channel-view", "channel-thread article")),
    Picture("conversations", "#/conversation", ("conversation-view", "talk-dialogue .said")),
    Picture("time", "#/time", ("time-view",)),
)
LOOKS = (
    ("light", DESKTOP),
    ("dark", DESKTOP),
    ("light", PHONE),
)


def take(folder: Path) -> None:
    """Take every picture in every look."""
    folder.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as home,
        live_at(Path(home) / "demo", a_free_port(), "--demo") as server,
        chromium() as browser,
    ):
        with watched(browser) as person:  # the first minute of the demo is its liveliest
            page = person.signed_in(server)
            alive = page.locator("agent-card[data-status=alive]")
            expect(alive).to_have_count(9, timeout=SLOW_SECONDS * 1000)
        for scheme, viewport in LOOKS:
            with watched(browser, color_scheme=scheme, viewport=viewport) as person:
                _take_all(person, server, folder, scheme, viewport)


def _take_all(
    person: Watched, server: Server, folder: Path, scheme: str, viewport: ViewportSize
) -> None:
    device = "phone" if viewport["width"] < DESKTOP["width"] else "desktop"
    for picture in PICTURES:
        page = person.signed_in(server, picture.place)
        for what in picture.ready:
            expect(page.locator(what).first).to_be_visible(timeout=SLOW_SECONDS * 1000)
        page.wait_for_load_state("load")
        path = folder / f"{picture.name}-{device}-{scheme}.png"
        page.screenshot(path=path, animations="disabled")
        page.close()
        print(path)


if __name__ == "__main__":
    take(Path(sys.argv[1]))
