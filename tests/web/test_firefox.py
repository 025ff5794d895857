"""The core paths of the page in Firefox: sign in, look, talk, and go from view to view."""

from pathlib import Path

from tests.inside import Inside, inside
from tests.web.firefox import FirefoxPage, firefox


def test_a_person_signs_in_talks_and_answers_in_firefox(tmp_path: Path) -> None:
    with inside(tmp_path / "team", "Ada", "Bo") as muster, firefox(tmp_path) as page:
        muster.runs("Ada")
        muster.opens("design", "Ada", "Bo")
        page.go(muster.server.url)
        page.click("#token")
        page.type(f"{muster.server.token}\n")
        page.until("document.querySelector('connection-pill')?.dataset.state === 'live'")
        page.until("document.querySelectorAll('agent-card').length === 2")
        _allow(page, muster)
        page.click("agent-card a.name")
        page.until("document.querySelector('agent-view h1')?.textContent === 'Ada'")
        page.click("chat-thread textarea")
        page.type("hello from <b>Firefox</b>\n")
        page.until("document.querySelector('.bubble.human .text')?.textContent.includes('<b>Fire')")
        page.click("nav [data-view=channel]")
        page.click("channel-post textarea")
        page.type("all of you\n")
        page.until("document.querySelector('.said[data-human]')?.textContent.includes('all of')")
        for view, shown in (("conversation", "ask-box"), ("time", "time-line canvas")):
            page.click(f"nav [data-view={view}]")
            page.until(f"document.querySelector('{shown}')?.checkVisibility()")
        assert not page.errors


def _allow(page: FirefoxPage, muster: Inside) -> None:
    """A request for approval is answered where it is shown."""
    muster.asks("Ada", "Bash", "rm -r build")
    page.click("approval-list li .allow:not([aria-disabled])")
    page.until("!document.querySelector('approval-list li')")
    assert not muster.agent("Ada").approvals
