"""Judges a tool call: whether a state may make it, and by which rule.

`judge` never raises and fails closed: a call that cannot be parsed is denied to MAIN, and to every
state with restrictions. A verdict names a stable rule (`main.bash.redirect-write`), and its reason
names the pattern of the policy that decided. `need` describes the denied work, so that a caller can
route it to an agent; `with_remedy` adds the agent to delegate to.
"""

from __future__ import annotations

import os

from muster.permissions.files import CONTENT_CHARS_MAX, Refusal, Target, check_folder, check_write
from muster.permissions.patterns import matches
from muster.permissions.policy import DEFAULT, GATHERING, Permissions, Policy, is_main

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from muster.permissions.grants import Grants
    from muster.permissions.shell.effects import Act, Scene

ALLOW = "allow"
DENY = "deny"

_SHOWN_CHARS_MAX = 120
_FATAL_DOUBTS = ("not-understood", "unknown-command")


class Verdict:
    """The decision about a tool call."""

    __slots__ = ("decision", "grants", "need", "reason", "rule")

    def __init__(
        self, decision: str, rule: str, reason: str, need: str = "", grants: Grants | None = None
    ) -> None:
        self.decision = decision
        self.rule = rule
        self.reason = reason
        self.need = need
        """The denied work in words: `write app.py`."""
        self.grants = grants
        """The needs of an allowed command line of a restricted state, if it runs confined."""

    @property
    def allowed(self) -> bool:
        """Whether the call is allowed."""
        return self.decision == ALLOW

    def with_remedy(self, agent: str | None = None) -> str:
        """The reason; for a denial, with the agent to delegate to."""
        if self.allowed:
            return self.reason
        if agent is None:
            return f"{self.reason} Delegate it to an agent; if none fits, suggest one to create."
        return f"{self.reason} Delegate it to {agent}."

    def as_dict(self, agent: str | None = None) -> dict[str, str | None]:
        """The verdict as JSON; `agent` is the one to delegate to."""
        return {
            "decision": self.decision,
            "rule": self.rule,
            "reason": self.with_remedy(agent),
            "delegateTo": None if self.allowed else agent,
        }


class _Denied(Exception):
    """A denial: the rule, the reason, and the denied work in words."""

    def __init__(self, rule: str, why: str, need: str, *, what: str = "") -> None:
        super().__init__(why)
        self.rule = rule
        self.why = why
        self.need = need
        self.what = what or need
        """The denied work in full; `need` has only the name of a file."""


class _Call:
    """A tool call, with its types checked."""

    __slots__ = ("cwd", "given", "grants", "permissions", "policy", "prefix", "state", "tool")

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
        self.grants: Grants | None = None

    def text(self, field: str) -> str:
        """A required text field of the input."""
        value = self.given.get(field)
        if not isinstance(value, str):
            raise _Denied("input", f"{field!r} of the call must be a string", f"use {self.tool}")
        return value


def judge(
    state: object,
    tool: object,
    given: object,
    *,
    cwd: object = None,
    policy: Policy = DEFAULT,
) -> Verdict:
    """Judge a tool call with its input, made by a state in a working directory."""
    who = state if isinstance(state, str) and state else "?"
    try:
        return _allow(_checked(state, tool, given, cwd, policy))
    except _Denied as denied:
        return _refuse(who, denied)
    except Exception as failed:  # fail closed
        broken = _Denied("broken", f"the call could not be judged ({failed!r})", "do this")
        return _refuse(who, broken)


def unjudged(state: object) -> Verdict:
    """The denial of a call that takes too long to judge."""
    who = state if isinstance(state, str) and state else "?"
    return _refuse(who, _Denied("broken", "the call takes too long to judge", "do this"))


def calling_states(agent: str | None, subagents: Sequence[object] = ()) -> Sequence[object]:
    """The states that must all be allowed to make a call.

    `agent` is the agent whose program calls; None means MAIN's program. A subagent is the state
    that it is named after: a subagent of MAIN has the permissions of that agent, a subagent of an
    agent's program may do nothing that the agent itself may not.
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
    """Judge a call for one or more states: the first denial, or the last verdict."""
    for state in states[:-1]:
        verdict = judge(state, tool, given, cwd=cwd, policy=policy)
        if not verdict.allowed:
            return verdict
    return judge(states[-1], tool, given, cwd=cwd, policy=policy)


def _checked(state: object, tool: object, given: object, cwd: object, policy: Policy) -> _Call:
    if not isinstance(state, str) or not state or not isinstance(tool, str) or not tool:
        raise _Denied("input", "state and tool of a call must be strings", "make this call")
    if not isinstance(given, dict):
        raise _Denied("input", "the input of a call must be an object", f"use {tool}")
    if cwd is not None and not isinstance(cwd, str):
        raise _Denied("input", "the working directory of a call must be a string", f"use {tool}")
    folder = os.path.join(os.getcwd(), cwd or "")  # noqa: PTH109, PTH118
    fields: dict[str, object] = given  # pyright: ignore[reportUnknownVariableType]
    return _Call(state, tool, fields, folder, policy)


def _allow(call: _Call) -> Verdict:
    """Judge a call; name the rule that allows it."""
    permissions = call.permissions
    if permissions.unlimited:
        return Verdict(ALLOW, f"{call.prefix}.unlimited", f"{call.state} may do everything.")
    pattern = _check_tool(call)
    check = _TOOLS.get(call.tool)
    if check is not None:
        check(call)
    rule = f"{call.prefix}.{call.tool.lower()}.allowed"
    reason = f"{call.state} may do this (matches `can_use: {pattern}`)."
    return Verdict(ALLOW, rule, reason, grants=call.grants)


def _check_tool(call: _Call) -> str:
    need = f"use the tool {call.tool}"
    for pattern in call.permissions.cannot_use:
        if matches(pattern, call.tool):
            raise _Denied(
                "tool.blocked", f"{call.tool} is blocked{_by('cannot_use', pattern)}", need
            )
    for pattern in call.permissions.can_use:
        if pattern == call.tool or ("*" in pattern and matches(pattern, call.tool)):
            return pattern
    raise _Denied("tool.unknown", f"no pattern of can_use matches {call.tool}", need)


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
    """The content of a file after some edits."""
    text = Target(path, call.cwd).read()
    for edit in edits:
        if not isinstance(edit, dict):
            raise _Denied("input", "an edit must be an object", "edit this file")
        fields: dict[str, object] = edit  # pyright: ignore[reportUnknownVariableType]
        old, new = fields.get("old_string", ""), fields.get("new_string", "")
        if not isinstance(old, str) or not isinstance(new, str):
            raise _Denied(
                "input", "old_string and new_string of an edit must be strings", "edit this file"
            )
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
    pattern = _by("cannot_write", refusal.pattern) if refusal.pattern else ""
    return _Denied(rule, "", f"write {name}", what=f"write {refusal.why}{pattern}")


# ── commands ──────────────────────────────────────────────────────────────────────────────────────


def _check_bash(call: _Call) -> None:
    from muster.permissions.commands import acts_of
    from muster.permissions.grants import grants_of

    command = call.text("command")
    scene = acts_of(command, call.cwd)
    for act in scene.acts:
        _check_act(call, scene, act, command)
    call.grants = grants_of(scene)


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
            why = f"{shown!r} counts as {act.about!r}{_by('cannot_execute', pattern)}"
            raise _Denied(f"bash.{act.about}", why, need)
    for pattern in call.permissions.can_execute:
        if any(_fits(pattern, name) for name in names):
            return
    why = f"{shown!r} counts as {act.about!r}, which no pattern of can_execute matches"
    raise _Denied(f"bash.{act.about}", why, need)


def _fits(pattern: str, name: str) -> bool:
    if pattern == GATHERING:
        from muster.permissions.programs.catalogue import LOOKING

        return name in LOOKING
    return matches(pattern, name) if "/" not in name else matches(pattern, name.rpartition("/")[2])


def _check_written(call: _Call, scene: Scene, act: Act, command: str) -> None:
    word = act.word
    if word is None or not word.plain:
        raw = "" if word is None else word.raw
        why = f"the file {raw!r} that it writes is only known at run time"
        raise _Denied("bash.unknown-value", why, f"run {_shown(command)}")
    if not scene.folders and not word.text.startswith("/"):
        why = f"the folder in which it writes {word.text!r} is only known at run time"
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
    why = f": {denied.why}" if denied.why else ""
    reason = f"{state} may not {denied.what}{why}."
    return Verdict(DENY, f"{_prefix(state)}.{denied.rule}", reason, denied.need)


def _by(field: str, pattern: str) -> str:
    return f" (matches `{field}: {pattern}`)"


def _shown(command: str) -> str:
    line = " ".join(command[: 2 * _SHOWN_CHARS_MAX].split())
    return repr(line if len(line) <= _SHOWN_CHARS_MAX else f"{line[:_SHOWN_CHARS_MAX]}...")
