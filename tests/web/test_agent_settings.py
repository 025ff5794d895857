"""Agents without an editor: from an empty folder to two running agents, in the dashboard alone."""

import os
from collections.abc import Generator
from pathlib import Path
from tomllib import loads
from typing import Final

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.asking import asker
from tests.live import Server, live
from tests.waits import until
from tests.web.pages import PHONE, Watched, hard_to_use, in_both_themes

SHOTS: Final = os.environ.get("MUSTER_SHOTS")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder / ".muster"


@pytest.fixture
def server(home: Path) -> Generator[Server]:
    with live(home) as running:
        yield running


def shot(page: Page, name: str) -> None:
    """Keep a picture for a person to look at, where one is asked for."""
    if SHOTS:
        page.screenshot(path=f"{SHOTS}/{name}.png")


def add(page: Page, name: str, command: str) -> None:
    """Add an agent that runs a command, as a person does."""
    page.get_by_role("button", name="Add an agent").first.click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_text("A program of my own").click()
    dialog.get_by_label("Name").fill(name)
    dialog.get_by_label("Command").fill(command)
    expect(dialog.locator("pre")).to_contain_text(f"[agents.{name}]")
    shot(page, f"add-{name}")
    dialog.get_by_role("button", name="Add agent").click()
    expect(dialog).to_be_hidden()


def test_from_an_empty_folder_to_two_running_agents_in_the_dashboard_alone(
    person: Watched, server: Server, home: Path
) -> None:
    page = person.signed_in(server)
    expect(page.locator(".empty")).to_contain_text("No agents yet")
    shot(page, "empty")
    with asker(server, server.token) as boss:
        boot = boss.get("/api/state")["boot"]
    add(page, "builder", "sh -c 'echo \"I build\"; exec sleep 600'")
    expect(page.get_by_role("heading", level=1)).to_have_text("builder")
    expect(page.locator("live-output")).to_contain_text("I build")
    page.goto(f"{server.url}/#/")
    add(page, "tester", "sleep 600")
    expect(page.get_by_role("heading", level=1)).to_have_text("tester")
    page.goto(f"{server.url}/#/")
    with asker(server, server.token) as boss:
        for name in ("builder", "tester"):
            until(lambda name=name: boss.get(f"/api/agents/{name}/run")["session"])
        assert boss.get("/api/state")["boot"] == boot  # without a restart
    expect(page.locator("agent-card .badge.run")).to_have_text(["RUNNING", "RUNNING"])
    shot(page, "two-agents")
    text = (home / "muster.toml").read_text()
    assert text.startswith("# muster.toml")
    assert 'command = ["sh", "-c", "echo \\"I build\\"; exec sleep 600"]' in text


def test_an_agent_is_changed_renamed_and_removed_in_the_dashboard(
    person: Watched, server: Server, home: Path
) -> None:
    page = person.signed_in(server)
    add(page, "builder", "sleep 600")
    page.get_by_role("button", name="Settings").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_label("Command")).to_have_value("sleep 600")
    dialog.get_by_label("Budget ($)").fill("2.5")
    dialog.get_by_label("Working folder").fill("..")
    expect(dialog.locator("pre")).to_contain_text('+cwd = ".."')
    shot(page, "edit")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_be_hidden()
    assert "cost_usd = 2.5" in (home / "muster.toml").read_text()
    page.get_by_role("button", name="Settings").click()
    expect(page.get_by_role("dialog")).to_contain_text("earlier settings until its next session")
    with asker(server, server.token) as boss:
        before = boss.get("/api/agents/builder/run")["session"]["id"]
        page.get_by_role("button", name="Restart it now").click()
        expect(page.get_by_role("dialog")).to_be_hidden()
        until(
            lambda: (
                (boss.get("/api/agents/builder/run")["session"] or {"id": before})["id"] != before
            )
        )
    page.get_by_role("button", name="Settings").click()
    expect(page.get_by_role("dialog")).not_to_contain_text("earlier settings")
    page.get_by_role("dialog").get_by_label("New name").fill("Bob")
    page.get_by_role("button", name="Rename", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Bob")
    page.get_by_role("button", name="Settings").click()
    page.get_by_role("button", name="Remove…").click()
    expect(page.get_by_role("dialog")).to_contain_text("within 30 s, then it is stopped")
    shot(page, "remove")
    page.get_by_role("button", name="Remove Bob").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Team")
    assert "\n[agents" not in (home / "muster.toml").read_text()


def test_model_and_mode_are_chosen_in_the_header_where_the_program_has_them(
    person: Watched, server: Server, home: Path
) -> None:
    page = person.signed_in(server)
    with asker(server, server.token) as boss:
        for name, settings in (("Ada", {"runtime": "claude"}), ("sh", {"command": ["sleep", "9"]})):
            boss.post("/api/settings/agents", {"name": name, "settings": settings}, 201)
        place = "/api/settings/agents/sh/program"
        refused = boss.asked("PATCH", place, 409, json={"model": "x"})
        assert "'command', which has no model to choose" in refused["detail"]
    page.goto(f"{server.url}/#/agent/Ada")
    choice = page.locator("program-choice")
    choice.locator("select").select_option("acceptEdits")
    expect(choice).to_contain_text("it takes effect now")
    choice.get_by_label("Model").fill("claude-haiku-4-5")
    choice.get_by_label("Model").press("Enter")
    until(lambda: 'model = "claude-haiku-4-5"' in (home / "muster.toml").read_text())
    assert 'permission_mode = "acceptEdits"' in (home / "muster.toml").read_text()
    assert not hard_to_use(page)
    shot(page, "program-choice")
    choice.get_by_label("Model").fill("")
    choice.get_by_label("Model").press("Enter")
    until(lambda: "haiku" not in (home / "muster.toml").read_text())
    page.goto(f"{server.url}/#/agent/sh")
    expect(page.get_by_role("heading", level=1)).to_have_text("sh")
    expect(page.locator("program-choice label")).to_have_count(0)


def test_save_renames_the_agent_if_a_new_name_is_typed(
    person: Watched, server: Server, home: Path
) -> None:
    """Issue 15: Save closed the dialog and dropped the name."""
    page = person.signed_in(server)
    with asker(server, server.token) as boss:
        for name in ("builder", "tester"):
            command = {"command": ["sleep", "600"]}
            boss.post("/api/settings/agents", {"name": name, "settings": command}, 201)
    page.goto(f"{server.url}/#/agent/builder")
    page.get_by_role("button", name="Settings").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Budget ($)").fill("2.5")
    dialog.get_by_label("New name").fill("tester")
    shot(page, "save-and-rename")
    dialog.get_by_role("button", name="Save and rename").click()
    expect(dialog.locator(".part .error").first).to_contain_text("tester")
    dialog.get_by_label("New name").fill("builder")
    expect(dialog.get_by_role("button", name="Save", exact=True)).to_be_visible()
    dialog.get_by_label("Working folder").fill("..")
    dialog.get_by_label("New name").fill("Bob")
    dialog.get_by_role("button", name="Save and rename").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Bob")
    written = loads((home / "muster.toml").read_text())["agents"]
    assert set(written) == {"Bob", "tester"}
    assert (written["Bob"]["cwd"], written["Bob"]["budget"]["cost_usd"]) == ("..", 2.5)


def test_a_mistake_stands_beside_its_field(person: Watched, server: Server, home: Path) -> None:
    page = person.signed_in(server)
    page.get_by_role("button", name="Add an agent").first.click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_text("A program of my own").click()
    dialog.get_by_label("Name").fill("../up")
    expect(dialog.locator(".field", has_text="Name").first.locator(".error")).to_contain_text(
        "letters"
    )
    dialog.get_by_label("Name").fill("fine")
    expect(dialog.locator(".field", has_text="Command").first.locator(".error")).to_contain_text(
        "has no command"
    )
    expect(dialog.get_by_label("Command")).to_have_attribute("aria-invalid", "true")
    shot(page, "mistake")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    assert "\n[agents" not in (home / "muster.toml").read_text()


def new_agent(page: Page, name: str, command: str) -> Locator:
    """The dialog for a new agent, with its name and command."""
    page.get_by_role("button", name="Add an agent").first.click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_text("A program of my own").click()
    dialog.get_by_label("Name").fill(name)
    dialog.get_by_label("Command").fill(command)
    return dialog


def error_of(dialog: Locator, label: str) -> Locator:
    """The error beside a field."""
    field = dialog.locator(".field", has=dialog.page.get_by_label(label, exact=True))
    return field.locator(".error")


def test_when_an_agent_runs_is_set_shown_and_changed_in_the_dialog(
    person: Watched, server: Server, home: Path
) -> None:
    page = person.signed_in(server)
    add(page, "db", "sleep 600")
    page.goto(f"{server.url}/#/")
    dialog = new_agent(page, "backup", "sh -c 'echo saved'")
    expect(dialog.get_by_label("Every")).to_be_hidden()
    dialog.get_by_text("When it runs").click()
    dialog.get_by_label("Restart", exact=True).select_option("on-failure")
    dialog.get_by_label("Start with muster").check()
    expect(dialog.get_by_label("Time zone")).to_be_hidden()
    dialog.get_by_label("Schedule").fill("0 9 * * MON-FRI")
    dialog.get_by_label("Time zone").fill("Europe/Berlin")
    dialog.get_by_label("Runs after").fill("db")
    dialog.get_by_label("Groups").fill("nightly, core")
    dialog.get_by_label("Silence (s)").fill("300")
    dialog.get_by_label("When silent").select_option("restart")
    dialog.get_by_text("When it wakes").click()
    dialog.get_by_label("It is given").select_option("digest")
    dialog.get_by_label("Ask it who it is").check()
    dialog.get_by_text("Limits", exact=True).click()
    dialog.get_by_label("Failures in a row").fill("3")
    dialog.get_by_label("Memory (MiB)").fill("512")
    expect(dialog.locator("pre")).to_contain_text('groups = ["nightly", "core"]')
    shot(page, "when-it-runs")
    dialog.get_by_role("button", name="Add agent").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("backup")
    facts = page.locator(".policies")
    expect(facts).to_contain_text("0 9 * * MON-FRI Europe/Berlin")
    expect(facts).to_contain_text("paused after 3 in a row")
    written = loads((home / "muster.toml").read_text())["agents"]["backup"]
    assert written == {
        "command": ["sh", "-c", "echo saved"],
        "restart": "on-failure",
        "autostart": True,
        "schedule": "0 9 * * MON-FRI",
        "timezone": "Europe/Berlin",
        "after": ["db"],
        "groups": ["nightly", "core"],
        "handover": "digest",
        "wake_check": True,
        "silent_seconds": 300,
        "on_silence": "restart",
        "budget": {"failures": 3},
        "memory_mb": 512,
    }

    page.get_by_role("button", name="Settings").click()
    expect(dialog.get_by_label("Groups")).to_have_value("nightly, core")
    expect(dialog.get_by_label("Start with muster")).to_be_checked()
    expect(dialog.get_by_label("Command")).to_have_value("sh -c 'echo saved'")
    dialog.get_by_label("Schedule").fill("")
    dialog.get_by_label("Every").fill("30m")
    dialog.get_by_label("Start with muster").uncheck()
    expect(dialog.locator("pre")).to_contain_text('+every = "30m"')
    expect(dialog.locator("pre")).to_contain_text("-timezone")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_be_hidden()
    expect(facts).to_contain_text("every 30m")
    changed = loads((home / "muster.toml").read_text())["agents"]["backup"]
    gone = {"schedule", "timezone", "autostart"}
    assert changed == {k: v for k, v in written.items() if k not in gone} | {"every": "30m"}


def test_an_open_quote_is_refused_with_its_place(
    person: Watched, server: Server, home: Path
) -> None:
    page = person.signed_in(server)
    dialog = new_agent(page, "builder", "sh -c \"echo 'done'")
    expect(error_of(dialog, "Command")).to_contain_text('The quote " is not closed: character 7')
    expect(dialog.locator("pre")).to_be_hidden()
    dialog.get_by_role("button", name="Add agent").click()
    expect(dialog.get_by_label("Command")).to_be_focused()
    assert "\n[agents" not in (home / "muster.toml").read_text()
    dialog.get_by_label("Command").fill("ls my\\")
    expect(error_of(dialog, "Command")).to_contain_text("Nothing follows the backslash")
    dialog.get_by_label("Command").fill("sh -c \"echo 'done'\"")
    expect(dialog.locator("pre")).to_contain_text("""command = ["sh", "-c", "echo 'done'"]""")
    expect(error_of(dialog, "Command")).to_be_empty()


MISTAKES = [
    ("Every", "soon", "Write 90s, 30m, 2h or 1d."),
    ("Schedule", "99 * * * *", "Write minute, hour, day, month and weekday"),
    ("Runs after", "nobody", "there is no such agent"),
    ("Silence (s)", "0", "Give a number from 1"),
    ("Failures in a row", "2.5", "Give a whole number"),
]


def test_a_wrong_value_says_at_its_field_what_to_write(person: Watched, server: Server) -> None:
    page = person.signed_in(server)
    dialog = new_agent(page, "builder", "sleep 600")
    for section in ("When it runs", "Limits"):
        dialog.get_by_text(section, exact=True).click()
    for label, value, remedy in MISTAKES:
        field = dialog.get_by_label(label, exact=True)
        field.fill(value)
        expect(error_of(dialog, label)).to_contain_text(remedy)
        expect(field).to_have_attribute("aria-invalid", "true")
        if label == "Every":
            shot(page, "wrong-value")
        field.fill("")
        expect(error_of(dialog, label)).to_be_empty()
    dialog.get_by_label("Schedule").fill("0 9 * * *")
    dialog.get_by_label("Time zone").fill("Mars/Olympus")
    expect(error_of(dialog, "Time zone")).to_contain_text("such as Europe/Berlin, or UTC.")


def test_a_mistake_in_the_file_is_a_banner_until_it_is_corrected(
    person: Watched, server: Server, home: Path
) -> None:
    page = person.signed_in(server)
    (home / "muster.toml").write_text("[agents.a]\ncomand = 3\n")
    banner = page.locator(".notice.bad")
    expect(banner).to_contain_text("muster.toml line 2")
    expect(banner).to_contain_text("The earlier settings stay in force.")
    shot(page, "banner")
    (home / "muster.toml").write_text('[agents.a]\ncommand = ["true"]\n')
    expect(banner).to_be_hidden()
    expect(page.locator("agent-card")).to_have_count(1)


def test_the_dialogs_are_usable_by_keyboard_and_assistive_technology(
    inspector: Watched, server: Server
) -> None:
    page = inspector.signed_in(server)
    page.set_viewport_size(PHONE)
    page.get_by_role("button", name="Add an agent").first.click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_label("Name")).to_be_focused()
    expect(dialog.get_by_text("Claude Code", exact=True)).to_be_visible()
    assert in_both_themes(page) == []
    shot(page, "phone")
    wide = page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert wide
