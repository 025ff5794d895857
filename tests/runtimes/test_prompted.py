"""Prompts of programs that work on one at a time."""

import asyncio

from muster.engine.ports import Output, PartialText, PromptAccepted, Result
from muster.limits import MESSAGE_BYTES_MAX
from muster.runtimes.process.listener import SerialListener
from muster.runtimes.process.pipes import OutputBudget
from muster.runtimes.prompted.reader import WorkReader
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


def test_one_huge_piece_of_text_is_no_more_than_a_message_that_was_cut() -> None:
    reader = WorkReader(OutputBudget(0.0), lambda: 100.0)
    said = [*reader.say("x" * (4 * MESSAGE_BYTES_MAX)), *reader.say("y"), *reader.end()]
    partial = next(each for each in said if isinstance(each, PartialText))
    assert len(partial.text) == MESSAGE_BYTES_MAX + 1
    told = "".join(each.text for each in said if isinstance(each, Output))
    answer = reader.take_answer()
    assert len(answer) == MESSAGE_BYTES_MAX + 1, "the cut is noticed, because it is too long"
    assert answer.startswith(told[:100])
