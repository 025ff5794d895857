"""Starts and stops sessions through their runtimes, and reports what became of them.

`orders.py` says what an event calls for; here it is done. Every session has a life of its own, kept
under its id until its end is on disk, so an order that comes twice is carried out once. A life is a
task: a program that is slow to start or to stop holds up nobody else.

What a session is told is `prompt.py`'s, and what it says `intake.py`'s; for a session that works on
a task, delegation knows both (`TaskSessions`).
"""

import asyncio
import logging
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from muster.engine import ports
from muster.engine.dispatcher import Dispatcher
from muster.engine.ports import Exit, Launch, Leftover
from muster.errors import Broken, Closed, Invalid, Refused, Unavailable
from muster.limits import KILL_SECONDS
from muster.machines.backoff import pause_s
from muster.machines.commands import (
    Command,
    ReportSessionEnded,
    ReportSessionStarted,
    ReportWorkStopped,
)
from muster.machines.events import Event
from muster.machines.ids import MUSTER, ConversationId, SessionId
from muster.machines.state import Agent, Team
from muster.machines.vocabulary import Outcome, Urgency
from muster.sessions.approvals import Approvals
from muster.sessions.environment import SessionEnvironment
from muster.sessions.intake import Intake
from muster.sessions.orders import (
    TYPES,
    Interrupt,
    Kill,
    Order,
    Reclaim,
    Spawn,
    Stop,
    orders,
)
from muster.sessions.prompt import NOTHING_TO_TELL, Prompter
from muster.sessions.prompt_state import PromptState

log = logging.getLogger(__name__)


class RunningSession:
    """A session as far as this process knows it."""

    def __init__(self) -> None:
        """Begin before the program is up."""
        self.session: ports.SessionHandle | None = None
        self.task: asyncio.Task[None] | None = None
        self.settled: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when it is known whether the program came up."""

    def settle(self) -> None:
        """It is known whether the program came up."""
        if not self.settled.done():
            self.settled.set_result(None)


class Part(NamedTuple):
    """All that a session is started with."""

    runtime: ports.Runtime
    launch: Launch
    intake: Intake
    deliveries: Sequence[Command] = ()


class TaskSessions(Protocol):
    """The part of delegation in the sessions that work on tasks."""

    def runtime(self, agent: Agent) -> ports.Runtime | None:
        """The runtime that runs an agent on tasks."""
        ...

    async def part(
        self, launch: Launch, conversation: ConversationId, approvals: Approvals
    ) -> Part:
        """All that a session is started with that works on a conversation."""
        ...

    async def lost(self, conversation: ConversationId, session: SessionId) -> None:
        """Take in what is left of a session that an earlier life of muster started."""
        ...


class Sessions:
    """The sessions of this life of muster."""

    name = "sessions"
    types = TYPES

    def __init__(
        self,
        dispatcher: Dispatcher,
        runtimes: ports.Runtimes,
        clock: ports.Clock,
        tasks: asyncio.TaskGroup,
        prompter: Prompter,
        around: SessionEnvironment,
        delegated: TaskSessions,
    ) -> None:
        """Run the lives of sessions in `tasks`."""
        self._approvals = Approvals(dispatcher)
        self._dispatcher = dispatcher
        self._runtimes = runtimes
        self._clock = clock
        self._tasks = tasks
        self._prompter = prompter
        self._around = around
        self._delegated = delegated
        self._lives: dict[SessionId, RunningSession] = {}

    async def react(self, event: Event, team: Team) -> None:
        """Set about what the event calls for."""
        for order in orders(event, team):
            match order:
                case Spawn() | Reclaim():
                    self._begin(order, event.seq)
                case _:
                    life = self._lives.get(order.session)
                    self._tasks.create_task(self._influence(life, order, event.seq))

    async def close(self) -> None:
        """End every session now, and return when that is reported, or after a bounded wait."""
        async with asyncio.TaskGroup() as group:
            for life in self._lives.values():
                group.create_task(self._end(life))

    # ── a life ────────────────────────────────────────────────────────────────────────────────────

    def _begin(self, order: Spawn | Reclaim, cause: int) -> None:
        if order.session not in self._lives:
            life = self._lives[order.session] = RunningSession()
            life.task = self._tasks.create_task(self._live(life, order, cause))

    async def _live(self, life: RunningSession, order: Spawn | Reclaim, cause: int) -> None:
        """See a session to its end, and report that."""
        if isinstance(order, Spawn):
            end = await self._run(life, order, cause)
        else:
            end = await self._reclaim(order)
        life.settle()
        if end is not None:
            await self._report_end(order, end, cause)
        del self._lives[order.session]

    async def _run(self, life: RunningSession, order: Spawn, cause: int) -> Exit | None:
        """Run a session; without an answer where the team has given it up before it was up."""
        told = PromptState()
        try:
            if order.task is None:
                part = await self._own(order, told)
            else:
                part = await self._on_task(order, order.task)
            session = life.session = await part.runtime.start(part.launch, part.intake)
            life.settle()
            up = ReportSessionStarted(
                session=order.session, pid=session.pid, started=session.started
            )
            if await self._report(up, cause):
                await self._prompter.hand_over(part.deliveries)
                return await self._see_through(order, session, part.intake, told)
            await session.kill()
            await session.wait()
        except Exception as error:  # a program can fail in any way
            return Exit(outcome=Outcome.CRASHED, reason=str(error) or repr(error))

    async def _see_through(
        self, order: Spawn, session: ports.SessionHandle, intake: Intake, told: PromptState
    ) -> Exit:
        """Wait for the end of a session, and tell one that lives on what comes meanwhile."""
        telling = None
        if order.task is None and self._agent(order).run.long_lived:
            tells = self._prompter.keep_telling(order.seat, session, told)
            telling = self._tasks.create_task(tells)
        try:
            end = await session.wait()
        finally:
            if telling is not None:
                telling.cancel()
        await intake.finish(end)
        return end

    def _agent(self, order: Order) -> Agent:
        return self._dispatcher.team.agents[order.seat]

    async def _own(self, order: Spawn, told: PromptState) -> Part:
        """A session that is the seat's own."""
        agent, around = self._agent(order), self._around
        runtime = self._runtimes(agent)
        if runtime is None:
            raise Invalid(what=agent.id, why="has no runtime; name one in the settings")
        opening = NOTHING_TO_TELL
        if runtime.has_initial_prompt:
            opening = await self._prompter.opening(agent, order.mode, told)
        intake = Intake(
            self._dispatcher,
            self._clock,
            session=order.session,
            seat=order.seat,
            is_output_speech=runtime.is_output_speech,
            told=told,
            approvals=self._approvals,
        )
        launch = Launch(
            session=order.session,
            agent=agent,
            mode=order.mode,
            prompt=opening.text,
            idle=opening.idle,
            environment=around.environment(agent, order.session, order.mode),
            folder=around.folder(agent),
            soul=agent.soul,
        )
        return Part(runtime, launch, intake, opening.deliveries)

    async def _on_task(self, order: Spawn, conversation: ConversationId) -> Part:
        """A session that works on a task."""
        agent = self._agent(order)
        launch = Launch(
            session=order.session,
            agent=agent,
            mode=order.mode,
            environment=self._around.environment(agent, order.session, order.mode),
        )
        return await self._delegated.part(launch, conversation, self._approvals)

    async def _reclaim(self, order: Reclaim) -> Exit:
        """Clear away what an earlier life of muster has left."""
        agent = self._agent(order)
        runtime = self._runtimes(agent) if order.task is None else self._delegated.runtime(agent)
        found = "it has no runtime any more"
        if runtime is not None:
            left = Leftover(session=order.session, pid=order.pid, started=order.started)
            try:
                found = await runtime.reclaim(left)
            except Exception as error:  # lost it is in any case
                _say(order, error)
                found = f"what is left of it could not be ended: {error}"
        if order.task is not None:
            await self._delegated.lost(order.task, order.session)
        return Exit(outcome=Outcome.LOST, reason=f"muster ended before it did; {found}")

    async def _end(self, life: RunningSession) -> None:
        """Have a life end. One that is not up yet is given up."""
        if life.task is None:
            return
        if life.session is None:
            life.task.cancel()
        else:
            await self._stop_now(life.session)
        await asyncio.wait({life.task}, timeout=KILL_SECONDS)

    async def _stop_now(self, session: ports.SessionHandle) -> None:
        try:
            await session.stop(Urgency.NOW)
        except Exception as error:  # the others are to end too
            log.error("a session could not be stopped", exc_info=error, extra={"action": "close"})

    # ── orders to a life ──────────────────────────────────────────────────────────────────────────

    async def _influence(self, life: RunningSession | None, order: Order, cause: int) -> None:
        """Stop, interrupt or kill a session. Where that fails, a deadline in the state goes on."""
        try:
            if life is None:
                await self._never_started(order, cause)
            else:
                await asyncio.shield(life.settled)
                if life.session is not None:
                    await self._act(life.session, order, cause)
        except Exception as error:  # as with programs, in any way
            _say(order, error)

    async def _act(self, session: ports.SessionHandle, order: Order, cause: int) -> None:
        match order:
            case Stop(urgency=urgency):
                await session.stop(urgency)
            case Kill():
                await session.kill()
            case Interrupt(channel=channel, seat=seat):
                await session.interrupt()
                await self._report(ReportWorkStopped(channel=channel, seat=seat), cause)
            case _:
                raise TypeError(order)

    async def _never_started(self, order: Order, cause: int) -> None:
        """A session that was to end before anybody had started it has ended."""
        if not isinstance(order, Interrupt):
            end = Exit(outcome=Outcome.COMPLETED, reason="stopped before it started")
            await self._report_end(order, end, cause)

    # ── reports ───────────────────────────────────────────────────────────────────────────────────

    async def _report_end(self, order: Order, end: Exit, cause: int) -> None:
        ended = ReportSessionEnded(
            session=order.session, outcome=end.outcome, code=end.code, reason=end.reason
        )
        await self._report(ended, cause)

    async def _report(self, command: Command, cause: int) -> bool:
        """Report, as often as it takes; say whether the team took it in."""
        failures = 0
        while True:
            try:
                await self._dispatcher.send(command, actor=MUSTER, cause=cause)
            except (Refused, Closed) as error:
                log.info("%s", error, extra={"action": "report_refused", "cause": cause})
                return False
            except Broken as error:
                log.error("%s", error, exc_info=error, extra={"action": "report_failed"})
                return False
            except Unavailable as error:
                failures += 1
                log.warning("%s", error, extra={"action": "report_failed", "cause": cause})
                await self._clock.sleep(pause_s(failures))
            else:
                return True


def _say(order: Order, error: Exception) -> None:
    """Log that an order could not be carried out."""
    log.error(
        "could not carry out %r: %s",
        order,
        error,
        exc_info=error,
        extra={"action": "order_failed", "session": order.session, "seat": order.seat},
    )
