"""The queue of response mode: runners claim its messages and delegate them to agents.

A command in the log claims a message, so each message is executed once, however many runners there
are. A message for an agent that is paused or disabled waits until the agent may run.
"""

import asyncio
import logging
from collections.abc import Collection
from typing import Final

from muster.delegation.conversations import Conversations, require_open
from muster.delegation.folder import queue as queue_files
from muster.delegation.folder.queue import QueueFile
from muster.delegation.folder.workspace import QUEUE_FOLDER
from muster.delegation.session_log import SessionLog
from muster.delegation.task_runner import Tasks
from muster.engine import ports
from muster.engine.dispatcher import Commit, Dispatcher
from muster.errors import Closed, MusterError, Refused, WrongMode
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.delegation.decide import in_order
from muster.machines.ids import MUSTER, ConversationId
from muster.machines.run_control.gate import task_refusal
from muster.machines.state import QUEUE, Conversation, Team
from muster.machines.vocabulary import DelegationMode
from muster.views.conversations import ConversationView, views_of

RUNNERS: Final = 4
"""How many conversations of a queue run at once."""

POLL_SECONDS: Final = 0.5
"""The interval for polling the queue's folder for messages of other programs."""

EVERY: Final[Collection[str]] = ()
"""An empty collection of names stands for all agents."""

log = logging.getLogger(__name__)


class _Runner:
    """A client of the queue that serves these agents; no names stand for all of them."""

    def __init__(self, names: Collection[str]) -> None:
        self.names = names
        self.claimed: set[ConversationId] = set()
        self.done = 0
        self.changed = asyncio.Event()

    def serves(self, conversation: Conversation) -> bool:
        return not self.names or conversation.routed in self.names

    def note(self, commit: Commit) -> None:
        """Count the messages that were claimed for this runner and are closed now."""
        for event in commit.events:
            fact = event.fact
            if isinstance(fact, e.ConversationEnd) and fact.conversation in self.claimed:
                self.claimed.remove(fact.conversation)
                self.done += 1
        self.changed.set()


class QueueRunner:
    """Claims messages of the queue for the agents that a runner serves."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        clock: ports.Clock,
        conversations: Conversations,
        tasks: Tasks,
    ) -> None:
        """Serve no agents yet."""
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
        """Start serving these agents; no names stand for all of them."""
        self._runners.append(_Runner(names))
        self._look.set()

    async def run(self) -> None:
        """Claim messages after each change of the log and each poll, until cancelled."""
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
        """Serve these agents until the queue is empty or the session ends; count conversations."""
        async with self._conversations.log_provider.access() as session_log:
            mode = require_open(session_log).mode if until_empty else self._mode
        if mode is not None and mode is not DelegationMode.RESPONSE:
            raise WrongMode(act="run a queue", mode=mode)
        runner = _Runner(names)
        self._runners.insert(0, runner)  # first, so that it counts its own messages
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
        """Delegate waiting messages, up to `RUNNERS` at once; tell whether work is left."""
        async with self._claiming, self._conversations.log_provider.access() as session_log:
            await self._import_files(session_log)
            for waiting in in_order(session_log.team.delegation):
                runner = next((each for each in self._runners if each.serves(waiting)), None)
                busy = self._working(session_log.team) >= RUNNERS
                if runner is not None and not busy and self._can_run(waiting):
                    await self._hand_over(session_log, waiting, runner)
            return any(
                each.state != QUEUE or self._can_run(each)
                for each in session_log.team.delegation.conversations.values()
                if asking is None or asking.serves(each)
            )

    def _working(self, team: Team) -> int:
        return sum(each.state != QUEUE for each in team.delegation.conversations.values())

    def _can_run(self, waiting: Conversation) -> bool:
        """Whether a message waits, and its agent has a program and may run now."""
        agent = waiting.routed
        if waiting.state != QUEUE or not agent or not self._tasks.can(agent):
            return False
        return task_refusal(self._dispatcher.team, agent, self._clock.now()) is None

    async def _hand_over(
        self, session_log: SessionLog, waiting: Conversation, runner: _Runner
    ) -> None:
        why = "claimed from the queue"
        runner.claimed.add(waiting.id)
        try:
            await self._conversations.hand_over(session_log, waiting.id, waiting.routed, why)
        except Refused as refused:  # another runner claimed it, or its agent was paused
            log.info("%s", refused, extra={"action": "claim_refused"})

    async def _import_files(self, session_log: SessionLog) -> None:
        """Open a conversation for each message file that other programs put into the queue.

        A file is removed after its conversation is on disk. After a crash between the two, the file
        is recognized by its text, speaker and time, so no message is opened twice.
        """
        if session_log.team.delegation.mode is not DelegationMode.RESPONSE:
            return
        folder = self._conversations.log_provider.folder(session_log.team).root / QUEUE_FOLDER
        found = await asyncio.to_thread(queue_files.read_messages, folder)
        known = (
            views_of(await session_log.history(session_log.team.delegation.path)) if found else {}
        )
        for each in found:
            if each.wrong:
                text = f"{each.path} was put aside: it {each.wrong}"
                await session_log.send(c.LogWarning(text=text), actor=MUSTER)
                await asyncio.to_thread(queue_files.reject, each)
                continue
            if not any(_is_same(view, each) for view in known.values()):
                await self._conversations.open(session_log, each.text, each.speaker)
            await asyncio.to_thread(each.path.unlink)


def _is_same(view: ConversationView, message: QueueFile) -> bool:
    """Whether a conversation was opened for this file."""
    same = (view.text, view.speaker) == (message.text, message.speaker)
    return same and view.started_at >= message.at
