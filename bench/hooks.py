"""Hooks of Claude Code: the cost of one, and what all of them add to a tool call.

A policy hook runs as Claude Code runs it, in a project with an open state machine session, so that
there is a policy to check. The real Claude Code then writes files in such a project, against a
scripted model, with the plugin and without: the duration of a call is the time between two requests
to the model.
"""

import json
import os
import statistics
import subprocess
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path
from time import perf_counter
from typing import Final

from bench.lines import Bound, Goal, Line, ratios
from bench.processes import environment, python
from bench.rounds import in_turns
from bench.supervised import BOUND_SECONDS
from muster.claude_plugin.copying import SOURCE
from muster.testing.claude_sandbox import Box, boxed, claude_binary
from muster.testing.model import Rule, ScriptedModel, Tool

_SESSION: Final = ("agent-state-machine", "--session", "start")
_CALLS: Final = 15
"""Tool calls in a session of Claude Code; the first is a warm-up and not counted."""


def measure(folder: Path, rounds: int, *, sessions: int, calls: int = _CALLS) -> list[Line]:
    """Measure the lines of the hooks."""
    return [*_one_hook(folder, rounds), *_all_hooks(sessions, calls)]


def _one_hook(folder: Path, rounds: int) -> list[Line]:
    served, alone = folder / "served", folder / "alone"
    for project in (served, alone):
        project.mkdir(parents=True)
        _muster(project, *_SESSION)
    with _up(served):
        took = in_turns(
            {
                "bare": _seconds(python("-c", "pass"), served),
                "served": _seconds(_policy_hook(), served),
                "alone": _seconds(_policy_hook(), alone),
            },
            rounds,
        )
    return [
        Line(
            what=f"policy hook, muster {state}",
            against="`python -c pass` (time)",
            goal=Goal(Bound.AT_MOST, most),
            figures=ratios(took[side], took["bare"]),
            aside=f"{_ms(took[side]):.0f} ms against {_ms(took['bare']):.0f} ms",
        )
        for side, state, most in (("served", "running", 1.3), ("alone", "not running", 3.0))
    ]


def _policy_hook() -> list[str]:
    return python("-I", "-S", str(SOURCE / "hook.py"), "PreToolUse")


def _seconds(command: list[str], project: Path) -> Callable[[], float]:
    """A side that runs a command with a hook's input and measures its duration."""
    call = {
        "tool_name": "Bash",
        "tool_input": {"command": "git status | head"},
        "cwd": str(project),
    }
    given = json.dumps({"session_id": "bench", "hook_event_name": "PreToolUse", **call}).encode()
    environ = {**environment(), "CLAUDE_PROJECT_DIR": str(project)}

    def run() -> float:
        begin = perf_counter()
        ran = subprocess.run(
            command, input=given, cwd=project, env=environ, capture_output=True, check=True
        )
        took = perf_counter() - begin
        if ran.stderr or not _is_allowed(ran.stdout):
            raise RuntimeError(f"the call was not just allowed: {ran}")
        return took

    return run


def _is_allowed(answer: bytes) -> bool:
    """Whether a hook allowed a call: by silence, or with a command that runs confined."""
    if not answer:
        return True
    decision = json.loads(answer)["hookSpecificOutput"]
    return decision["permissionDecision"] == "allow" and "updatedInput" in decision


# ── the real Claude Code ──────────────────────────────────────────────────────────────────────────


def _all_hooks(sessions: int, calls: int) -> list[Line]:
    with (
        ScriptedModel(_script(calls), limit=100_000) as model,
        boxed(model.url) as plain,
        boxed(model.url) as served,
        boxed(model.url) as alone,
        _up(served.work),
    ):
        for box in (served, alone):
            _install(box)
        sides = {"plain": plain, "served": served, "alone": alone}
        took = in_turns(
            {side: partial(_session, box, model, calls) for side, box in sides.items()}, sessions
        )
    medians = {side: [_ms(each) for each in took[side]] for side in took}
    return [_added(medians, "served", "running", 60), _added(medians, "alone", "not running", 100)]


def _added(medians: Mapping[str, Sequence[float]], side: str, state: str, most: float) -> Line:
    with_hooks, without = (statistics.median(medians[each]) for each in (side, "plain"))
    pairs = zip(medians[side], medians["plain"], strict=True)
    return Line(
        what=f"added to a Write of Claude Code by all hooks, muster {state}",
        against="the same call without (difference)",
        goal=Goal(Bound.AT_MOST, most, "ms"),
        figures=[ours - theirs for ours, theirs in pairs],
        aside=f"{with_hooks:.0f} ms against {without:.0f} ms",
    )


def _script(calls: int) -> list[Rule]:
    """The script: MAIN writes one note after the other; every session starts from the beginning."""
    rules = [_writes(number, f"note-{number - 1}.txt") for number in range(1, calls)]
    return [*rules[::-1], Rule(match=f"note-{calls - 1}.txt", reply="Done."), _writes(0, "begin")]


def _writes(number: int, after: str) -> Rule:
    note = {"file_path": f"note-{number}.txt", "content": "x"}
    return Rule(match=after, reply=[Tool("Write", note)])


def _install(box: Box) -> None:
    """Install the plugin, and open a session."""
    _muster(box.work, "claude-plugin", "install", **box.env)
    _muster(box.work, *_SESSION)


def _session(box: Box, model: ScriptedModel, calls: int) -> list[float]:
    """The duration of each tool call in a session of Claude Code, in seconds."""
    for note in box.work.glob("note-*.txt"):
        note.unlink()
    before = len(model.calls())
    subprocess.run(
        [claude_binary(), "-p", "begin", "--permission-mode", "acceptEdits"],
        env=box.environ(),
        cwd=box.work,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        timeout=BOUND_SECONDS,
        check=True,
    )
    moments = [call.when for call in model.calls()[before:]]
    written = len(list(box.work.glob("note-*.txt")))
    if (len(moments), written) != (calls + 1, calls):
        raise RuntimeError(f"{len(moments)} requests, {written} of {calls} notes")
    return [after - earlier for earlier, after in pairwise(moments[1:])]


# ── muster ────────────────────────────────────────────────────────────────────────────────────────


def _muster(project: Path, *arguments: str, **environ: str) -> None:
    subprocess.run(
        python("-m", "muster", *arguments),
        cwd=project,
        env={**environment(), "CLAUDE_PROJECT_DIR": os.fspath(project), **environ},
        stdout=subprocess.DEVNULL,
        check=True,
    )


@contextmanager
def _up(project: Path) -> Generator[None]:
    """Run a muster in the project's home until the end of the block."""
    command = python("-m", "muster", "up", "--port", "0", "--no-browser")
    with subprocess.Popen(
        command, cwd=project, stdout=subprocess.PIPE, text=True, env=environment()
    ) as process:
        try:
            assert process.stdout is not None
            if "http://" not in process.stdout.readline():
                raise RuntimeError("muster did not start")
            yield
        finally:
            process.terminate()


def _ms(seconds: Sequence[float]) -> float:
    return 1000 * statistics.median(seconds)
