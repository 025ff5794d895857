"""A message that two sessions left unanswered: "Needs you", with the cause and a button."""

import json
import sys
from collections.abc import Generator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from muster.machines import commands as c
from muster.machines.vocabulary import Outcome
from tests.asking import Asker, asker
from tests.homes import muster
from tests.inside import inside
from tests.live import Server, live
from tests.waits import until
from tests.web.pages import Watched, home_with

BREAKS = """import pathlib, sys
print("welcome, this is no answer", flush=True)
for line in sys.stdin:
    if "You have new messages" in line and "hello" in line:
        if not pathlib.Path("fixed").exists():
            sys.exit("no luck")
        print("all is well", flush=True)
"""
SETTINGS = f"""[agents.breaks]
command = [{json.dumps(sys.executable)}, "-c", {json.dumps(BREAKS)}]
long_lived = true
restart_seconds = 0.1
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return home_with(tmp_path, SETTINGS)


@pytest.fixture
def server(home: Path) -> Generator[Server]:
    with live(home) as running, asker(running, running.token) as operator:
        operator.asked("PUT", "/api/agents/breaks/run", 200, json={"desired": "continuous"})
        operator.post("/api/send", {"message": "hello", "targetAgent": "breaks"}, 201)
        until(lambda: left(operator))
        yield running


def left(operator: Asker) -> object:
    return operator.get("/api/agents/breaks/run")["unanswered"]


def test_a_person_sees_the_cause_and_tries_again(
    person: Watched, server: Server, home: Path
) -> None:
    page = person.signed_in(server)
    row = page.locator("needs-list li", has_text="left a message unanswered")
    expect(row).to_contain_text("no luck")
    expect(page.locator("agent-card")).to_contain_text("left a message unanswered")
    page.goto(f"{server.url}/#/agent/breaks")
    expect(page.locator("agent-view")).to_contain_text("Needs you: ")
    expect(page.locator("failure-panel")).to_contain_text("no luck")
    (home.parent / "fixed").touch()
    page.goto(f"{server.url}/#/")
    row.get_by_role("button", name="Try again").click()
    expect(row).to_have_count(0)
    with asker(server, server.token) as operator:
        returned = operator.get("/api/log?types=messages_returned")["events"]
        assert [each["actor"] for each in returned] == ["muster", "person:human"]


def test_a_failure_that_muster_explains_keeps_the_explanation_beside_the_output(
    person: Watched, tmp_path: Path
) -> None:
    why = "the model server does not answer: timed out, asked 2 times"
    with inside(tmp_path, "Ada") as team:
        session = team.runs("Ada")
        printed = "Request timed out\n"
        team.send(c.ReportOutput(session=session, stream="stderr", text=printed))
        ended = c.ReportSessionEnded(session=session, outcome=Outcome.FAILED, code=1, reason=why)
        team.send(ended)
        page = person.signed_in(team.server, "#/agent/Ada")
        panel = page.locator("failure-panel")
        expect(panel.locator("pre")).to_have_text("Request timed out")
        expect(panel.locator(".reason")).to_contain_text(why)


def test_the_command_line_tries_again(server: Server, home: Path) -> None:
    (home.parent / "fixed").touch()
    tried = muster("retry", "breaks", "--home", str(home))
    assert (tried.returncode, tried.stdout) == (0, "breaks gets its unanswered messages again.\n")
    again = muster("retry", "breaks", "--home", str(home))
    assert (again.returncode, "has no unanswered message" in again.stderr) == (3, True)
    nobody = muster("retry", "nobody", "--json", "--home", str(home))
    assert nobody.returncode == 3
