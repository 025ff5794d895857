"""Starts and stops sessions through their runtimes, and reports how they ended.

`orders.py` derives orders from events; this module carries them out. Each session has an asyncio
task, kept under the session's id until its end is on disk. A repeated order therefore has no
effect, and a program that is slow to start or to stop delays no other session.

`prompt.py` writes the prompts of a session and `intake.py` handles its output; for a session that
works on a conversation, delegation does both (`TaskSessions`).
"""

import asyncio
import logging
from collections.abc import Iterator, Mapping

from muster.engine import ports
from muster.engine.dispatcher import Dispatcher
from muster.engine.fencing import StartPermit
from muster.engine.partials import Partials
from muster.engine.ports import Exit, Launch, Leftover
from muster.engine.programs import ProgramInForce
from muster.errors import Invalid
from muster.limits import KILL_SECONDS
from muster.machines.commands import (
    ReportSessionEnded,
    ReportSessionStarted,
    ReportWorkStopped,
)
from muster.machines.events import Event
from muster.machines.ids import LEAD_SEAT, ChannelId, ConversationId, SeatId, SessionId
from muster.machines.run_control.live import sessions_of
from muster.machines.state import Agent, Phase, Team
from muster.machines.turns.speech import framed_soul
from muster.machines.turns.table import held_turns
from muster.machines.vocabulary import Outcome, Urgency
from muster.sessions.approvals import Approvals
from muster.sessions.environment import SessionEnvironment, worktree_variables
from muster.sessions.intake import Intake
from muster.sessions.orders import (
    TYPES,
    Abandon,
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
from muster.sessions.reports import Reports
from muster.sessions.running import (
    NEVER_STARTED,
    WITH_ITS_LEASE,
    RunningSession,
    SessionSetup,
    TaskSessions,
)
from muster.sessions.unlogged_stops import UnloggedStops
from muster.worker.process import Worker

log = logging.getLogger(__name__)


class Sessions:
    """Runs the sessions of this muster process."""

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
        worker: Worker,
        partials: Partials | None = None,
        reclaim: ports.Reclaim | None = None,
    ) -> None:
        """Run sessions in the task group `tasks`.

        `reclaim` ends what is left of a session whose agent has no runtime any more.
        """
        self._partials = partials
        self._leftovers = reclaim
        self._approvals = Approvals(dispatcher, worker)
        self._reports = Reports(dispatcher, clock)
        self._dispatcher = dispatcher
        self._runtimes = runtimes
        self._clock = clock
        self._tasks = tasks
        self._prompter = prompter
        self._around = around
        self._delegated = delegated
        self._running: dict[SessionId, RunningSession] = {}
        self._unlogged = UnloggedStops(dispatcher, clock, tasks, self._stop_unlogged)

    async def react(self, event: Event, team: Team) -> None:
        """Carry out the orders of an event, each in a task of its own."""
        for order in orders(event, team, self._dispatcher.life):
            match order:
                case Spawn() | Reclaim():
                    self._begin(order, event.seq)
                case Abandon() if not self._runs(order.session):
                    pass
                case _:
                    running = self._running.get(order.session)
                    self._tasks.create_task(self._control(running, order, event.seq))

    def _runs(self, session: SessionId) -> bool:
        return session in self._running and not self._running[session].is_over

    async def close(self) -> None:
        """Stop every session now; return when their ends are reported, or after a timeout."""
        async with asyncio.TaskGroup() as group:
            for running in self._running.values():
                group.create_task(self._end(running))

    def outdated(self) -> tuple[SeatId, ...]:
        """The agents whose session was started with other settings than those in force."""
        return tuple(agent.seat for agent, _ in self._with_other_settings())

    def _with_other_settings(self) -> Iterator[tuple[Agent, RunningSession]]:
        for agent in self._dispatcher.team.agents.values():
            found = self._running.get(agent.session or SessionId(""))
            if found is not None and found.runtime not in (None, self._runtimes(agent)):
                yield agent, found

    async def adopt_settings(self) -> None:
        """Hand the settings in force to the sessions that can take them over while they run."""
        async with asyncio.TaskGroup() as group:
            for agent, running in self._with_other_settings():
                group.create_task(self._adopt(agent, running))

    async def _adopt(self, agent: Agent, running: RunningSession) -> None:
        runtime = self._runtimes(agent)
        if runtime is None or running.session is None:
            return
        try:
            if await running.session.adopt(runtime):
                running.runtime = runtime
        except Exception as error:  # a program can fail in any way; its next session has them
            log.error("a session keeps its settings", exc_info=error, extra={"action": "adopt"})

    def program_of(self, agent: Agent) -> ProgramInForce | None:
        """The model and the mode of an agent's running session, where they can change."""
        session = self._handle(agent)
        return None if session is None else session.program

    async def choose_program(self, agent: Agent, *, model: str | None, mode: str | None) -> None:
        """Set the model or the mode of an agent's running session, where they can change."""
        session = self._handle(agent)
        if session is not None:
            await session.choose(model=model, mode=mode)

    def _handle(self, agent: Agent) -> ports.SessionHandle | None:
        """The running session of an agent that the settings apply to."""
        found = self._running.get(agent.session or SessionId(""))
        return None if found is None or found.runtime is None else found.session

    # ── running one session ───────────────────────────────────────────────────────────────────────

    def _begin(self, order: Spawn | Reclaim, cause: int) -> None:
        if order.session not in self._running:
            running = self._running[order.session] = RunningSession()
            running.task = self._tasks.create_task(self._run_to_end(running, order, cause))

    async def _run_to_end(
        self, running: RunningSession, order: Spawn | Reclaim, cause: int
    ) -> None:
        """Run or reclaim a session, and report its end."""
        if isinstance(order, Spawn):
            end = await self._run(running, order, cause)
        else:
            end = await self._reclaim(order)
        running.is_over = True
        running.settle()
        if end is not None:
            await self._report_end(order, end, cause)
        del self._running[order.session]

    async def _run(self, running: RunningSession, order: Spawn, cause: int) -> Exit | None:
        """Run a session; return None if the team gave it up before its program had started."""
        live = self._dispatcher.team.sessions.get(order.session)
        moves = live is not None and live.moves
        permit = await self._around.fence.permit(order.session, moves=moves)
        end = await self._run_permitted(running, order, cause, permit)
        if end is not None and permit.is_over:  # it was killed for that, which is no failure
            return WITH_ITS_LEASE
        return end

    async def _run_permitted(
        self, running: RunningSession, order: Spawn, cause: int, permit: StartPermit
    ) -> Exit | None:
        told = PromptState()
        try:
            if order.task is None:
                setup = await self._seat_session(order, told, permit)
            else:
                setup = await self._task_session(order, order.task, permit)
            await self._unlogged.recorded(order.seat)
            if not self._is_wanted(order):  # a pause came while the prompt was written
                return NEVER_STARTED
            running.runtime = None if order.task is not None else setup.runtime
            session = running.session = await setup.runtime.start(setup.launch, setup.intake)
            running.settle()
            up = ReportSessionStarted(
                session=order.session,
                pid=session.pid,
                started=session.started,
                limits=session.limits,
                confinement=session.confinement,
                interruptible=session.interruptible,
                confirms_prompts=setup.runtime.confirms_prompts,
            )
            async with told.recording:
                is_known = await self._reports.send(up, cause)
                if is_known:
                    await self._told_at_start(order, setup.runtime, told)
                    await self._prompter.hand_over(setup.deliveries)
            if is_known:
                return await self._wait_for_end(order, session, setup, told)
            await session.kill()
            await session.wait()
        except Exception as error:  # a program can fail in any way
            return Exit(outcome=Outcome.CRASHED, reason=str(error) or repr(error))

    def _is_wanted(self, order: Spawn) -> bool:
        """Whether nobody has asked a session to stop since it was requested, as far as is on disk.

        A pause is answered when it is on disk, so no program starts after the answer.
        """
        session = self._dispatcher.team.sessions.get(order.session)
        return session is not None and session.phase is Phase.STARTING

    async def _told_at_start(self, order: Spawn, runtime: ports.Runtime, told: PromptState) -> None:
        """Record the turns that a program knows of since it has started.

        A program without an initial prompt asks for its turns: it is told of all that it holds.
        """
        if order.task is not None or runtime.confirms_prompts:
            return
        turns = dict(told.turns)
        if told.asks:
            held = held_turns(self._dispatcher.team, self._agent(order))
            channels = self._dispatcher.team.channels
            turns = {channel: channels[channel].epoch for channel, _ in held}
        await self._prompter.report_taken(order.seat, order.session, turns)

    async def _wait_for_end(
        self, order: Spawn, session: ports.SessionHandle, setup: SessionSetup, told: PromptState
    ) -> Exit:
        """Wait for a session to end; send prompts to a long-lived one until then."""
        telling = None

        async def report(turns: Mapping[ChannelId, int]) -> None:
            await self._prompter.report_taken(order.seat, order.session, turns)

        if order.task is None and self._agent(order).run.long_lived:
            reports = None if setup.runtime.confirms_prompts else report
            tells = self._prompter.keep_telling(order.seat, session, told, reports)
            telling = self._tasks.create_task(tells)
        try:
            end = await session.wait()
        finally:
            if telling is not None:
                telling.cancel()
        await setup.intake.finish(end)
        return end

    def _agent(self, order: Order) -> Agent:
        return self._dispatcher.team.agents[order.seat]

    async def _seat_session(
        self, order: Spawn, told: PromptState, permit: StartPermit
    ) -> SessionSetup:
        """Set up the seat's own session."""
        agent, around = self._agent(order), self._around
        runtime = self._runtimes(agent)
        if runtime is None:
            raise Invalid(what=agent.id, why="has no runtime; name one in the settings")
        worktree = await around.worktree(agent)
        opening, told.asks = NOTHING_TO_TELL, not runtime.has_initial_prompt
        told.confirms = runtime.confirms_prompts
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
            partials=self._partials,
            hosts=order.seat == LEAD_SEAT and self._prompter.hosts(),
        )
        launch = Launch(
            session=order.session,
            agent=agent,
            mode=order.mode,
            prompt=opening.text,
            images=opening.images,
            turns=opening.turns,
            idle=opening.idle,
            environment={
                **around.environment(agent, order.session, order.mode),
                **worktree_variables(worktree),
                **permit.variables,
            },
            may_start=permit.check,
            folder=around.folder(agent),
            worktree=None if worktree is None else worktree.root,
            cwd=None if worktree is None else worktree.cwd,
            guarded=around.guarded,
            soul=framed_soul(agent.id, agent.soul),
        )
        return SessionSetup(runtime, launch, intake, opening.deliveries)

    async def _task_session(
        self, order: Spawn, conversation: ConversationId, permit: StartPermit
    ) -> SessionSetup:
        """Set up a session that works on a conversation."""
        agent = self._agent(order)
        launch = Launch(
            session=order.session,
            agent=agent,
            mode=order.mode,
            environment={
                **self._around.environment(agent, order.session, order.mode),
                **permit.variables,
            },
            may_start=permit.check,
        )
        return await self._delegated.set_up(launch, conversation, self._approvals)

    async def _reclaim(self, order: Reclaim) -> Exit:
        """Kill the leftover processes of a session that an earlier muster process started."""
        agent = self._agent(order)
        runtime = self._runtimes(agent) if order.task is None else self._delegated.runtime(agent)
        reclaim = self._leftovers if runtime is None else runtime.reclaim
        found = "it has no runtime any more"
        if reclaim is not None:
            left = Leftover(session=order.session, pid=order.pid, started=order.started)
            try:
                found = await reclaim(left)
            except Exception as error:  # the session is lost in any case
                _log_failure(order, error)
                found = f"what is left of it could not be ended: {error}"
        if order.task is not None:
            await self._delegated.lost(order.task, order.session)
        return Exit(outcome=Outcome.LOST, reason=f"muster ended before it did; {found}")

    async def _end(self, running: RunningSession) -> None:
        """Stop a session; cancel one whose program has not started yet."""
        if running.task is None:
            return
        if running.session is None:
            running.task.cancel()
        else:
            await self._stop_now(running.session)
        await asyncio.wait({running.task}, timeout=KILL_SECONDS)

    async def _stop_now(self, session: ports.SessionHandle) -> None:
        try:
            await session.stop(Urgency.NOW)
        except Exception as error:  # a failure must not keep the others running
            log.error("a session could not be stopped", exc_info=error, extra={"action": "close"})

    async def _stop_unlogged(self, seat: SeatId, urgency: Urgency) -> None:
        """Stop the sessions of an agent while the log cannot be written."""
        agent = self._dispatcher.team.agents[seat]
        for session in sessions_of(self._dispatcher.team, agent):
            stop = Stop(session=session.id, seat=seat, urgency=urgency)
            await self._control(self._running.get(session.id), stop, self._dispatcher.team.seq)

    # ── controlling a running session ─────────────────────────────────────────────────────────────

    async def _control(self, running: RunningSession | None, order: Order, cause: int) -> None:
        """Stop, interrupt or kill a session. If that fails, a deadline in the state takes over."""
        try:
            if running is None:
                await self._never_started(order, cause)
            else:
                await asyncio.shield(running.settled)
                if running.session is not None:
                    await self._act(running.session, order, cause)
        except Exception as error:  # a runtime can fail in any way
            _log_failure(order, error)

    async def _act(self, session: ports.SessionHandle, order: Order, cause: int) -> None:
        match order:
            case Stop(urgency=urgency):
                await session.stop(urgency)
            case Kill() | Abandon():
                await session.kill()
            case Interrupt(channel=channel, seat=seat):
                await self._interrupt(session, seat, channel)
                if channel is not None:
                    await self._reports.send(ReportWorkStopped(channel=channel, seat=seat), cause)
            case _:
                raise TypeError(order)

    async def _interrupt(
        self, session: ports.SessionHandle, seat: SeatId, channel: ChannelId | None
    ) -> None:
        """Stop the work on a turn; a turn that waits behind other work does not stop that."""
        if channel is None or not await self._prompter.withdraw_turn(seat, channel, session):
            await session.interrupt()

    async def _never_started(self, order: Order, cause: int) -> None:
        """Report a session as ended that was stopped before it was started."""
        if not isinstance(order, Interrupt):
            await self._report_end(order, NEVER_STARTED, cause)

    # ── reports ───────────────────────────────────────────────────────────────────────────────────

    async def _report_end(self, order: Order, end: Exit, cause: int) -> None:
        ended = ReportSessionEnded(
            session=order.session,
            outcome=end.outcome,
            code=end.code,
            reason=end.reason,
            retry_after_s=end.retry_after_s,
        )
        await self._reports.send(ended, cause)


def _log_failure(order: Order, error: Exception) -> None:
    """Log that an order could not be carried out."""
    log.error(
        "could not carry out %r: %s",
        order,
        error,
        exc_info=error,
        extra={"action": "order_failed", "session": order.session, "seat": order.seat},
    )
