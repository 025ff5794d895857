"""Several writers on one log in memory: commands are carried out once, in one order for all."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muster.engine.dispatcher import Dispatcher
from muster.engine.loading import load_from
from muster.errors import NameTaken, StoreFailed
from muster.machines.commands import CreateChannel, PostMessage
from muster.machines.events import Event
from muster.machines.ids import ChannelId
from muster.machines.kernel import snapshots as codec
from muster.store.base import HalfCharacter, Snapshot, Stored
from muster.store.memory import MemoryStore
from muster.store.sqlite import SqliteStore
from muster.testing.clock import ManualClock
from tests.builders import HUMAN, a_dispatcher, run
from tests.store.building import event, said
from tests.store.several_writers import TURN_OVER, Order, Writers, enroll, post


def openings(count: int) -> list[MemoryStore]:
    store = MemoryStore()
    return [store, *(store.beside() for _ in range(count - 1))]


def keyed_order(writer: int, key: str, delay: int) -> Order:
    return Order(writer, post(key), key, delay)


def orders(writers: int) -> st.SearchStrategy[list[Order]]:
    """A round of commands; texts and names come again, so that writers want the same."""
    texts = st.sampled_from("abcdefgh")
    commands = st.one_of(texts.map(enroll), texts.map(post), st.just(TURN_OVER))
    plain = st.builds(
        Order,
        writer=st.integers(0, writers - 1),
        command=commands,
        key=st.none(),
        delay=st.integers(0, 3),
    )
    keyed = st.builds(keyed_order, st.integers(0, writers - 1), texts, st.integers(0, 3))
    return st.lists(st.one_of(plain, keyed), min_size=1, max_size=12)


@pytest.mark.parametrize("count", [2, 4])
def test_commands_of_several_writers_are_carried_out_once_and_in_one_order(count: int) -> None:
    @settings(max_examples=40)
    @given(st.lists(orders(count), min_size=1, max_size=5))
    def lives(rounds: Sequence[Sequence[Order]]) -> None:
        async def scene() -> None:
            writers = await Writers.on(openings(count))
            for each in rounds:
                await writers.play(each)
            await writers.check()

        run(scene())

    lives()


def test_a_writer_is_not_refused_what_another_was_just_promised() -> None:
    async def scene() -> None:
        writers = await Writers.on(openings(2))
        first, second = writers.dispatchers
        await second.send(post("I am here"), actor=HUMAN)
        for number in range(20):
            receipt = await first.send(enroll(f"Agent{number}"), actor=HUMAN)
            assert second.team.seq < receipt.seq  # it has not heard of it yet
            with pytest.raises(NameTaken):
                await second.send(enroll(f"Agent{number}"), actor=HUMAN)
            assert second.team.seq == receipt.seq

    run(scene())


def test_a_writer_hears_of_the_others_without_writing() -> None:
    async def scene() -> None:
        writers = await Writers.on(openings(3))
        for each in writers.stores:
            await each.append(())
        await writers.dispatchers[0].send(post("hello"), actor=HUMAN)
        for _ in range(3):
            await asyncio.sleep(0)
        first, second, third = (each.team for each in writers.dispatchers)
        assert first == second == third

    run(scene())


def test_a_refusal_is_forgotten_if_the_other_writers_events_allow_the_command() -> None:
    async def scene() -> None:
        writers = await Writers.on(openings(2))
        first, second = writers.dispatchers
        await second.send(post("I am here"), actor=HUMAN)
        news = ChannelId("news")
        await first.send(CreateChannel(channel=news), actor=HUMAN)
        assert news not in second.head.channels
        hello = PostMessage(channel=news, text="hello", speaker_name="Marcus")
        receipt = await second.send(hello, actor=HUMAN)
        assert [each.type for each in receipt.events] == ["user_message"]
        await writers.check()

    run(scene())


def test_events_without_a_decider_fail_where_another_writer_was_first() -> None:
    async def scene() -> None:
        first, second = openings(2)
        passed_on: list[Stored] = []
        second.on_commit = passed_on.extend
        await first.append([event(1)])
        written = second.append([event(1)])
        nothing = second.append(())
        with pytest.raises(StoreFailed, match="another writer"):
            await written
        await nothing
        assert [each.seq for each in passed_on] == [1]

    run(scene())


def test_a_call_that_cannot_be_encoded_when_it_is_decided_again_fails_alone() -> None:
    async def scene() -> None:
        first, second = openings(2)
        decided: list[int] = []
        rollbacks: list[int] = []

        def on_commit(committed: Sequence[Stored]) -> None:
            decided[:] = [each.seq for each in committed]

        def on_rollback() -> None:
            rollbacks.append(len(decided))
            del decided[1:]

        def next_event(text: str) -> Sequence[Event]:
            decided.append(len(decided) + 1)
            return [event(decided[-1], said(text))]

        second.on_commit, second.on_rollback = on_commit, on_rollback
        await first.append([event(1)])
        before = second.append([event(1)], lambda: next_event("before"))
        broken = second.append([event(2)], lambda: next_event("\ud800"))
        cancelled = second.append([event(3)], lambda: next_event("\ud800"))
        after = second.append([event(4)], lambda: next_event("after"))
        cancelled.cancel()
        with pytest.raises(HalfCharacter):
            await broken
        await asyncio.gather(before, after)
        assert [each.seq for each in await first.read(after=0, limit=9)] == [1, 2, 3]
        assert len(rollbacks) == 3

    run(scene())


def test_a_closed_store_hears_of_nothing() -> None:
    async def scene() -> None:
        first, second = openings(2)
        told: list[Sequence[Stored]] = []
        second.on_commit = told.append
        await second.append(())
        written = first.append([event(1)])
        await written
        await second.close()
        await asyncio.sleep(0)
        assert told == []
        assert not first.is_shared

    run(scene())


def test_events_of_others_behind_the_place_that_was_loaded_come_by_the_store() -> None:
    async def scene() -> None:
        first, second = openings(2)
        writer = await a_dispatcher(first, ManualClock())
        data = codec.encode(writer.team)
        await first.save_snapshot(Snapshot(writer.team.seq, data), codec.VERSION)
        assert (await load_from(second)).team.seq == 0  # where it was opened
        reader = Dispatcher(second, ManualClock(), (await load_from(second)).team)
        await second.append(())
        assert reader.team == writer.team

    run(scene())


def test_an_sqlite_log_has_one_writer_so_its_refusals_are_final(tmp_path: Path) -> None:
    async def scene() -> None:
        store = await SqliteStore.open(tmp_path)
        dispatcher = await a_dispatcher(store, ManualClock())
        await dispatcher.send(enroll("Ada"), actor=HUMAN)
        assert not store.is_shared
        with pytest.raises(NameTaken):
            dispatcher.begin(enroll("Ada"), actor=HUMAN)
        await store.close()

    run(scene())
