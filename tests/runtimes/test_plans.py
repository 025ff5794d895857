"""Plans of programs: the to-do lists of Claude Code, Codex and agents that speak ACP."""

from acp.schema import AgentPlanUpdate, PlanEntry

from muster.engine.ports import SessionPlan, SessionReport
from muster.limits import PLAN_STEP_CHARS_MAX, PLAN_STEPS_MAX
from muster.machines.vocabulary import PlanState, PlanStep
from muster.runtimes.acp.reading import UpdateReader
from muster.runtimes.claude.protocol.messages import (
    AssistantMessage,
    ToolResultBlock,
    ToolResults,
    ToolUseBlock,
)
from muster.runtimes.claude.reading import MessageReader
from muster.runtimes.claude.usage import Counted
from muster.runtimes.claude_plans import ClaudePlans
from muster.runtimes.codex.reading import CodexReader
from muster.runtimes.once.dialects import ClaudeDialect
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


def called(
    given: dict[str, object], parent: str | None = None, tool: str = "TodoWrite", ref: str = "1"
) -> AssistantMessage:
    call = ToolUseBlock(id=ref, name=tool, input=given)
    return AssistantMessage(content=(call,), model="model", parent_tool_use_id=parent)


def test_the_to_do_list_of_claude_code_is_a_plan() -> None:
    reader = MessageReader(a_budget(), lambda: 0.0, Counted())
    assert plans(reader.read(called({"todos": TODOS}))) == [STEPS]
    assert not plans(reader.read(called({"todos": TODOS}, parent="toolu_helper")))


TASK_CALLS: tuple[tuple[str, dict[str, object], str], ...] = (
    ("TaskCreate", {"subject": "Read"}, "Task #1 created successfully: Read"),
    ("TaskCreate", {"subject": "Fix\nit"}, "Task #2 created successfully: Fix it"),
    ("TaskCreate", {"subject": "Wait"}, "Task #3 created successfully: Wait"),
    ("TaskUpdate", {"taskId": "1", "subject": "Read it"}, "Updated task #1 subject"),
    ("TaskUpdate", {"taskId": "1", "status": "completed"}, "Updated task #1 status"),
    ("TaskUpdate", {"taskId": "2", "status": "in_progress"}, "Updated task #2 status, owner"),
    ("TaskUpdate", {"taskId": "3", "status": "deleted"}, "Updated task #3 deleted"),
    ("TaskCreate", {"subject": "Test it"}, "Task #4 created successfully: Test it"),
)
LISTED = "#1 [completed] Read it\n#2 [in_progress] Fix it (Ada)\n#4 [pending] Test it"


def result(ref: str, text: str, *, failed: bool = False) -> ToolResults:
    return ToolResults(content=(ToolResultBlock(tool_use_id=ref, content=text, is_error=failed),))


def test_the_task_list_of_claude_code_is_a_plan() -> None:
    reader = MessageReader(a_budget(), lambda: 0.0, Counted())
    told: list[tuple[PlanStep, ...]] = []
    for index, (tool, given, text) in enumerate(TASK_CALLS):
        assert not plans(reader.read(called(given, tool=tool, ref=f"c{index}")))
        told += plans(reader.read(result(f"c{index}", text)))
    assert (len(told), told[-1]) == (len(TASK_CALLS), STEPS)


def test_the_task_list_of_a_claude_code_that_runs_once_is_a_plan() -> None:
    dialect = ClaudeDialect(WorkReader(a_budget(), lambda: 0.0))
    told: list[tuple[PlanStep, ...]] = []
    for index, (tool, given, text) in enumerate(TASK_CALLS):
        call = {"type": "tool_use", "id": f"c{index}", "name": tool, "input": given}
        done = {
            "type": "tool_result",
            "tool_use_id": f"c{index}",
            "content": [{"type": "text", "text": text}],
        }
        for kind, block in (("assistant", call), ("user", done)):
            told += plans(list(dialect.read(kind, {"message": {"content": [block]}})))
    assert told[-1] == STEPS


def test_tasks_that_were_made_before_are_known_once_they_are_listed() -> None:
    followed = ClaudePlans()
    followed.called("c1", "TaskUpdate", {"taskId": "2", "status": "completed"})
    assert followed.done("c1", "Updated task #2 status", failed=False) is None
    followed.called("c2", "TaskList", {})
    listed = followed.done("c2", LISTED, failed=False)
    assert listed is not None
    assert [step.state for step in listed.steps] == [step.state for step in STEPS]
    followed.called("c3", "TaskList", {})
    assert followed.done("c3", "No tasks found", failed=False) == SessionPlan(steps=())


def test_a_task_call_that_fails_or_answers_oddly_changes_no_plan() -> None:
    followed = ClaudePlans()
    for ref, tool, text, failed in (
        ("a", "TaskCreate", "Task #1 created successfully", True),
        ("b", "TaskCreate", "no", False),
        ("c", "TaskUpdate", "Task #1 not found", False),
        ("d", "TaskList", "what?", False),
        ("e", "Bash", "Task #1 created successfully", False),
    ):
        followed.called(ref, tool, {"taskId": ["1"], "subject": 7})
        assert followed.done(ref, text, failed=failed) is None
    for number in range(2 * PLAN_STEPS_MAX):
        followed.called(str(number), "TaskCreate", {})
        followed.done(str(number), f"Task #{number} created successfully: x", failed=False)
    followed.called("last", "TaskUpdate", {"taskId": "0", "status": "completed"})
    last = followed.done("last", "Updated task #0 status", failed=False)
    assert last is not None
    assert len(last.steps) == PLAN_STEPS_MAX


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
