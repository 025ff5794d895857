"""Prompts of programs that work on one at a time."""

import asyncio

from muster.engine.ports import PromptAccepted, Result
from muster.runtimes.process.listener import SerialListener
from muster.runtimes.prompted.worker import PromptWorker
from tests.runtimes.programs import Listener


def test_a_prompt_that_waits_can_be_taken_back() -> None:
    asyncio.run(_takes_back())


async def _takes_back() -> None:
    listener, works, goes_on = Listener(), asyncio.Event(), asyncio.Event()

    async def work(text: str) -> Result:
        works.set()
        await goes_on.wait()
        return Result(text=text)

    worker = PromptWorker(SerialListener(listener), work, on_idle=lambda: worker.close())
    await worker.add("first")
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(worker.run())
        await works.wait()
        await worker.add("second")
        await worker.add("third", before="with what was held back: ")
        assert worker.withdraw("second")
        assert not worker.withdraw("first"), "it is worked on"
        assert not worker.withdraw("third"), "nothing else tells what was held back"
        goes_on.set()
    taken = [each.text for each in listener.said if isinstance(each, PromptAccepted)]
    assert taken == ["first", "third"]
