"""Background tasks end with their body, and nobody's cancellation skips the end."""

import asyncio

import pytest

from muster.engine.tasks import background, see_through
from muster.errors import Closed, Impossible
from tests.builders import eventually, run, settled


async def for_ever() -> None:
    await asyncio.Event().wait()


async def fail(error: Exception) -> None:
    raise error


def test_tasks_end_with_the_body() -> None:
    async def scene() -> None:
        async with background() as tasks:
            task = tasks.create_task(for_ever())
            await settled()
        assert task.cancelled()

    run(scene())


def test_what_the_body_raises_comes_out_as_it_is() -> None:
    async def scene() -> None:
        async with background() as tasks, background() as more:
            tasks.create_task(for_ever())
            more.create_task(for_ever())
            raise Closed

    with pytest.raises(Closed):
        run(scene())


def test_a_task_that_fails_ends_the_body_and_comes_out_as_it_is() -> None:
    async def nested() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(fail(Impossible(what="deep down")))

    async def scene() -> None:
        async with background(), background() as tasks:
            tasks.create_task(nested())
            await for_ever()

    with pytest.raises(Impossible, match="deep down"):
        run(scene())


def test_two_tasks_that_fail_come_out_together() -> None:
    async def scene() -> None:
        async with background() as tasks:
            tasks.create_task(fail(Closed()))
            tasks.create_task(fail(Impossible(what="both")))
            await for_ever()

    with pytest.raises(ExceptionGroup) as caught:
        run(scene())
    assert {type(error) for error in caught.value.exceptions} == {Closed, Impossible}


def test_work_is_seen_through_before_a_cancellation_is_passed_on() -> None:
    async def scene() -> None:
        go, done = asyncio.Event(), asyncio.Event()

        async def work() -> None:
            await go.wait()
            done.set()

        async with asyncio.TaskGroup() as group:
            task = group.create_task(see_through(work()))
            await settled()
            for _ in range(3):
                task.cancel()
                await settled()
            assert not task.done()
            go.set()
            await eventually(done.is_set)
        assert task.cancelled()

    run(scene())


def test_work_that_is_seen_through_gives_its_result_or_its_error() -> None:
    async def answer() -> int:
        return 42

    async def scene() -> None:
        assert await see_through(answer()) == 42
        with pytest.raises(Closed):
            await see_through(fail(Closed()))

    run(scene())
