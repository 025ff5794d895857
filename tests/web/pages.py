"""A real Chromium looking at a real `muster up`, as a person would."""

import os
import re
import socket
import subprocess
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from typing import Any, Final, cast

from axe_playwright_python.sync_playwright import Axe  # pyright: ignore[reportMissingTypeStubs]
from playwright.sync_api import (
    Browser,
    BrowserContext,
    Page,
    ViewportSize,
    expect,
    sync_playwright,
)

from muster.machines.commands import Command
from muster.machines.events import Fact
from tests.asking import asker
from tests.homes import MUSTER_SCRIPT, append, environment, play
from tests.live import Server
from tests.waits import LIFE_SECONDS, WAIT_SECONDS

CHROMIUM: Final = os.environ.get("CHROMIUM", "/usr/bin/chromium")
DESKTOP: Final[ViewportSize] = {"width": 1280, "height": 860}
PHONE: Final[ViewportSize] = {"width": 390, "height": 844}

AWAY: Final = re.compile(
    "ERR_CONNECTION|ERR_EMPTY_RESPONSE|ERR_INCOMPLETE_CHUNKED|ERR_SOCKET_NOT_CONNECTED"
)
"""Console messages of the browser while muster is down: not an error of the page."""

OWN_PAGES: Final = (
    "PreloadTopChromeWebUI",
    "SpareRendererForSitePerProcess",
    "WebUIOmniboxAimPopup",
    "WebUIOmniboxFullPopup",
    "WebUIOmniboxPopup",
)
"""Chromium's features that start up to three renderers of its own for each window, which take as
long as the page of a test. A version that does not know one of these names ignores it."""

PLAYWRIGHT_OFF: Final = (
    "AimEnabled",
    "AvoidCorsURLLoaderRestartOnRedirect",
    "AvoidUnnecessaryBeforeUnloadCheckSync",
    "DestroyProfileOnBrowserClose",
    "HttpsFirstBalancedModeAutoEnable",
    "HttpsUpgrades",
    "LensOverlay",
    "MediaRouter",
    "NetworkTimeServiceQuerying",
    "OptimizationHints",
    "PaintHolding",
    "PreconnectToSearch",
    "ThirdPartyStoragePartitioning",
)
"""Features that Playwright switches off. They are repeated, because the last list is in force."""

FEATURES_OFF: Final = f"--disable-features={','.join((*PLAYWRIGHT_OFF, *OWN_PAGES))}"

expect.set_options(timeout=WAIT_SECONDS * 1000)


@contextmanager
def chromium() -> Generator[Browser]:
    """A browser for many pages. Root, as which CI runs, may not use its sandbox."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", FEATURES_OFF]
        )
        try:
            yield browser
        finally:
            browser.close()


class Watched:
    """A browser context that records every error of its pages."""

    def __init__(self, context: BrowserContext) -> None:
        self.context = context
        self.kept: Page | None = None  # of a test before this one
        self.wrong: list[str] = []
        context.on("weberror", lambda error: self.wrong.append(str(error.error)))
        context.on("console", lambda message: self._heard(message.type, message.text))
        context.set_default_timeout(WAIT_SECONDS * 1000)

    def _heard(self, kind: str, text: str) -> None:
        refused = "Failed to load resource: the server responded" in text  # a refusal is shown
        if kind in {"error", "warning"} and not refused and not AWAY.search(text):
            self.wrong.append(text)

    def signed_in(self, server: Server, place: str = "") -> Page:
        """A page of a browser that is signed in, at `#/agent/Ada` or so."""
        page, self.kept = self.kept or self.context.new_page(), None
        self.context.request.post(f"{server.url}/api/session", data={"token": server.token})
        page.goto(f"{server.url}/{place}")
        expect(page.locator("connection-pill")).to_have_text("live")
        return page


def sign_in_code(server: Server) -> str:
    """A code for one sign-in, as `muster open` asks for it."""
    with asker(server, server.token) as boss:
        return str(boss.post("/api/session/code", {})["code"])


@contextmanager
def watched(browser: Browser, **options: object) -> Generator[Watched]:
    """A browser context; asserts at its end that its pages had no errors."""
    # Any: these are playwright's own options, which it checks itself
    context = browser.new_context(**({"viewport": DESKTOP} | options))  # type: ignore[arg-type]
    try:
        person = Watched(context)
        yield person
        assert not person.wrong, person.wrong
    finally:
        context.close()


COLOURS: Final = ("color-contrast", "link-in-text-block")
"""The rules of axe that depend on colours. All others depend on the document and its layout."""


def in_both_themes(page: Page) -> list[str]:
    """Serious accessibility violations of a page, in the light theme and in the dark one."""
    page.emulate_media(color_scheme="light")
    by_day = hard_to_use(page)
    page.emulate_media(color_scheme="dark")
    return by_day + hard_to_use(page, *COLOURS)


def hard_to_use(page: Page, *rules: str) -> list[str]:
    """Serious accessibility violations found by axe, of all rules or of these. The page needs
    `bypass_csp`, because axe is an injected script."""
    only = {"runOnly": {"type": "rule", "values": rules}} if rules else {}
    options = {"resultTypes": ["violations"], **only}
    # Any: what axe tells is JSON
    told = cast("dict[str, Any]", Axe().run(page, options=options).response)  # pyright: ignore[reportUnknownMemberType]
    return [
        f"{each['id']}: {each['nodes'][0]['html']}"
        for each in told["violations"]
        if each["impact"] in {"serious", "critical"}
    ]


def a_free_port() -> int:
    """A free port, for a server that restarts at the same address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@contextmanager
def live_at(home: Path, port: int, *options: str) -> Generator[Server]:
    """A muster at a chosen port; its process is always ended."""
    with subprocess.Popen(
        [MUSTER_SCRIPT, "up", "--home", str(home), "--port", str(port), *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment({}),
        text=True,
    ) as process:
        bound = Timer(LIFE_SECONDS, process.kill)
        bound.start()
        try:
            assert process.stdout is not None
            assert "muster is up" in process.stdout.readline()
            token = (home / "operator.token").read_text().strip()
            yield Server(process, f"http://127.0.0.1:{port}", token)
        finally:
            process.terminate()  # in order, so that no program of a session is left behind
            process.wait()  # and if it takes too long, the timer kills it
            bound.cancel()


def played(home: Path, *commands: Command, facts: Sequence[Fact] = ()) -> Path:
    """A home with a team's life in it. It is played in a thread of its own: while a browser is
    driven from this one, a loop runs in it."""
    with ThreadPoolExecutor(1) as thread:
        thread.submit(play, home, *commands).result(WAIT_SECONDS)
        thread.submit(append, home, *facts).result(WAIT_SECONDS)
    return home


def home_with(folder: Path, settings: str) -> Path:
    """A home with these settings."""
    home = folder / "team" / ".muster"
    home.mkdir(parents=True)
    (home / "muster.toml").write_text(settings, encoding="utf-8")
    return home
