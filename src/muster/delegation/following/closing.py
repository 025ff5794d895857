"""The answers of MAIN in followed conversations, and their ends."""

from typing import Final

from muster.delegation.conversations import close, say
from muster.delegation.following.hook_context import HookContext
from muster.machines import commands as c
from muster.machines.delegation.decide import clipped
from muster.machines.ids import MUSTER
from muster.machines.state import MAIN, Conversation
from muster.machines.vocabulary import Remark

NO_REPORT: Final = "it ended without a report"
SAID_NOTHING: Final = "(nothing was said)"


async def record_answer(hook: HookContext, conversation: Conversation, answer: str) -> None:
    """Record an answer of MAIN, which answers again when its background subagents are done."""
    hook.notes.answered[conversation.id] = clipped(answer)
    if answer.strip():
        await say(hook.session_log, conversation.id, MAIN, Remark.ANSWER, answer)


async def close_with(hook: HookContext, conversation: Conversation, answer: str) -> None:
    """Close a conversation with the answer of MAIN."""
    about = conversation.text
    await hook.return_to_main(conversation, NO_REPORT)
    said = answer.strip() or SAID_NOTHING
    await close(hook.session_log, conversation.id, said, about, failed=False)
    hook.notes.forget(conversation.id)


async def close_answered(hook: HookContext, conversation: Conversation) -> None:
    """Close a conversation that MAIN answered before its subagents were done."""
    about = conversation.text
    await hook.return_to_main(conversation, NO_REPORT)
    said = hook.notes.answered.get(conversation.id, SAID_NOTHING)
    summary = f"{clipped(about)}: {said}"
    closing = c.CloseConversation(conversation=conversation.id, summary=summary)
    await hook.session_log.send(closing, actor=MUSTER)
    hook.notes.forget(conversation.id)
