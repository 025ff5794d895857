"""The sessions reactor: orders are carried out once, also if events repeat, and reported."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from muster.engine.dispatcher import Dispatcher
from muster.engine.fencing import NO_FENCE, Fence
from muster.engine.ports import Exit, Launch, Leftover, Runtime, Runtimes, SessionListener
from muster.engine.tasks import background
from muster.inbox.inbox import Inbox
from muster.limits import INTERRUPT_SECONDS
from muster.machines.commands import CheckChannel, OverrideTurn, ReportSessionEnded
from muster.machines.events import (
    MusterStarted,
    SessionEnd,
    SessionRequested,
    SessionStart,
    StopRequested,
    WorkStopped,
)
from muster.machines.ids import ConversationId, SessionId
from muster.machines.state import Agent, TurnState
from muster.machines.vocabulary import Outcome, RunMode, Urgency
from muster.sessions import reactor
from muster.sessions.approvals import Approvals
from muster.sessions.environment import SessionEnvironment
from muster.sessions.orders import Reclaim, Spawn, Stop, orders
from muster.sessions.prompt import InitialPrompt, Prompter
from muster.sessions.prompt_state import PromptState
from muster.sessions.prompt_templates import PromptTemplates
from muster.sessions.reactor import Sessions
from muster.sessions.running import SessionSetup
from muster.sessions.session_tokens import SessionTokens
from muster.store.memory import MemoryStore
from muster.testing.clock import ManualClock
from muster.testing.runtime import (
    Interrupts,
    Kills,
    Reclaims,
    ScriptedRuntime,
    ScriptedSession,
    Starts,
    Stops,
)
from muster.worker.process import Worker
from tests.builders import (
    ADA,
    BEN,
    DESIGN,
    HUMAN,
    a_dispatcher,
    a_feed,
    logged,
    run,
    settled,
    want,
    with_agents,
    with_channel,
    with_program,
)
from tests.waits import WAIT_SECONDS


class NoTasks:
    """Delegation without any tasks."""

    def runtime(self, agent: Agent) -> Runtime | None:
        return None

    async def set_up(
        self, launch: Launch, conversation: ConversationId, approvals: Approvals
    ) -> SessionSetup:
        raise AssertionError(conversation)

    async def lost(self, conversation: ConversationId, session: SessionId) -> None:
        raise AssertionError(conversation)


class Stage:
    """A team with a program in Ada's seat, and the reactor that runs it."""

    def __init__(
        self,
        store: MemoryStore,
        clock: ManualClock,
        runtimes: Runtimes,
        dispatcher: Dispatcher,
        tasks: asyncio.TaskGroup,
        fence: Fence = NO_FENCE,
    ) -> None:
        self.store = store
        self.clock = clock
        self.dispatcher = dispatcher
        feed = a_feed(store, dispatcher)
        self.sessions = Sessions(
            dispatcher,
            runtimes,
            clock,
            tasks,
            Prompter(dispatcher, store, Inbox(feed, dispatcher), PromptTemplates()),
            SessionEnvironment(SessionTokens("key"), fence=fence),
            NoTasks(),
            Worker(),
        )
        self._shown = 0

    async def show(self) -> None:
        """Give every new event of the log to the reactor, each one twice."""
        while self._shown < self.dispatcher.team.seq:
            events = (await logged(self.store))[self._shown :]
            self._shown = events[-1].seq
            for event in [*events, *events]:
                await self.sessions.react(event, self.dispatcher.team)
            await settled()

    async def want(self, mode: RunMode, *, now: bool = False) -> None:
        await want(self.dispatcher, ADA, mode, now=now)
        await self.show()

    async def ended(self) -> list[Outcome]:
        events = await logged(self.store, SessionEnd)
        return [event.fact.outcome for event in events if isinstance(event.fact, SessionEnd)]


@asynccontextmanager
async def staged(
    runtime: ScriptedRuntime,
    store: MemoryStore | None = None,
    boot: str = "boot-1",
    fence: Fence = NO_FENCE,
) -> AsyncGenerator[Stage]:
    store, clock = store or MemoryStore(), ManualClock()
    dispatcher = await a_dispatcher(store, clock, boot)
    if ADA not in dispatcher.team.agents:
        await with_program(dispatcher, "Ada")
    async with background() as tasks:
        with runtime:
            stage = Stage(store, clock, runtime, dispatcher, tasks, fence)
            await stage.show()
            yield stage


def test_a_requested_session_is_started_once_and_reported() -> None:
    async def story() -> None:
        runtime = ScriptedRuntime(Starts(seat=ADA, pid=4711))
        async with staged(runtime) as stage:
            await stage.want(RunMode.CONTINUOUS)
            (start,) = await logged(stage.store, SessionStart)
            (request,) = await logged(stage.store, SessionRequested)
            assert isinstance(start.fact, SessionStart)
            assert (start.fact.pid, start.fact.started) == (4711, "start-of-4711")
            assert start.cause == request.seq

    run(story())


def test_a_session_that_ends_by_itself_is_reported_with_its_outcome() -> None:
    async def story() -> None:
        runtime = ScriptedRuntime(Starts(seat=ADA))
        async with staged(runtime) as stage:
            await stage.want(RunMode.RUN_ONCE)
            runtime.sessions[ADA].exit(Exit(outcome=Outcome.FAILED, code=2, reason="no key"))
            await settled()
            (end,) = await logged(stage.store, SessionEnd)
            assert isinstance(end.fact, SessionEnd)
            assert (end.fact.outcome, end.fact.code, end.fact.reason) == ("failed", 2, "no key")

    run(story())


def test_a_program_that_does_not_start_is_reported_as_a_crash_with_its_reason() -> None:
    async def story() -> None:
        runtime = ScriptedRuntime(Starts(seat=ADA, fails="no such file"))
        async with staged(runtime) as stage:
            await stage.want(RunMode.CONTINUOUS)
            (end,) = await logged(stage.store, SessionEnd)
            assert isinstance(end.fact, SessionEnd)
            assert end.fact.outcome is Outcome.CRASHED
            assert "no such file" in end.fact.reason

    run(story())


def test_a_session_of_an_agent_without_a_runtime_ends_with_the_reason() -> None:
    async def story() -> None:
        store, clock = MemoryStore(), ManualClock()
        dispatcher = await a_dispatcher(store, clock)
        await with_program(dispatcher, "Ada")
        async with background() as tasks:
            stage = Stage(store, clock, lambda _: None, dispatcher, tasks)
            await stage.want(RunMode.CONTINUOUS)
            (end,) = await logged(store, SessionEnd)
            assert isinstance(end.fact, SessionEnd)
            assert "Ada has no runtime" in end.fact.reason

    run(story())


def test_a_stop_is_passed_on_with_its_urgency() -> None:
    async def story() -> None:
        runtime = ScriptedRuntime(
            Starts(seat=ADA),
            Stops(seat=ADA, urgency=Urgency.GRACEFUL, exit=None),
            Stops(seat=ADA, urgency=Urgency.GRACEFUL, exit=None),
            Stops(seat=ADA, urgency=Urgency.NOW),
            Stops(seat=ADA, urgency=Urgency.NOW),
        )
        async with staged(runtime) as stage:
            await stage.want(RunMode.CONTINUOUS)
            await stage.want(RunMode.PAUSE)
            assert await stage.ended() == []
            await stage.want(RunMode.PAUSE)
            assert await stage.ended() == [Outcome.COMPLETED]

    run(story())


def test_a_session_that_is_stopped_before_its_start_never_starts() -> None:
    async def story() -> None:
        async with staged(ScriptedRuntime()) as stage:
            await want(stage.dispatcher, ADA, RunMode.CONTINUOUS)
            await want(stage.dispatcher, ADA, RunMode.PAUSE)
            await stage.show()
            (end,) = await logged(stage.store, SessionEnd)
            assert isinstance(end.fact, SessionEnd)
            assert end.fact.reason == "stopped before it started"

    run(story())


def test_a_pause_while_the_first_prompt_is_written_keeps_the_program_from_starting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Issue 15: a program started 40 ms after the answer to the pause, on a busy machine."""
    write = Prompter.opening

    async def story() -> None:
        async with staged(ScriptedRuntime()) as stage:

            async def slowly(
                self: Prompter, agent: Agent, mode: RunMode, told: PromptState
            ) -> InitialPrompt:
                await want(stage.dispatcher, ADA, RunMode.PAUSE)
                return await write(self, agent, mode, told)

            monkeypatch.setattr(Prompter, "opening", slowly)
            await stage.want(RunMode.CONTINUOUS)
            assert await stage.ended() == [Outcome.CUT_OFF]
            assert await logged(stage.store, SessionStart) == []

    run(story())


def test_work_that_lost_its_turn_is_interrupted_and_its_end_reported() -> None:
    async def story() -> None:
        runtime = ScriptedRuntime(Starts(seat=ADA), Interrupts(seat=ADA), Interrupts(seat=ADA))
        async with staged(runtime) as stage:
            await take_the_turn_away(stage)
            assert len(await logged(stage.store, WorkStopped)) == 1
            turn = stage.dispatcher.team.channels[DESIGN].turn
            assert turn is not None
            assert turn.holder == BEN

    run(story())


async def take_the_turn_away(stage: Stage) -> None:
    """Let Ada work in her turn, and a human give the turn to Ben."""
    await stage.want(RunMode.CONTINUOUS)
    await with_agents(stage.dispatcher, "Ben")
    await with_channel(stage.dispatcher, [ADA, BEN])
    await stage.show()
    override = OverrideTurn(channel=DESIGN, seat=ADA, to=TurnState.QUEUED)
    await stage.dispatcher.send(override, actor=HUMAN)
    await stage.show()


def test_work_that_does_not_stop_in_time_is_killed_with_its_session() -> None:
    async def story() -> None:
        deaf = Interrupts(seat=ADA, heeded=False)
        kill = Kills(seat=ADA)
        runtime = ScriptedRuntime(Starts(seat=ADA), deaf, deaf, kill, kill)
        async with staged(runtime) as stage:
            await take_the_turn_away(stage)
            assert stage.dispatcher.team.channels[DESIGN].turn is None
            stage.clock.advance(INTERRUPT_SECONDS)
            await stage.dispatcher.send(CheckChannel(channel=DESIGN), actor=HUMAN)
            runtime.expect(Starts(seat=ADA))
            await stage.show()
            assert len(await stage.ended()) == 1
            turn = stage.dispatcher.team.channels[DESIGN].turn
            assert turn is not None
            assert turn.holder == BEN

    run(story())


def test_an_order_that_fails_is_logged_and_affects_no_other_session(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def story() -> None:
        runtime = ScriptedRuntime(Starts(seat=ADA))
        async with staged(runtime) as stage:
            await stage.want(RunMode.CONTINUOUS)
            runtime.sessions[ADA].stop = refuse
            await stage.want(RunMode.PAUSE)
            assert await stage.ended() == []
        assert "no such process" in caplog.text

    run(story())


async def refuse(urgency: Urgency) -> None:
    raise OSError("no such process")


def test_a_session_that_cannot_be_reclaimed_is_reported_lost(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def fail(leftover: Leftover) -> str:
        raise OSError("not permitted")

    async def story() -> None:
        async with staged(ScriptedRuntime()) as stage:
            await want(stage.dispatcher, ADA, RunMode.RUN_ONCE)
            left = stage.store.reopened()
        runtime = ScriptedRuntime(Starts(seat=ADA))  # the one-shot is still wanted
        runtime.reclaim = fail
        async with staged(runtime, left, "boot-2") as stage:
            assert await stage.ended() == [Outcome.LOST]
        assert "not permitted" in caplog.text

    run(story())


def test_a_session_of_an_earlier_boot_is_reclaimed_and_reported_lost_once() -> None:
    async def story() -> None:
        runtime = ScriptedRuntime(Starts(seat=ADA, pid=4711))
        async with staged(runtime) as stage:
            await stage.want(RunMode.CONTINUOUS)
            (session,) = stage.dispatcher.team.sessions
            left = stage.store.reopened()
        runtime = ScriptedRuntime(Reclaims(session=session, pid=4711), Starts(seat=ADA))
        async with staged(runtime, left, "boot-2") as stage:
            assert await stage.ended() == [Outcome.LOST]
            assert [each.boot for each in stage.dispatcher.team.sessions.values()] == ["boot-2"]

    run(story())


def test_a_session_that_an_earlier_boot_never_started_is_not_started() -> None:
    async def story() -> None:
        async with staged(ScriptedRuntime()) as stage:
            await want(stage.dispatcher, ADA, RunMode.CONTINUOUS)
            (session,) = stage.dispatcher.team.sessions
            left = stage.store.reopened()
        runtime = ScriptedRuntime(Reclaims(session=session), Starts(seat=ADA))
        async with staged(runtime, left, "boot-2") as stage:
            assert runtime.sessions[ADA].launch.session != session
            assert await stage.ended() == [Outcome.LOST]

    run(story())


def test_a_session_that_was_given_up_before_it_started_is_killed() -> None:
    async def story() -> None:
        runtime = ScriptedRuntime(Kills(seat=ADA))
        async with staged(runtime) as stage:
            up = asyncio.Event()
            start = runtime.start

            async def slow(launch: Launch, listener: SessionListener) -> ScriptedSession:
                await up.wait()
                return ScriptedSession(runtime, launch, listener, 1)

            runtime.start = slow
            await stage.want(RunMode.CONTINUOUS)
            (session,) = stage.dispatcher.team.sessions
            gone = ReportSessionEnded(session=session, outcome=Outcome.LOST)
            runtime.start = start
            await want(stage.dispatcher, ADA, RunMode.PAUSE)
            await stage.dispatcher.send(gone, actor=HUMAN)
            up.set()
            await settled()
            runtime.check()

    run(story())


def test_a_report_is_retried_after_a_disk_error() -> None:
    async def story() -> None:
        runtime = ScriptedRuntime(Starts(seat=ADA))
        async with staged(runtime) as stage:
            await want(stage.dispatcher, ADA, RunMode.CONTINUOUS)
            stage.store.fail_next_commit(OSError("disk full"))
            await stage.show()
            assert await logged(stage.store, SessionStart) == []
            stage.clock.advance(1)
            await settled()
            assert len(await logged(stage.store, SessionStart)) == 1

    run(story())


def test_closing_ends_every_session_and_waits_for_the_report() -> None:
    async def story() -> None:
        runtime = ScriptedRuntime(Starts(seat=ADA), Stops(seat=ADA, urgency=Urgency.NOW))
        async with staged(runtime) as stage:
            await stage.want(RunMode.CONTINUOUS)
            await stage.sessions.close()
            assert await stage.ended() == [Outcome.COMPLETED]

    run(story())


def test_a_session_that_cannot_be_stopped_does_not_keep_others_from_stopping(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reactor, "KILL_SECONDS", 0.0)

    async def story() -> None:
        runtime = ScriptedRuntime(Starts(seat=ADA))
        async with staged(runtime) as stage:
            await stage.want(RunMode.CONTINUOUS)
            runtime.sessions[ADA].stop = refuse
            await stage.sessions.close()
        assert "no such process" in caplog.text

    run(story())


def test_closing_cancels_sessions_that_have_not_started() -> None:
    async def story() -> None:
        runtime = ScriptedRuntime()
        async with staged(runtime) as stage:

            async def never(launch: Launch, listener: SessionListener) -> ScriptedSession:
                await asyncio.Event().wait()
                raise AssertionError(launch)

            runtime.start = never
            await stage.want(RunMode.CONTINUOUS)
            await asyncio.wait_for(stage.sessions.close(), WAIT_SECONDS)

    run(story())


def test_orders_are_a_pure_function_of_an_event_and_the_team() -> None:
    async def story() -> None:
        store = MemoryStore()
        dispatcher = await a_dispatcher(store, ManualClock())
        seat = await with_program(dispatcher, "Ada")
        await want(dispatcher, seat, RunMode.CONTINUOUS)
        starting, life = dispatcher.team, dispatcher.life
        (session,) = starting.sessions
        (request,) = await logged(store, SessionRequested)
        spawn = Spawn(session=session, seat=seat, mode=RunMode.CONTINUOUS)
        assert orders(request, starting, life) == (spawn,)
        await want(dispatcher, seat, RunMode.PAUSE)
        (stop,) = await logged(store, StopRequested)
        assert orders(request, dispatcher.team, life) == ()
        expected = Stop(session=session, seat=seat, urgency=Urgency.GRACEFUL)
        assert orders(stop, dispatcher.team, life) == (expected,)
        again = store.reopened()
        later = await a_dispatcher(again, ManualClock(), boot="boot-2")
        (_, started) = await logged(again, MusterStarted)
        next_life = later.life
        reclaim = Reclaim(session=session, seat=seat, pid=None, started=None)
        assert orders(started, later.team, next_life) == (reclaim,)
        assert orders(stop, later.team, next_life) == orders(request, later.team, next_life) == ()

    run(story())
