"""Reactors: at least once, in order, from a durable cursor, and independent of each other."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import pytest

from muster.engine.dispatcher import Dispatcher
from muster.engine.feed import Feed
from muster.engine.reactors import Runner
from muster.engine.tasks import background
from muster.errors import StoreFailed
from muster.machines.commands import PostMessage
from muster.machines.events import Event
from muster.machines.state import Team
from muster.store.memory import MemoryStore
from muster.testing.clock import ManualClock
from tests.builders import (
    DESIGN,
    HUMAN,
    a_dispatcher,
    a_feed,
    eventually,
    run,
    settled,
    with_channel,
)
from tests.waits import WAIT_SECONDS


class Recorder:
    """A reactor that records its events, and fails on request."""

    def __init__(self, name: str = "recorder") -> None:
        self.name = name
        self.types = frozenset({"user_message"})
        self.seen: list[int] = []
        self.teams: list[int] = []
        self.failures = 0

    async def react(self, event: Event, team: Team) -> None:
        self.seen.append(event.seq)
        self.teams.append(team.seq)
        if self.failures:
            self.failures -= 1
            raise OSError("no route to agent")


class Scene:
    """A log with a channel, and the services that a reactor needs."""

    def __init__(self, store: MemoryStore, clock: ManualClock, dispatcher: Dispatcher) -> None:
        self.store = store
        self.clock = clock
        self.dispatcher = dispatcher
        self.feed: Feed = a_feed(store, dispatcher)

    async def say(self, *texts: str) -> None:
        for text in texts:
            post = PostMessage(channel=DESIGN, text=text, speaker_name="Marcus")
            await self.dispatcher.send(post, actor=HUMAN)

    @asynccontextmanager
    async def reacting(self, *reactors: Recorder) -> AsyncGenerator[None]:
        async with background() as tasks:
            for reactor in reactors:
                runner = Runner(reactor, self.store, self.feed, self.dispatcher, self.clock)
                tasks.create_task(runner.run())
            await settled()
            yield


async def a_scene(store: MemoryStore | None = None) -> Scene:
    store = store or MemoryStore()
    clock = ManualClock()
    dispatcher = await a_dispatcher(store, clock)
    if DESIGN not in dispatcher.team.channels:
        await with_channel(dispatcher, [])
    return Scene(store, clock, dispatcher)


def test_a_reactor_sees_the_events_of_its_types_in_order_and_once() -> None:
    async def story() -> None:
        scene, recorder = await a_scene(), Recorder()
        async with scene.reacting(recorder):
            await scene.say("a", "b", "c")
            await eventually(lambda: recorder.seen == [3, 4, 5])
            await eventually(lambda: _cursor(scene) == 5)
        assert all(team >= seq for seq, team in zip(recorder.seen, recorder.teams, strict=True))

    run(story())


def test_a_reactor_resumes_from_its_cursor_after_a_restart() -> None:
    async def story() -> None:
        scene = await a_scene()
        async with scene.reacting(Recorder()):
            await scene.say("a", "b")
            await eventually(lambda: _cursor(scene) == 4)
        await scene.say("while it was down")
        again = await a_scene(scene.store.reopened())
        recorder = Recorder()
        async with again.reacting(recorder):
            await eventually(lambda: recorder.seen == [5])

    run(story())


def test_a_reactor_killed_between_react_and_cursor_sees_the_event_again() -> None:
    async def story() -> None:
        scene, recorder = await a_scene(), Recorder()
        await scene.store.save_cursor("recorder", 2)
        killed = asyncio.Event()

        async def die(reader: str, seq: int) -> None:
            killed.set()
            await asyncio.Event().wait()

        scene.store.save_cursor = die
        async with scene.reacting(recorder):
            await scene.say("a")
            await asyncio.wait_for(killed.wait(), WAIT_SECONDS)
        again = await a_scene(scene.store.reopened())
        async with again.reacting(recorder):
            await eventually(lambda: recorder.seen == [3, 3])

    run(story())


def test_a_failing_reactor_retries_the_same_event_and_logs_the_failure(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def story() -> None:
        scene, recorder = await a_scene(), Recorder()
        recorder.failures = 3
        async with scene.reacting(recorder):
            with caplog.at_level(logging.ERROR):
                await scene.say("a", "b")
                await eventually(lambda: recorder.seen == [3])
                for pause, seen in ((1, [3, 3]), (2, [3, 3, 3]), (4, [3, 3, 3, 3, 4])):
                    scene.clock.advance(pause - 0.1)
                    await settled()
                    assert recorder.seen != seen
                    scene.clock.advance(0.2)
                    await eventually(_is(recorder, seen))
        assert [vars(record)["failures"] for record in caplog.records] == [1, 2, 3]
        assert "no route to agent" in caplog.text

    run(story())


def test_a_failing_reactor_does_not_stop_the_others() -> None:
    async def story() -> None:
        scene, stuck, well = await a_scene(), Recorder("stuck"), Recorder("well")
        stuck.failures = 1000
        async with scene.reacting(stuck, well):
            await scene.say("a", "b", "c")
            await eventually(lambda: well.seen == [3, 4, 5])
        assert stuck.seen == [3]

    run(story())


def test_events_of_other_types_do_not_wake_a_reactor_and_its_cursor_skips_them_at_the_end() -> None:
    async def story() -> None:
        scene, recorder = await a_scene(), Recorder()
        recorder.types = frozenset({"agent_message"})
        async with scene.reacting(recorder):
            await scene.say(*"abcdefghijklmno")
            await settled()
            assert _cursor(scene) == 0
            scene.feed.close()
            await eventually(lambda: _cursor(scene) == scene.dispatcher.team.seq)
        assert recorder.seen == []

    run(story())


def test_after_a_failed_save_of_its_cursor_a_reactor_only_sees_events_twice(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def story() -> None:
        scene, recorder = await a_scene(), Recorder()

        async def fail(reader: str, seq: int) -> None:
            raise StoreFailed(detail="disk full")

        scene.store.save_cursor = fail
        async with scene.reacting(recorder):
            await scene.say("a", "b")
            await eventually(lambda: recorder.seen == [3, 4])
        assert "disk full" in caplog.text

    run(story())


def _cursor(scene: Scene) -> int:
    return scene.store._log.cursors.get("recorder", 0)  # pyright: ignore[reportPrivateUsage]


def _is(recorder: Recorder, seen: list[int]) -> Callable[[], bool]:
    return lambda: recorder.seen == seen
