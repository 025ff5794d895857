"""A runaway on the page: two agents that agree with each other for ever, and what it costs."""

import re
from collections.abc import Generator

import pytest
from playwright.sync_api import Page, expect

from tests.asking import Asker, asker
from tests.live import Server, live
from tests.web.pages import Watched, home_with

AGENTS = ("Ada", "Cody")
SAYS = ("I agree with you completely.", "Yes, I agree with you completely!")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Server]:
    with live(home_with(tmp_path_factory.mktemp("runaway"), "")) as running:
        yield running


def open_channel(boss: Asker, channel: str) -> None:
    """A channel of two agents, to which a person has said something."""
    known = {each["name"] for each in boss.get("/api/agents")["agents"]}
    for name in AGENTS:
        if name not in known:
            boss.post("/api/agents", {"name": name}, 201)
        boss.post(f"/api/agents/{name}/connect")
    boss.post("/api/channels", {"channel": channel}, 201)
    for name in AGENTS:
        boss.post(f"/api/channels/{channel}/members", {"agent": name}, 201)
    boss.post(f"/api/channels/{channel}/messages", {"message": "design it"}, 201)


def run_away(boss: Asker, channel: str, *, turns: int = 40) -> int:
    """Let them talk until the channel rests; the number of turns that they had."""
    for turn in range(turns):
        holder = boss.get(f"/api/channels/{channel}")["holder"]
        if holder is None:
            return turn
        used = {"costUsd": 0.03, "inputTokens": 900, "outputTokens": 50, "channel": channel}
        boss.post(f"/api/agents/{holder}/usage", used)
        said = {"message": SAYS[turn % 2], "agent": holder}
        boss.post(f"/api/channels/{channel}/turn/complete", said)
    return turns


def row_of(page: Page, channel: str) -> object:
    return page.locator("needs-list li", has_text=f"#{channel}")


def test_a_runaway_is_paused_and_a_person_lets_it_go_on_and_ends_it(
    person: Watched, server: Server
) -> None:
    with asker(server, server.token) as boss:
        open_channel(boss, "design")
        page = person.signed_in(server)
        assert run_away(boss, "design") < 20
        row = page.locator("needs-list li", has_text="#design")
        expect(row).to_contain_text("was paused as a runaway")
        expect(row).to_contain_text(re.compile(r"\d+ turns in \d+ s, the last 12 alike, \$\d"))
        expect(page.locator(".head .cost")).to_contain_text("/min")
        expect(page.locator("agent-card .cost").first).to_contain_text("/min")
        row.get_by_role("button", name="Go on for 10 turns: #design").click()
        expect(row).to_have_count(0)
        assert run_away(boss, "design") == 10
        row.get_by_role("button", name="End it: #design").click()
        expect(row).to_have_count(0)
        page.get_by_role("button", name="Undo (u)").click()
        expect(row).to_be_visible()
        page.goto(f"{server.url}/#/channel/design")
        expect(page.locator("channel-view")).to_contain_text("paused as a runaway")
        ring = page.locator("channel-ring")
        expect(ring).to_contain_text("/min")
        # who looks at the channel answers the question there
        ring.get_by_role("button", name="Go on for 10 turns").click()
        expect(ring.get_by_role("button", name="End it")).to_be_hidden()
        assert run_away(boss, "design") == 10
        ring.get_by_role("button", name="End it").click()
        expect(ring.get_by_role("button", name="Go on for 10 turns")).to_be_hidden()
        expect(page.locator("channel-view")).to_contain_text("paused as a runaway")
