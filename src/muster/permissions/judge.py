"""Judges a tool call: may this state do it, and by which rule.

`judge` never raises and fails closed: what is not understood is denied to MAIN, and to every state
that is not allowed everything. A verdict names a stable rule (`main.bash.redirect-write`) and says
in its reason which pattern of the policy decided. Its `need` says what was wanted, so that a caller
can find an agent for it; `with_remedy` then tells whom to delegate to.
"""

from __future__ import annotations

import os

from muster.permissions.files import CONTENT_CHARS_MAX, Refusal, Target, check_folder, check_write
from muster.permissions.patterns import matches
from muster.permissions.policy import DEFAULT, GATHERING, Permissions, Policy, is_main

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from muster.permissions.shell.effects import Act, Scene

ALLOW = "allow"
DENY = "deny"

_SHOWN_CHARS_MAX = 120
_FATAL_DOUBTS = ("not-understood", "unknown-command")


class Verdict:
    """The answer to a tool call."""

    __slots__ = ("decision", "need", "reason", "rule")

    def __init__(self, decision: str, rule: str, reason: str, need: str = "") -> None:
        self.decision = decision
        self.rule = rule
        self.reason = reason
        self.need = need
        """What was denied, in words: `write app.py`."""

    @property
    def allowed(self) -> bool:
        """Whether the call may be made."""
        return self.decision == ALLOW

    def with_remedy(self, agent: str | None = None) -> str:
        """The reason, and for a denial whom to delegate to."""
        if self.allowed:
            return self.reason
        if agent is None:
            return f"{self.reason} Delegate it to an agent; if none fits, suggest one to create."
        return f"{self.reason} Delegate it to {agent}."

    def as_dict(self, agent: str | None = None) -> dict[str, str | None]:
        """As it is written in JSON; `agent` is the one to delegate to."""
        return {
            "decision": self.decision,
            "rule": self.rule,
            "reason": self.with_remedy(agent),
            "delegateTo": None if self.allowed else agent,
        }


class _Denied(Exception):
    """A refusal on its way out: the rule, why, what is needed instead, and the pattern."""

    def __init__(self, rule: str, why: str, need: str, pattern: str = "") -> None:
        super().__init__(why)
        self.rule = rule
        self.why = why
        self.need = need
        self.pattern = pattern


class _Call:
    """A tool call as it is judged."""

    __slots__ = ("cwd", "given", "permissions", "policy", "prefix", "state", "tool")

    def __init__(
        self, state: str, tool: str, given: Mapping[str, object], cwd: str, policy: Policy
    ) -> None:
        self.state = state
        self.tool = tool
        self.given = given
        self.cwd = cwd
        self.policy = policy
        self.permissions: Permissions = policy.of(state)
        self.prefix = _prefix(state)

    def text(self, field: str) -> str:
        """A field of the input that must be there."""
        value = self.given.get(field)
        if not isinstance(value, str):
            raise _Denied("input", f"{field!r} of the call must be a text", f"use {self.tool}")
        return value


def judge(
    state: object,
    tool: object,
    given: object,
    *,
    cwd: object = None,
    policy: Policy = DEFAULT,
) -> Verdict:
    """Judge a call of a tool with its input, made by a state in a folder."""
    who = state if isinstance(state, str) and state else "?"
    try:
        return _allow(_checked(state, tool, given, cwd, policy))
    except _Denied as denied:
        return _refuse(who, denied)
    except Exception as failed:  # a judge that fails must not let anything through
        broken = _Denied("broken", f"it could not be judged ({failed!r})", "do this")
        return _refuse(who, broken)


def calling_states(agent: str | None, subagents: Sequence[object] = ()) -> Sequence[object]:
    """The states that must all be allowed to make a call.

    `agent` is the agent whose program calls; None stands for MAIN's. A subagent is the state that
    it is called after: one of MAIN's is an agent in its own right, one of an agent's program may
    not do more than that agent may.
    """
    if agent is None:
        return subagents or ("MAIN",)
    return (agent, *subagents)


def judge_states(
    states: Sequence[object],
    tool: object,
    given: object,
    *,
    cwd: object = None,
    policy: Policy = DEFAULT,
) -> Verdict:
    """Judge a call for several states, one at least: the first denial, or the last verdict."""
    for state in states[:-1]:
        verdict = judge(state, tool, given, cwd=cwd, policy=policy)
        if not verdict.allowed:
            return verdict
    return judge(states[-1], tool, given, cwd=cwd, policy=policy)


def _checked(state: object, tool: object, given: object, cwd: object, policy: Policy) -> _Call:
    if not isinstance(state, str) or not state or not isinstance(tool, str) or not tool:
        raise _Denied("input", "a call has a state and a tool, both texts", "make this call")
    if not isinstance(given, dict):
        raise _Denied("input", "the input of a call must be an object", f"use {tool}")
    if cwd is not None and not isinstance(cwd, str):
        raise _Denied("input", "the folder of a call must be a text", f"use {tool}")
    folder = os.path.join(os.getcwd(), cwd or "")  # noqa: PTH109, PTH118
    fields: dict[str, object] = given  # pyright: ignore[reportUnknownVariableType]
    return _Call(state, tool, fields, folder, policy)


def _allow(call: _Call) -> Verdict:
    """Judge, and tell by which rule it is allowed."""
    permissions = call.permissions
    if permissions.unlimited:
        return Verdict(ALLOW, f"{call.prefix}.unlimited", f"{call.state} may do everything.")
    pattern = _check_tool(call)
    check = _TOOLS.get(call.tool)
    if check is not None:
        check(call)
    rule = f"{call.prefix}.{call.tool.lower()}.allowed"
    return Verdict(ALLOW, rule, f"{call.state} may do this (can_use: {pattern}).")


def _check_tool(call: _Call) -> str:
    need = f"use the tool {call.tool}"
    for pattern in call.permissions.cannot_use:
        if matches(pattern, call.tool):
            raise _Denied("tool.blocked", f"{call.tool} is blocked", need, f"cannot_use: {pattern}")
    for pattern in call.permissions.can_use:
        if pattern == call.tool or ("*" in pattern and matches(pattern, call.tool)):
            return pattern
    raise _Denied("tool.unknown", f"{call.tool} is not among the tools of can_use", need)


# ── files ─────────────────────────────────────────────────────────────────────────────────────────


def _check_write(call: _Call) -> None:
    path = call.text("file_path")
    _check_file(call, path, call.text("content")[:2])


def _check_edit(call: _Call) -> None:
    path = call.text("file_path")
    changes: list[object] = [call.given]
    if call.tool == "MultiEdit":
        edits = call.given.get("edits")
        if not isinstance(edits, list):
            raise _Denied("input", "'edits' of the call must be a list", "edit this file")
        changes = edits  # pyright: ignore[reportUnknownVariableType]
    _check_file(call, path, "")
    _check_file(call, path, _edited(call, path, changes)[:2])


def _edited(call: _Call, path: str, edits: Sequence[object]) -> str:
    """What a file would hold after some edits."""
    text = Target(path, call.cwd).read()
    for edit in edits:
        if not isinstance(edit, dict):
            raise _Denied("input", "an edit must be an object", "edit this file")
        fields: dict[str, object] = edit  # pyright: ignore[reportUnknownVariableType]
        old, new = fields.get("old_string", ""), fields.get("new_string", "")
        if not isinstance(old, str) or not isinstance(new, str):
            raise _Denied("input", "an edit has texts, old and new", "edit this file")
        if len(text) >= CONTENT_CHARS_MAX and "#!" in new[:2]:
            return new
        text = new if not old and not text else text.replace(old, new) if old else new + text
    return text


def _check_file(call: _Call, path: str, begins: str) -> None:
    refusal = check_write(
        call.permissions, call.policy.executable_names, path, call.cwd, begins=begins
    )
    if refusal is not None:
        raise _file_denied(f"{call.tool.lower()}.{refusal.rule}", refusal, path)


def _file_denied(rule: str, refusal: Refusal, path: str) -> _Denied:
    name = path.rstrip("/").rpartition("/")[2]
    pattern = f"cannot_write: {refusal.pattern}" if refusal.pattern else ""
    return _Denied(rule, f"it writes {refusal.why}", f"write {name}", pattern)


# ── commands ──────────────────────────────────────────────────────────────────────────────────────


def _check_bash(call: _Call) -> None:
    from muster.permissions.commands import acts_of

    command = call.text("command")
    scene = acts_of(command, call.cwd)
    for act in scene.acts:
        _check_act(call, scene, act, command)


def _check_act(call: _Call, scene: Scene, act: Act, command: str) -> None:
    if act.kind == "execute":
        _check_execution(call, act, command)
    elif act.kind == "doubt":
        if "*" not in call.permissions.can_execute or (
            call.permissions.cannot_execute and act.about in _FATAL_DOUBTS
        ):
            raise _Denied(f"bash.{act.about}", act.names[0], f"run {_shown(command)}")
    elif "*" not in call.permissions.can_write or call.permissions.cannot_write:
        _check_written(call, scene, act, command)


def _check_execution(call: _Call, act: Act, command: str) -> None:
    names = [act.about, " ".join(act.names[:1]), " ".join(act.names[:2])]
    shown = " ".join(act.names[:2])
    need = f"run {_shown(command)}"
    for pattern in call.permissions.cannot_execute:
        if any(_fits(pattern, name) for name in names):
            why = f"{shown!r} counts as {act.about!r}"
            raise _Denied(f"bash.{act.about}", why, need, f"cannot_execute: {pattern}")
    for pattern in call.permissions.can_execute:
        if any(_fits(pattern, name) for name in names):
            return
    why = f"{shown!r} counts as {act.about!r}"
    raise _Denied(f"bash.{act.about}", why, need, "can_execute has no such pattern")


def _fits(pattern: str, name: str) -> bool:
    if pattern == GATHERING:
        from muster.permissions.programs.catalogue import LOOKING

        return name in LOOKING
    return matches(pattern, name) if "/" not in name else matches(pattern, name.rpartition("/")[2])


def _check_written(call: _Call, scene: Scene, act: Act, command: str) -> None:
    word = act.word
    if word is None or not word.plain:
        raw = "" if word is None else word.raw
        why = f"it writes to {raw!r}, which is decided at run time"
        raise _Denied("bash.unknown-value", why, f"run {_shown(command)}")
    if not scene.folders and not word.text.startswith("/"):
        why = f"it writes {word.text!r} in a folder that is decided at run time"
        raise _Denied("bash.unknown-value", why, f"run {_shown(command)}")
    check = check_folder if act.kind == "folder" else check_write
    for folder in scene.folders or ["/"]:
        refusal = check(call.permissions, call.policy.executable_names, word.text, folder)
        if refusal is not None:
            raise _file_denied(f"bash.{act.about}", refusal, word.text)


_TOOLS: dict[str, Callable[[_Call], None]] = {
    "Write": _check_write,
    "Edit": _check_edit,
    "MultiEdit": _check_edit,
    "Bash": _check_bash,
}


# ── refusals ──────────────────────────────────────────────────────────────────────────────────────


def _prefix(state: str) -> str:
    return "main" if is_main(state) else "agent"


def _refuse(state: str, denied: _Denied) -> Verdict:
    pattern = f" ({denied.pattern})" if denied.pattern else ""
    reason = f"{state} may not {denied.need}: {denied.why}{pattern}."
    return Verdict(DENY, f"{_prefix(state)}.{denied.rule}", reason, denied.need)


def _shown(command: str) -> str:
    line = " ".join(command[: 2 * _SHOWN_CHARS_MAX].split())
    return repr(line if len(line) <= _SHOWN_CHARS_MAX else f"{line[:_SHOWN_CHARS_MAX]}...")
