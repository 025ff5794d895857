"""The pictures of model errors: the page of an agent whose model fails, one for each way to fail.

    python -m tests.web.model_errors FOLDER

Each agent is a real Claude Code with a model that fails in its own way; the last one is killed in
the middle of its work. A picture is taken when the page tells what went wrong.
"""

import os
import signal
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from playwright.sync_api import Page, expect

from muster.testing.claude_sandbox import boxed
from muster.testing.model import Hold, Part, Refusal, Rule, ScriptedModel
from tests.acceptance.claude.teams import claude_team, start, table, variables
from tests.acceptance.claude.test_unanswered import ERRORS
from tests.acceptance.test_whole_life import Team
from tests.waits import until
from tests.web.pages import chromium, watched

KILLED = "killed"
REFUSAL = "refusal"

FAILURES: Mapping[str, Part] = {
    **{name.replace(" ", "-"): error.reply for name, error in ERRORS.items()},
    REFUSAL: Refusal(),
    KILLED: Hold(),
}
"""What the model of each agent does."""

ENVIRONMENTS = {name.replace(" ", "-"): error.env for name, error in ERRORS.items()}


def take(folder: Path) -> None:
    """Take a picture of each failure, and of the whole team."""
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        models = {
            name: stack.enter_context(ScriptedModel([Rule(reply=[reply])]))
            for name, reply in FAILURES.items()
        }
        box = stack.enter_context(boxed(models[KILLED].url))
        tables = [
            table(name, {**variables(box, model, name), **ENVIRONMENTS.get(name, {})})
            for name, model in models.items()
        ]
        team, server = stack.enter_context(claude_team(box, *tables))
        for name in FAILURES:
            _fail(team, models[name], name)
        browser = stack.enter_context(chromium())
        person = stack.enter_context(watched(browser))
        page = person.signed_in(server)
        for name in FAILURES:
            _shoot(page, f"{server.url}/#/agent/{name}", folder / f"{name}.png")
        _shoot(page, f"{server.url}/#/", folder / "team.png")


def _fail(team: Team, model: ScriptedModel, name: str) -> None:
    """Ask an agent, and wait until its failure is on record."""
    start(team, name)
    team.post("/api/send", {"message": "Please look at the tests.", "targetAgent": name})
    if name == KILLED:
        until(model.calls)
        os.kill(team.pid(name), signal.SIGKILL)
    if name == REFUSAL:  # it is an answer
        until(lambda: any(speaker == name for speaker, _ in team.thread(name)))
    else:
        until(lambda: team.get(f"/api/agents/{name}")["lastFailure"])


def _shoot(page: Page, place: str, path: Path) -> None:
    page.goto(place)
    expect(page.locator("h1").first).to_be_visible()
    expect(page.locator("agent-view .bubble, team-view agent-card").first).to_be_visible()
    page.screenshot(path=str(path))


if __name__ == "__main__":
    take(Path(sys.argv[1]))
