"""Delegation in a running server: requests come in at any time and are worked on side by side."""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from muster.delegation.conversations import Begun, Conversations
from muster.delegation.following.owner import Lives, nobody_can_tell
from muster.delegation.ledger import OpenLedger
from muster.delegation.task_runner import Programs
from muster.delegation.workers import Workers
from muster.engine.tasks import background
from muster.errors import MusterError
from muster.machines.vocabulary import NO_LIMIT, Allowance, DelegationMode
from muster.team import Muster
from muster.views.conversations import ConversationView

RUNNERS: Final = 4
"""How many conversations of a queue are worked on at once."""

log = logging.getLogger(__name__)


class Desk:
    """Takes requests, and has them worked on."""

    def __init__(
        self,
        muster: Muster,
        conversations: Conversations,
        tasks: asyncio.TaskGroup,
        *,
        project: Path,
        allowance: Allowance = NO_LIMIT,
    ) -> None:
        """Work goes on in these tasks; `project` is where the team's folder is.

        `allowance` is what a conversation may use up in sessions that begin here.
        """
        self.allowance = allowance
        self._muster = muster
        self.conversations = conversations
        self.project = project
        self._tasks = tasks
        self._running: set[asyncio.Task[None]] = set()

    async def ask(self, text: str, *, speaker: str, to: str | None, wait: bool) -> ConversationView:
        """Take a request; answer when it is closed, or at once. It goes on if nobody waits."""
        begun = await self.conversations.begin(text, speaker=speaker, to=to)
        self.serve_queue()
        if begun.step is not None or begun.hold is not None:
            work = self._tasks.create_task(self._go_on(begun))
            if wait:
                await asyncio.shield(work)
        views = await self.conversations.views(after=begun.seq - 1)
        return views[begun.conversation]

    async def _go_on(self, begun: Begun) -> None:
        try:
            await self.conversations.go_on(begun)
        except MusterError as error:
            log.warning("%s", error, extra={"action": "conversation_failed"})
        except Exception:
            log.exception("a conversation failed", extra={"action": "conversation_failed"})

    def serve_queue(self) -> None:
        """In response mode the server itself claims what waits, some at a time."""
        waits = self._muster.team.delegation.mode is DelegationMode.RESPONSE
        if waits and len(self._running) < RUNNERS:
            task = self._tasks.create_task(self._serve())
            self._running.add(task)
            task.add_done_callback(self._running.discard)

    async def _serve(self) -> None:
        try:
            await self.conversations.serve_queue((), until_empty=True)
        except MusterError as error:
            log.warning("%s", error, extra={"action": "queue_failed"})


@asynccontextmanager
async def open_desk(
    muster: Muster,
    *,
    home: Path,
    programs: Programs,
    task_seconds: float,
    lives: Lives = nobody_can_tell,
    allowance: Allowance = NO_LIMIT,
) -> AsyncGenerator[Desk]:
    """A desk at a team that is open; whatever is worked on at the end is interrupted.

    `lives` tells whether a program still runs that leads conversations by itself.
    """
    ledger = OpenLedger(muster.dispatcher, muster.store)
    project = home.parent
    workers = Workers(
        ledger,
        home=home,
        programs=programs,
        task_seconds=task_seconds,
        project=project,
        lives=lives,
    )
    conversations = Conversations(ledger, workers, muster.clock)
    async with background() as tasks:
        desk = Desk(muster, conversations, tasks, project=project, allowance=allowance)
        await conversations.recover()
        desk.serve_queue()
        yield desk
