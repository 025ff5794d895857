"""The first minutes of a newcomer, timed: from a clone to two Claude Codes whose work is merged.

    python -m tests.acceptance.newcomer

Clones this repository, installs it with Claude Code, starts muster in a project, and does the rest
on the page, as a person would: adds two agents, asks each for a file, looks at the difference, and
merges it. Claude Code is the real program; its model is scripted, so that nothing is spent. Prints
each step with the seconds that it took.
"""

import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Final

from playwright.sync_api import Page, expect

from muster.testing.claude_sandbox import Box, boxed
from muster.testing.model import Rule, ScriptedModel
from tests.acceptance.claude.test_merged_story import merged
from tests.acceptance.claude.test_plugin_story import write
from tests.waits import SLOW_SECONDS, until
from tests.web.pages import chromium, watched
from tests.workspaces.repositories import a_repository

REPOSITORY: Final = Path(__file__).parents[2]
FILES: Final = {"Ada": "parser.py", "Ben": "printer.py"}


class Journey:
    """Steps with their times."""

    def __init__(self) -> None:
        self._begin = monotonic()

    @contextmanager
    def step(self, what: str) -> Generator[None]:
        """One step, told when it is over."""
        begin = monotonic()
        yield
        now = monotonic()
        print(f"{now - self._begin:7.1f} s  {now - begin:6.1f} s  {what}", flush=True)


def run(*line: object, cwd: Path, env: dict[str, str] | None = None) -> str:
    """Run a command that must succeed."""
    done = subprocess.run(
        [str(each) for each in line], cwd=cwd, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def scripted(model: ScriptedModel, home: Path) -> None:
    """Each agent writes its file, and says so."""
    for name, file in FILES.items():
        path = home / "worktrees" / name / file
        call = write(path, f"print('{file}')\n")
        model.add(Rule(match=f"Please write {file}", times=1, reply=[call]))
        done = f"created successfully at: {path}"
        model.add(Rule(match=done, times=1, reply=f"{file} is written."))


def add_agent(page: Page, name: str) -> None:
    """Add a Claude Code in a worktree of its own, in the dialog, and start it."""
    page.goto(page.url.partition("#")[0] + "#/")
    page.get_by_role("button", name="Add an agent").first.click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_text("Claude Code", exact=True).click()
    dialog.get_by_label("Name").fill(name)
    dialog.get_by_label("Works in").select_option("worktree")
    dialog.get_by_label("Permissions").select_option("acceptEdits")
    dialog.get_by_role("button", name="Add").click()
    expect(page.get_by_role("heading", name=name, exact=True)).to_be_visible()
    expect(page.locator("agent-view .badge.run")).to_have_text("RUNNING")


def main() -> None:
    """The whole way."""
    journey = Journey()
    with (
        tempfile.TemporaryDirectory(prefix="newcomer-") as folder,
        ScriptedModel() as model,
        boxed(model.url) as box,
    ):
        clone = Path(folder) / "muster"
        with journey.step("git clone"):
            run("git", "clone", "--quiet", REPOSITORY, clone, cwd=Path(folder))
        with journey.step("create a virtual environment and install muster with Claude Code"):
            run(sys.executable, "-m", "venv", clone / ".venv", cwd=clone)
            pip = (clone / ".venv/bin/python", "-m", "pip", "install", "--quiet")
            run(*pip, "-c", "constraints.txt", ".[claude]", cwd=clone)
        work(journey, clone / ".venv/bin/muster", model, box)


def work(journey: Journey, muster: Path, model: ScriptedModel, box: Box) -> None:
    """The way from an installed muster to merged work."""
    top = a_repository(box.work)
    home = top / ".muster"
    scripted(model, home)
    with journey.step("muster up in a project, in the background"):
        run(muster, "up", "--detach", "--no-browser", "--port", "0", cwd=top, env=box.environ())
    try:
        said = run(muster, "open", "--no-browser", cwd=top, env=box.environ())
        link = next(word for word in said.split() if "/sign-in#" in word)
        with chromium() as browser, watched(browser) as person:
            page = person.context.new_page()
            page.set_default_timeout(SLOW_SECONDS * 1000)
            with journey.step("sign in by the link"):
                page.goto(link)
                expect(page.locator("connection-pill")).to_have_text("live")
            for name in FILES:
                with journey.step(f"add {name} on the page, and start it"):
                    add_agent(page, name)
            for name, file in FILES.items():
                with journey.step(f"ask {name} for {file}, look at the difference, merge it"):
                    merged(page, name, file)
        with journey.step("both files are in the project"):
            until(lambda: all((top / file).is_file() for file in FILES.values()))
    finally:
        run(muster, "down", cwd=top, env=box.environ())


if __name__ == "__main__":
    main()
