"""Since you left: what happened while nobody looked at the page."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.ids import ConversationId, SeatId, SessionId
from muster.machines.vocabulary import Authority, Outcome, RunMode, Usage
from tests.asking import asker
from tests.live import Server, live
from tests.waits import LIFE_SECONDS
from tests.web.pages import PHONE, hard_to_use, home_with, played, watched

SEAT = SeatId(9)
LOOKED = 5
"""The last event before the person left: a later one records the look."""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A team whose agent worked and failed while the person was away, long ago."""
    settings = f'[team]\nhuman = "Grace"\n[presence]\nheartbeat_timeout_seconds = {LIFE_SECONDS}\n'
    asked = ConversationId("conv_001")
    failures = (fact for name in ("s-1", "s-2") for fact in failed_session(SessionId(name)))
    return played(
        home_with(tmp_path_factory.mktemp("since"), settings),
        c.EnrollAgent(name="ada", authority=Authority.SELF),
        c.CreateChannel(channel=c.ChannelId("design")),
        c.SeeMessages(upto=LOOKED),
        facts=(
            e.ConversationStart(conversation=asked, text="Fix the sync", speaker_name="Grace"),
            e.ConversationEnd(conversation=asked, summary="2 files"),
            e.UsageReported(seat=SEAT, usage=Usage(cost_usd=4.2)),
            *failures,
        ),
    )


def failed_session(session: SessionId) -> tuple[e.Fact, ...]:
    mode = RunMode.CONTINUOUS
    return (
        e.SessionRequested(seat=SEAT, session=session, mode=mode, generation=1, trigger="desired"),
        e.SessionEnd(session=session, seats=(SEAT,), outcome=Outcome.FAILED, reason="boom"),
    )


def test_the_page_tells_what_happened_since_it_was_left_until_it_is_read(
    browser: Browser, home: Path
) -> None:
    with live(home) as server:
        _read(browser, server)
        with asker(server, server.token) as operator:
            found = operator.get("/api/since")
            assert (found["done"], found["failed"]) == (0, 0)


def _read(browser: Browser, server: Server) -> None:
    with watched(browser, bypass_csp=True) as person:
        page = person.signed_in(server)
        panel = page.locator("since-panel")
        expect(panel).not_to_contain_text("null")  # nothing was said in channels
        expect(panel.locator(".counts")).to_have_text("1 done1 failed$4.20 spent")
        expect(panel.locator("li")).to_have_count(2)
        expect(panel.locator("[data-kind=failed]")).to_contain_text("ada")
        expect(panel.locator("[data-kind=failed]")).to_contain_text("boom×2")
        assert hard_to_use(page) == []
        page.set_viewport_size(PHONE)
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= PHONE["width"]
        done = panel.get_by_role("link", name="Fix the sync")
        expect(done).to_have_attribute("href", "#/conversation/conv_001")
        with page.expect_response("**/api/seen"):
            panel.get_by_role("button", name="Mark as read").click()
        expect(panel).to_be_hidden()
        page.reload()
        expect(page.locator("agent-card")).to_have_count(1)
        expect(panel).to_be_hidden()
