"""A session in this process, from its order to its end, and what it needs before it starts."""

import asyncio
from collections.abc import Sequence
from typing import Final, NamedTuple, Protocol

from muster.engine import ports
from muster.engine.ports import Exit, Launch
from muster.machines.commands import Command
from muster.machines.ids import ConversationId, SessionId
from muster.machines.state import Agent
from muster.machines.vocabulary import Outcome
from muster.sessions.approvals import Approvals
from muster.sessions.intake import Intake

NEVER_STARTED: Final = Exit(outcome=Outcome.CUT_OFF, reason="stopped before it started")
"""The end of a session that was stopped before its program ran. Its one-shot is not done."""

WITH_ITS_LEASE: Final = Exit(outcome=Outcome.LOST, reason="the lease of its machine was over")
"""The end of a session that the warden of this node killed, or kept from starting."""


class RunningSession:
    """The handle and the asyncio task of a session in this process."""

    def __init__(self) -> None:
        """Begin before the program has started."""
        self.session: ports.SessionHandle | None = None
        self.task: asyncio.Task[None] | None = None
        self.runtime: ports.Runtime | None = None
        self.is_over = False
        """Whether its program has ended; the end may not be reported yet."""

        self.settled: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when the program has started or has failed to start."""

    def settle(self) -> None:
        """Wake the waiters: the program has started or has failed to start."""
        if not self.settled.done():
            self.settled.set_result(None)


class SessionSetup(NamedTuple):
    """Everything needed to start a session."""

    runtime: ports.Runtime
    launch: Launch
    intake: Intake
    deliveries: Sequence[Command] = ()


class TaskSessions(Protocol):
    """The part of delegation that prepares task sessions."""

    def runtime(self, agent: Agent) -> ports.Runtime | None:
        """The runtime for task sessions of an agent."""
        ...

    async def set_up(
        self, launch: Launch, conversation: ConversationId, approvals: Approvals
    ) -> SessionSetup:
        """Everything needed to start a session that works on a conversation."""
        ...

    async def lost(self, conversation: ConversationId, session: SessionId) -> None:
        """Record the remaining output of a session that an earlier muster process started."""
        ...
