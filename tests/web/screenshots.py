"""The pictures of the dashboard in the documentation: the demo team, as a newcomer sees it, and a
team of programs, as a person runs it.

    python -m tests.web.screenshots docs/images

A picture is taken when what it is to show is there, so it looks alike each time.
"""

import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import Page, ViewportSize, expect

from tests.asking import asker
from tests.live import Server, live
from tests.waits import SLOW_SECONDS
from tests.web.pages import PHONE, Watched, a_free_port, chromium, home_with, live_at, watched

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
    Picture("conversations", "#/conversation", ("conversation-view", "task-board li")),
    Picture("work", "#/agent/Otto", ("agent-work .change", "agent-work li")),
    Picture("time", "#/time", ("time-view", "time-line[data-work]")),
)
PROGRAMS = """
[agents.web]
command = ["sh", "-c", "echo serving on port 8000; exec sleep 600"]
groups = ["site"]
budget = { cost_usd = 5.0 }

[agents.api]
command = ["sh", "-c", "echo 12 requests; exec sleep 600"]
groups = ["site"]
after = ["web"]

[agents.backup]
command = ["true"]
schedule = "30 2 * * *"
groups = ["nightly"]

[agents.report]
command = ["true"]
every = "6h"
restart = "on-failure"
groups = ["nightly"]

[agents.indexer]
command = ["python3", "-c", "raise OSError('No space left on device')"]
restart_seconds = 600
groups = ["site"]

[agents.tidy]
command = ["sleep", "600"]
"""
"""A team of programs: some run, some wait for their time, one fails, one was never started."""

STARTED = ("web", "api", "backup", "report", "indexer")
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
            asked = page.locator("approval-list li")  # the first chapter of the story
            expect(asked).to_have_count(1, timeout=SLOW_SECONDS * 1000)
        for scheme, viewport in LOOKS:
            with watched(browser, color_scheme=scheme, viewport=viewport) as person:
                _take_all(person, server, folder, scheme, viewport)


def take_programs(folder: Path) -> None:
    """Take the pictures of a team of programs: its page, a failure, and the dialog."""
    with (
        tempfile.TemporaryDirectory() as home,
        live(home_with(Path(home), PROGRAMS)) as server,
        asker(server, server.token) as operator,
        chromium() as browser,
        watched(browser, color_scheme="light", viewport=DESKTOP) as person,
    ):
        for name in STARTED:
            operator.asked("PUT", f"/api/agents/{name}/run", 200, json={"desired": "continuous"})
        page = person.signed_in(server)
        running = page.locator("agent-card .badge.run[data-color=green]")
        expect(running).to_have_count(2)
        expect(page.locator("agent-card", has_text="indexer")).to_contain_text("next try")
        _shoot(page, folder / "programs-desktop-light.png")
        page.get_by_role("button", name="Add an agent").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_text("A program of my own").click()
        dialog.get_by_label("Name").fill("tester")
        dialog.get_by_label("Command").fill("./test.sh --watch")
        dialog.get_by_text("When it runs").click()
        dialog.get_by_label("Every").fill("30m")
        dialog.get_by_label("Groups").fill("site, nightly")
        expect(dialog.locator("pre")).to_contain_text("groups")
        dialog.get_by_label("Every").focus()
        _shoot(page, folder / "add-desktop-light.png")
        page.keyboard.press("Escape")
        page.goto(f"{server.url}/#/agent/indexer")
        expect(page.locator("failure-panel pre")).to_contain_text("No space left on device")
        _shoot(page, folder / "failure-desktop-light.png")


def _shoot(page: Page, path: Path) -> None:
    page.screenshot(path=path, animations="disabled")
    print(path)


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
        _shoot(page, path)
        page.close()


if __name__ == "__main__":
    take(Path(sys.argv[1]))
    take_programs(Path(sys.argv[1]))
