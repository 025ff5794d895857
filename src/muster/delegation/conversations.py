"""Conversations: one input each, from the human's words to the closed conversation.

Here is what MAIN does, and muster itself is MAIN: it opens a conversation, decides whom it is for,
hands it over or answers it. In response mode there is no MAIN: what was decided waits in the queue,
and whoever serves the queue claims it. How agents work on one is told in `workers.py`.
"""

import asyncio
from collections.abc import Collection
from typing import Final, NamedTuple

from muster.delegation import replies
from muster.delegation.folder import queue as dropped
from muster.delegation.folder.queue import Dropped
from muster.delegation.folder.workspace import QUEUE_FOLDER
from muster.delegation.ledger import Book, Ledger, Show, show_nobody
from muster.delegation.workers import Hold, Step, Workers, agents_of, close, in_order
from muster.engine import ports
from muster.engine.dispatcher import Receipt
from muster.errors import AlreadyClaimed, NoDelegation, NotFound, StateFileInUse
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.commands import Command
from muster.machines.ids import MUSTER, ConversationId, person
from muster.machines.state import MAIN, QUEUE, Conversation, Delegation
from muster.machines.vocabulary import DelegationMode, Ranked
from muster.routing.agent_files import AgentFile
from muster.routing.lexical import typed_words
from muster.routing.router import Decision, Router
from muster.views.conversations import ConversationView, views_of

CHOSEN: Final = "person"
"""The rule by which a conversation goes where a person says."""

POLL_SECONDS: Final = 0.5
"""How often a runner looks into an empty queue."""


class Begun(NamedTuple):
    """A conversation that was opened, and who is to work on it."""

    conversation: ConversationId
    seq: int
    hold: Hold | None
    step: Step | None


class Conversations:
    """What happens in one state machine session."""

    def __init__(self, ledger: Ledger, workers: Workers, clock: ports.Clock) -> None:
        """Work in this log, with these workers."""
        self._ledger = ledger
        self._workers = workers
        self._clock = clock
        self._opening = asyncio.Lock()
        """Who opens one holds it before anybody looks for what was left behind."""

    @property
    def ledger(self) -> Ledger:
        """Where the session is kept."""
        return self._ledger

    @property
    def workers(self) -> Workers:
        """Those who work on conversations."""
        return self._workers

    async def recover(self) -> None:
        """Bring the folder up to date, and close what a crash left behind."""
        async with self._opening, self._ledger.visit() as book:
            if book.team.delegation.mode is not None:
                await self._workers.recover(book)

    # ── asking ────────────────────────────────────────────────────────────────────────────────────

    async def ask(
        self, text: str, *, speaker: str, to: str | None = None, show: Show = show_nobody
    ) -> ConversationView:
        """Carry one input through to its end; in response mode, put it into the queue."""
        begun = await self.begin(text, speaker=speaker, to=to, show=show)
        await self.go_on(begun, show=show)
        return (await self.views(after=begun.seq - 1))[begun.conversation]

    async def begin(
        self, text: str, *, speaker: str, to: str | None = None, show: Show = show_nobody
    ) -> Begun:
        """Open a conversation and hand it to whom it is for; `go_on` then lets them work."""
        async with self._opening, self._ledger.visit(show) as book:
            delegation = _require_open(book)
            if to is not None and to not in (MAIN, *delegation.agents):
                raise NotFound(kind="agent description", name=to)
            await self._workers.recover(book)
            return await self._open(book, text, speaker, to)

    async def _open(self, book: Book, text: str, speaker: str, to: str | None = None) -> Begun:
        delegation = book.team.delegation
        agents = await asyncio.to_thread(agents_of, delegation)
        decision = await asyncio.to_thread(decide, list(agents.values()), text, to)
        opening = c.OpenConversation(text=text, speaker_name=speaker)
        receipt = await book.send(opening, actor=person(speaker))
        conversation = opened_by(receipt)
        waits = delegation.mode is DelegationMode.RESPONSE
        hold = None if waits else self._workers.hold(conversation)
        try:
            step = await self._send_on(book, conversation, decision, agents, text)
        except BaseException:
            if hold is not None:
                hold.let_go(closed=False)
            raise
        return Begun(conversation, receipt.seq, hold, step)

    async def go_on(self, begun: Begun, *, show: Show = show_nobody) -> None:
        """Let those work to whom a conversation was handed, until it is closed."""
        closed = False
        try:
            await self._workers.see_to_end(begun.step, show)
            closed = True
        finally:
            if begun.hold is not None:
                begun.hold.let_go(closed=closed)

    async def views(self, *, after: int = 0) -> dict[ConversationId, ConversationView]:
        """Every conversation of the session's folder that began after a place in the log."""
        async with self._ledger.visit() as book:
            events = await book.history(await book.root(), after=after)
            return views_of(events, home=book.team.delegation.home_state)

    # ── MAIN ──────────────────────────────────────────────────────────────────────────────────────

    async def _send_on(
        self,
        book: Book,
        conversation: ConversationId,
        decision: Decision,
        agents: dict[str, AgentFile],
        text: str,
    ) -> Step | None:
        """Hand it over, leave it in the queue, or answer it."""
        receipt = await book.send(route_command(conversation, decision), actor=MUSTER)
        routed = receipt.events[0].fact
        assert isinstance(routed, e.Routed)
        if decision.agent == MAIN:
            await self._answer(book, routed, text)
            return None
        if book.team.delegation.mode is DelegationMode.RESPONSE:
            return None
        agent = agents[decision.agent]
        return await self._workers.hand_over(book, conversation, agent, text, decision.reason)

    async def _answer(self, book: Book, routed: e.Routed, text: str) -> None:
        """What is MAIN's own, muster answers; where nobody matches, it says so."""
        conversation = routed.conversation
        failed = routed.rule == "no-match"
        denied = None
        if failed:
            denied = replies.denial_in(self._ledger.folder(book.team).root, text)
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

    # ── the queue ─────────────────────────────────────────────────────────────────────────────────

    async def serve_queue(
        self, names: Collection[str], *, until_empty: bool = False, show: Show = show_nobody
    ) -> int:
        """Response mode: claim and carry out what is for these agents (all, where none is named).

        It goes on until the session ends, or the queue is empty; and says how many it carried out.
        """
        done = 0
        while True:
            try:
                begun = await self._claim(names, show)
            except NoDelegation:
                if done or not until_empty:
                    return done
                raise
            if begun is not None:
                await self.go_on(begun, show=show)
                done += 1
            elif until_empty:
                return done
            else:
                await self._clock.sleep(POLL_SECONDS)

    async def _claim(self, names: Collection[str], show: Show) -> Begun | None:
        """Take the first that waits for one of these agents; nobody else can take it then."""
        async with self._opening, self._ledger.visit(show) as book:
            _require_open(book)
            await self._workers.recover(book)
            await self._take_in(book)
            for waiting in in_order(book.team.delegation):
                if waiting.state != QUEUE or not self._is_for(waiting, names):
                    continue
                begun = await self._claim_one(book, waiting)
                if begun is not None:
                    return begun
        return None

    async def _take_in(self, book: Book) -> None:
        """Open a conversation for each message that others have put into the queue's folder.

        A file is removed after its conversation is on disk. What a crash leaves in between is known
        by its words: it is not opened twice.
        """
        if book.team.delegation.mode is not DelegationMode.RESPONSE:
            return
        folder = self._ledger.folder(book.team).root / QUEUE_FOLDER
        found = await asyncio.to_thread(dropped.look, folder)
        known = await self._views_in(book) if found else {}
        for each in found:
            if each.wrong:
                text = f"{each.path} was put aside: it {each.wrong}"
                await book.send(c.LogWarning(text=text), actor=MUSTER)
                await asyncio.to_thread(dropped.reject, each)
                continue
            if not any(_is_same(view, each) for view in known.values()):
                await self._open(book, each.text, each.speaker)
            await asyncio.to_thread(each.path.unlink)

    def _is_for(self, waiting: Conversation, names: Collection[str]) -> bool:
        agent = waiting.routed
        return bool(agent) and (not names or agent in names) and self._workers.can(agent)

    async def _claim_one(self, book: Book, waiting: Conversation) -> Begun | None:
        try:
            hold = self._workers.hold(waiting.id)
        except StateFileInUse:  # another task of this process was quicker
            return None
        agents = await asyncio.to_thread(agents_of, book.team.delegation)
        try:
            text = await self._text(book, waiting.id)
            step = await self._workers.hand_over(
                book, waiting.id, agents[waiting.routed], text, "claimed from the queue"
            )
        except AlreadyClaimed:
            hold.let_go(closed=False)
            return None
        except BaseException:
            hold.let_go(closed=False)
            raise
        return Begun(waiting.id, 0, hold, step)

    async def _text(self, book: Book, conversation: ConversationId) -> str:
        """What a conversation is about: the folder knows, unless it is behind."""
        known = (await asyncio.to_thread(self._ledger.folder(book.team).seen)).talks
        if conversation in known:
            return known[conversation].text
        return (await self._views_in(book))[conversation].text

    async def _views_in(self, book: Book) -> dict[ConversationId, ConversationView]:
        return views_of(await book.history(book.team.delegation.path))


# ── small things ──────────────────────────────────────────────────────────────────────────────────


def _require_open(book: Book) -> Delegation:
    if book.team.delegation.mode is None:
        raise NoDelegation()
    return book.team.delegation


def _is_same(view: ConversationView, message: Dropped) -> bool:
    """Whether a conversation was opened for this very file."""
    same = (view.text, view.speaker) == (message.text, message.speaker)
    return same and view.started_at >= message.at


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
