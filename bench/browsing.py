"""Fixtures of the dashboard lines: a muster with a team, a browser, and a counting proxy."""

import os
import re
import socket
import subprocess
from collections.abc import Generator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from threading import Event, Thread
from time import monotonic, time
from typing import Final, NamedTuple

from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from bench.processes import environment, python
from bench.supervised import pause
from muster.client.sync import Client

CHROMIUM: Final = os.environ.get("CHROMIUM", "/usr/bin/chromium")
BOUND_MS: Final = 60_000
_DAY_SECONDS: Final = 24 * 3600
_READ_BYTES: Final = 1 << 16

WATCH: Final = """
(() => {
  window.bench = { cards: null, seen: [], long: [] };
  new PerformanceObserver((list) => {
    for (const each of list.getEntries()) window.bench.long.push(each.duration);
  }).observe({ type: "longtask", buffered: true });
  let waiting = false;
  const painted = () => {
    waiting = false;
    const now = Date.now();
    const cards = document.querySelectorAll("agent-card");
    if (cards.length >= window.benchCards) {
      window.bench.cards ??= performance.now();
      document.documentElement.dataset.benched = "yes";
    }
    for (const each of document.querySelectorAll("agent-card .doing")) {
      if (each.benchText === each.textContent) continue;
      each.benchText = each.textContent;
      window.bench.seen.push([each.textContent, now]);
    }
  };
  const changed = () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => setTimeout(painted)); // behind the frame that shows it
  };
  const all = { subtree: true, childList: true, characterData: true };
  new MutationObserver(changed).observe(document, all);
})();
"""
"""Records when all cards are on the screen, when a card shows something new, and long tasks."""


class Served(NamedTuple):
    """A `muster up` with a team."""

    pid: int
    url: str
    token: str
    client: Client


@contextmanager
def served(home: Path) -> Generator[Served]:
    """Run `muster up` in an existing home until the end of the block. No agent times out in it."""
    patient = {"MUSTER_PRESENCE_HEARTBEAT_TIMEOUT_SECONDS": str(_DAY_SECONDS)}
    with subprocess.Popen(
        python("-m", "muster", "up", "--home", str(home), "--port", "0"),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment() | patient,
    ) as process:
        try:
            assert process.stdout is not None
            found = re.search(r"http://[\w.:]+", process.stdout.readline())
            if found is None:
                raise RuntimeError("muster did not start")
            token = (home / "operator.token").read_text(encoding="utf-8").strip()
            with Client(found[0], token) as client:
                yield Served(process.pid, found[0], token, client)
        finally:
            process.terminate()


@contextmanager
def chromium() -> Generator[Browser]:
    """A browser. Chromium refuses its sandbox as root, which CI is."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()


def cold(browser: Browser, server: Served, url: str = "") -> BrowserContext:
    """A browser context that is signed in and has an empty cache."""
    context = browser.new_context(viewport={"width": 1280, "height": 860})
    context.set_default_timeout(BOUND_MS)
    context.request.post(f"{url or server.url}/api/session", data={"token": server.token})
    return context


def open_team(context: BrowserContext, url: str, *, cards: int) -> Page:
    """A page that shows that many agents and follows the log."""
    page = context.new_page()
    page.add_init_script(f"window.benchCards = {cards};{WATCH}")
    page.goto(url)
    page.wait_for_selector("html[data-benched]")
    page.wait_for_selector("connection-pill[data-state=live]")
    return page


# ── simulated load ────────────────────────────────────────────────────────────────────────────────


_lots = count(1)


class Speakers:
    """Agents that post alternately at a fixed rate; each message has a number."""

    def __init__(self, client: Client, names: list[str], *, rate: float) -> None:
        self._client = client
        self._names = names
        self._rate = rate
        self.word = f"thing-{next(_lots)}"
        """Precedes each number: a page also shows messages from before it was opened."""

        self.sent: list[float] = []
        """When each message was sent, in ms on the clock of the page."""

    @contextmanager
    def speaking(self) -> Generator[None]:
        """Post messages until the end of the block."""
        over = Event()
        thread = Thread(target=self._speak, args=(over,), daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def _speak(self, over: Event) -> None:
        begin = monotonic()
        while not over.is_set():
            number = len(self.sent)
            pause(max(0.0, begin + number / self._rate - monotonic()))
            self.sent.append(1000 * time())
            self._client.tell(self._names[number % len(self._names)], f"{self.word} {number}")

    def delays(self, seen: list[tuple[str, float]]) -> list[float]:
        """The delay of each message until it, or a later one of the same agent, was on the screen.

        Messages still in flight at the end do not count; the slowest ones are far before that.
        """
        found: dict[int, float] = {}
        for text, moment in seen:
            word, _, digits = text.partition(" ")
            number = int(digits) if word == self.word and digits.isdecimal() else -1
            while number >= 0 and number not in found:
                found[number] = moment - self.sent[number]
                number -= len(self._names)
        return [found[number] for number in sorted(found)]


# ── the proxy ─────────────────────────────────────────────────────────────────────────────────────


class Wire:
    """A proxy between a browser and a server that counts the bytes from the server."""

    def __init__(self, url: str) -> None:
        host, _, port = url.removeprefix("http://").partition(":")
        self._server = (host, int(port))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.received = 0
        Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Accept no more connections."""
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                browser, _ = self._listener.accept()
                server = socket.create_connection(self._server)
                Thread(target=self._pass, args=(browser, server), daemon=True).start()
                Thread(target=self._pass, args=(server, browser, True), daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket, count: bool = False) -> None:
        with suppress(OSError):
            while data := source.recv(_READ_BYTES):
                self.received += len(data) if count else 0
                target.sendall(data)
        with suppress(OSError):
            target.shutdown(socket.SHUT_RDWR)  # ends the other direction too
        source.close()
