"""The guarantees of a store (`store/base.py`), tested on every implementation."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import pytest

from muster.errors import Closed, Impossible, StoreFailed
from muster.machines.events import AgentMessage, Announcement, Event, Fact, MarkerRejected
from muster.machines.ids import ChannelId, SeatId
from muster.machines.vocabulary import Text
from muster.store import indexing, reading, sqlite
from muster.store.base import (
    SEARCH_BYTES,
    SEQ_END,
    EventStore,
    HalfCharacter,
    LogFilter,
    MessageSearch,
    Snapshot,
    Stored,
)
from muster.store.codec import decode, stored
from muster.store.postgres import indexing as postgres_indexing
from tests.store.building import DESIGN, SEAT, Counter, event, said
from tests.store.harness import (
    Harness,
    MemoryHarness,
    PostgresHarness,
    SqliteHarness,
    in_loop,
    without_fts5,
)


@pytest.fixture(
    params=[
        "memory",
        "sqlite on a slow disk",
        "sqlite on a quick disk",
        "sqlite without FTS5, quick disk",
        "postgres",
        "postgres with small lots",
    ]
)
def harness(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Harness:
    """A store of each kind; SQLite both with commits in the writer's thread and on the loop."""
    if request.param == "memory":
        return MemoryHarness()
    if request.param.startswith("postgres"):
        if request.param.endswith("small lots"):  # a search runs while lots are indexed
            monkeypatch.setattr(postgres_indexing, "LOT_MESSAGES", 20)
        return PostgresHarness()
    quick = request.param.endswith("quick disk")
    if "without FTS5" in request.param:
        for module in (indexing, reading):
            monkeypatch.setattr(module, "has_fts5", without_fts5)
    monkeypatch.setattr(sqlite, "HOP_SECONDS", float("inf") if quick else 0.0)
    return SqliteHarness(tmp_path / "home")


def append(counter: Counter, *texts: str) -> list[Event]:
    """A decider that appends one message for each text."""
    return list(counter.decide(*map(said, texts)))


# ── appending ─────────────────────────────────────────────────────────────────────────────────────


@in_loop
async def test_a_new_log_is_empty(harness: Harness) -> None:
    store = await harness.open()

    assert await store.last_seq() == 0
    assert list(await store.read(after=0, limit=10)) == []
    await store.close()


@in_loop
async def test_decided_events_are_returned_and_read_back_in_order(harness: Harness) -> None:
    store = await harness.open()
    decided = [event(1), event(2, cause=1), event(3, cause=2)]

    await store.append(decided)

    assert list(await store.read(after=0, limit=10)) == [stored(each) for each in decided]
    assert [decode(each.data) for each in await store.read(after=0, limit=10)] == decided
    assert await store.last_seq() == 3
    await store.close()


@in_loop
async def test_calls_that_arrive_together_keep_the_order_of_arrival(harness: Harness) -> None:
    store = await harness.open()
    counter = Counter()

    async def say(text: str) -> Sequence[Event]:
        events = append(counter, text, f"{text} again")
        await store.append(events)
        return events

    answers = await asyncio.gather(*(say(f"call {number}") for number in range(300)))

    assert [each.seq for answer in answers for each in answer] == list(range(1, 601))
    log = await store.read(after=0, limit=1000)
    assert [decode(each.data) for each in log] == [each for answer in answers for each in answer]
    await store.close()


@in_loop
async def test_an_answer_never_comes_in_the_loop_iteration_of_its_call(harness: Harness) -> None:
    store = await harness.open()

    answer = asyncio.ensure_future(store.append([event(1)]))
    assert not answer.done()
    await answer
    await store.close()


@in_loop
async def test_the_commit_callback_runs_before_the_answers_and_in_order(harness: Harness) -> None:
    store = await harness.open()
    counter = Counter()
    told: list[int] = []
    answered: list[int] = []

    def on_commit(events: Sequence[Stored]) -> None:
        told.extend(each.seq for each in events)

    async def say(text: str) -> None:
        (said_now,) = append(counter, text)
        await store.append([said_now])
        assert said_now.seq in told
        answered.append(said_now.seq)

    store.on_commit = on_commit
    await asyncio.gather(*(say(f"call {number}") for number in range(50)))

    assert told == answered == list(range(1, 51))
    await store.close()


@in_loop
async def test_answered_events_are_there_after_a_restart(harness: Harness) -> None:
    store = await harness.open()
    counter = Counter()
    await store.append(append(counter, "one", "two"))
    await store.close()

    again = await harness.open()

    assert await again.last_seq() == 2
    await again.append(append(counter, "three"))
    assert [each.seq for each in await again.read(after=0, limit=10)] == [1, 2, 3]
    await again.close()


@in_loop
async def test_an_empty_append_is_answered_after_the_commits_before_it(
    harness: Harness,
) -> None:
    store = await harness.open()
    answered: list[str] = []
    commits: list[int] = []
    store.on_commit = lambda events: commits.append(len(events))

    async def send(name: str, *events: Event) -> None:
        await store.append(events)
        answered.append(name)

    await send("nothing at all")
    await asyncio.gather(send("something", event(1)), send("nothing more"))

    assert answered == ["nothing at all", "something", "nothing more"]
    assert commits == [1]
    await store.close()


@in_loop
async def test_a_cancelled_caller_does_not_undo_its_append(harness: Harness) -> None:
    store = await harness.open()
    counter = Counter()

    impatient = asyncio.ensure_future(store.append(append(counter, "gone")))
    patient = store.append(append(counter, "here"))
    impatient.cancel()
    await patient

    assert impatient.cancelled()
    assert await store.last_seq() == 2
    await store.close()


@in_loop
async def test_a_failing_commit_callback_does_not_prevent_the_answers(harness: Harness) -> None:
    store = await harness.open()
    complaints: list[object] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: complaints.append(context["exception"]))
    broken = RuntimeError("the listener is broken")

    def on_commit(_: Sequence[Stored]) -> NoReturn:
        raise broken

    store.on_commit = on_commit
    await store.append([event(1)])

    assert [each.seq for each in await store.read(after=0, limit=10)] == [1]
    assert complaints == [broken]
    await store.close()


# ── reading ───────────────────────────────────────────────────────────────────────────────────────

OPS = ChannelId("ops")
WHERES = (
    LogFilter(types=frozenset({"agent_message"})),
    LogFilter(types=frozenset({"agent_message", "agent_enabled"})),
    LogFilter(types=frozenset({"no_such_type"})),
    LogFilter(seat=SEAT),
    LogFilter(seat=SeatId(0)),
    LogFilter(channel=OPS),
    LogFilter(channel=DESIGN, seat=SeatId(1)),
    LogFilter(types=frozenset({"agent_message"}), channel=OPS, seat=SeatId(2)),
)


async def filled(harness: Harness) -> list[Stored]:
    """A log of twenty events from several seats in several channels."""
    store = await harness.open()
    channels = (DESIGN, OPS, None)
    facts = [
        said(f"{number}", seat=SeatId(number % 4), channel=channels[number % 3])
        for number in range(20)
    ]
    events = Counter().decide(*facts)
    await store.append(events)
    await store.close()
    return [stored(each) for each in events]


@in_loop
async def test_a_page_begins_after_a_seq_and_ends_at_the_limit(harness: Harness) -> None:
    log = await filled(harness)
    store = await harness.open()

    assert list(await store.read(after=0, limit=100)) == log
    assert list(await store.read(after=5, limit=3)) == log[5:8]
    assert list(await store.read(after=18, limit=3)) == log[18:]
    assert list(await store.read(after=20, limit=3)) == []
    assert list(await store.read(after=0, limit=0)) == []
    await store.close()


@in_loop
async def test_backwards_the_newest_come_first(harness: Harness) -> None:
    log = await filled(harness)
    store = await harness.open()

    assert list(await store.read(after=0, limit=3, backwards=True)) == log[:-4:-1]
    assert list(await store.read(after=18, limit=9, backwards=True)) == log[:17:-1]
    assert list(await store.read(after=20, limit=9, backwards=True)) == []
    await store.close()


@pytest.mark.parametrize("where", WHERES, ids=range(len(WHERES)))
@in_loop
async def test_a_reader_gets_the_events_that_pass_its_filter(
    harness: Harness, where: LogFilter
) -> None:
    log = await filled(harness)
    wanted = [each for each in log if where.wants(each)]
    store = await harness.open()

    assert list(await store.read(after=0, limit=100, where=where)) == wanted
    assert list(await store.read(after=0, limit=2, where=where)) == wanted[:2]
    backwards = await store.read(after=7, limit=2, where=where, backwards=True)
    assert list(backwards) == [each for each in wanted if each.seq > 7][:-3:-1]
    await store.close()


# ── cursors and snapshots ─────────────────────────────────────────────────────────────────────────


@in_loop
async def test_a_reader_resumes_from_its_cursor_after_a_restart(harness: Harness) -> None:
    store = await harness.open()
    assert await store.load_cursor("prompts") == 0
    await asyncio.gather(store.save_cursor("prompts", 3), store.save_cursor("mirrors", 1))
    await asyncio.gather(store.save_cursor("prompts", 4), store.save_cursor("prompts", 5))
    await store.close()

    again = await harness.open()

    assert await again.load_cursor("prompts") == 5
    assert await again.load_cursor("mirrors") == 1
    assert await again.load_cursor("inboxes") == 0
    await again.close()


@in_loop
async def test_the_newest_snapshot_of_a_version_is_found_after_a_restart(harness: Harness) -> None:
    store = await harness.open()
    assert await store.load_snapshot(1) is None
    await store.save_snapshot(Snapshot(10, b"ten"), 1)
    await store.save_snapshot(Snapshot(20, b"twenty"), 1)
    await store.close()

    again = await harness.open()

    assert await again.load_snapshot(1) == Snapshot(20, b"twenty")
    assert await again.load_snapshot(2) is None
    await again.close()


@in_loop
async def test_only_the_last_two_snapshots_are_kept(harness: Harness) -> None:
    store = await harness.open()
    await store.save_snapshot(Snapshot(10, b"ten"), 1)
    await store.save_snapshot(Snapshot(20, b"twenty"), 2)
    assert await store.load_snapshot(1) == Snapshot(10, b"ten")

    await store.save_snapshot(Snapshot(30, b"thirty"), 2)

    assert await store.load_snapshot(1) is None
    assert await store.load_snapshot(2) == Snapshot(30, b"thirty")
    await store.close()


@in_loop
async def test_a_snapshot_at_the_same_seq_replaces_the_older_version(harness: Harness) -> None:
    store = await harness.open()
    await store.save_snapshot(Snapshot(10, b"old shape"), 1)
    await store.save_snapshot(Snapshot(10, b"new shape"), 2)

    assert await store.load_snapshot(1) is None
    assert await store.load_snapshot(2) == Snapshot(10, b"new shape")
    await store.close()


@in_loop
async def test_events_cursors_and_snapshots_that_arrive_together_are_written_together(
    harness: Harness,
) -> None:
    store = await harness.open()

    async def say() -> None:
        await store.append([event(1)])

    await asyncio.gather(
        say(),
        store.save_cursor("prompts", 1),
        store.save_snapshot(Snapshot(1, b"one"), 1),
    )

    assert await store.last_seq() == 1
    assert await store.load_cursor("prompts") == 1
    assert await store.load_snapshot(1) == Snapshot(1, b"one")
    await store.close()


# ── failing ───────────────────────────────────────────────────────────────────────────────────────


@in_loop
async def test_a_failed_commit_fails_all_pending_calls_and_the_next_commit_works(
    harness: Harness,
) -> None:
    store = await harness.open()
    counter = Counter()
    rollbacks: list[int] = []
    committed: list[int] = []

    def on_rollback() -> None:
        counter.last_seq = len(committed)
        rollbacks.append(counter.last_seq)

    def on_commit(events: Sequence[Stored]) -> None:
        committed.extend(each.seq for each in events)

    async def lose() -> None:
        await store.append(append(counter, "lost"))

    store.on_rollback = on_rollback
    store.on_commit = on_commit
    await store.append(append(counter, "kept"))

    with harness.broken_disk():
        failures = await asyncio.gather(
            *(lose() for _ in range(5)),
            store.save_cursor("prompts", 3),
            store.save_snapshot(Snapshot(3, b"three"), 1),
            return_exceptions=True,
        )
    await store.append(append(counter, "works again"))

    assert len(failures) == 7
    assert all(isinstance(failure, StoreFailed) for failure in failures)
    assert rollbacks == [1]
    assert committed == [1, 2]
    log = await store.read(after=0, limit=10)
    assert [decode(each.data).fact for each in log] == [said("kept"), said("works again")]
    assert await store.load_cursor("prompts") == 0
    assert await store.load_snapshot(1) is None
    await store.close()


@pytest.mark.parametrize(
    ("unspeakable", "kind", "why"),
    [
        (said("\ud800"), HalfCharacter, "surrogates not allowed"),
        (MarkerRejected(seat=SeatId(2**63), marker="", reason=""), Impossible, "does not fit"),
    ],
)
@in_loop
async def test_an_event_that_cannot_be_encoded_fails_alone_and_must_not_be_retried(
    harness: Harness, unspeakable: Fact, kind: type[Exception], why: str
) -> None:
    store = await harness.open()
    rollbacks: list[bool] = []
    store.on_rollback = lambda: rollbacks.append(True)

    other = store.append([event(1)])
    with pytest.raises(kind) as culprit:
        await store.append([event(2), event(3, unspeakable)])
    await other

    assert why in str(culprit.value)
    assert rollbacks == []
    assert await store.last_seq() == 1
    await store.append([event(2)])
    await store.close()


@pytest.mark.parametrize("seqs", [(2,), (0,), (1, 3), (1, 1), (1, 2, 2)])
@in_loop
async def test_a_log_never_has_a_gap_or_a_duplicate_seq(
    harness: Harness, seqs: tuple[int, ...]
) -> None:
    store = await harness.open()

    with pytest.raises(StoreFailed, match="cannot follow event") as failure:
        await store.append([event(seq) for seq in seqs])

    assert isinstance(failure.value.__cause__, Impossible)
    assert list(await store.read(after=0, limit=10)) == []
    await store.close()


@in_loop
async def test_a_failed_commit_ignores_cancelled_callers(harness: Harness) -> None:
    store = await harness.open()

    with harness.broken_disk():
        impatient = asyncio.ensure_future(store.append([event(1)]))
        patient = store.append(())
        impatient.cancel()
        with pytest.raises(StoreFailed):
            await patient

    assert impatient.cancelled()
    await store.close()


# ── closing ───────────────────────────────────────────────────────────────────────────────────────


@in_loop
async def test_closing_commits_the_accepted_calls(harness: Harness) -> None:
    store = await harness.open()
    counter = Counter()

    answers = [store.append(append(counter, "in time")) for _ in range(20)]
    await store.close()
    await asyncio.gather(*answers)

    again = await harness.open()
    assert await again.last_seq() == 20
    await again.close()


@in_loop
async def test_a_closed_store_refuses_everything(harness: Harness) -> None:
    store = await harness.open()
    await store.close()

    with pytest.raises(Closed):
        await store.append([event(1)])
    for call in (
        store.read(after=0, limit=1),
        store.last_seq(),
        store.load_snapshot(1),
        store.save_snapshot(Snapshot(1, b""), 1),
        store.load_cursor("prompts"),
        store.save_cursor("prompts", 1),
    ):
        with pytest.raises(Closed):
            await call


@in_loop
async def test_closing_is_idempotent(harness: Harness) -> None:
    store = await harness.open()

    await asyncio.gather(store.close(), store.close())
    await store.close()


@in_loop
async def test_closing_continues_when_its_caller_is_cancelled(harness: Harness) -> None:
    store = await harness.open()

    async with asyncio.TaskGroup() as group:
        closing = group.create_task(store.close())
        await asyncio.sleep(0)
        closing.cancel()
    await store.close()

    again = await harness.open()
    await again.close()


# ── searching ─────────────────────────────────────────────────────────────────────────────────────


async def fill(store: EventStore, messages: int) -> None:
    """Messages of an agent and notices, and after each another event."""
    counter = Counter()
    facts: list[Fact] = []
    for number in range(messages):
        channel = DESIGN if number % 2 else OPS
        text = f"word{number} {'even' if number % 2 == 0 else 'odd'} Café"
        facts.append(
            AgentMessage(agent_name="Ada", content=(Text(text),), seat=SEAT, channel=channel)
            if number % 3
            else Announcement(channel=channel, text=text)
        )
        facts.append(MarkerRejected(seat=SEAT, marker="café", reason="even odd"))
    for begin in range(0, len(facts), 50):
        await store.append(counter.decide(*facts[begin : begin + 50]))


async def found(store: EventStore, search: MessageSearch, before: int = SEQ_END) -> list[int]:
    """The seqs that a search finds."""
    return [each.seq for each in (await store.search(search, before=before, limit=1000)).found]


@in_loop
async def test_a_search_finds_every_committed_message_newest_first(harness: Harness) -> None:
    store = await harness.open()
    await fill(store, 300)

    assert await found(store, MessageSearch(words=("cafe",))) == list(range(599, 0, -2))
    assert await found(store, MessageSearch(words=("cafe", "even"))) == list(range(597, 0, -4))
    assert await found(store, MessageSearch(words=("word299",))) == [
        599
    ]  # the newest, not in the index yet
    assert await found(store, MessageSearch(words=("word3",))) == [7]  # a word is whole
    assert await found(store, MessageSearch(words=("word3", "even"))) == []
    assert await found(store, MessageSearch(words=("nothing",))) == []
    await store.close()


@in_loop
async def test_a_search_is_limited_to_a_channel_an_agent_and_what_may_be_read(
    harness: Harness,
) -> None:
    store = await harness.open()
    await fill(store, 200)
    odd, agents = list(range(399, 0, -4)), [n * 2 + 1 for n in range(199, -1, -1) if n % 3]

    assert await found(store, MessageSearch(words=("cafe",), channel=DESIGN)) == odd
    assert await found(store, MessageSearch(words=("cafe",), seat=SEAT)) == agents
    assert await found(store, MessageSearch(seat=SEAT, channel=DESIGN)) == [
        n for n in agents if n % 4 == 3
    ]
    assert await found(store, MessageSearch(words=("cafe",), hidden=frozenset({OPS, None}))) == odd
    assert await found(store, MessageSearch(words=("cafe",), hidden=frozenset({OPS, DESIGN}))) == []
    await store.close()


@in_loop
async def test_a_search_goes_on_where_the_last_page_ended(harness: Harness) -> None:
    store = await harness.open()
    await fill(store, 150)
    seen: list[int] = []
    before: int | None = SEQ_END
    while before is not None:
        page = await store.search(MessageSearch(words=("odd",)), before=before, limit=20)
        seen += [each.seq for each in page.found]
        before = page.before

    assert seen == list(range(299, 0, -4))
    assert await found(store, MessageSearch(words=("odd",)), before=0) == []
    assert await found(store, MessageSearch(words=("odd",)), before=4) == [3]
    await store.close()


@in_loop
async def test_messages_are_found_after_a_restart(harness: Harness) -> None:
    store = await harness.open()
    await fill(store, 100)
    await store.close()
    again = await harness.open()

    assert await found(again, MessageSearch(words=("cafe",))) == list(range(199, 0, -2))
    await again.close()


@in_loop
async def test_a_failed_commit_leaves_nothing_to_find(harness: Harness) -> None:
    store = await harness.open()
    counter = Counter()
    lot = [said(f"lost {number}") for number in range(100)]
    with harness.broken_disk(), pytest.raises(StoreFailed):
        await store.append(counter.decide(*lot))
    await store.append(Counter().decide(said("kept one"), *lot))

    assert await found(store, MessageSearch(words=("kept",))) == [1]
    assert await found(store, MessageSearch(words=("lost",))) == list(range(101, 1, -1))
    await store.close()


@in_loop
async def test_events_are_read_before_a_place(harness: Harness) -> None:
    store = await harness.open()
    await store.append(append(Counter(), *map(str, range(9))))

    def seqs(page: Sequence[Stored]) -> list[int]:
        return [each.seq for each in page]

    assert seqs(await store.read(after=2, before=5, limit=9)) == [3, 4]
    assert seqs(await store.read(after=0, before=5, limit=2, backwards=True)) == [4, 3]
    where = LogFilter(types=frozenset({"agent_message"}))
    found = await store.read(after=0, before=5, limit=2, backwards=True, where=where)
    assert seqs(found) == [4, 3]
    assert seqs(await store.read(after=0, before=0, limit=9)) == []
    await store.close()


@in_loop
async def test_a_page_ends_with_the_event_that_reaches_its_bytes(harness: Harness) -> None:
    store = await harness.open()
    await fill(store, 20)
    size = len((await store.read(after=0, limit=1))[0].data)

    for bytes_max, events in ((1, 1), (size, 1), (size + 1, 2), (10**9, 40)):
        page = await store.read(after=0, limit=100, bytes_max=bytes_max)
        assert [each.seq for each in page] == list(range(1, events + 1))
    (newest,) = await store.read(after=0, limit=100, backwards=True, bytes_max=1)
    assert newest.seq == 40
    await store.close()


@in_loop
async def test_a_search_of_large_messages_ends_early_and_goes_on(harness: Harness) -> None:
    store, counter = await harness.open(), Counter()
    text = "plan " * (SEARCH_BYTES // 15)
    for _ in range(10):
        await store.append(counter.decide(Announcement(channel=OPS, text=text)))
    seen: list[int] = []
    before: int | None = SEQ_END
    while before is not None:
        page = await store.search(MessageSearch(words=("plan",)), before=before, limit=100)
        assert len(page.found) <= 4
        seen += [each.seq for each in page.found]
        before = page.before

    assert seen == list(range(10, 0, -1))
    await store.close()
