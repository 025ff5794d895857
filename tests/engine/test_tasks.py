"""Background tasks end with their body, and shielded work survives cancellation."""

import asyncio
import errno
import logging

import pytest

from muster.engine.tasks import TaskOwner, background, run_to_completion
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
            task = group.create_task(run_to_completion(work()))
            await settled()
            for _ in range(3):
                task.cancel()
                await settled()
            assert not task.done()
            go.set()
            await eventually(done.is_set)
        assert task.cancelled()

    run(scene())


def test_shielded_work_that_fails_does_not_swallow_a_cancellation(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def scene() -> None:
        go = asyncio.Event()

        async def work() -> None:
            await go.wait()
            raise OSError(errno.ENOSPC, "No space left on device")

        async def follow() -> None:
            while True:
                try:
                    await run_to_completion(work())
                except OSError:  # the disk may have room the next time
                    go.clear()

        task = TaskOwner("a file").start(follow())
        await settled()
        task.cancel()
        await settled()
        go.set()
        await eventually(task.done)
        assert task.cancelled()

    with caplog.at_level(logging.WARNING):
        run(scene())
    [record] = caplog.records
    assert "No space left on device" in record.getMessage()


def test_shielded_work_returns_its_result_or_raises_its_error() -> None:
    async def answer() -> int:
        return 42

    async def scene() -> None:
        assert await run_to_completion(answer()) == 42
        with pytest.raises(Closed):
            await run_to_completion(fail(Closed()))

    run(scene())


def test_an_owner_cancels_its_tasks_and_waits_for_their_end() -> None:
    ended: list[str] = []

    async def work() -> None:
        try:
            await for_ever()
        finally:
            await settled()
            ended.append("cleaned up")

    async def scene() -> None:
        owner = TaskOwner("a session")
        task = owner.start(work())
        await settled()
        await owner.cancel()
        assert task.cancelled()
        assert ended == ["cleaned up"]
        await owner.cancel()  # twice is harmless

    run(scene())


def test_a_failure_of_an_owned_task_is_logged_with_its_owner(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def scene() -> None:
        owner = TaskOwner("a session")
        task = owner.start(fail(Impossible(what="beside")))
        await asyncio.wait({task})
        await settled()

    with caplog.at_level(logging.ERROR):
        run(scene())
    [record] = caplog.records
    assert record.getMessage() == "a task of a session failed"
    assert record.exc_info is not None
    assert isinstance(record.exc_info[1], Impossible)
