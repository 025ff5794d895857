"""From nothing to two real Claude Codes whose work a person merges on the page."""

from pathlib import Path

from playwright.sync_api import Page, expect

from muster.testing.claude_sandbox import Box
from muster.testing.model import Rule, ScriptedModel
from tests.acceptance.claude.test_plugin_story import write
from tests.homes import muster
from tests.live import live
from tests.waits import SLOW_SECONDS
from tests.web.pages import chromium, watched
from tests.workspaces.repositories import a_repository, git


def merged(page: Page, name: str, file: str) -> None:
    """Ask an agent for a file, look at what it changed, and merge it."""
    page.goto(page.url.partition("#")[0] + f"#/agent/{name}")
    box = page.locator("chat-thread textarea")
    box.fill(f"Please write {file}")
    box.press("Enter")
    expect(page.locator("chat-thread")).to_contain_text(f"{file} is written.")
    page.get_by_role("tab", name="Changes").click()
    shown = page.locator("work-changes")
    expect(shown.locator("li")).to_contain_text(file)
    shown.locator("button.file").click()
    expect(shown.locator("td.added").first).to_contain_text(f"print('{file}')")
    shown.get_by_role("button", name="Merge", exact=True).click()
    shown.get_by_role("button", name="Merge into main").click()
    expect(shown.locator(".standing")).to_contain_text("no changes")


def test_two_claude_codes_write_in_worktrees_and_a_person_merges_both_on_the_page(
    model: ScriptedModel, box: Box
) -> None:
    top, home = a_repository(box.work), box.work / ".muster"
    files = {"Ada": "parser.py", "Ben": "printer.py"}
    for name, file in files.items():
        path = home / "worktrees" / name / file
        call = write(path, f"print('{file}')\n")
        model.add(Rule(match=f"Please write {file}", times=1, reply=[call]))
        done = f"created successfully at: {path}"
        model.add(Rule(match=done, times=1, reply=f"{file} is written."))
    with live(home, **box.env) as server, chromium() as browser, watched(browser) as person:
        for name in files:
            own = ("--runtime", "claude", "--workspace", "worktree")
            added = muster(
                *("agent", "add", name, *own, "--permission-mode", "acceptEdits", "--start"),
                "--home",
                str(home),
            )
            assert added.returncode == 0, added.stderr
        page = person.signed_in(server)
        page.set_default_timeout(SLOW_SECONDS * 1000)
        for name, file in files.items():
            merged(page, name, file)
    for file in files.values():
        assert Path(top, file).read_text() == f"print('{file}')\n"
    assert git(top, "status", "--porcelain", "--untracked-files=no") == ""
