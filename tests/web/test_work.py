"""The work of an agent, live on its page: tool calls, their results, and changes of files."""

import json
from collections.abc import Generator

import pytest
from playwright.sync_api import Locator, Page, expect

from muster.machines.commands import ReportPlan
from muster.machines.vocabulary import Activity, PlanState, PlanStep
from tests.asking import asker
from tests.inside import Inside, inside
from tests.web.pages import Watched


@pytest.fixture(scope="module")
def muster(tmp_path_factory: pytest.TempPathFactory) -> Generator[Inside]:
    with inside(tmp_path_factory.mktemp("work"), "Ada", "Bea") as team:
        team.runs("Ada")
        yield team


def step(page: Page, text: str) -> Locator:
    return page.locator("agent-work li").filter(has_text=text)


def test_tool_calls_are_shown_live_with_result_duration_and_difference(
    person: Watched, muster: Inside
) -> None:
    command = json.dumps({"command": "make test", "description": "run the tests"})
    muster.calls("Ada", Activity.TOOL_CALL, "Bash", command, "call-1")
    page = person.signed_in(muster.server, "#/agent/Ada")
    expect(page.get_by_role("tab").first).to_have_text("Work")
    expect(page.get_by_role("tab", name="Work")).to_have_attribute("aria-selected", "true")
    test = step(page, "make test")
    expect(test).to_have_attribute("data-state", "running")
    expect(test).to_contain_text("for ")

    muster.calls("Ada", Activity.TOOL_FAILED, "Bash", "2 failed, 40 passed", "call-1")
    expect(test).to_have_attribute("data-state", "failed")
    expect(test.locator(".age")).to_contain_text("failed after")
    test.locator("summary").click()
    expect(test.locator(".result")).to_have_text("2 failed, 40 passed")

    edit = {"file_path": "src/a.py", "old_string": "one\ntwo", "new_string": "<b>three</b>"}
    muster.calls("Ada", Activity.TOOL_CALL, "Edit", json.dumps(edit), "call-2")
    muster.calls("Ada", Activity.TOOL_DONE, "Edit", "ok", "call-2")
    change = step(page, "src/a.py")
    expect(change).to_have_attribute("data-state", "done")
    expect(change.locator(".gone")).to_have_text(["- one", "- two"])
    expect(change.locator(".added")).to_have_text("+ <b>three</b>")
    expect(page.locator("agent-work li").first).to_contain_text("src/a.py")

    page.reload()
    expect(step(page, "make test")).to_have_attribute("data-state", "failed")
    expect(page.locator("agent-work li")).to_have_count(2)

    page.get_by_role("link", name="Team").click()
    ada = page.locator("agent-card", has_text="Ada")
    expect(ada.get_by_role("img", name="Work of the last hour:")).to_be_visible()
    expect(page.locator("agent-card", has_text="Bea").locator(".spark")).to_be_hidden()


def test_the_header_says_where_it_works_and_the_plan_is_a_checklist(
    person: Watched, muster: Inside
) -> None:
    def planned(*states: PlanState) -> None:
        steps = (PlanStep(text=f"<i>step {at}", state=state) for at, state in enumerate(states))
        muster.send(ReportPlan(session=muster.runs("Ada"), steps=tuple(steps)))

    planned(PlanState.DONE, PlanState.ACTIVE, PlanState.PENDING)
    page = person.signed_in(muster.server, "#/agent/Ada")
    expect(page.locator("agent-view .facts")).to_contain_text(f"in {muster.home.parent}")
    plan = page.locator("agent-plan")
    expect(plan.locator("h2")).to_have_text("Plan: 1 of 3 done")
    expect(plan.locator("li")).to_have_text([f" <i>step {at}" for at in range(3)])
    expect(plan.get_by_role("checkbox", checked=True)).to_have_count(1)
    planned(PlanState.DONE, PlanState.DONE)
    expect(plan.locator("h2")).to_have_text("Plan: 2 of 2 done")
    expect(plan.get_by_role("checkbox", checked=True)).to_have_count(2)


def test_hostile_and_cut_input_is_shown_as_text(person: Watched, muster: Inside) -> None:
    page = person.signed_in(muster.server, "#/agent/Ada")
    cut = '{"file_path": "x", "content": "<img src=x onerror=window.hurt=1>\u202e…'
    muster.calls("Ada", Activity.TOOL_CALL, "<i>Write", cut, "call-3")
    muster.calls("Ada", Activity.TOOL_CALL, "List", "[1, 2]", "")
    muster.calls("Ada", Activity.TOOL_DONE, "Gone", "nobody saw its call", "call-4")
    expect(step(page, "<i>Write")).to_contain_text("<img src=x onerror=window.hurt=1>")
    expect(step(page, "nobody saw its call")).to_have_attribute("data-state", "done")
    expect(step(page, "List")).to_be_visible()
    assert page.evaluate("window.hurt") is None


def test_a_first_tool_call_does_not_take_the_search_from_a_person_who_types(
    person: Watched, muster: Inside
) -> None:
    muster.runs("Bea")
    page = person.signed_in(muster.server, "#/agent/Bea")
    search = page.get_by_role("searchbox", name="Search in the output")
    search.press_sequentially("err")
    muster.calls("Bea", Activity.TOOL_CALL, "Bash", json.dumps({"command": "ls"}), "call-9")
    with asker(muster.server, muster.server.token) as boss:
        boss.post("/api/send", {"message": "after the call", "targetAgent": "Bea"}, 201)
    expect(page.locator("chat-thread .log")).to_contain_text("after the call")
    search.press_sequentially("or")
    expect(search).to_have_value("error")
