"""The whole, put together: a team is opened, lives, and is closed in order."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from muster.app import Muster, TeamOptions, open_configured, open_team, run_team
from muster.engine.ports import Runtimes
from muster.engine.timers import Timers
from muster.errors import HomeInUse, Impossible, NotFound
from muster.machines.commands import ConnectAgent, EnrollAgent
from muster.machines.events import (
    MusterStarted,
    MusterStopped,
    MusterStopping,
    SessionEnd,
    SessionRequested,
    SessionStart,
    StateTransition,
)
from muster.machines.ids import SeatId
from muster.machines.kernel import snapshots
from muster.machines.vocabulary import (
    Authority,
    Outcome,
    RunMode,
    Urgency,
)
from muster.settings.model import load_settings
from muster.store.memory import MemoryStore
from muster.store.sqlite import SqliteStore
from muster.testing.clock import ManualClock
from muster.testing.ids import CountingIds
from muster.testing.runtime import Reclaims, ScriptedRuntime, Starts, Stops
from tests.builders import (
    ADA,
    BEN,
    DESIGN,
    HUMAN,
    eventually,
    eventually_logged,
    logged,
    run,
    seat_of,
    settled,
    want,
    with_agents,
    with_channel,
    with_program,
)

MARCUS = TeamOptions(human="Marcus")


@asynccontextmanager
async def living(
    store: MemoryStore, runtimes: Runtimes, clock: ManualClock | None = None
) -> AsyncGenerator[Muster]:
    ids = CountingIds(f"boot-after-{await store.last_seq()}")
    options = TeamOptions(human="Marcus", runtimes=runtimes)
    async with run_team(store, options, clock=clock or ManualClock(), ids=ids) as muster:
        yield muster


def test_a_team_is_there_again_after_a_clean_stop(tmp_path: Path) -> None:
    async def scene() -> None:
        async with open_team(tmp_path, MARCUS) as muster:
            await with_agents(muster.dispatcher, "Ada", "Ben")
            await with_channel(muster.dispatcher, [ADA, BEN])
            channels = muster.team.channels
        async with open_team(tmp_path, MARCUS) as muster:
            assert muster.team.channels == channels
            assert len(await logged(muster.store, MusterStarted)) == 2
            assert len(await logged(muster.store, MusterStopped)) == 1

    run(scene())


def test_a_clean_stop_leaves_a_snapshot_of_everything(tmp_path: Path) -> None:
    async def scene() -> None:
        async with open_team(tmp_path, MARCUS) as muster:
            await with_agents(muster.dispatcher, "Ada")
        store = await SqliteStore.open(tmp_path)
        snapshot = await store.load_snapshot(snapshots.VERSION)
        assert snapshot is not None
        assert snapshot.seq == await store.last_seq() == muster.team.seq
        assert snapshots.decode(snapshot.data) == muster.team
        await store.close()

    run(scene())


def test_a_home_belongs_to_one_muster_at_a_time(tmp_path: Path) -> None:
    async def scene() -> None:
        async with open_team(tmp_path, MARCUS):
            with pytest.raises(HomeInUse):
                async with open_team(tmp_path, MARCUS):
                    raise AssertionError("two in one home")

    run(scene())


def test_a_turn_that_timed_out_while_muster_was_down_is_timed_out_at_boot(tmp_path: Path) -> None:
    async def scene() -> None:
        clock = ManualClock()
        async with open_team(tmp_path, MARCUS, clock=clock) as muster:
            await with_agents(muster.dispatcher, "Ada", "Ben")
            await with_channel(muster.dispatcher, [ADA, BEN])
        clock.advance(3600)
        async with open_team(tmp_path, MARCUS, clock=clock) as muster:
            await eventually(lambda: _holder(muster) == BEN)
            moves = await logged(muster.store, StateTransition)
            (timeout,) = [e.fact for e in moves if _trigger(e.fact) == "timeout"]
            assert isinstance(timeout, StateTransition)
            assert timeout.seat == ADA

    run(scene())


def test_the_feed_carries_what_is_sent() -> None:
    async def scene() -> None:
        async with living(MemoryStore(), lambda _: None) as muster:
            async with asyncio.TaskGroup() as group:
                waiting = group.create_task(
                    eventually_logged(muster.store, muster.feed, StateTransition)
                )
                await with_agents(muster.dispatcher, "Ada")
            assert waiting.result().seq <= muster.team.seq

    run(scene())


def test_sessions_run_while_muster_runs_and_end_in_order_with_it() -> None:
    async def scene() -> None:
        store = MemoryStore()
        with ScriptedRuntime(Starts(seat=ADA), Stops(seat=ADA, urgency=Urgency.NOW)) as runtime:
            async with living(store, runtime) as muster:
                await with_program(muster.dispatcher, "Ada")
                await want(muster.dispatcher, ADA, RunMode.CONTINUOUS)
                await eventually_logged(store, muster.feed, SessionStart)
        (end,) = await logged(store, SessionEnd)
        assert isinstance(end.fact, SessionEnd)
        assert end.fact.outcome is Outcome.CUT_OFF
        (stopping,) = await logged(store, MusterStopping)
        (stopped,) = await logged(store, MusterStopped)
        assert stopping.seq < end.seq < stopped.seq == await store.last_seq()
        assert len(await logged(store, SessionRequested)) == 1  # a stopping muster starts nothing

    run(scene())


def test_what_a_crash_left_behind_is_reclaimed_and_started_again() -> None:
    async def scene() -> None:
        store = MemoryStore()
        with ScriptedRuntime(
            Starts(seat=ADA, pid=7), Stops(seat=ADA, urgency=Urgency.NOW)
        ) as runtime:
            async with living(store, runtime) as muster:
                await with_program(muster.dispatcher, "Ada")
                await want(muster.dispatcher, ADA, RunMode.CONTINUOUS)
                await eventually_logged(store, muster.feed, SessionStart)
                crashed = store.reopened()
                (session,) = muster.team.sessions
        with ScriptedRuntime(
            Reclaims(session=session, pid=7),
            Starts(seat=ADA, pid=8),
            Stops(seat=ADA, urgency=Urgency.NOW),
        ) as runtime:
            async with living(crashed, runtime) as muster:
                await eventually(lambda: _pids(muster) == [8])

    run(scene())


def test_a_refusal_in_the_body_comes_out_as_it_is_and_the_team_is_closed() -> None:
    async def scene() -> None:
        store = MemoryStore()
        with pytest.raises(NotFound):
            async with living(store, lambda _: None) as muster:
                await muster.dispatcher.send(ConnectAgent(seat=SeatId(77)), actor=HUMAN)
        assert len(await logged(store, MusterStopped)) == 1

    run(scene())


def test_a_service_that_fails_ends_the_team_in_order_and_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def fail(self: Timers) -> None:
        raise Impossible(what="time ran backwards")

    monkeypatch.setattr(Timers, "run", fail)

    async def scene() -> None:
        store = MemoryStore()
        with pytest.raises(Impossible, match="backwards"):
            async with living(store, lambda _: None):
                await asyncio.Event().wait()
        assert len(await logged(store, MusterStopped)) == 1

    run(scene())


def test_a_disk_that_fails_at_the_end_is_told_and_skips_nothing_else(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def scene() -> None:
        store = MemoryStore()
        async with living(store, lambda _: None) as muster:
            await with_agents(muster.dispatcher, "Ada")
            await settled()  # the next commit is the end, and not a cursor of a reactor
            store.fail_next_commit(OSError("disk full"))
        assert "disk full" in caplog.text
        assert [page async for page in muster.feed.follow(after=muster.team.seq)] == []

    run(scene())


def test_a_cancellation_cannot_skip_the_end(tmp_path: Path) -> None:
    async def live() -> None:
        async with open_team(tmp_path, MARCUS) as muster:
            await muster.dispatcher.send(
                EnrollAgent(name="Ada", authority=Authority.SELF), actor=HUMAN
            )
            enrolled.set()
            await asyncio.Event().wait()

    async def scene() -> None:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(live())
            await enrolled.wait()
            for _ in range(5):
                task.cancel()
                await asyncio.sleep(0)
        assert task.cancelled()
        async with open_team(tmp_path, MARCUS) as muster:
            assert len(await logged(muster.store, MusterStopped)) == 1

    enrolled = asyncio.Event()
    run(scene())


def _holder(muster: Muster) -> SeatId | None:
    turn = muster.team.channels[DESIGN].turn
    return turn.holder if turn else None


def _trigger(fact: object) -> str:
    return fact.trigger if isinstance(fact, StateTransition) else ""


def _pids(muster: Muster) -> list[int | None]:
    return [session.pid for session in muster.team.sessions.values()]


AGENTS = """
[agents.chair]
command = ["true"]
unasked = {unasked}

[agents.dev]
command = ["true"]
description = "Writes the code."
"""


def test_the_settings_say_who_speaks_unasked_and_what_agents_are_for(tmp_path: Path) -> None:
    async def scene(unasked: str) -> None:
        (tmp_path / "muster.toml").write_text(AGENTS.format(unasked=unasked))
        async with open_configured(tmp_path, load_settings(tmp_path, {})) as muster:
            chair, dev = (seat_of(muster.team, name) for name in ("chair", "dev"))
            assert muster.team.agents[chair].unasked == (unasked == "true")
            assert not muster.team.agents[dev].unasked
            assert muster.inbox.describe(muster.team.agents[dev]) == "Writes the code."
            assert muster.inbox.describe(muster.team.agents[chair]) == ""

    run(scene("true"))
    run(scene("false"))  # changed in the file, so it changes in the team
