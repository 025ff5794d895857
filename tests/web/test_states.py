"""One badge and one control: a team with an agent in each state, the same words everywhere."""

import json
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, ViewportSize, expect

from tests.asking import Asker, asker
from tests.homes import muster
from tests.live import Server, live
from tests.waits import until
from tests.web.pages import PHONE, Watched, home_with

SLEEPS = 'command = ["sleep", "600"]\n'
FAILS = 'command = ["sh", "-c", "echo no luck >&2; exit 4"]\nrestart_seconds = 3600\n'

TEAM = {
    "runs": SLEEPS,
    "ready": 'command = ["cat"]\nlong_lived = true\n',
    "loops": 'command = ["true"]\nloop = true\n',
    "restarts": SLEEPS,
    "stops": SLEEPS,
    "fails": FAILS,
    "missing": 'command = ["no-such-program"]\nrestart_seconds = 3600\n',
    "gave-up": FAILS + "budget = { failures = 1 }\n",
    "nightly": 'command = ["true"]\nevery = "1d"\n',
    "waits": SLEEPS + 'after = ["new"]\n',
    "new": SLEEPS,
    "paused": SLEEPS,
    "off": SLEEPS,
    "follows": 'runtime = "file"\n',
}

STARTED = [name for name in TEAM if name not in {"new", "off"}]

WIDE: ViewportSize = {"width": 1600, "height": 900}

LINES: dict[str, tuple[str, str, list[str]]] = {
    "runs": ("RUNNING", "working", ["Stop Agent"]),
    "ready": ("RUNNING", "waiting for work", ["Stop Agent"]),
    "restarts": ("RUNNING", "restarts after this session", ["Stop Agent"]),
    "stops": ("RUNNING", "stops after this session", ["Stop now"]),
    "fails": ("IDLE", "failed once: exit code 4: no luck; next try", ["Stop Agent", "Try now"]),
    "gave-up": ("IDLE", "budget reached: 1 failure", ["Start Agent"]),
    "nightly": ("IDLE", "next run", ["Stop Agent", "Run now"]),
    "waits": ("IDLE", "waits for new to run", ["Stop Agent"]),
    "new": ("IDLE", "never started", ["Start Agent"]),
    "paused": ("IDLE", "paused by human: lunch", ["Start Agent"]),
    "off": ("IDLE", "disabled", ["Enable"]),
    "follows": ("IDLE", "asked to start: its loop has not taken up continuous yet", ["Stop Agent"]),
    "here": ("CONNECTED", "waiting for work", ["Stop Agent"]),
    "away": ("NOT CONNECTED", "connects by itself", []),
}
"""The badge of each agent that does not change by itself: word, beginning of the line, buttons."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tables = "".join(f"[agents.{name}]\n{table}" for name, table in TEAM.items())
    return home_with(tmp_path_factory.mktemp("states"), tables)


@pytest.fixture(scope="module")
def server(folder: Path) -> Generator[Server]:
    with live(folder) as running, asker(running, running.token) as operator:
        bring_into_states(operator)
        yield running


@pytest.fixture
def operator(server: Server) -> Generator[Asker]:
    with asker(server, server.token) as somebody:
        yield somebody


def bring_into_states(operator: Asker) -> None:
    def wish(name: str, **body: object) -> None:
        operator.asked("PUT", f"/api/agents/{name}/run", 200, json=body)

    def view(name: str) -> dict[str, Any]:  # any: JSON
        return operator.get(f"/api/agents/{name}/run")

    for name in STARTED:
        wish(name, desired="continuous")
    for name in ("runs", "ready", "restarts", "stops", "paused"):
        until(lambda name=name: view(name)["current"] == "continuous")
    operator.post("/api/agents/restarts/restart", {})
    wish("stops", desired="pause")
    wish("paused", desired="pause", now=True, note="lunch")
    until(lambda: view("paused")["session"] is None)
    for name in ("fails", "missing", "gave-up"):
        until(lambda name=name: view(name)["lastFailure"])
    operator.post("/api/agents/off/disable", {"reason": "broken"})
    for name in ("here", "away"):
        operator.post("/api/agents", {"name": name}, 201)
    operator.post("/api/agents/here/connect")


def card(page: Page, name: str) -> Locator:
    return page.locator("agent-card", has=page.get_by_role("link", name=name, exact=True))


def test_every_place_shows_the_same_word_line_and_controls(
    person: Watched, server: Server, folder: Path
) -> None:
    page = person.signed_in(server)
    expect(page.locator("agent-card")).to_have_count(len(TEAM) + 2)
    for name, (word, line, controls) in LINES.items():
        seen = card(page, name)
        expect(seen.locator(".badge.run")).to_have_text(word)
        expect(seen.locator(".meaning")).to_contain_text(line)
        expect(seen.locator(".act")).to_have_text([each.split(" Agent")[0] for each in controls])
        expect(seen).to_have_attribute(
            "data-look", "alive" if word in {"RUNNING", "CONNECTED"} else "sleeping"
        )
    for name, (word, line, controls) in LINES.items():
        page.goto(f"{server.url}/#/agent/{name}")
        expect(page.get_by_role("heading", level=1)).to_have_text(name)
        expect(page.locator(".who .badge.run")).to_have_text(word)
        expect(page.locator(".who .meaning")).to_contain_text(line)
        buttons = page.locator("run-controls").get_by_role("button")
        assert buttons.all_text_contents()[: len(controls)] == controls
        expect(page.locator("agent-view .badge.run")).to_have_count(1)
    told = json.loads(muster("status", "--json", "--home", str(folder)).stdout)
    agents = {each["name"]: each["badge"] for each in told["team"]["agents"]}
    for name, (word, line, _) in LINES.items():
        assert (agents[name]["status"], agents[name]["line"][: len(line)]) == (word, line)


def test_nothing_beside_a_badge_contradicts_it(person: Watched, server: Server) -> None:
    """A looping agent is between sessions most of the time: it is RUNNING all the same."""
    page = person.signed_in(server)
    loops = card(page, "loops")
    expect(loops.locator(".badge.run")).to_have_text("RUNNING")
    expect(loops).to_have_attribute("data-look", "alive")
    for place in page.locator("agent-card").all():
        word = place.locator(".badge.run").inner_text()
        line = place.locator(".meaning").inner_text()
        acts = place.locator(".act").all_inner_texts()
        assert place.locator(".badge.run").count() == 1
        assert not {"idle", "running", "sleeping"} & set(line.lower().split())
        assert not {"Start", "Stop"} <= set(acts)
        assert word != "RUNNING" or acts in (["Stop"], ["Stop now"])
    page.goto(f"{server.url}/#/agent/loops")
    expect(page.locator(".who .badge.run")).to_have_text("RUNNING")
    expect(page.locator("chat-thread")).not_to_contain_text("messages wait in its inbox")


def test_the_key_presses_the_button_that_comes_first(
    person: Watched, server: Server, operator: Asker
) -> None:
    page = person.signed_in(server)
    card(page, "new").focus()
    page.keyboard.press("s")
    expect(card(page, "new").locator(".badge.run")).to_have_text("RUNNING")
    expect(card(page, "waits").locator(".badge.run")).to_have_text("RUNNING")
    card(page, "fails").focus()
    page.keyboard.press("s")
    expect(card(page, "fails").locator(".act")).to_have_text(["Start"])
    assert operator.get("/api/agents/fails/run")["desired"] == "pause"


def test_long_lines_and_two_buttons_stay_inside_their_card(person: Watched, server: Server) -> None:
    page = person.signed_in(server)
    for size in (PHONE, WIDE):
        page.set_viewport_size(size)
        expect(page.locator("agent-card").last).to_be_visible()
        outside = page.locator("agent-card").evaluate_all(
            "cards => cards.filter(card => card.scrollWidth > card.clientWidth)"
            ".map(card => card.textContent)"
        )
        assert outside == []
