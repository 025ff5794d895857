"""The JSON of one-shot programs: read as work, bounded, and never trusted.

The lines are those of the real programs against a scripted model.
"""

import json
from typing import Any

import pytest

from muster.engine.ports import (
    BadLine,
    Output,
    Result,
    SessionActivity,
    SessionPlan,
    SessionReport,
    TurnDone,
)
from muster.limits import SAID_LINE_BYTES_MAX
from muster.machines.vocabulary import Activity, PlanState, PlanStep, Usage
from muster.runtimes.once.dialects import (
    ClaudeDialect,
    CodexDialect,
    Dialect,
    GeminiDialect,
    OpencodeDialect,
)
from muster.runtimes.once.interpreter import DialectInterpreter
from muster.runtimes.process.framing import Framer
from muster.runtimes.process.lines import InternalReport
from muster.runtimes.process.pipes import OutputBudget
from muster.runtimes.prompted.reader import WorkReader

Json = Any  # a line
Lines = tuple[Json, ...]

CLAUDE: Lines = (
    {"type": "system", "subtype": "init", "model": "sonnet"},
    {"type": "assistant", "message": {"content": [{"type": "text", "text": "I look."}]}},
    {
        "type": "assistant",
        "message": {
            "content": [{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"x": 1}}]
        },
    },
    {
        "type": "user",
        "message": {
            "content": [
                {"type": "tool_result", "tool_use_id": "t1", "is_error": True, "content": "no"}
            ]
        },
    },
    {"type": "assistant", "message": {"content": [{"type": "text", "text": "hello"}]}},
    {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "result": "hello",
        "total_cost_usd": 0.5,
        "usage": {"input_tokens": 100, "output_tokens": 20, "cache_read_input_tokens": 3},
    },
)
CODEX: Lines = (
    {"type": "thread.started", "thread_id": "1"},
    {"type": "turn.started"},
    {
        "type": "item.started",
        "item": {"id": "i0", "type": "command_execution", "command": "ls", "status": "in_progress"},
    },
    {
        "type": "item.completed",
        "item": {
            "id": "i0",
            "type": "command_execution",
            "command": "ls",
            "aggregated_output": "no",
            "exit_code": 1,
            "status": "failed",
        },
    },
    {"type": "item.completed", "item": {"id": "i1", "type": "agent_message", "text": "hello"}},
    {
        "type": "turn.completed",
        "usage": {"input_tokens": 103, "cached_input_tokens": 3, "output_tokens": 20},
    },
)
GEMINI: Lines = (
    {"type": "init", "model": "gemini-2.5-pro"},
    {"type": "message", "role": "user", "content": "do it"},
    {"type": "tool_use", "tool_name": "Bash", "tool_id": "w1", "parameters": {"file_path": "x"}},
    {"type": "tool_result", "tool_id": "w1", "status": "error", "output": "no"},
    {"type": "message", "role": "assistant", "content": "hel", "delta": True},
    {"type": "message", "role": "assistant", "content": "lo", "delta": True},
    {
        "type": "result",
        "status": "success",
        "stats": {"input_tokens": 103, "output_tokens": 20, "cached": 3},
    },
)
OPENCODE: Lines = (
    {"type": "step_start", "part": {"type": "step-start"}},
    {
        "type": "tool_use",
        "part": {
            "tool": "Bash",
            "callID": "c2",
            "state": {"status": "error", "input": {"x": 1}, "error": "no"},
        },
    },
    {
        "type": "step_finish",
        "part": {"reason": "tool-calls", "tokens": {"input": 60, "output": 5}, "cost": 0.25},
    },
    {"type": "text", "part": {"type": "text", "text": "hello"}},
    {
        "type": "step_finish",
        "part": {
            "reason": "stop",
            "tokens": {"input": 40, "output": 15, "cache": {"read": 3}},
            "cost": 0.25,
        },
    },
)
TOKENS = Usage(input_tokens=100, output_tokens=20, cache_read_tokens=3)
COSTS = Usage(cost_usd=0.5, input_tokens=100, output_tokens=20, cache_read_tokens=3)

DIALECTS: list[tuple[type[Dialect], Lines, Usage]] = [
    (ClaudeDialect, CLAUDE, COSTS),
    (CodexDialect, CODEX, TOKENS),
    (GeminiDialect, GEMINI, TOKENS),
    (OpencodeDialect, OPENCODE, COSTS),
]


def read(dialect: type[Dialect], *lines: Json, size: int = 1 << 20) -> list[SessionReport]:
    """All that is reported of lines that come in pieces of that size."""
    interpreter = DialectInterpreter(dialect(WorkReader(OutputBudget(0.0), lambda: 1000.0)))
    texts = (each if isinstance(each, str) else json.dumps(each) for each in lines)
    raw = "".join(f"{each}\n" for each in texts).encode()
    framer, said = Framer(), list[SessionReport]()
    for at in range(0, len(raw), size):
        for run in framer.push(raw[at : at + size]):
            said += [word.said for word in interpreter.words(run)]
    return [each for each in said if not isinstance(each, InternalReport)]


@pytest.mark.parametrize(("dialect", "lines", "usage"), DIALECTS)
def test_the_work_of_each_program_is_told(
    dialect: type[Dialect], lines: Lines, usage: Usage
) -> None:
    said = read(dialect, *lines)
    calls = [each for each in said if isinstance(each, SessionActivity)]
    assert [each.kind for each in calls] == [Activity.TOOL_CALL, Activity.TOOL_FAILED]
    assert calls[0].name == calls[1].name in ("Bash", "shell")
    assert calls[1].text == "no"
    assert [each for each in said if isinstance(each, Result)] == [
        Result(text="hello", usage=usage)
    ]


@pytest.mark.parametrize(("dialect", "lines", "usage"), DIALECTS)
def test_the_end_of_a_turn_in_its_text_counts(
    dialect: type[Dialect], lines: Lines, usage: Usage
) -> None:
    ending = json.dumps(list(lines)).replace('"hello"', json.dumps("hello\nTURN_COMPLETE"))
    ending = ending.replace('"lo"', json.dumps("lo\nTURN_COMPLETE"))
    [done] = [each for each in read(dialect, *json.loads(ending)) if isinstance(each, TurnDone)]
    assert done.text == "hello"


@pytest.mark.parametrize(
    ("dialect", "line"),
    [
        (ClaudeDialect, {"type": "result", "is_error": True, "result": "no key"}),
        (CodexDialect, {"type": "turn.failed", "error": {"message": "no key"}}),
        (GeminiDialect, {"type": "result", "status": "error", "error": {"message": "no key"}}),
        (OpencodeDialect, {"type": "error", "error": {"data": {"message": "no key"}}}),
    ],
)
def test_a_failure_is_told_with_its_reason(dialect: type[Dialect], line: Json) -> None:
    assert read(dialect, line) == [Result(ok=False, text="no key")]


@pytest.mark.parametrize(("dialect", "lines", "usage"), DIALECTS)
@pytest.mark.parametrize("wrong", [None, 7, "text", [1], {"x": {"y": None}}, True])
def test_values_of_another_kind_count_as_missing(
    dialect: type[Dialect], lines: Lines, usage: Usage, wrong: Json
) -> None:
    for line in lines:
        read(dialect, *({**line, key: wrong} for key in line if key != "type"))
        for key, value in line.items():
            part: Json = value
            if isinstance(value, dict):
                read(dialect, *({**line, key: {**part, each: wrong}} for each in part))
    read(dialect, {"type": wrong}, '{"type": ' + "[" * 50_000, "{", '{"type":"result"} x')


@pytest.mark.parametrize("size", [1 << 20, 10_000])
def test_a_long_line_is_read_however_it_comes_and_one_that_is_too_long_is_left_out(
    size: int,
) -> None:
    item = {"id": "1", "type": "agent_message", "text": "x" * 300_000}
    long = {"type": "item.completed", "item": item}
    [result] = [
        each for each in read(CodexDialect, long, CODEX[-1], size=size) if isinstance(each, Result)
    ]
    assert result.text == "x" * 300_000
    endless = "{" + "x" * (SAID_LINE_BYTES_MAX + 10)
    said = read(CodexDialect, endless, *CODEX, size=size)
    assert [type(each) for each in said if isinstance(each, BadLine)] == [BadLine]
    assert any(isinstance(each, Result) for each in said)


def test_the_plans_of_programs_are_told() -> None:
    todos = [{"content": "Fix it", "status": "completed"}]
    call = {"type": "tool_use", "id": "1", "name": "TodoWrite", "input": {"todos": todos}}
    claude: Json = {"type": "assistant", "message": {"content": [call]}}
    items = [{"text": "Fix it", "completed": True}, {"text": "Test it", "completed": False}]
    codex: Json = {"type": "item.updated", "item": {"type": "todo_list", "items": items}}
    done = PlanStep(text="Fix it", state=PlanState.DONE)
    told = [*read(ClaudeDialect, claude), *read(CodexDialect, codex)]
    assert [each.steps for each in told if isinstance(each, SessionPlan)] == [
        (done,),
        (done, PlanStep(text="Test it", state=PlanState.PENDING)),
    ]


def test_other_output_is_text() -> None:
    framer = Framer()
    interpreter = DialectInterpreter(CodexDialect(WorkReader(OutputBudget(0.0), lambda: 0.0)))
    [run] = framer.push(b'Reading prompt from stdin...\n{"no": "type"}\n[1]\n')
    assert interpreter.words(run) == []
    assert not isinstance(Output(stream="stdout", text=""), InternalReport)
