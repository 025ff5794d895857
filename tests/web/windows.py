"""Browser windows that one test after the other uses.

To load the dashboard in a new browser context takes a process, compiles every module and fills an
empty cache. A window that has had the page of a server loads it again in half the time. Between two
tests it forgets everything: scripts end with their document, and cookies, stored values, routes,
the size of the window and the place of the mouse are as in a new one.

A test that changes the browser context itself takes one of its own: `visitor`, or `watched`.
"""

from collections.abc import Generator
from contextlib import contextmanager
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Error, Page

from muster.http.page.static import dashboard
from tests.web.pages import DESKTOP, Watched


class Window:
    """A browser context with one page that is kept for the next test."""

    def __init__(self, browser: Browser, *, bypass_csp: bool = False) -> None:
        self._browser = browser
        self._bypass_csp = bypass_csp
        self._person: Watched | None = None

    @contextmanager
    def used(self) -> Generator[Watched]:
        """The window for one test; asserts at its end that its pages had no errors."""
        person = self._person or self._opened()
        self._person = None
        try:
            yield person
            wrong = list(person.wrong)
            if _is_cleared(person):
                self._person = person
        finally:
            if self._person is None:
                person.context.close()
        assert not wrong, wrong

    def close(self) -> None:
        """End the browser context, if there is one."""
        if self._person is not None:
            self._person.context.close()

    def _opened(self) -> Watched:
        return Watched(self._browser.new_context(viewport=DESKTOP, bypass_csp=self._bypass_csp))


def _is_cleared(person: Watched) -> bool:
    """Clear a window for the next test. It is not cleared if its server has ended."""
    page, *others = person.context.pages or (None,)
    for each in others:
        each.close()
    if page is None or not page.url.startswith("http"):
        return False
    try:
        _clear(page)
    except Error:
        return False
    person.context.clear_cookies()
    person.wrong.clear()
    person.kept = page
    return True


def _clear(page: Page) -> None:
    """Leave the dashboard for a picture of the same server. A page of another origin, or one
    without the dashboard's policies, would be shown by another process."""
    page.unroute_all()
    url = urlsplit(page.url)
    page.goto(f"{url.scheme}://{url.netloc}/web/{dashboard().name}/icon.svg")
    page.evaluate("() => { localStorage.clear(); sessionStorage.clear(); }")
    page.emulate_media(color_scheme="light", reduced_motion="no-preference")
    page.set_viewport_size(DESKTOP)
    page.mouse.move(0, 0)
