"""One browser process for all of these tests, and windows in it.

The browser must be gone before tests elsewhere run a loop of their own: hence the package's scope.
"""

from collections.abc import Generator

import pytest
from playwright.sync_api import Browser

from tests.web.pages import Watched, chromium, watched
from tests.web.windows import Window


@pytest.fixture(scope="package")
def browser() -> Generator[Browser]:
    with chromium() as running:
        yield running


@pytest.fixture(scope="package")
def window(browser: Browser) -> Generator[Window]:
    kept = Window(browser)
    yield kept
    kept.close()


@pytest.fixture
def person(window: Window) -> Generator[Watched]:
    """A person at a window that other tests used before."""
    with window.used() as somebody:
        yield somebody


@pytest.fixture
def visitor(browser: Browser) -> Generator[Watched]:
    """A person with a new browser context, which the test may change."""
    with watched(browser) as somebody:
        yield somebody


@pytest.fixture(scope="package")
def open_window(browser: Browser) -> Generator[Window]:
    kept = Window(browser, bypass_csp=True)
    yield kept
    kept.close()


@pytest.fixture
def inspector(open_window: Window) -> Generator[Watched]:
    """A person whose pages allow the scripts that `hard_to_use` injects."""
    with open_window.used() as somebody:
        yield somebody
