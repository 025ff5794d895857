"""Background tasks end with their body, and shielded work survives cancellation."""

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


def test_an_exception_of_the_body_is_raised_as_it_is() -> None:
    async def scene() -> None:
        async with background() as tasks, background() as more:
            tasks.create_task(for_ever())
            more.create_task(for_ever())
            raise Closed

    with pytest.raises(Closed):
        run(scene())


def test_the_exception_of_a_failing_task_cancels_the_body_and_is_raised_as_it_is() -> None:
    async def nested() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(fail(Impossible(what="deep down")))

    async def scene() -> None:
        async with background(), background() as tasks:
            tasks.create_task(nested())
            await for_ever()

    with pytest.raises(Impossible, match="deep down"):
        run(scene())


def test_the_exceptions_of_two_failing_tasks_are_raised_as_a_group() -> None:
    async def scene() -> None:
        async with background() as tasks:
            tasks.create_task(fail(Closed()))
            tasks.create_task(fail(Impossible(what="both")))
            await for_ever()

    with pytest.raises(ExceptionGroup) as caught:
        run(scene())
    assert {type(error) for error in caught.value.exceptions} == {Closed, Impossible}


def test_shielded_work_ends_before_a_cancellation_is_raised() -> None:
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


def test_shielded_work_returns_its_result_or_raises_its_error() -> None:
    async def answer() -> int:
        return 42

    async def scene() -> None:
        assert await see_through(answer()) == 42
        with pytest.raises(Closed):
            await see_through(fail(Closed()))

    run(scene())
