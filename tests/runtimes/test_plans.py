"""Plans of programs: the to-do lists of Claude Code, Codex and agents that speak ACP."""

from acp.schema import AgentPlanUpdate, PlanEntry
from claude_agent_sdk import AssistantMessage, ToolUseBlock

from muster.engine.ports import SessionPlan, SessionReport
from muster.limits import PLAN_STEP_CHARS_MAX, PLAN_STEPS_MAX
from muster.machines.vocabulary import PlanState, PlanStep
from muster.runtimes.acp.reading import UpdateReader
from muster.runtimes.claude.reading import MessageReader
from muster.runtimes.claude.usage import Counted
from muster.runtimes.codex.reading import CodexReader
from muster.runtimes.plans import plan_in
from muster.runtimes.process.pipes import OutputBudget
from muster.runtimes.prompted.reader import WorkReader

STEPS = (
    PlanStep(text="Read it", state=PlanState.DONE),
    PlanStep(text="Fix it", state=PlanState.ACTIVE),
    PlanStep(text="Test it", state=PlanState.PENDING),
)
TODOS = [
    {"content": "Read it", "status": "completed", "activeForm": "Reading it"},
    {"content": "Fix\nit", "status": "in_progress", "activeForm": "Fixing it"},
    {"content": "Test it", "status": "pending", "activeForm": "Testing it"},
]


def a_budget() -> OutputBudget:
    return OutputBudget(0.0)


def plans(reports: list[SessionReport]) -> list[tuple[PlanStep, ...]]:
    return [each.steps for each in reports if isinstance(each, SessionPlan)]


def called(given: dict[str, object], parent: str | None = None) -> AssistantMessage:
    call = ToolUseBlock(id="toolu_1", name="TodoWrite", input=given)
    return AssistantMessage(content=[call], model="model", parent_tool_use_id=parent)


def test_the_to_do_list_of_claude_code_is_a_plan() -> None:
    reader = MessageReader(a_budget(), lambda: 0.0, Counted())
    assert plans(reader.read(called({"todos": TODOS}))) == [STEPS]
    assert not plans(reader.read(called({"todos": TODOS}, parent="toolu_helper")))


def test_a_plan_of_an_agent_that_speaks_acp() -> None:
    work = WorkReader(a_budget(), lambda: 0.0)
    states = ("completed", "in_progress", "pending")
    entries = [
        PlanEntry(content=step.text, priority="low", status=state)
        for step, state in zip(STEPS, states, strict=True)
    ]
    update = AgentPlanUpdate(entries=entries, session_update="plan")
    assert plans(list(UpdateReader(work).read(update))) == [STEPS]


def test_a_plan_of_codex() -> None:
    reader = CodexReader(WorkReader(a_budget(), lambda: 0.0))
    states = ("completed", "inProgress", "pending")
    told = [{"step": s.text, "status": state} for s, state in zip(STEPS, states, strict=True)]
    assert plans(list(reader.read("turn/plan/updated", {"plan": told}))) == [STEPS]


def test_a_plan_is_bounded_and_can_be_anything() -> None:
    assert plan_in("nonsense", "content").steps == ()
    odd = plan_in([7, {"content": None}, {"content": "x" * 1000, "status": ["?"]}], "content")
    assert [len(step.text) for step in odd.steps] == [0, PLAN_STEP_CHARS_MAX]
    assert {step.state for step in odd.steps} == {PlanState.PENDING}
    assert len(plan_in([{"content": "x"}] * 1000, "content").steps) == PLAN_STEPS_MAX
