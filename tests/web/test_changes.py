"""Changes on the page: files, diffs side by side or in one column, and what becomes of them."""

import re
from collections.abc import Generator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from muster.machines.commands import ReportResult
from tests.inside import Inside, inside
from tests.waits import until
from tests.web.pages import PHONE, Watched, in_both_themes
from tests.workspaces.repositories import a_repository, git

SETTINGS = """
[delegation]
command = ["sh", "-c", "cat > /dev/null; echo done > task.txt; echo It is done."]
workspace = "worktree"

[agents.Ada]
command = ["sh", "-c", "exec sleep 1000"]
workspace = "worktree"

[agents.Bea]
command = ["sh", "-c", "exec sleep 1000"]
long_lived = true
workspace = "worktree"
"""
LONG = "".join(f"line {number}\n" for number in range(1, 41))
DESCRIPTION = "---\nname: fixer\ndescription: Fixes bugs in programs.\n---\nYou fix bugs.\n"


@pytest.fixture(scope="module")
def muster(tmp_path_factory: pytest.TempPathFactory) -> Generator[Inside]:
    folder = tmp_path_factory.mktemp("changes")
    a_repository(folder / "team", **{"app.py": LONG, "old.py": "old\n"})
    (folder / "team" / "helpers").mkdir()
    (folder / "team" / "helpers" / "fixer.md").write_text(DESCRIPTION)
    git(folder / "team", "add", "--all")
    git(folder / "team", "commit", "--quiet", "--message", "Second")
    with inside(folder, settings=SETTINGS) as team:
        team.runs("Ada")
        yield team


@pytest.fixture
def worktree(muster: Inside) -> Path:
    """Ada's worktree, with one change of each kind."""
    folder = muster.home / "worktrees" / "Ada"
    (folder / "app.py").write_text(LONG.replace("line 5\n", "<b>five</b>\n"))
    (folder / "new\u202e.py").write_text("new\n")
    (folder / "old.py").unlink(missing_ok=True)
    return folder


def changes(page: Page) -> Locator:
    page.get_by_role("tab", name="Changes").click()
    return page.locator("work-changes")


def opened(shown: Locator, name: str) -> Locator:
    row = shown.locator("li").filter(has_text=name)
    row.locator("button.file").click()
    return row.locator(".lines")


def test_changes_are_shown_asked_about_and_merged(
    person: Watched, muster: Inside, worktree: Path
) -> None:
    page = person.signed_in(muster.server, "#/agent/Ada")
    shown = changes(page)
    expect(shown.locator(".standing")).to_contain_text(
        "muster/Ada, compared with main: 3 files, +2 −2"
    )
    expect(shown.locator("li")).to_have_count(3)
    expect(shown.locator("li").filter(has_text="new")).to_contain_text("new⟨U+202E⟩.py")
    diff = opened(shown, "app.py")
    expect(diff.locator("table.wide")).to_be_visible()
    gone, added = diff.locator("td.gone"), diff.locator("td.added")
    expect(gone).to_have_text("−line 5")
    expect(added).to_have_text("+<b>five</b>")
    diff.get_by_role("button", name="Ask for a change of line 5").click()
    page.get_by_label("Changes that you ask for in app.py, line 5").fill("no markup, please")
    shown.get_by_role("button", name="Send").click()
    expect(page.locator("chat-thread")).to_contain_text("app.py, line 5: no markup, please")

    muster.send(ReportResult(session=muster.runs("Ada")))
    turns = shown.get_by_label("Changes of")
    expect(turns.locator("option")).to_have_count(2)
    (worktree / "second.py").write_text("2\n")
    muster.send(ReportResult(session=muster.runs("Ada")))
    expect(turns.locator("option")).to_have_count(3)
    turns.select_option(index=1)
    expect(shown.locator(".changed .path")).to_have_text(["second.py"])
    expect(shown.get_by_role("button", name="Merge")).to_be_hidden()
    turns.select_option(index=0)

    shown.get_by_role("button", name="Merge", exact=True).click()
    shown.get_by_role("button", name="Merge into main").click()
    expect(shown.locator(".standing")).to_contain_text("no changes")
    assert (worktree.parents[2] / "app.py").read_text() == (worktree / "app.py").read_text()
    expect(shown.get_by_role("button", name="Merge")).to_be_disabled()


def test_only_an_agent_that_works_is_said_to_be_at_work(person: Watched, muster: Inside) -> None:
    page = person.signed_in(muster.server, "#/agent/Ada")
    shown = changes(page)
    expect(shown).to_contain_text("It is at work: a merge takes what is there now.")
    muster.runs("Bea")
    page.goto(f"{muster.server.url}/#/agent/Bea")
    shown = changes(page)
    expect(page.locator(".who .meaning")).to_have_text("waiting for work")
    expect(shown).to_contain_text("To discard it, stop the agent first.")
    expect(shown).not_to_contain_text("at work")


def test_a_conflict_is_told_with_its_files_and_a_rebase_is_offered(
    person: Watched, muster: Inside, worktree: Path
) -> None:
    top = worktree.parents[2]
    (worktree / "app.py").write_text(LONG.replace("line 9\n", "nine of Ada\n"))
    (top / "app.py").write_text(LONG.replace("line 9\n", "nine of mine\n"))
    git(top, "commit", "--quiet", "--all", "--message", "Mine")
    page = person.signed_in(muster.server, "#/agent/Ada")
    shown = changes(page)
    expect(shown.locator(".standing")).to_contain_text(re.compile(r"\d commits? behind"))
    shown.get_by_role("button", name="Merge", exact=True).click()
    shown.get_by_role("button", name="Merge into main").click()
    expect(shown.get_by_role("alert")).to_contain_text("conflicts with main in app.py")
    expect(shown).to_contain_text("Conflicts: app.py. Nothing was changed.")
    expect(shown.get_by_role("button", name="Rebase")).to_be_enabled()
    git(top, "revert", "--no-edit", "HEAD")


def test_a_task_is_reviewed_and_discarded_on_its_page(person: Watched, muster: Inside) -> None:
    page = person.signed_in(muster.server, "#/conversation")
    post = "body => fetch('/api/' + body.path, {method: 'POST', headers: {'content-type':"
    post += " 'application/json'}, body: JSON.stringify(body)}).then(answer => answer.json())"
    page.evaluate(post, {"path": "delegation", "agents": ["helpers"]})
    page.evaluate(post, {"path": "conversations", "text": "Fix it", "to": "fixer"})
    page.goto(f"{muster.server.url}/#/")
    need = page.locator("needs-list li").filter(has_text="has changes to review")
    expect(need).to_contain_text("1 file, +1 −0")
    need.get_by_role("link", name="Look").click()
    shown = page.locator("work-changes")
    expect(shown.locator("li")).to_contain_text("task.txt")
    shown.get_by_role("button", name="Discard").click()
    shown.get_by_role("button", name="Keep it").click()
    shown.get_by_role("button", name="Discard").click()
    shown.get_by_role("button", name="Discard unmerged work").click()
    expect(shown.locator(".standing")).to_contain_text("Closed")
    until(lambda: not (muster.home / "worktrees" / "task-1").exists())


def test_changes_are_easy_to_use_on_a_desk_and_on_a_phone(
    inspector: Watched, muster: Inside, worktree: Path
) -> None:
    (worktree / "app.py").write_text(LONG.replace("line 7\n", "seven\n"))
    page = inspector.signed_in(muster.server, "#/agent/Ada")
    opened(changes(page), "app.py")
    expect(page.locator("table.wide")).to_be_visible()
    assert in_both_themes(page) == []
    page.set_viewport_size(PHONE)
    expect(page.locator("table.narrow")).to_be_visible()
    assert in_both_themes(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
