"""The subagents of a followed program: how each takes a conversation over, and finishes."""

from typing import Final

from muster.delegation.conversations import close, opened_by, say
from muster.delegation.folder.workspace import outputs_of
from muster.delegation.following import briefing
from muster.delegation.following.closing import SAID_NOTHING
from muster.delegation.following.hook_context import HookContext
from muster.delegation.following.notes import PendingTask, Subagent
from muster.machines import commands as c
from muster.machines.delegation.decide import clipped
from muster.machines.ids import MUSTER, ConversationId, agent_actor
from muster.machines.state import MAIN, Conversation
from muster.machines.vocabulary import DelegationMode, Remark

NAME_CHARS: Final = 80
"""The longest part of a subagent's name that is recorded."""


async def noted(hook: HookContext, agent: str, subagent: str, given: list[PendingTask]) -> str:
    """Record a subagent that is no agent of the session: it works for its starter."""
    starter = given[0].by if given else ""
    conversation = hook.conversation_of(starter)
    if conversation is None:
        return ""
    main = hook.main_of(conversation)
    hook.notes.subagents[subagent] = Subagent(conversation=conversation.id, main=main)
    what = f": {given[0].text}" if len(given) == 1 else ""
    note = f"{shown_name(agent)} was started, which is no agent of this session{what}"
    await say(hook.session_log, conversation.id, MUSTER, Remark.NOTE, note)
    outputs = hook.folder.root / outputs_of(conversation.id)
    return briefing.subagent(conversation.id, agent, outputs, None)


async def take_over(
    hook: HookContext, agent: str, subagent: str, given: list[PendingTask]
) -> Subagent:
    """Give a subagent that starts the conversation of its giver, beside others that work on it.

    Without an open conversation it gets one of its own.
    """
    giver = given[0].by if given else ""
    handed = await hand_over(hook, agent, giver)
    if handed is not None:
        return handed
    # of several pending tasks, the hook does not tell which one this subagent has
    task = given[0].text if len(given) == 1 else ""
    conversation = hook.conversation_of(giver)
    if conversation is None:
        return await open_own(hook, agent, subagent, task)
    await hook.collect(conversation)
    await delegate(hook, conversation.id, agent, task)
    return Subagent(conversation=conversation.id, state=agent, main=hook.main_of(conversation))


async def hand_over(hook: HookContext, agent: str, giver: str) -> Subagent | None:
    """In interactive mode, hand over from an agent to the agent that it started."""
    known = hook.notes.subagents.get(giver)
    if known is None or hook.mode is not DelegationMode.INTERACTIVE:
        return None
    conversation = hook.find(known.conversation)
    if conversation is None or conversation.state != known.state:
        return None
    await hook.record_work(conversation)
    if await hand_off(hook, conversation, agent, "it was started for this") != agent:
        return None
    return Subagent(conversation=known.conversation, state=agent, main=known.main, giver=giver)


async def hand_off(hook: HookContext, conversation: Conversation, to: str, why: str) -> str:
    """Hand a conversation over; return its state after that."""
    hand_off = c.HandOff(conversation=conversation.id, epoch=conversation.epoch, to=to, reason=why)
    await hook.session_log.send(hand_off, actor=agent_actor(conversation.state))
    found = hook.find(conversation.id)
    return MAIN if found is None else found.state


async def open_own(hook: HookContext, agent: str, subagent: str, task: str) -> Subagent:
    """Open a conversation for a subagent that starts while no input is open."""
    opening = c.OpenConversation(
        text=f"{agent}: {task or 'one of the tasks that were set for it'}",
        speaker_name=MAIN,
        keeper=str(hook.keeper.of(subagent)),
    )
    conversation = opened_by(await hook.session_log.send(opening, actor=MUSTER))
    await delegate(hook, conversation, agent, task)
    return Subagent(conversation=conversation, state=agent, main=conversation)


async def delegate(hook: HookContext, conversation: ConversationId, agent: str, task: str) -> None:
    """Delegate a conversation to an agent, beside others that work on it."""
    delegate = c.Delegate(conversation=conversation, to=agent, trigger=task, beside=True)
    await hook.session_log.send(delegate, actor=MUSTER)


async def finish(hook: HookContext, known: Subagent, report: str) -> None:
    """Record the report of a subagent, and finish its task or hand it back to its giver."""
    conversation = hook.find(known.conversation)
    assert conversation is not None
    await hook.record_work(conversation, known.state)
    if report.strip():
        await say(hook.session_log, conversation.id, known.state, Remark.REPORT, report)
    giver = hook.notes.subagents.get(known.giver)
    if giver is not None and giver.state and conversation.state == known.state:
        progress = c.RecordProgress(conversation=conversation.id, what=clipped(report))
        await hook.session_log.send(progress, actor=agent_actor(known.state))
        handed = await hand_off(hook, conversation, giver.state, clipped(report))
        if handed == giver.state:
            return
    await hook.finish(conversation.id, known.state, clipped(report))
    if hook.belongs_to_subagent(conversation):
        about = conversation.text
        await close(
            hook.session_log,
            conversation.id,
            report.strip() or SAID_NOTHING,
            about,
            failed=False,
        )
        hook.notes.forget(conversation.id)


def late_report(agent: str, known: Subagent | None, report: str) -> str:
    """The note for a report that arrives after its conversation was closed."""
    was = f", which worked for {known.conversation}," if known is not None and known.state else ""
    return f"{shown_name(agent)}{was} reports:\n{report}"


def shown_name(name: str) -> str:
    """The name of a subagent, cut to a limit."""
    return name if len(name) <= NAME_CHARS else name[: NAME_CHARS - 1] + "…"
