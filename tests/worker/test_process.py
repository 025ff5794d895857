"""The worker: a real process that is called, runs over its time, dies and is started again."""

import asyncio
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from functools import partial
from itertools import count

import pytest

from muster.permissions.judge import judge_states
from muster.worker import process as module
from muster.worker.limits import TimeIsUp
from muster.worker.process import Worker
from tests.builders import run
from tests.runtimes.programs import alive

CHILD = "muster.worker.child"

ENDLESS = partial(signal.pause)
"""A call that takes no CPU time, as one that waits for a file."""


@asynccontextmanager
async def a_worker() -> AsyncGenerator[Worker]:
    async with aclosing(Worker()) as worker:
        yield worker
    assert worker.pid is None


def test_a_function_is_called_in_another_process_and_its_result_or_its_error_returned() -> None:
    async def scene() -> None:
        async with a_worker() as worker:
            assert worker.pid is None  # nothing runs before the first call
            assert await worker.run(partial(divmod, 7, 2), seconds=1) == (3, 1)
            pid = worker.pid
            with pytest.raises(ZeroDivisionError):
                await worker.run(partial(divmod, 7, 0), seconds=1)
            large = "x" * 3_000_000
            assert await worker.run(partial(str.upper, large), seconds=1) == large.upper()
            assert worker.pid == pid
            assert alive(pid)
        assert not alive(pid)

    run(scene())


def test_a_worker_can_be_started_before_it_is_needed() -> None:
    async def scene() -> None:
        async with a_worker() as worker:
            worker.prepare(partial(abs, -1))
            worker.prepare(partial(abs, -1))
            assert await worker.run(partial(abs, -2), seconds=1) == 2
            pid = worker.pid
            worker.prepare(ENDLESS)  # it runs: nothing is to be done
            assert await worker.run(partial(abs, -3), seconds=1) == 3
            assert worker.pid == pid

    run(scene())


def test_a_call_that_is_over_its_cpu_time_is_ended_and_the_worker_goes_on() -> None:
    async def scene() -> None:
        async with a_worker() as worker:
            with pytest.raises(TimeIsUp):
                await worker.run(partial(max, count()), seconds=0.05)
            assert await worker.run(partial(abs, -1), seconds=1) == 1

    run(scene())


def test_a_call_that_handles_every_exception_is_ended_all_the_same() -> None:
    """The judge denies whatever goes wrong in it, and would go on to judge without a limit."""
    lines = {"command": "`a` " * 15_000}
    judging = partial(judge_states, ["MAIN"], "Bash", lines)

    async def scene() -> None:
        async with a_worker() as worker:
            assert not (await worker.run(judging, seconds=60)).allowed
            with pytest.raises(TimeIsUp):
                await worker.run(judging, seconds=0.001)

    run(scene())


def test_a_call_that_does_not_end_is_killed_and_the_next_one_is_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scene() -> None:
        async with a_worker() as worker:
            await worker.run(partial(abs, -1), seconds=1)
            pid = worker.pid
            monkeypatch.setattr(module, "GRACE_SECONDS", 0.2)
            with pytest.raises(TimeIsUp):
                await worker.run(ENDLESS, seconds=0.01)
            monkeypatch.setattr(module, "GRACE_SECONDS", 60)
            assert not alive(pid)
            assert await worker.run(partial(abs, -2), seconds=1) == 2

    run(scene())


def test_the_event_loop_takes_its_steps_meanwhile() -> None:
    async def scene() -> None:
        async with a_worker() as worker, asyncio.TaskGroup() as tasks:
            await worker.run(partial(abs, -1), seconds=1)
            spinning = tasks.create_task(worker.run(partial(sum, range(10**7)), seconds=30))
            steps = 0
            while not spinning.done():
                await asyncio.sleep(0)
                steps += 1
            assert steps > 100

    run(scene())


def test_an_owner_with_many_calls_delays_another_one_by_two_of_them() -> None:
    async def scene() -> None:
        answered: list[str] = []

        async def ask(worker: Worker, owner: str) -> None:
            await worker.run(partial(abs, -1), seconds=1, owner=owner)
            answered.append(owner)

        async with a_worker() as worker, asyncio.TaskGroup() as tasks:
            for owner in ("greedy",) * 5 + ("other",):
                tasks.create_task(ask(worker, owner))
        assert answered.index("other") <= 2

    run(scene())


def test_a_caller_that_is_gone_takes_its_waiting_call_along() -> None:
    async def scene() -> None:
        async with a_worker() as worker, asyncio.TaskGroup() as tasks:
            begun = tasks.create_task(worker.run(partial(sum, range(10**6)), seconds=1))
            waiting = tasks.create_task(worker.run(ENDLESS, seconds=60))
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            waiting.cancel()
            begun.cancel()  # it is finished all the same, and then the next one begins
            assert await worker.run(partial(abs, -3), seconds=1) == 3

    run(scene())


def test_the_worker_ends_when_it_is_not_called_and_is_started_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "IDLE_SECONDS", 0.0)

    async def scene() -> None:
        async with a_worker() as worker:
            await worker.run(partial(abs, -1), seconds=1)
            for _ in range(3):
                await asyncio.sleep(0)
            assert worker.pid is None
            assert await worker.run(partial(abs, -2), seconds=1) == 2

    run(scene())


def test_a_worker_that_is_closed_gives_up_the_call_that_is_under_way() -> None:
    async def scene() -> None:
        worker = Worker()
        async with asyncio.TaskGroup() as tasks:
            await worker.run(partial(abs, -1), seconds=1)
            under_way = tasks.create_task(_over(worker))
            await asyncio.sleep(0)
            await worker.aclose()
            assert await under_way

    async def _over(worker: Worker) -> bool:
        with pytest.raises(TimeIsUp):
            await worker.run(ENDLESS, seconds=60)
        return True

    run(scene())


def test_the_start_of_a_worker_does_not_count_as_time_of_its_first_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On a busy machine it takes seconds to start; a call was denied that nobody had looked at."""
    slow = f"import time; time.sleep(4); from {CHILD} import main; main()"
    monkeypatch.setattr(module, "COMMAND", (sys.executable, "-P", "-c", slow))
    monkeypatch.setattr(module, "GRACE_SECONDS", 3.0)

    async def scene() -> None:
        async with a_worker() as worker:
            assert await worker.run(partial(abs, -1), seconds=0.01) == 1

    run(scene())


def test_a_worker_that_does_not_start_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "COMMAND", ("/bin/sleep", "60"))
    monkeypatch.setattr(module, "START_SECONDS", 0.05)

    async def scene() -> None:
        async with a_worker() as worker:
            with pytest.raises(TimeIsUp):
                await worker.run(partial(abs, -1), seconds=1)
            assert worker.pid is None

    run(scene())
