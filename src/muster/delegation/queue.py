"""The queue of response mode: messages wait in it, and runners have them carried out.

A message is claimed by a command in the log, so it is carried out once, however many runners there
are. A message for an agent that is paused or disabled waits until the agent may run.
"""

import asyncio
import logging
from collections.abc import Collection
from typing import Final

from muster.delegation.conversations import Conversations, require_open
from muster.delegation.folder import queue as dropped
from muster.delegation.folder.queue import Dropped
from muster.delegation.folder.workspace import QUEUE_FOLDER
from muster.delegation.ledger import Book
from muster.delegation.task_runner import Tasks
from muster.engine import ports
from muster.engine.dispatcher import Commit, Dispatcher
from muster.errors import Closed, MusterError, Refused
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.delegation.decide import in_order
from muster.machines.ids import MUSTER, ConversationId
from muster.machines.run_control.gate import task_refusal
from muster.machines.state import QUEUE, Conversation, Team
from muster.machines.vocabulary import DelegationMode
from muster.views.conversations import ConversationView, views_of

RUNNERS: Final = 4
"""How many conversations of a queue are worked on at once."""

POLL_SECONDS: Final = 0.5
"""How often the queue's folder is looked into for messages of others."""

EVERY: Final[Collection[str]] = ()
"""A runner for these agents is one for all."""

log = logging.getLogger(__name__)


class _Runner:
    """Somebody who wants messages for some agents carried out (for all, where none is named)."""

    def __init__(self, names: Collection[str]) -> None:
        self.names = names
        self.claimed: set[ConversationId] = set()
        self.done = 0
        self.changed = asyncio.Event()

    def wants(self, conversation: Conversation) -> bool:
        return not self.names or conversation.routed in self.names

    def note(self, commit: Commit) -> None:
        """Count the messages that were claimed for it and are closed now."""
        for event in commit.events:
            fact = event.fact
            if isinstance(fact, e.ConversationEnd) and fact.conversation in self.claimed:
                self.claimed.remove(fact.conversation)
                self.done += 1
        self.changed.set()


class QueueRunner:
    """Claims what waits in the queue, for those who want it carried out."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        clock: ports.Clock,
        conversations: Conversations,
        tasks: Tasks,
    ) -> None:
        """Nobody wants anything carried out yet."""
        self._dispatcher = dispatcher
        self._clock = clock
        self._conversations = conversations
        self._tasks = tasks
        self._runners: list[_Runner] = []
        self._claiming = asyncio.Lock()
        self._look = asyncio.Event()
        self._is_closed = False
        dispatcher.watch(self._note)

    def close(self) -> None:
        """Fail callers of `carry_out`: muster is stopping."""
        self._is_closed = True
        for each in self._runners:
            each.changed.set()

    def _note(self, commit: Commit) -> None:
        if commit.team.delegation.mode is DelegationMode.RESPONSE:
            self._look.set()

    def serve(self, names: Collection[str]) -> None:
        """Have messages for these agents carried out from now on (all, where none is named)."""
        self._runners.append(_Runner(names))
        self._look.set()

    async def run(self) -> None:
        """Claim what waits whenever something changes, for ever."""
        while True:
            await self._look.wait()
            self._look.clear()
            if not self._runners or self._mode is not DelegationMode.RESPONSE:
                continue
            try:
                await self._claim()
            except MusterError as error:
                log.warning("%s", error, extra={"action": "queue_failed"})
            self._clock.call_later(POLL_SECONDS, self._look.set)

    async def carry_out(self, names: Collection[str], *, until_empty: bool) -> int:
        """Have these carried out until nothing waits any more, or the session ends; count them."""
        async with self._conversations.ledger.visit() as book:
            if until_empty:
                require_open(book)
        runner = _Runner(names)
        self._runners.insert(0, runner)  # it counts its own, before one that serves for all
        self._dispatcher.watch(runner.note)
        self._look.set()
        try:
            while self._mode is DelegationMode.RESPONSE:
                runner.changed.clear()
                if until_empty and not await self._claim(runner):
                    break
                await runner.changed.wait()
                if self._is_closed:
                    raise Closed()
            return runner.done
        finally:
            self._runners.remove(runner)
            self._dispatcher.unwatch(runner.note)

    @property
    def _mode(self) -> DelegationMode | None:
        return self._dispatcher.team.delegation.mode

    # ── claiming ──────────────────────────────────────────────────────────────────────────────────

    async def _claim(self, asking: _Runner | None = None) -> bool:
        """Hand what waits to its agents, some at a time; say whether anything is left to do."""
        async with self._claiming, self._conversations.ledger.visit() as book:
            await self._take_in(book)
            for waiting in in_order(book.team.delegation):
                runner = next((each for each in self._runners if each.wants(waiting)), None)
                busy = self._working(book.team) >= RUNNERS
                if runner is not None and not busy and self._can_run(waiting):
                    await self._hand_over(book, waiting, runner)
            return any(
                each.state != QUEUE or self._can_run(each)
                for each in book.team.delegation.conversations.values()
                if asking is None or asking.wants(each)
            )

    def _working(self, team: Team) -> int:
        return sum(each.state != QUEUE for each in team.delegation.conversations.values())

    def _can_run(self, waiting: Conversation) -> bool:
        """Whether a message waits whose agent has a program and may run."""
        agent = waiting.routed
        if waiting.state != QUEUE or not agent or not self._tasks.can(agent):
            return False
        return task_refusal(self._dispatcher.team, agent, self._clock.now()) is None

    async def _hand_over(self, book: Book, waiting: Conversation, runner: _Runner) -> None:
        why = "claimed from the queue"
        runner.claimed.add(waiting.id)
        try:
            await self._conversations.hand_over(book, waiting.id, waiting.routed, why)
        except Refused as refused:  # it was claimed meanwhile, or its agent paused
            log.info("%s", refused, extra={"action": "claim_refused"})

    async def _take_in(self, book: Book) -> None:
        """Open a conversation for each message that others have put into the queue's folder.

        A file is removed after its conversation is on disk. What a crash leaves in between is known
        by its words: it is not opened twice.
        """
        if book.team.delegation.mode is not DelegationMode.RESPONSE:
            return
        folder = self._conversations.ledger.folder(book.team).root / QUEUE_FOLDER
        found = await asyncio.to_thread(dropped.look, folder)
        known = views_of(await book.history(book.team.delegation.path)) if found else {}
        for each in found:
            if each.wrong:
                text = f"{each.path} was put aside: it {each.wrong}"
                await book.send(c.LogWarning(text=text), actor=MUSTER)
                await asyncio.to_thread(dropped.reject, each)
                continue
            if not any(_is_same(view, each) for view in known.values()):
                await self._conversations.open(book, each.text, each.speaker)
            await asyncio.to_thread(each.path.unlink)


def _is_same(view: ConversationView, message: Dropped) -> bool:
    """Whether a conversation was opened for this very file."""
    same = (view.text, view.speaker) == (message.text, message.speaker)
    return same and view.started_at >= message.at
