"""Agents without an editor: from an empty folder to two running agents, in the dashboard alone."""

import os
from collections.abc import Generator
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.asking import asker
from tests.live import Server, live
from tests.waits import until
from tests.web.pages import PHONE, Watched, hard_to_use, watched

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
    expect(page.locator("agent-card")).to_have_count(2)
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
    page.get_by_role("button", name="Rename").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Bob")
    page.get_by_role("button", name="Settings").click()
    page.get_by_role("button", name="Remove…").click()
    expect(page.get_by_role("dialog")).to_contain_text("within 30 s, then it is stopped")
    shot(page, "remove")
    page.get_by_role("button", name="Remove Bob").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Team")
    assert "\n[agents" not in (home / "muster.toml").read_text()


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


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_dialogs_are_usable_by_keyboard_and_assistive_technology(
    browser: Browser, server: Server, scheme: str
) -> None:
    with watched(browser, bypass_csp=True, viewport=PHONE, color_scheme=scheme) as person:
        page = person.signed_in(server)
        page.get_by_role("button", name="Add an agent").first.click()
        dialog = page.get_by_role("dialog")
        expect(dialog.get_by_label("Name")).to_be_focused()
        expect(dialog.get_by_text("Claude Code", exact=True)).to_be_visible()
        assert hard_to_use(page) == []
        shot(page, f"phone-{scheme}")
        wide = page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert wide
