"""Conversations: one input each, from the human's words to the closed conversation.

Here is what MAIN does, and muster itself is MAIN: it opens a conversation, decides whom it is for,
hands it over or answers it. In response mode there is no MAIN: what was decided waits in the queue
(`queue.py`). An agent works on a conversation in a session of its seat (`delegates.py`).
"""

import asyncio
from typing import Final, NamedTuple

from msgspec.structs import replace

from muster.delegation import assignments, replies
from muster.delegation.following.owner import Lives, nobody_can_tell
from muster.delegation.ledger import Book, Ledger
from muster.delegation.task_runner import Tasks, agents_of, remark
from muster.engine import ports
from muster.engine.dispatcher import Receipt
from muster.errors import NoDelegation, NotFound, Refused
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.commands import Command
from muster.machines.delegation.decide import clipped, in_order
from muster.machines.ids import MUSTER, ConversationId, person
from muster.machines.run_control.gate import task_refusal
from muster.machines.state import MAIN, QUEUE, Conversation, Delegation
from muster.machines.vocabulary import DelegationMode, Ranked, Remark
from muster.routing.agent_files import AgentFile
from muster.routing.lexical import typed_words
from muster.routing.router import Decision, Router
from muster.views.conversations import ConversationView, views_of

CHOSEN: Final = "person"
"""The rule by which a conversation goes where a person says."""


class Begun(NamedTuple):
    """A conversation that was opened, and where its first event stands."""

    conversation: ConversationId
    seq: int


class Conversations:
    """What happens in one state machine session."""

    def __init__(
        self,
        ledger: Ledger,
        clock: ports.Clock,
        *,
        tasks: Tasks | None = None,
        lives: Lives = nobody_can_tell,
    ) -> None:
        """Work in this log; without `tasks` no agent can be run from here.

        `lives` tells whether a program still runs that leads conversations by itself.
        """
        self.ledger = ledger
        self.tasks = tasks
        self._clock = clock
        self._lives = lives

    async def begin(self, text: str, *, speaker: str, to: str | None = None) -> Begun:
        """Open a conversation and hand it to the agent that it is for."""
        async with self.ledger.visit() as book:
            delegation = require_open(book)
            if to is not None and to not in (MAIN, *delegation.agents):
                raise NotFound(kind="agent description", name=to)
            await self.close_abandoned(book)
            return await self.open(book, text, speaker, to)

    async def open(self, book: Book, text: str, speaker: str, to: str | None = None) -> Begun:
        """Open a conversation in a visit, and hand it to the agent that it is for."""
        delegation = book.team.delegation
        agents = await asyncio.to_thread(agents_of, delegation)
        decision = await asyncio.to_thread(decide, list(agents.values()), text, to)
        opening = c.OpenConversation(text=text, speaker_name=speaker)
        receipt = await book.send(opening, actor=person(speaker))
        conversation = opened_by(receipt)
        routed = await book.send(route_command(conversation, decision), actor=MUSTER)
        fact = routed.events[0].fact
        assert isinstance(fact, e.Routed)
        if decision.agent == MAIN:
            await self._answer(book, fact, text)
        elif delegation.mode is not DelegationMode.RESPONSE:
            await self._delegate(book, conversation, decision)
        return Begun(conversation, receipt.seq)

    async def _delegate(self, book: Book, name: ConversationId, decision: Decision) -> None:
        """Hand a conversation to an agent; one that cannot run is the answer, with the remedy."""
        try:
            refused = await self.hand_over(book, name, decision.agent, decision.reason)
        except Refused as error:  # something changed since the gate was asked
            refused = str(error)
        if refused:
            text = book.team.delegation.conversations[name].text
            await close(book, name, refused, text, failed=True)

    async def hand_over(self, book: Book, name: ConversationId, agent: str, why: str) -> str:
        """From MAIN or the queue to an agent. The answer says why that cannot be, if it cannot."""
        if self.tasks is None or not self.tasks.can(agent):
            return replies.no_program(agent)
        refused = task_refusal(book.team, agent, self._clock.now())
        if refused is not None:
            return str(refused)
        told = assignments.prompt(await self.tasks.assignment(name, agent))
        await say(book, name, MAIN, Remark.TASK, f"To {agent}:\n\n{told}")
        seconds = self.tasks.seconds
        delegate = c.Delegate(conversation=name, to=agent, trigger=why, seconds=seconds)
        await book.send(delegate, actor=MUSTER)
        return ""

    async def views(self, *, after: int = 0) -> dict[ConversationId, ConversationView]:
        """Every conversation of the session's folder that began after a place in the log."""
        async with self.ledger.visit() as book:
            events = await book.history(await book.root(), after=after)
            views = views_of(events, home=book.team.delegation.home_state)
            return {name: self._waiting(book, view) for name, view in views.items()}

    def _waiting(self, book: Book, view: ConversationView) -> ConversationView:
        """A conversation in the queue says why its agent does not take it, if that is so."""
        if view.state != QUEUE or view.outcome is not None or view.route is None:
            return view
        refused = task_refusal(book.team, view.route.agent, self._clock.now())
        return view if refused is None else replace(view, waits_because=str(refused))

    async def recover(self) -> None:
        """Bring the folder up to date, and close what keepers have left behind."""
        async with self.ledger.visit() as book:
            await self.close_abandoned(book)

    async def close_abandoned(self, book: Book) -> None:
        """Close every conversation whose keeper has ended."""
        for conversation in in_order(book.team.delegation):
            keeper = conversation.keeper
            if keeper and conversation.state != QUEUE and not self._lives(keeper):
                await self.fail(book, conversation, "the program that led it has ended")

    async def fail(self, book: Book, conversation: Conversation, why: str) -> None:
        """Close a conversation of a keeper that was cut short, whichever agent has it."""
        name = conversation.id
        if conversation.state not in (MAIN, QUEUE):
            wrote = await asyncio.to_thread(self.ledger.folder(book.team).foreign, name)
            await say(book, name, conversation.state, Remark.THINKING, wrote)
            finish = c.FinishTask(
                conversation=name, epoch=conversation.epoch, summary=why, failed=True
            )
            await book.send(finish, actor=MUSTER)
        if name in book.team.delegation.conversations:
            closing = c.CloseConversation(conversation=name, summary=why, failed=True)
            await book.send(closing, actor=MUSTER)

    # ── MAIN ──────────────────────────────────────────────────────────────────────────────────────

    async def _answer(self, book: Book, routed: e.Routed, text: str) -> None:
        """What is MAIN's own, muster answers; where nobody matches, it says so."""
        conversation = routed.conversation
        failed = routed.rule == "no-match"
        denied = None
        if failed:
            denied = replies.denial_in(self.ledger.folder(book.team).root, text)
        if denied is not None:
            refusal = c.DenyPermission(
                conversation=conversation,
                rule=denied.rule,
                reason=denied.reason,
                suggestion=denied.suggestion,
            )
            await book.send(refusal, actor=MUSTER)
            answer = replies.suggested(denied)
        else:
            last = await self._last(book) if replies.about_the_past(text) else ""
            answer = replies.reply(routed, text, book.team.delegation.agents, last)
        await close(book, conversation, answer, text, failed=failed)

    async def _last(self, book: Book) -> str:
        """What came of the last conversation in which an agent worked, or else of the last."""
        views = views_of(await book.history(book.team.delegation.path)).values()
        ended = [view for view in views if view.outcome]
        found = ([view for view in ended if view.trace] or ended)[-1:]
        return f"{found[0].conversation}, {found[0].summary}" if found else ""


# ── small things ──────────────────────────────────────────────────────────────────────────────────


def require_open(book: Book) -> Delegation:
    """The session, which must be open."""
    if book.team.delegation.mode is None:
        raise NoDelegation()
    return book.team.delegation


async def close(
    book: Book, conversation: ConversationId, answer: str, about: str, *, failed: bool
) -> None:
    """Tell the human what came of it, and close the conversation."""
    await say(book, conversation, MAIN, Remark.ANSWER, answer)
    summary = f"{clipped(about)}: {clipped(answer)}"
    closing = c.CloseConversation(conversation=conversation, summary=summary, failed=failed)
    await book.send(closing, actor=MUSTER)


async def say(
    book: Book, conversation: ConversationId, speaker: str, kind: Remark, text: str
) -> None:
    """Put on record what was thought, said or done, if it is anything."""
    if text.strip():
        command, actor = remark(conversation, speaker, kind, text)
        await book.send(command, actor=actor)


def decide(agents: list[AgentFile], text: str, to: str | None = None) -> Decision:
    """Whom a request is for; a person may have chosen."""
    decision = Router(agents).route(text)
    if to is None:
        return decision
    return Decision(
        agent=to,
        confidence=1.0,
        margin=decision.margin,
        candidates=decision.candidates,
        rule=CHOSEN,
        reason="Chosen by a person",
        router=decision.router,
    )


def ranked(decision: Decision) -> tuple[Ranked, ...]:
    """Everybody who was considered, with the words that spoke for each."""
    return tuple(
        Ranked(
            agent=each.agent,
            score=each.score,
            words=tuple(piece.typed for piece in typed_words(each.evidence, most=5)),
        )
        for each in decision.candidates
    )


def route_command(conversation: ConversationId, decision: Decision) -> Command:
    """Put on record what was decided, and why."""
    return c.RecordRoute(
        conversation=conversation,
        to=decision.agent,
        confidence=decision.confidence,
        rule=decision.rule,
        reason=decision.reason,
        router=decision.router,
        margin=decision.margin,
        candidates=ranked(decision),
    )


def opened_by(receipt: Receipt) -> ConversationId:
    """The conversation that a command has opened."""
    fact = receipt.events[0].fact
    assert isinstance(fact, e.ConversationStart)
    return fact.conversation
