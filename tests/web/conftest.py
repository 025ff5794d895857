"""One browser process for all of these tests, and a browser context for each.

The browser must be gone before tests elsewhere run a loop of their own: hence the package's scope.
"""

from collections.abc import Generator

import pytest
from playwright.sync_api import Browser

from tests.web.pages import Watched, chromium, watched


@pytest.fixture(scope="package")
def browser() -> Generator[Browser]:
    with chromium() as running:
        yield running


@pytest.fixture
def person(browser: Browser) -> Generator[Watched]:
    with watched(browser) as somebody:
        yield somebody
