"""Followed conversations: another program leads them, and muster records its work from hooks.

An interactive Claude Code is MAIN. It has hooks for an input, a denied call, a task, the start and
stop of a subagent, a written file and MAIN's answer. Each hook call accesses the log once; no state
stays in memory between two calls.

- An input opens a conversation and closes the keeper's earlier ones, except those with subagents in
  the background.
- The first subagent takes the conversation over. A subagent that starts while another works on it
  works on it beside that one: one input is one conversation. A subagent that is no agent of the
  session is recorded in a note, and changes no state.
- In interactive mode, an agent that starts another agent hands over to it, and has the conversation
  again when that agent stops.
- In response mode there is no MAIN: an input goes into the queue for a queue runner, and other work
  of the program belongs to no conversation.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from muster.delegation import replies
from muster.delegation.agent_folders import agents_of
from muster.delegation.conversations import (
    Conversations,
    decide,
    opened_by,
    past_choices,
    route_command,
    say,
)
from muster.delegation.folder import file_changes
from muster.delegation.folder.workspace import DONE_FOLDER, dialogue_of, outputs_of
from muster.delegation.following import briefing, closing, subagents
from muster.delegation.following.hook_context import HookContext, fitting
from muster.delegation.following.notes import NotesStore, PendingTask
from muster.delegation.following.owner import Keeper, parse
from muster.delegation.following.steps import record_steps
from muster.delegation.following.transcript import TranscriptStep
from muster.delegation.session_folder import add_new_agents
from muster.delegation.session_log import LogProvider
from muster.machines import commands as c
from muster.machines.delegation.decide import clipped
from muster.machines.ids import MUSTER, SeatId, person
from muster.machines.state import MAIN, Conversation
from muster.machines.vocabulary import DelegationMode, Remark
from muster.permissions.judge import Verdict

NEXT_INPUT: Final = "the next input came before it was answered"

STRANGER: Final = "main.subagent.unknown"
STOPPED: Final = "main.subagent.stopped"
"""The rules by which MAIN may not start a subagent."""

REASON_CHARS: Final = 2000
"""The longest recorded reason of a denial: a path in it may have any length."""

log = logging.getLogger(__name__)


class Following:
    """Records the followed conversations of one state machine session."""

    def __init__(
        self,
        conversations: Conversations,
        *,
        home: Path,
    ) -> None:
        """Keep notes in this home, beside the log."""
        self._conversations = conversations
        self._log_provider: LogProvider = conversations.log_provider
        self._notes_store = NotesStore(home)
        self._home = home
        self._turn = asyncio.Lock()
        """Hooks run at the same time, and each reads, changes and writes the notes."""

    @asynccontextmanager
    async def _hook_context(self, keeper: Keeper) -> AsyncGenerator[HookContext | None]:
        """Access the log and the notes of a program; None if no session is open."""
        async with self._turn, self._log_provider.access() as session_log:
            if session_log.team.delegation.mode is None:
                yield None
                return
            notes = await asyncio.to_thread(self._notes_store.read, keeper.session)
            hook = HookContext(
                session_log, self._log_provider.folder(session_log.team), keeper, notes
            )
            yield hook
            await asyncio.to_thread(self._notes_store.write, keeper.session, notes)

    # ── an input ──────────────────────────────────────────────────────────────────────────────────

    async def open(
        self,
        text: str,
        keeper: Keeper,
        speaker: str,
        *,
        seat: SeatId | None = None,
        began: float = 0.0,
    ) -> str:
        """Open a conversation for an input; return the instructions to MAIN.

        `began` is the start time of the hook, if it is known.
        """
        text = fitting(text)
        async with self._hook_context(keeper) as hook:
            if hook is None:
                return ""
            if hook.mode is not DelegationMode.RESPONSE:
                hook.notes.opened = began
                return await self._open(hook, text, speaker, seat)
        return await self._enqueue(text, speaker)

    async def _open(self, hook: HookContext, text: str, speaker: str, seat: SeatId | None) -> str:
        session_log = hook.session_log
        since = await asyncio.to_thread(file_changes.filesystem_time, hook.folder.root)
        await add_new_agents(session_log, hook.folder.root)
        delegation = hook.delegation
        await self._conversations.close_abandoned(session_log)
        await self._close_earlier(hook)
        agents = await asyncio.to_thread(agents_of, delegation, hook.folder.root)
        known = list(agents.values())
        choices = past_choices(delegation.choices)
        decision = await asyncio.to_thread(decide, known, text, None, choices)
        opening = c.OpenConversation(
            text=text, speaker_name=speaker, keeper=str(hook.keeper), seat=seat
        )
        conversation = opened_by(await session_log.send(opening, actor=person(speaker)))
        hook.notes.since[conversation] = since
        await session_log.send(route_command(conversation, decision), actor=MUSTER)
        outputs, said = hook.folder.root / outputs_of(conversation), dialogue_of(conversation)
        return briefing.main(
            conversation, decision, delegation, agents, outputs, hook.folder.root / said
        )

    async def _close_earlier(self, hook: HookContext) -> None:
        """Close the open conversations of this keeper, except those with background subagents."""
        hook.notes.given = []
        mains = hook.mains()
        for each in hook.mine():
            if hook.notes.waits(hook.main_of(each), newest=each in mains[-1:]):
                continue
            if each.state == MAIN and each.id in hook.notes.answered:
                await closing.close_answered(hook, each)
            else:
                await self._cut_short(hook, each, NEXT_INPUT)

    async def _enqueue(self, text: str, speaker: str) -> str:
        begun = await self._conversations.begin(text, speaker=speaker)
        views = await self._conversations.views(after=begun.seq - 1)
        async with self._log_provider.access() as session_log:
            root = self._log_provider.folder(session_log.team).root
        number = begun.conversation.removeprefix("conv_")
        return briefing.queued(views[begun.conversation], root / DONE_FOLDER / f"{number}.json")

    # ── MAIN and its subagents ────────────────────────────────────────────────────────────────────

    async def denied(self, keeper: Keeper, by: str, verdict: Verdict) -> str | None:
        """Record a denied tool call; return the agent to delegate it to, if MAIN made the call.

        `by` is the subagent that made the call, or "" for MAIN.
        """
        async with self._hook_context(keeper) as hook:
            if hook is None:
                return None
            conversation = hook.conversation_of(by)
            agent = None if by else await self._able(hook, conversation, verdict.need)
            reason = fitting(verdict.with_remedy(agent)[:REASON_CHARS])
            if conversation is None:
                warning = c.LogWarning(text=f"denied ({verdict.rule}): {reason}")
                await hook.session_log.send(warning, actor=MUSTER)
                return agent
            nobody = not by and agent is None
            refusal = c.DenyPermission(
                conversation=conversation.id,
                rule=verdict.rule,
                reason=reason,
                suggestion=replies.slug(conversation.text) if nobody else "",
            )
            await hook.session_log.send(refusal, actor=MUSTER)
            return agent

    async def _able(
        self, hook: HookContext, conversation: Conversation | None, need: str
    ) -> str | None:
        """The agent that MAIN should delegate to: the input is routed to it, or else the call."""
        if conversation is not None and conversation.routed not in ("", MAIN):
            return conversation.routed
        try:
            agents = await asyncio.to_thread(agents_of, hook.delegation, hook.folder.root)
            agent = (await asyncio.to_thread(decide, list(agents.values()), need)).agent
        except Exception as error:  # the denial is recorded in any case
            log.warning("no agent is named: %s", error, extra={"action": "hook_failed"})
            return None
        return None if agent == MAIN else agent

    async def turned_away(self, keeper: Keeper, rule: str, reason: str) -> None:
        """Record an input that was refused before MAIN saw it, and close its conversation."""
        async with self._hook_context(keeper) as hook:
            if hook is None:
                return
            current = hook.current()
            if current is not None and not current.text.lstrip().startswith("/"):
                current = None  # an earlier input, whose subagents still work
            reason = fitting(reason[:REASON_CHARS])
            await _record_denial(hook, current, rule, reason)
            if current is not None:
                await self._cut_short(hook, current, reason)

    async def refuse_stranger(self, keeper: Keeper, name: str, task: str) -> str:
        """Record that MAIN may not start a subagent, and return why, with the agent to use.

        The text is empty for an agent of the session, which MAIN may start.
        """
        reason = await self._refusal_of(name, task)
        if reason:
            await self.refused(keeper, STRANGER, reason)
        return reason

    async def refused(self, keeper: Keeper, rule: str, reason: str) -> None:
        """Record that MAIN may not start a subagent."""
        async with self._hook_context(keeper) as hook:
            if hook is not None:
                why = fitting(reason[:REASON_CHARS])
                await _record_denial(hook, hook.current(), rule, why)

    async def _refusal_of(self, name: str, task: str) -> str:
        async with self._log_provider.access() as session_log:
            root = self._log_provider.folder(session_log.team).root
            if name not in session_log.team.delegation.agents:
                await add_new_agents(session_log, root)
            delegation = session_log.team.delegation
            agents = await asyncio.to_thread(agents_of, delegation, root)
            if delegation.mode is None or name in agents:
                return ""
        decision = await asyncio.to_thread(decide, list(agents.values()), task)
        return briefing.no_agent(subagents.shown_name(name), decision.agent, list(agents))

    async def tasked(self, keeper: Keeper, by: str, to: str, task: str) -> None:
        """Record a task for a subagent that is about to start, set by the subagent `by` or MAIN."""
        async with self._hook_context(keeper) as hook:
            if hook is None or hook.mode is DelegationMode.RESPONSE:
                return
            to = subagents.shown_name(to)
            hook.notes.give(PendingTask(to=to, text=clipped(fitting(task)), by=by))
            conversation = hook.conversation_of(by)
            if conversation is not None:
                known = hook.notes.subagents.get(by)
                speaker = MAIN if known is None or not known.state else known.state
                text = f"To {to}:\n\n{task}"
                await say(hook.session_log, conversation.id, speaker, Remark.TASK, fitting(text))

    async def started(self, keeper: Keeper, agent: str, subagent: str) -> str:
        """Record the start of a subagent; return its instructions."""
        async with self._hook_context(keeper) as hook:
            if hook is None or hook.mode is DelegationMode.RESPONSE:
                return ""
            given = hook.notes.take(subagents.shown_name(agent))
            if agent not in hook.delegation.agents:
                return await subagents.noted(hook, agent, subagent, given)
            known = hook.notes.subagents.get(subagent)
            if known is None or not hook.has(known):
                known = await subagents.take_over(hook, agent, subagent, given)
                hook.notes.subagents[subagent] = known
            root = hook.folder.root
            outputs, said = outputs_of(known.conversation), dialogue_of(known.conversation)
            return briefing.subagent(known.conversation, agent, root / outputs, root / said)

    async def wrote(
        self, keeper: Keeper, by: str, path: Path, *, project: Path, created: bool
    ) -> None:
        """Record a file that a subagent or MAIN wrote with a tool."""
        async with self._hook_context(keeper) as hook:
            conversation = None if hook is None else hook.conversation_of(by)
            if hook is not None and conversation is not None:
                await hook.wrote(conversation, path, project, by=by, created=created)

    # ── results ───────────────────────────────────────────────────────────────────────────────────

    async def stopped(
        self,
        keeper: Keeper,
        subagent: str,
        agent: str,
        report: str,
        steps: Sequence[TranscriptStep] = (),
        *,
        project: Path | None = None,
    ) -> str:
        """Record the end of a subagent, with its steps, and its last message as the report.

        Files that changed in `project` meanwhile are recorded. Return the text that the user sees.
        """
        async with self._hook_context(keeper) as hook:
            if hook is None:
                return ""
            known = hook.notes.subagents.pop(subagent, None) or hook.guess(agent)
            if subagent in hook.notes.background:
                hook.notes.background.remove(subagent)
            if known is not None and known.state and hook.has(known):
                await record_steps(hook, known.conversation, known.state, steps, report)
                await self._look_around(hook, hook.find(known.conversation), project)
                await subagents.finish(hook, known, report)
                after = hook.find(known.conversation)
                return f"[{known.state} → {MAIN if after is None else after.state}]"
            current = hook.conversation_of("") if known is None else hook.find(known.main)
            current = current or hook.current()
            if current is not None and report.strip():
                await say(
                    hook.session_log,
                    current.id,
                    MUSTER,
                    Remark.NOTE,
                    subagents.late_report(agent, known, report),
                )
            return ""

    async def closed(
        self,
        keeper: Keeper,
        answer: str,
        working: Collection[str],
        *,
        began: float = 0.0,
        steps: Sequence[TranscriptStep] = (),
        project: Path | None = None,
    ) -> None:
        """Record MAIN's steps and answer; close all conversations that no subagent in `working`
        works on.

        The next input may be recorded before this hook: an answer that began before that input does
        not belong to it, and is ignored.
        """
        async with self._hook_context(keeper) as hook:
            if hook is None or 0.0 < began < hook.notes.opened:
                return
            hook.notes.background = sorted(working)
            current = hook.current()
            newest = current.id if current else None
            await record_steps(hook, newest, MAIN, steps, answer)
            for each in hook.mine():
                if hook.belongs_to_subagent(each):
                    if not hook.works_on(each):
                        await self._cut_short(hook, each, closing.NO_REPORT)
                elif hook.notes.waits(each.id, newest=each.id == newest):
                    if each.id == newest:
                        await closing.record_answer(hook, each, answer)
                elif each.id == newest:
                    await self._look_around(hook, each, project)
                    await closing.close_with(hook, each, answer)
                else:
                    await closing.close_answered(hook, each)
            if not working:
                hook.notes.given = []
                hook.notes.subagents = {}
            if hook.current() is None:
                hook.notes.opened = 0.0

    async def _look_around(
        self, hook: HookContext, conversation: Conversation | None, project: Path | None
    ) -> None:
        if conversation is not None and project is not None:
            await hook.look_around(conversation, project, without=(self._home,))

    async def _cut_short(self, hook: HookContext, conversation: Conversation, why: str) -> None:
        await hook.collect(conversation)
        found = hook.find(conversation.id)
        if found is not None:
            await self._conversations.fail(hook.session_log, found, why)
        hook.notes.forget(conversation.id)

    # ── start and end of the program ──────────────────────────────────────────────────────────────

    async def left(self, keeper: Keeper, why: str) -> None:
        """Close the open conversations of a program that has ended or starts again."""
        async with self._hook_context(keeper) as hook:
            if hook is None:
                return
            for each in hook.mine():
                await self._cut_short(hook, each, why)
            hook.notes.given, hook.notes.subagents, hook.notes.background = [], {}, []
            await self._conversations.close_abandoned(hook.session_log)
            open_still = hook.delegation.conversations.values()
            known = {
                each.session for each in map(parse, (one.keeper for one in open_still)) if each
            }
            await asyncio.to_thread(self._notes_store.keep_only, known)

    async def state(self) -> str:
        """The instructions to a program that starts while the session is open."""
        async with self._log_provider.access() as session_log:
            delegation = session_log.team.delegation
            if delegation.mode is None:
                return ""
            return briefing.session(delegation, self._log_provider.folder(session_log.team).root)


async def _record_denial(
    hook: HookContext, conversation: Conversation | None, rule: str, reason: str
) -> None:
    """Record a denial in a conversation; without one, as a warning in the log."""
    denial: c.DenyPermission | c.LogWarning = c.LogWarning(text=f"denied ({rule}): {reason}")
    if conversation is not None:
        denial = c.DenyPermission(conversation=conversation.id, rule=rule, reason=reason)
    await hook.session_log.send(denial, actor=MUSTER)
