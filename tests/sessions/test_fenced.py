"""Sessions that may move run while the lease of their node holds, and are lost with it."""

from muster.engine.ports import Exit, Launch, SessionListener
from muster.errors import LeaseOver
from muster.machines.commands import ConfigureAgent
from muster.machines.events import SessionEnd, SessionStart
from muster.machines.policies import RunPolicy
from muster.machines.vocabulary import Authority, Outcome, RunMode
from muster.sessions.running import WITH_ITS_LEASE
from muster.testing.runtime import ScriptedRuntime, ScriptedSession, Starts
from tests.builders import ADA, HUMAN, logged, run, settled
from tests.nodes.test_lease import Scene
from tests.sessions.test_reactor import Stage, staged

KILLED = Exit(outcome=Outcome.CRASHED, reason="killed by SIGKILL")


async def let_move(stage: Stage) -> None:
    """Let Ada move to other nodes."""
    moves = ConfigureAgent(
        seat=ADA, authority=Authority.MUSTER, long_lived=True, policy=RunPolicy(moves=True)
    )
    await stage.dispatcher.send(moves, actor=HUMAN)


def test_a_session_that_may_move_starts_when_the_lease_holds_and_carries_its_marks() -> None:
    async def story() -> None:
        node, runtime = Scene(), Asked(Starts(seat=ADA))
        async with staged(runtime, fence=node.lease) as stage:
            await let_move(stage)
            await stage.want(RunMode.CONTINUOUS)
            assert not await logged(stage.store, SessionStart)
            await node.lease.begin_term(3, 0.0)
            await settled()
            assert await logged(stage.store, SessionStart)
            [launch] = runtime.launches
            assert launch.environment["MUSTER_LEASE"] == "home.life.3"

    run(story())


def test_a_session_that_was_killed_with_its_lease_is_lost_and_has_not_failed() -> None:
    async def story() -> None:
        node, runtime = Scene(), ScriptedRuntime(Starts(seat=ADA))
        async with staged(runtime, fence=node.lease) as stage:
            await let_move(stage)
            await node.lease.begin_term(0, 0.0)
            await stage.want(RunMode.RUN_ONCE)
            node.clock.advance(60.0)
            runtime.sessions[ADA].exit(KILLED)
            await settled()
            [end] = await logged(stage.store, SessionEnd)
            assert isinstance(end.fact, SessionEnd)
            assert end.fact.outcome is Outcome.LOST
            assert end.fact.reason.startswith(WITH_ITS_LEASE.reason)
            assert stage.dispatcher.team.agents[ADA].run.failures == 0

    run(story())


def test_a_session_that_stays_fails_as_ever_after_the_lease() -> None:
    async def story() -> None:
        node, runtime = Scene(), ScriptedRuntime(Starts(seat=ADA))
        async with staged(runtime, fence=node.lease) as stage:
            await stage.want(RunMode.CONTINUOUS)
            runtime.sessions[ADA].exit(KILLED)
            await settled()
            assert await stage.ended() == [Outcome.CRASHED]

    run(story())


class Asked(ScriptedRuntime):
    """A runtime that asks in the last moment, as real ones do."""

    def __init__(self, *steps: Starts) -> None:
        super().__init__(*steps)
        self.launches: list[Launch] = []

    async def start(self, launch: Launch, listener: SessionListener) -> ScriptedSession:
        self.launches.append(launch)
        launch.may_start()
        return await super().start(launch, listener)


def test_an_order_that_waited_longer_than_the_lease_starts_nothing() -> None:
    async def story() -> None:
        node = Scene()

        class Slow(Asked):
            async def start(self, launch: Launch, listener: SessionListener) -> ScriptedSession:
                node.clock.advance(60.0)
                try:
                    return await super().start(launch, listener)
                except LeaseOver:
                    await node.lease.begin_term(1, node.clock.uptime())
                    raise

        runtime = Slow()
        async with staged(runtime, fence=node.lease) as stage:
            await let_move(stage)
            await node.lease.begin_term(0, 0.0)
            await stage.want(RunMode.RUN_ONCE)
            await settled()
            assert not await logged(stage.store, SessionStart)
            assert (await stage.ended())[0] is Outcome.LOST

    run(story())
