"""Answers the hook before a typed command is expanded.

`claude-hook` has checked the command, because only that process knows where Claude Code finds its
file. Here a refusal counts or not: MAIN is bound by it and agents are not, as for the tool `Skill`.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final

from muster.claude_plugin.hooks import answers, events
from muster.claude_plugin.hooks.asked import AskedHook
from muster.claude_plugin.hooks.calls import HookAnswer
from muster.claude_plugin.hooks.places import PolicyCache
from muster.delegation.visiting import keeper_of
from muster.permissions.judge import calling_states, judge_states

SKILL_TOOL: Final = "Skill"
"""The tool that expands a command for the model."""

Record = Callable[[Coroutine[Any, Any, str | None]], Awaitable[object]]
"""Writes a record, with a timeout."""


async def answer_expansion(
    asked: AskedHook, *, policies: PolicyCache, record: Record
) -> HookAnswer:
    """Refuse to expand a command that runs something past the hooks."""
    hook = events.read(asked.call.data, events.ExpansionHook)
    if hook.refusal is None or asked.place is None or asked.followed is None:
        return answers.NOTHING
    policy = policies.of(asked.place.root)
    if judge_states(calling_states(None), SKILL_TOOL, {}, policy=policy).allowed:
        return answers.NOTHING
    rule, reason = hook.refusal.rule, events.whole(hook.refusal.reason)
    keeper = await asyncio.to_thread(keeper_of, hook.session_id, asked.call.pid)
    await record(asked.followed.turned_away(keeper, rule, reason))
    return answers.block(f"Denied ({rule}): {reason}")
