"""Presence: agents time out without heartbeats, and only then."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

from muster.engine.dispatcher import Dispatcher
from muster.engine.presence import Presence
from muster.engine.tasks import background
from muster.errors import StoreFailed
from muster.machines.commands import (
    ConnectAgent,
    DisableAgent,
    DisconnectAgent,
    EnrollAgent,
)
from muster.machines.events import Event, StateTransition
from muster.machines.ids import MUSTER, SeatId
from muster.machines.state import Status, TurnState
from muster.machines.vocabulary import Authority
from muster.store.base import Decider
from muster.store.batching import Answer
from muster.store.memory import MemoryStore
from muster.testing.clock import ManualClock
from tests.builders import (
    ADA,
    BEN,
    DESIGN,
    HUMAN,
    a_dispatcher,
    logged,
    run,
    settled,
    with_agents,
    with_channel,
)

TIMEOUT_S = 15.0


@asynccontextmanager
async def listening(dispatcher: Dispatcher, clock: ManualClock) -> AsyncGenerator[Presence]:
    async with background() as tasks:
        presence = Presence(dispatcher, clock, timeout=lambda: TIMEOUT_S)
        tasks.create_task(presence.run())
        await settled()
        yield presence


async def advance(clock: ManualClock, seconds: float) -> None:
    clock.advance(seconds)
    await settled()


def status(dispatcher: Dispatcher, seat: SeatId = ADA) -> Status:
    return dispatcher.team.agent(seat).status


def test_a_heartbeat_timeout_disconnects_the_agent_and_passes_its_turn_on() -> None:
    async def scene() -> None:
        clock, store = ManualClock(), MemoryStore()
        dispatcher = await a_dispatcher(store, clock)
        await with_agents(dispatcher, "Ada", "Ben")
        await with_channel(dispatcher, [ADA, BEN])
        async with listening(dispatcher, clock) as presence:
            await advance(clock, 14.9)
            assert status(dispatcher) is Status.ALIVE
            presence.hear(BEN)
            await advance(clock, 0.2)
            assert status(dispatcher) is Status.SLEEPING
            assert status(dispatcher, BEN) is Status.ALIVE
            design = dispatcher.team.channels[DESIGN]
            assert design.ring == (BEN,)
            assert design.state_of(BEN) is TurnState.ACTIVE
        facts = [event.fact for event in await logged(store, StateTransition)]
        moves = [fact for fact in facts if isinstance(fact, StateTransition)]
        lost = [move for move in moves if move.trigger == "heartbeat_lost"]
        assert [(move.seat, move.reason) for move in lost] == [(ADA, "heartbeat")]

    run(scene())


def test_every_heartbeat_restarts_the_timeout() -> None:
    async def scene() -> None:
        clock = ManualClock()
        dispatcher = await a_dispatcher(MemoryStore(), clock)
        await with_agents(dispatcher, "Ada")
        async with listening(dispatcher, clock) as presence:
            for _ in range(100):
                await advance(clock, 5.0)
                presence.hear(ADA)
            await advance(clock, 14.9)
            assert status(dispatcher) is Status.ALIVE
            await advance(clock, 0.2)
            assert status(dispatcher) is Status.SLEEPING

    run(scene())


def test_an_agent_does_not_time_out_during_a_long_call() -> None:
    async def scene() -> None:
        clock = ManualClock()
        dispatcher = await a_dispatcher(MemoryStore(), clock)
        await with_agents(dispatcher, "Ada")
        async with listening(dispatcher, clock) as presence:
            with presence.calling(ADA), presence.calling(ADA):
                for _ in range(10):
                    await advance(clock, 20.0)
                assert status(dispatcher) is Status.ALIVE
            await advance(clock, 14.9)
            assert status(dispatcher) is Status.ALIVE
            await advance(clock, 0.2)
            assert status(dispatcher) is Status.SLEEPING

    run(scene())


def test_an_agent_has_a_timeout_from_its_connect_to_its_disconnect() -> None:
    async def scene() -> None:
        clock, store = ManualClock(), MemoryStore()
        dispatcher = await a_dispatcher(store, clock)
        async with listening(dispatcher, clock) as presence:
            presence.hear(ADA)
            await advance(clock, 100.0)
            await with_agents(dispatcher, "Ada")
            await advance(clock, 10.0)
            await dispatcher.send(DisconnectAgent(seat=ADA, reason="bye"), actor=HUMAN)
            await dispatcher.send(ConnectAgent(seat=ADA), actor=HUMAN)
            await advance(clock, 10.0)
            assert status(dispatcher) is Status.ALIVE
            await dispatcher.send(DisconnectAgent(seat=ADA, reason="bye"), actor=HUMAN)
            seq = dispatcher.team.seq
            await advance(clock, 100.0)
            assert dispatcher.team.seq == seq

    run(scene())


def test_connecting_and_disconnecting_leaves_no_entries_behind() -> None:
    async def scene() -> None:
        clock = ManualClock()
        dispatcher = await a_dispatcher(MemoryStore(), clock)
        await with_agents(dispatcher, "Ada")
        async with listening(dispatcher, clock) as presence:
            for _ in range(100):
                await dispatcher.send(DisconnectAgent(seat=ADA, reason="bye"), actor=HUMAN)
                await dispatcher.send(ConnectAgent(seat=ADA), actor=HUMAN)
                await advance(clock, 1.0)
                assert presence.entries == 1
            await dispatcher.send(DisconnectAgent(seat=ADA, reason="bye"), actor=HUMAN)
            await advance(clock, 20.0)
            assert presence.entries == 0

    run(scene())


def test_after_a_restart_every_agent_has_the_full_timeout_and_a_call_confirms_it() -> None:
    async def scene() -> None:
        clock, store = ManualClock(), MemoryStore()
        await with_agents(await a_dispatcher(store, clock), "Ada", "Ben")
        clock.advance(1000.0)
        dispatcher = await a_dispatcher(store, clock, boot="boot-2")
        async with listening(dispatcher, clock) as presence:
            await advance(clock, 14.0)
            assert dispatcher.team.shown_status(dispatcher.team.agent(ADA)) is Status.UNKNOWN
            presence.hear(ADA)
            await settled()
            assert dispatcher.team.shown_status(dispatcher.team.agent(ADA)) is Status.ALIVE
            await advance(clock, 2.0)
            assert status(dispatcher) is Status.ALIVE
            assert status(dispatcher, BEN) is Status.SLEEPING

    run(scene())


def test_only_agents_that_connect_by_themselves_need_heartbeats() -> None:
    async def scene() -> None:
        clock = ManualClock()
        dispatcher = await a_dispatcher(MemoryStore(), clock)
        enrol = EnrollAgent(name="Ada", authority=Authority.MUSTER)
        await dispatcher.send(enrol, actor=MUSTER)
        async with listening(dispatcher, clock) as presence:
            seq = dispatcher.team.seq
            presence.hear(ADA)
            await advance(clock, 100.0)
            assert dispatcher.team.seq == seq

    run(scene())


def test_a_disabled_agent_is_not_confirmed_and_still_times_out() -> None:
    async def scene() -> None:
        clock, store = ManualClock(), MemoryStore()
        first = await a_dispatcher(store, clock)
        await with_agents(first, "Ada")
        await first.send(DisableAgent(seat=ADA), actor=HUMAN)
        dispatcher = await a_dispatcher(store, clock, boot="boot-2")
        async with listening(dispatcher, clock) as presence:
            presence.hear(ADA)
            await advance(clock, 16.0)
            assert status(dispatcher) is Status.SLEEPING

    run(scene())


def test_a_disconnection_that_cannot_be_committed_is_retried() -> None:
    class Failing(MemoryStore):
        failures = 0

        def append(self, events: Sequence[Event], again: Decider | None = None) -> Answer:
            if self.failures:
                self.failures -= 1
                raise StoreFailed(detail="disk full")
            return super().append(events, again)

    async def scene() -> None:
        clock, store = ManualClock(), Failing()
        dispatcher = await a_dispatcher(store, clock)
        await with_agents(dispatcher, "Ada")
        async with listening(dispatcher, clock):
            store.failures = 2
            await advance(clock, 15.1)
            await advance(clock, 1.1)
            assert status(dispatcher) is Status.ALIVE
            await advance(clock, 1.1)
            assert status(dispatcher) is Status.SLEEPING

    run(scene())
