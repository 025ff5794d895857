"""Records the steps of a followed program in the dialogue of its conversation."""

from collections.abc import Sequence

from muster.delegation.conversations import say
from muster.delegation.following.hook_context import HookContext
from muster.delegation.following.transcript import TranscriptStep
from muster.machines.ids import MUSTER, ConversationId
from muster.machines.vocabulary import Remark


async def record_steps(
    hook: HookContext,
    conversation: str | None,
    speaker: str,
    steps: Sequence[TranscriptStep],
    report: str,
) -> None:
    """Record the steps of a program, without the last text, which is its report or answer."""
    last = report.strip()
    for step in steps if conversation is not None else ():
        if step.kind is Remark.OUTPUT and step.text.strip() == last:
            continue
        who = MUSTER if step.kind is Remark.NOTE else speaker
        await say(hook.session_log, ConversationId(conversation or ""), who, step.kind, step.text)
