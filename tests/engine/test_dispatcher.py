"""The dispatcher: decisions, commits and refusals on the only write path."""

import asyncio
import gc
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from muster.engine.dispatcher import Commit
from muster.engine.loading import load_from
from muster.errors import Closed, NameTaken, NotYourTurn, StoreFailed
from muster.machines.commands import CompleteTurn, EnrollAgent, PostMessage, Speak
from muster.machines.events import CommandRefused, UserMessage
from muster.machines.ids import agent_actor
from muster.machines.state import Team
from muster.machines.vocabulary import Authority
from muster.store.memory import MemoryStore
from muster.store.sqlite import SqliteStore
from muster.testing.clock import ManualClock
from tests.builders import (
    ADA,
    BEN,
    DESIGN,
    HUMAN,
    a_dispatcher,
    logged,
    run,
    with_agents,
    with_channel,
)

ENROL = EnrollAgent(name="Ada", authority=Authority.SELF)


def say(text: str) -> PostMessage:
    return PostMessage(channel=DESIGN, text=text, speaker_name="Marcus")


def test_a_receipt_names_the_events_that_a_command_led_to() -> None:
    async def scene() -> None:
        dispatcher = await a_dispatcher(MemoryStore(), ManualClock())
        before = dispatcher.team.seq
        receipt = await dispatcher.send(ENROL, actor=HUMAN)
        assert [event.seq for event in receipt.events] == list(range(before + 1, receipt.seq + 1))
        assert receipt.events[0].actor == HUMAN
        assert dispatcher.team.seq == receipt.seq

    run(scene())


def test_a_command_that_is_refused_changes_nothing() -> None:
    async def scene() -> None:
        store = MemoryStore()
        dispatcher = await a_dispatcher(store, ManualClock())
        await dispatcher.send(ENROL, actor=HUMAN)
        before = dispatcher.team
        with pytest.raises(NameTaken):
            await dispatcher.send(ENROL, actor=HUMAN)
        assert dispatcher.team is before
        assert dispatcher.head is before
        assert await store.last_seq() == before.seq

    run(scene())


def test_a_recorded_refusal_is_on_disk_before_it_is_raised() -> None:
    async def scene() -> None:
        store = MemoryStore()
        dispatcher = await a_dispatcher(store, ManualClock())
        await with_agents(dispatcher, "Ada", "Ben")
        await with_channel(dispatcher, [ADA, BEN])
        stolen = CompleteTurn(channel=DESIGN, seat=BEN)
        with pytest.raises(NotYourTurn):
            await dispatcher.send(stolen, actor=agent_actor("Ben"), cause=3)
        (record,) = await logged(store, CommandRefused)
        assert isinstance(record.fact, CommandRefused)
        assert record.fact.code == "not_your_turn"
        assert (record.actor, record.cause) == (agent_actor("Ben"), 3)
        assert dispatcher.team.seq == dispatcher.head.seq == record.seq

    run(scene())


def test_a_refused_command_is_freed_at_once_without_the_garbage_collector() -> None:
    async def scene() -> None:
        dispatcher = await a_dispatcher(MemoryStore(), ManualClock())
        await with_agents(dispatcher, "Ada", "Ben")
        await with_channel(dispatcher, [ADA, BEN])
        text = "word " * 1000
        before = sys.getrefcount(text)
        gc.disable()
        try:
            for _ in range(3):
                with suppress(NotYourTurn):
                    await dispatcher.send(
                        Speak(channel=DESIGN, seat=BEN, text=text), actor=agent_actor("Ben")
                    )
            assert sys.getrefcount(text) == before
        finally:
            gc.enable()

    run(scene())


def test_half_of_a_character_in_a_command_becomes_one_that_the_log_can_hold() -> None:
    async def scene() -> None:
        store = MemoryStore()
        dispatcher = await a_dispatcher(store, ManualClock())
        await with_channel(dispatcher, [])
        receipt = await dispatcher.send(say("so \ud800 far"), actor="person:\udfff", key="\ud801")
        posted = receipt.events[0]
        assert isinstance(posted.fact, UserMessage)
        assert posted.actor == "person:?"
        assert posted.fact.text == "so ? far"
        assert dispatcher.head is dispatcher.team
        assert (await load_from(store.reopened())).team == dispatcher.team

    run(scene())


def test_commands_that_arrive_together_are_committed_together_and_in_order() -> None:
    async def scene() -> None:
        store = MemoryStore()
        dispatcher = await a_dispatcher(store, ManualClock())
        await with_channel(dispatcher, [])
        commits: list[Commit] = []
        dispatcher.watch(commits.append)
        texts = [str(number) for number in range(20)]
        await asyncio.gather(*(dispatcher.send(say(text), actor=HUMAN) for text in texts))
        (commit,) = commits
        said = [event.fact.text for event in commit.events if isinstance(event.fact, UserMessage)]
        assert said == texts
        assert [each.seq for each in commit.stored] == [event.seq for event in commit.events]

    run(scene())


def test_readers_see_nothing_that_is_not_on_disk() -> None:
    async def scene() -> None:
        dispatcher = await a_dispatcher(MemoryStore(), ManualClock())
        before = dispatcher.team
        async with asyncio.TaskGroup() as group:
            group.create_task(dispatcher.send(ENROL, actor=HUMAN))
            await asyncio.sleep(0)
            assert dispatcher.head.seq > before.seq
            assert dispatcher.team is before
        assert dispatcher.team is dispatcher.head

    run(scene())


def test_a_failed_commit_rolls_the_head_back_to_the_committed_state() -> None:
    async def scene() -> None:
        store = MemoryStore()
        dispatcher = await a_dispatcher(store, ManualClock())
        await with_channel(dispatcher, [])
        before = dispatcher.team
        store.fail_next_commit(OSError("disk full"))
        answers = await asyncio.gather(
            *(dispatcher.send(say(text), actor=HUMAN) for text in "abc"), return_exceptions=True
        )
        assert all(isinstance(answer, StoreFailed) for answer in answers)
        assert dispatcher.head is dispatcher.team is before
        receipt = await dispatcher.send(say("d"), actor=HUMAN)
        assert receipt.events[0].seq == before.seq + 1

    run(scene())


def test_the_committed_state_is_the_fold_of_the_log() -> None:
    async def scene() -> None:
        store = MemoryStore()
        dispatcher = await a_dispatcher(store, ManualClock())
        await with_agents(dispatcher, "Ada", "Ben")
        await with_channel(dispatcher, [ADA, BEN])
        for _ in range(10):
            turn = dispatcher.team.channels[DESIGN].turn
            assert turn is not None
            done = CompleteTurn(channel=DESIGN, seat=turn.holder)
            await dispatcher.send(done, actor=HUMAN)
            if dispatcher.team.channels[DESIGN].resting:
                await dispatcher.send(say("go on"), actor=HUMAN)
        assert (await load_from(store.reopened())).team == dispatcher.team

    run(scene())


def test_a_closed_store_refuses_a_command_and_the_head_stays() -> None:
    async def scene() -> None:
        store = MemoryStore()
        dispatcher = await a_dispatcher(store, ManualClock())
        before = dispatcher.team
        await store.close()
        with pytest.raises(Closed):
            await dispatcher.send(ENROL, actor=HUMAN)
        assert dispatcher.head is dispatcher.team is before

    run(scene())


def test_events_that_others_wrote_to_the_log_are_folded() -> None:
    async def scene() -> None:
        store = MemoryStore()
        ours = await a_dispatcher(store, ManualClock())
        theirs = await a_dispatcher(MemoryStore(), ManualClock())
        await store.append((await theirs.send(ENROL, actor=HUMAN)).events)
        assert ours.head == ours.team == theirs.team
        with pytest.raises(NameTaken):
            await ours.send(ENROL, actor=HUMAN)

    run(scene())


def test_an_answered_command_is_on_disk(tmp_path: Path) -> None:
    async def scene() -> None:
        store = await SqliteStore.open(tmp_path)
        dispatcher = await a_dispatcher(store, ManualClock())
        receipt = await dispatcher.send(ENROL, actor=HUMAN)
        await store.close()
        again = await SqliteStore.open(tmp_path)
        loaded = await load_from(again)
        await again.close()
        assert loaded.team.seq == receipt.seq
        assert loaded.team == dispatcher.team

    run(scene())


def test_an_empty_team_is_the_fold_of_an_empty_log() -> None:
    async def scene() -> None:
        assert (await load_from(MemoryStore())).team == Team()

    run(scene())
