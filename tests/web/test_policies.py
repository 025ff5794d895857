"""Policies in the dashboard: failures, schedules, groups, dependencies, limits, and restarts."""

import re
from collections.abc import Generator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.asking import Asker, asker
from tests.live import Server, live
from tests.waits import until
from tests.web.pages import PHONE, Watched, home_with, in_both_themes, watched

SETTINGS = r"""
[agents.web]
command = ["sh", "-c", "echo serving; exec sleep 600"]
groups = ["site"]
budget = { cost_usd = 2.5, sessions_per_hour = 1000 }
open_files = 64

[agents.api]
command = ["sleep", "600"]
groups = ["site", "core"]
after = ["web", "db"]
restart = "on-failure"
silent_seconds = 300
autostart = true

[agents.db]
command = ["sleep", "600"]
groups = ["core"]

[agents.nightly]
command = ["true"]
schedule = "30 0 * * *"

[agents.faily]
command = ["sh", "-c", "printf \"$WORDS\" >&2; exit 3"]
env = { WORDS = 'first\n<img src=x onerror=alert(1)>\nlast \342\200\256words: EMFILE\n' }
open_files = 64
restart_seconds = 3600

[agents.missing]
command = ["no-such-program"]
restart_seconds = 3600
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return home_with(tmp_path_factory.mktemp("policies"), SETTINGS)


@pytest.fixture(scope="module")
def server(home: Path) -> Generator[Server]:
    with live(home) as running:
        yield running


@pytest.fixture
def operator(server: Server) -> Generator[Asker]:
    with asker(server, server.token) as somebody:
        yield somebody


def want(operator: Asker, name: str, desired: str) -> None:
    operator.asked("PUT", f"/api/agents/{name}/run", 200, json={"desired": desired, "now": True})


def session(operator: Asker, name: str) -> str | None:
    """The session of an agent, once it runs."""
    found = operator.get(f"/api/agents/{name}/run")["session"]
    return found["id"] if found and found["phase"] == "running" else None


def fact(page: Page, name: str) -> Locator:
    """A line of the settings about running."""
    return page.locator(".policies > div", has=page.get_by_text(name, exact=True)).locator("dd")


def card(page: Page, name: str) -> Locator:
    return page.locator("agent-card", has=page.get_by_role("link", name=name, exact=True))


# ── failures ──────────────────────────────────────────────────────────────────────────────────────


def test_a_failure_shows_its_code_the_last_lines_of_stderr_and_the_next_try(
    person: Watched, server: Server, operator: Asker
) -> None:
    want(operator, "faily", "continuous")
    page = person.signed_in(server, "#/agent/faily")
    panel = page.locator("failure-panel")
    expect(panel.get_by_role("heading")).to_have_text(re.compile(r"^Failed once, \d+ s ago$"))
    expect(panel.locator("pre")).to_have_text(
        "first\n<img src=x onerror=alert(1)>\nlast ⟨U+202E⟩words: EMFILE"
    )
    expect(panel.locator(".reason")).to_have_text("exit code 3; open_files = 64 may be too low")
    expect(panel.locator(".next")).to_have_text(re.compile(r"^Next try: .*\d+:\d+:\d+"))
    expect(page.locator("run-panel .between")).to_have_text("It waits for its next try.")
    box = page.locator(".standing[data-failed]")
    expect(box.get_by_role("button")).to_have_text(["Stop Agent", "Try now"])
    box.get_by_role("button", name="Try now").click()
    expect(panel.get_by_role("heading")).to_contain_text("Failed 2 times in a row")
    box.get_by_role("button", name="Stop Agent").click()
    expect(panel.locator(".next")).to_have_text("It is paused: there is no next try.")
    expect(page.locator("run-controls").get_by_role("button").first).to_have_text("Start Agent")


def test_a_program_that_is_missing_is_named_with_the_remedy(
    person: Watched, server: Server, operator: Asker
) -> None:
    want(operator, "missing", "continuous")
    page = person.signed_in(server, "#/agent/missing")
    panel = page.locator("failure-panel")
    expect(panel.locator(".reason")).to_contain_text("Cannot start 'no-such-program'")
    expect(panel.locator(".reason")).to_contain_text("Install it, or correct the agent's command")
    expect(panel.locator("pre")).to_be_hidden()
    want(operator, "missing", "pause")


def test_a_bad_state_file_is_shown_with_its_refusal_until_it_is_mended(
    person: Watched, server: Server, operator: Asker, home: Path
) -> None:
    want(operator, "db", "pause")
    page = person.signed_in(server, "#/agent/db")
    expect(page.locator("run-panel")).to_be_visible()
    expect(fact(page, "State file")).to_have_count(0)
    file = home / "agents" / "db" / "agent_state.json"
    aside = file.rename(file.with_name("aside.json"))
    file.mkdir()
    expect(fact(page, "State file")).to_contain_text("cannot be read: Is a directory")
    page.locator("run-controls").get_by_role("button", name="Start Agent").click()
    refusal = page.locator("run-controls").get_by_role("alert")
    expect(refusal).to_contain_text("'db' cannot start")
    file.rmdir()
    aside.rename(file)
    expect(fact(page, "State file")).to_have_count(0)
    expect(refusal).to_be_hidden()


# ── settings about running ────────────────────────────────────────────────────────────────────────


def test_the_next_run_is_told_in_the_time_zone_of_the_person(
    browser: Browser, server: Server, operator: Asker
) -> None:
    want(operator, "nightly", "pause")
    operator.asked("PUT", "/api/agents/nightly/run", 200, json={"desired": "continuous"})
    with watched(browser, timezone_id="Asia/Kolkata", locale="de-DE") as person:
        page = person.signed_in(server, "#/agent/nightly")
        expect(fact(page, "Schedule")).to_have_text("30 0 * * *")
        expect(fact(page, "Next run")).to_have_text(re.compile(r"06:00 \(in \d+ (s|min|h)\)$"))
        expect(page.locator("run-panel .between")).to_have_text("Between two runs of its schedule.")
        page.get_by_role("button", name="Run now").click()
        until(lambda: operator.get("/api/log?agent=nightly&types=session_end")["events"])
        expect(page.locator(".who .meaning")).to_contain_text("next run in")
        page.goto(f"{server.url}/#/")
        expect(card(page, "nightly").locator(".facts")).to_contain_text("30 0 * * *, next ")
    starts = operator.get("/api/log?agent=nightly&types=session_start")["events"]
    assert len(starts) == 1


def test_policies_dependencies_groups_and_limits_are_on_the_page_and_the_card(
    person: Watched, server: Server, operator: Asker
) -> None:
    want(operator, "web", "continuous")
    page = person.signed_in(server, "#/agent/api")
    expect(page.locator(".who .meaning")).to_have_text("waits for db to run")
    expect(fact(page, "Runs after")).to_have_text("web, db (does not run)")
    expect(fact(page, "Restart")).to_contain_text("on failure")
    expect(fact(page, "Autostart")).to_contain_text("starts with muster")
    expect(fact(page, "Silence")).to_have_text(
        "after 5 min without a sign of work: shown and logged"
    )
    expect(page.locator("run-controls").get_by_role("button")).to_have_text(["Stop Agent"])
    page.goto(f"{server.url}/#/agent/web")
    expect(fact(page, "Cost limit")).to_have_text("nothing used of $2.50")
    expect(fact(page, "Sessions")).to_have_text("at most 1000 an hour")
    expect(fact(page, "Resources")).to_contain_text("open_files")
    fact(page, "Groups").get_by_role("link", name="site").click()
    expect(page.locator("agent-card")).to_have_count(2)
    expect(page.get_by_role("button", name="site 2")).to_have_attribute("aria-pressed", "true")
    expect(card(page, "api").locator(".facts")).to_have_text(
        "restart on-failure · after web, db · in site, core"
    )


# ── restarts ──────────────────────────────────────────────────────────────────────────────────────


def test_a_running_agent_is_restarted_from_its_menu_by_keys_alone(
    person: Watched, server: Server, operator: Asker
) -> None:
    want(operator, "web", "continuous")
    until(lambda: session(operator, "web"))
    before = session(operator, "web")
    page = person.signed_in(server)
    card(page, "web").focus()
    page.keyboard.press("o")
    menu = page.get_by_role("menu", name="More about web")
    expect(menu.get_by_role("menuitem")).to_have_text(
        ["Restart after its work", "Restart now", "Settings"]
    )
    expect(menu.get_by_role("menuitem").first).to_be_focused()
    page.keyboard.press("s")  # no shortcut acts behind an open menu
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(menu).to_have_count(0)
    until(lambda: session(operator, "web") not in (None, before))
    expect(card(page, "web").locator(".badge.run")).to_have_text("RUNNING")
    page.keyboard.press("Escape")
    card(page, "web").focus()
    page.keyboard.press("o")
    page.keyboard.press("Escape")
    expect(page.get_by_role("menu")).to_have_count(0)
    expect(page.get_by_role("heading", name="Team")).to_be_visible()


def test_a_restart_waits_for_the_work_or_interrupts_it(
    person: Watched, server: Server, operator: Asker
) -> None:
    want(operator, "web", "continuous")
    until(lambda: session(operator, "web"))
    before = session(operator, "web")
    page = person.signed_in(server, "#/agent/web")
    controls = page.locator("run-controls").get_by_role("button")
    page.get_by_role("button", name="Restart after its work").click()
    expect(page.locator(".who .meaning")).to_have_text("restarts after this session")
    expect(controls).to_have_text(["Stop Agent", "Restart now"])
    page.get_by_role("button", name="Restart now").click()
    until(lambda: session(operator, "web") not in (None, before))
    expect(controls).to_have_text(["Stop Agent", "Restart after its work", "Restart now"])


# ── groups, and several at once ───────────────────────────────────────────────────────────────────


def test_a_group_is_shown_and_started_stopped_and_restarted_together(
    person: Watched, server: Server, operator: Asker
) -> None:
    for name in ("web", "api", "db"):
        want(operator, name, "pause")
        until(lambda name=name: not operator.get(f"/api/agents/{name}/run")["session"])
    page = person.signed_in(server)
    tools = page.locator("team-tools")
    tools.get_by_role("button", name="core 2").click()
    expect(page.locator("agent-card")).to_have_count(2)
    assert page.url.endswith("group/core")
    tools.get_by_role("button", name="Start 2 agents").click()
    expect(card(page, "db").locator(".badge.run")).to_have_text("RUNNING")
    expect(tools.get_by_role("status")).to_have_text("2 asked to start")
    expect(card(page, "api").locator(".meaning")).to_have_text("waits for web to run")

    before = session(operator, "db")
    tools.get_by_role("button", name="Restart 1 agent").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.locator(".names")).to_have_text("db")
    dialog.get_by_role("button", name="Restart now, and interrupt their work").click()
    until(lambda: session(operator, "db") not in (None, before))

    tools.get_by_role("button", name="Stop 2 agents").click()
    expect(dialog.locator(".names")).to_have_text("api, db")
    page.keyboard.press("Escape")  # nothing is stopped without a confirmation
    expect(dialog).to_have_count(0)
    assert operator.get("/api/agents/db/run")["desired"] == "continuous"
    tools.get_by_role("button", name="Stop 2 agents").click()
    dialog.get_by_role("button", name="Stop now, and interrupt their work").click()
    expect(page.locator("agent-card .badge.run")).to_have_text(["IDLE", "IDLE"])
    page.reload()
    expect(page.locator("agent-card")).to_have_count(2)
    tools.get_by_role("button", name="All").click()
    expect(page.locator("agent-card")).to_have_count(6)


def test_agents_are_selected_by_key_and_by_checkbox(
    person: Watched, server: Server, operator: Asker
) -> None:
    for name in ("web", "db"):
        want(operator, name, "pause")
        until(lambda name=name: not operator.get(f"/api/agents/{name}/run")["session"])
    page = person.signed_in(server)
    tools = page.locator("team-tools")
    expect(page.get_by_role("checkbox", name="Select web")).to_be_hidden()
    card(page, "web").focus()
    page.keyboard.press("x")
    expect(page.get_by_role("checkbox", name="Select web")).to_be_checked()
    expect(card(page, "web")).to_be_focused()
    page.get_by_role("checkbox", name="Select db").check()
    tools.get_by_role("button", name="Start 2 selected").click()
    for name in ("web", "db"):
        until(lambda name=name: session(operator, name))
    tools.get_by_role("button", name="End selection (2)").click()
    expect(page.get_by_role("checkbox", name="Select web")).to_be_hidden()
    expect(tools.get_by_role("button", name=re.compile("selected"))).to_have_count(0)


def test_the_new_parts_are_usable_by_assistive_technology_and_on_a_phone(
    inspector: Watched, server: Server, operator: Asker
) -> None:
    want(operator, "faily", "continuous")
    fits = "document.documentElement.scrollWidth <= innerWidth"
    page = inspector.signed_in(server, "#/agent/faily")
    page.set_viewport_size(PHONE)
    expect(page.locator("failure-panel pre")).to_be_visible()
    assert in_both_themes(page) == []
    assert page.evaluate(fits)
    page.goto(f"{server.url}/#/")
    card(page, "faily").get_by_role("button", name="More about faily").click()
    expect(page.get_by_role("menuitem")).to_have_text(["Settings"])
    assert in_both_themes(page) == []
    page.keyboard.press("Escape")
    page.locator("team-tools").get_by_role("button", name="Select").click()
    assert in_both_themes(page) == []
    assert page.evaluate(fits)
    want(operator, "faily", "pause")


def test_a_hostile_group_is_text_and_bounded(person: Watched, tmp_path: Path) -> None:
    group = "<b>bold</b>" + "x" * 200
    agents = "".join(
        f'[agents.a{number}]\ncommand = ["true"]\ngroups = ["{group}"]\n' for number in (1, 2)
    )
    with live(home_with(tmp_path, agents)) as server:
        page = person.signed_in(server)
        chip = page.locator(".chip", has_text="<b>bold</b>")
        expect(chip).to_be_visible()
        chip.click()
        expect(page.locator("agent-card")).to_have_count(2)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
