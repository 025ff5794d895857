"""Runs a judged shell command confined, where the machine can."""

from pathlib import Path

from muster.claude_plugin.hooks import answers, events
from muster.claude_plugin.hooks.calls import HookAnswer
from muster.claude_plugin.hooks.events import text_of
from muster.confine.session import confinement
from muster.permissions.judge import Verdict


def confined_answer(root: Path, hook: events.ToolUseHook, verdict: Verdict) -> HookAnswer:
    """Let a judged line run confined; a line of a state without restrictions runs as it is."""
    grants = verdict.grants
    if grants is None or grants.moves_only:
        return answers.NOTHING
    confined = confinement(str(root))
    if confined is None:
        return answers.NOTHING
    line = confined.wrapped(
        text_of(hook.tool_input, "command"),
        files=grants.files,
        folders=grants.folders,
        network=grants.network,
        sockets=grants.sockets,
    )
    return answers.allow({**hook.tool_input, "command": line})
