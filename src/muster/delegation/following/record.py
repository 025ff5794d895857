"""Followed conversations: another program leads them, and muster puts on record what it does.

An interactive Claude Code is MAIN there. Its hooks say what happens: an input comes, a call was
denied, a task is set, a subagent starts and stops, a file was written, MAIN has answered. Each of
them is one visit of the log, and nothing is kept in memory between two of them.

- An input opens a conversation. What its keeper had open before is closed, unless subagents work on
  for it in the background.
- The first subagent takes the conversation over. One that starts meanwhile has a conversation of
  its own beside it, so that parallel work is told side by side. One that is no agent of the session
  is noted, and changes no state.
- In interactive mode an agent that starts another one hands over to it, and has it back when that
  one stops.
- In response mode there is no MAIN: an input goes into the queue, and whoever serves that answers
  it. What the program does by itself then is no part of a conversation.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Collection
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from muster.delegation import replies
from muster.delegation.conversations import (
    Conversations,
    close,
    decide,
    opened_by,
    route_command,
    say,
)
from muster.delegation.folder.workspace import DONE_FOLDER, dialogue_of, outputs_of
from muster.delegation.following import briefing
from muster.delegation.following.notes import Given, Notebook, Subagent
from muster.delegation.following.owner import Keeper, parse
from muster.delegation.following.page import Page, fitting
from muster.delegation.ledger import Ledger
from muster.delegation.task_runner import agents_of
from muster.machines import commands as c
from muster.machines.delegation.decide import clipped
from muster.machines.ids import MUSTER, ConversationId, SeatId, agent_actor, person
from muster.machines.state import MAIN, Conversation
from muster.machines.vocabulary import DelegationMode, Remark
from muster.permissions.judge import Verdict

NEXT_INPUT: Final = "the next input came before it was answered"
NO_REPORT: Final = "it ended without a report"
SAID_NOTHING: Final = "(nothing was said)"

REASON_CHARS: Final = 2000
"""How much of the reason of a denial is on record: a path in it may be of any length."""

NAME_CHARS: Final = 80
"""How much is shown of a name that is no agent's."""

log = logging.getLogger(__name__)


class Following:
    """The followed conversations of one state machine session."""

    def __init__(
        self,
        conversations: Conversations,
        *,
        home: Path,
    ) -> None:
        """Notes are kept in this home, beside the log."""
        self._conversations = conversations
        self._ledger: Ledger = conversations.ledger
        self._notebook = Notebook(home)
        self._turn = asyncio.Lock()
        """Hooks come at the same time, and notes are read and written."""

    @asynccontextmanager
    async def _visit(self, keeper: Keeper) -> AsyncGenerator[Page | None]:
        """Open the log; there is nothing to do where no session is open."""
        async with self._turn, self._ledger.visit() as book:
            if book.team.delegation.mode is None:
                yield None
                return
            notes = await asyncio.to_thread(self._notebook.read, keeper.session)
            page = Page(book, self._ledger.folder(book.team), keeper, notes)
            yield page
            await asyncio.to_thread(self._notebook.write, keeper.session, notes)

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
        """Open a conversation for an input; what comes back is what MAIN is to know.

        `began` is when the program began to tell of it, where that is known.
        """
        text = fitting(text)
        async with self._visit(keeper) as page:
            if page is None:
                return ""
            if page.mode is not DelegationMode.RESPONSE:
                page.notes.opened = began
                return await self._open(page, text, speaker, seat)
        return await self._enqueue(text, speaker)

    async def _open(self, page: Page, text: str, speaker: str, seat: SeatId | None) -> str:
        book, delegation = page.book, page.delegation
        await self._conversations.close_abandoned(book)
        await self._give_way(page)
        agents = await asyncio.to_thread(agents_of, delegation)
        decision = await asyncio.to_thread(decide, list(agents.values()), text)
        opening = c.OpenConversation(
            text=text, speaker_name=speaker, keeper=str(page.keeper), seat=seat
        )
        conversation = opened_by(await book.send(opening, actor=person(speaker)))
        await book.send(route_command(conversation, decision), actor=MUSTER)
        outputs, said = page.folder.root / outputs_of(conversation), dialogue_of(conversation)
        return briefing.main(conversation, decision, delegation, outputs, page.folder.root / said)

    async def _give_way(self, page: Page) -> None:
        """Close what is still open for this keeper, except where subagents work on."""
        page.notes.given = []
        mains = page.mains()
        for each in page.mine():
            if page.notes.waits(page.main_of(each), newest=each in mains[-1:]):
                continue
            if each.state == MAIN and each.id in page.notes.answered:
                await self._close_answered(page, each)
            else:
                await self._cut_short(page, each, NEXT_INPUT)

    async def _enqueue(self, text: str, speaker: str) -> str:
        begun = await self._conversations.begin(text, speaker=speaker)
        views = await self._conversations.views(after=begun.seq - 1)
        async with self._ledger.visit() as book:
            root = self._ledger.folder(book.team).root
        number = begun.conversation.removeprefix("conv_")
        return briefing.queued(views[begun.conversation], root / DONE_FOLDER / f"{number}.json")

    # ── what MAIN and its subagents do ────────────────────────────────────────────────────────────

    async def denied(self, keeper: Keeper, by: str, verdict: Verdict) -> str | None:
        """Record a denial; give the agent that could do what was denied, if MAIN asked.

        `by` is the subagent that was denied, or nothing.
        """
        async with self._visit(keeper) as page:
            if page is None:
                return None
            conversation = page.conversation_of(by)
            agent = None if by else await self._able(page, conversation, verdict.need)
            reason = fitting(verdict.with_remedy(agent)[:REASON_CHARS])
            if conversation is None:
                warning = c.LogWarning(text=f"denied ({verdict.rule}): {reason}")
                await page.book.send(warning, actor=MUSTER)
                return agent
            nobody = not by and agent is None
            refusal = c.DenyPermission(
                conversation=conversation.id,
                rule=verdict.rule,
                reason=reason,
                suggestion=replies.slug(conversation.text) if nobody else "",
            )
            await page.book.send(refusal, actor=MUSTER)
            return agent

    async def _able(self, page: Page, conversation: Conversation | None, need: str) -> str | None:
        """The agent that MAIN should delegate to: the one that the input is for, or else the one
        that what was denied is for."""
        if conversation is not None and conversation.routed not in ("", MAIN):
            return conversation.routed
        try:
            agents = list((await asyncio.to_thread(agents_of, page.delegation)).values())
            agent = (await asyncio.to_thread(decide, agents, need)).agent
        except Exception as error:  # the denial goes on record all the same
            log.warning("no agent is named: %s", error, extra={"action": "hook_failed"})
            return None
        return None if agent == MAIN else agent

    async def tasked(self, keeper: Keeper, by: str, to: str, task: str) -> None:
        """A task is set for a subagent that is about to start; `by` a subagent, or by MAIN."""
        async with self._visit(keeper) as page:
            if page is None or page.mode is DelegationMode.RESPONSE:
                return
            to = _shown(to)
            page.notes.give(Given(to=to, text=clipped(fitting(task)), by=by))
            conversation = page.conversation_of(by)
            if conversation is not None:
                known = page.notes.subagents.get(by)
                speaker = MAIN if known is None or not known.state else known.state
                text = f"To {to}:\n\n{task}"
                await say(page.book, conversation.id, speaker, Remark.TASK, fitting(text))

    async def started(self, keeper: Keeper, agent: str, subagent: str) -> str:
        """A subagent starts; what comes back is what it is to know."""
        async with self._visit(keeper) as page:
            if page is None or page.mode is DelegationMode.RESPONSE:
                return ""
            given = page.notes.take(_shown(agent))
            if agent not in page.delegation.agents:
                return await self._noted(page, agent, subagent, given)
            known = page.notes.subagents.get(subagent)
            if known is None or not page.has(known):
                known = await self._take_over(page, agent, subagent, given)
                page.notes.subagents[subagent] = known
            root = page.folder.root
            outputs, said = outputs_of(known.conversation), dialogue_of(known.conversation)
            return briefing.subagent(known.conversation, agent, root / outputs, root / said)

    async def _noted(self, page: Page, agent: str, subagent: str, given: list[Given]) -> str:
        """One that is no agent of the session works for whoever started it, and is no state."""
        starter = given[0].by if given else ""
        conversation = page.conversation_of(starter)
        if conversation is None:
            return ""
        main = page.main_of(conversation)
        page.notes.subagents[subagent] = Subagent(conversation=conversation.id, main=main)
        what = f": {given[0].text}" if len(given) == 1 else ""
        note = f"{_shown(agent)} was started, which is no agent of this session{what}"
        await say(page.book, conversation.id, MUSTER, Remark.NOTE, note)
        outputs = page.folder.root / outputs_of(conversation.id)
        return briefing.subagent(conversation.id, agent, outputs, None)

    async def _take_over(
        self, page: Page, agent: str, subagent: str, given: list[Given]
    ) -> Subagent:
        giver = given[0].by if given else ""
        handed = await self._hand_over(page, agent, giver)
        if handed is not None:
            return handed
        current, starter = page.current(), page.notes.subagents.get(giver)
        # which of several tasks it has is not told
        task = given[0].text if len(given) == 1 else ""
        if current is not None and current.state == MAIN and not (starter and starter.state):
            await page.collect(current)
            await self._delegate(page, current.id, agent, task)
            return Subagent(conversation=current.id, state=agent, main=current.id)
        beside = page.conversation_of(giver)
        return await self._beside(page, agent, subagent, task, beside)

    async def _hand_over(self, page: Page, agent: str, giver: str) -> Subagent | None:
        """Interactive mode: an agent that starts another one hands over to it."""
        known = page.notes.subagents.get(giver)
        if known is None or page.mode is not DelegationMode.INTERACTIVE:
            return None
        conversation = page.find(known.conversation)
        if conversation is None or conversation.state != known.state:
            return None
        await page.take_in(conversation)
        if await self._hand_off(page, conversation, agent, "it was started for this") != agent:
            return None
        return Subagent(conversation=known.conversation, state=agent, main=known.main, giver=giver)

    async def _hand_off(self, page: Page, conversation: Conversation, to: str, why: str) -> str:
        """Pass it on, and say in whose hands it is then."""
        hand_off = c.HandOff(
            conversation=conversation.id, epoch=conversation.epoch, to=to, reason=why
        )
        await page.book.send(hand_off, actor=agent_actor(conversation.state))
        found = page.find(conversation.id)
        return MAIN if found is None else found.state

    async def _beside(
        self, page: Page, agent: str, subagent: str, task: str, main: Conversation | None
    ) -> Subagent:
        """A conversation of its own for one that starts while another has the first."""
        part = "" if main is None else f" (part of {main.id})"
        opening = c.OpenConversation(
            text=f"{agent}{part}: {task or 'one of the tasks that were set for it'}",
            speaker_name=MAIN,
            keeper=str(page.keeper.of(subagent)),
        )
        conversation = opened_by(await page.book.send(opening, actor=MUSTER))
        await self._delegate(page, conversation, agent, task)
        belongs = conversation if main is None else page.main_of(main)
        return Subagent(conversation=conversation, state=agent, main=belongs)

    async def _delegate(
        self, page: Page, conversation: ConversationId, agent: str, task: str
    ) -> None:
        delegate = c.Delegate(conversation=conversation, to=agent, trigger=task)
        await page.book.send(delegate, actor=MUSTER)

    async def wrote(
        self, keeper: Keeper, by: str, path: Path, *, project: Path, created: bool
    ) -> None:
        """A file was written with a tool, by a subagent or by MAIN."""
        async with self._visit(keeper) as page:
            conversation = None if page is None else page.conversation_of(by)
            if page is not None and conversation is not None:
                await page.wrote(conversation, path, project, created=created)

    # ── what came of it ───────────────────────────────────────────────────────────────────────────

    async def stopped(self, keeper: Keeper, subagent: str, agent: str, report: str) -> None:
        """A subagent has stopped; what it says at its end is its report."""
        async with self._visit(keeper) as page:
            if page is None:
                return
            known = page.notes.subagents.pop(subagent, None) or page.guess(agent)
            if subagent in page.notes.background:
                page.notes.background.remove(subagent)
            if known is not None and known.state and page.has(known):
                await self._finish(page, known, report)
                return
            current = page.conversation_of("") if known is None else page.find(known.main)
            current = current or page.current()
            if current is not None and report.strip():
                await say(page.book, current.id, MUSTER, Remark.NOTE, _late(agent, known, report))

    async def _finish(self, page: Page, known: Subagent, report: str) -> None:
        conversation = page.find(known.conversation)
        assert conversation is not None
        await page.take_in(conversation)
        if report.strip():
            await say(page.book, conversation.id, known.state, Remark.REPORT, report)
        giver = page.notes.subagents.get(known.giver)
        if giver is not None and giver.state:
            progress = c.RecordProgress(conversation=conversation.id, what=clipped(report))
            await page.book.send(progress, actor=agent_actor(known.state))
            handed = await self._hand_off(page, conversation, giver.state, clipped(report))
            if handed == giver.state:
                return
        await page.finish(conversation.id, clipped(report), failed=False)
        if page.is_beside(conversation):
            about = conversation.text
            await close(
                page.book, conversation.id, report.strip() or SAID_NOTHING, about, failed=False
            )
            page.notes.forget(conversation.id)

    async def closed(
        self, keeper: Keeper, answer: str, working: Collection[str], *, began: float = 0.0
    ) -> None:
        """MAIN has answered, and these subagents work on: what they work on stays open.

        A quick person can overtake this: what was said before the input came is no answer to it.
        """
        async with self._visit(keeper) as page:
            if page is None or 0.0 < began < page.notes.opened:
                return
            page.notes.background = sorted(working)
            newest = page.current()
            for each in page.mine():
                if page.is_beside(each):
                    if not page.works_on(each):
                        await self._cut_short(page, each, NO_REPORT)
                elif page.notes.waits(each.id, newest=each == newest):
                    if each == newest:
                        await self._answer(page, each, answer)
                elif each == newest:
                    await self._close(page, each, answer)
                else:
                    await self._close_answered(page, each)
            if not working:
                page.notes.given = []
                page.notes.subagents = {}
            if page.current() is None:
                page.notes.opened = 0.0

    async def _answer(self, page: Page, conversation: Conversation, answer: str) -> None:
        """MAIN has spoken, and will once more when its subagents are done."""
        page.notes.answered[conversation.id] = clipped(answer)
        if answer.strip():
            await say(page.book, conversation.id, MAIN, Remark.ANSWER, answer)

    async def _close(self, page: Page, conversation: Conversation, answer: str) -> None:
        about = conversation.text
        await page.bring_home(conversation, NO_REPORT)
        said = answer.strip() or SAID_NOTHING
        await close(page.book, conversation.id, said, about, failed=False)
        page.notes.forget(conversation.id)

    async def _close_answered(self, page: Page, conversation: Conversation) -> None:
        """Close one in which MAIN had answered before its subagents were done."""
        about = conversation.text
        await page.bring_home(conversation, NO_REPORT)
        said = page.notes.answered.get(conversation.id, SAID_NOTHING)
        summary = f"{clipped(about)}: {said}"
        closing = c.CloseConversation(conversation=conversation.id, summary=summary)
        await page.book.send(closing, actor=MUSTER)
        page.notes.forget(conversation.id)

    async def _cut_short(self, page: Page, conversation: Conversation, why: str) -> None:
        await page.collect(conversation)
        found = page.find(conversation.id)
        if found is not None:
            await self._conversations.fail(page.book, found, why)
        page.notes.forget(conversation.id)

    # ── beginnings and ends of the program ────────────────────────────────────────────────────────

    async def left(self, keeper: Keeper, why: str) -> None:
        """The program has ended, or begins anew: what it has left open is closed."""
        async with self._visit(keeper) as page:
            if page is None:
                return
            for each in page.mine():
                await self._cut_short(page, each, why)
            page.notes.given, page.notes.subagents, page.notes.background = [], {}, []
            await self._conversations.close_abandoned(page.book)
            open_still = page.delegation.conversations.values()
            known = {
                each.session for each in map(parse, (one.keeper for one in open_still)) if each
            }
            await asyncio.to_thread(self._notebook.keep_only, known)

    async def state(self) -> str:
        """What a program is told that begins while the session is open."""
        async with self._ledger.visit() as book:
            delegation = book.team.delegation
            if delegation.mode is None:
                return ""
            return briefing.session(delegation, self._ledger.folder(book.team).root)


def _late(agent: str, known: Subagent | None, report: str) -> str:
    """What is noted of a report for which no conversation waits."""
    was = f", which worked for {known.conversation}," if known is not None and known.state else ""
    return f"{_shown(agent)}{was} reports:\n{report}"


def _shown(name: str) -> str:
    return name if len(name) <= NAME_CHARS else name[: NAME_CHARS - 1] + "…"
