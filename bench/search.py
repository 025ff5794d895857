"""Search in a large log: the first 20 messages for rare words, common words and pairs of words."""

import asyncio
import random
import statistics
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import accumulate
from pathlib import Path
from time import perf_counter
from typing import Final

from bench.lines import Bound, Goal, Line
from bench.teams import channel_id
from muster.machines.events import Event, UserMessage
from muster.machines.ids import SessionId
from muster.machines.state import Team
from muster.store.base import SEQ_END, EventStore, MessageSearch
from muster.store.indexing import LOT_MESSAGES
from muster.store.postgres.connecting import Database
from muster.store.postgres.store import PostgresStore
from muster.store.reading import INDEX_CURSOR
from muster.store.sqlite import SqliteStore
from muster.views.content.searching import found_page
from tests.postgres import Cluster, remove
from tests.waits import until_async

CHANNELS: Final = 12
LETTERS: Final = "etaoinshrdlu"
VOCABULARY: Final = 20_000
"""Different words; the n-th is about n times as rare as the first."""

WORDS: Final = 12
"""Words of a message."""

QUERIES: Final = 100
FIRST: Final = 20
_BATCH: Final = 1000
_WHEN: Final = datetime(2026, 5, 9, 7, tzinfo=UTC)


def measure(folder: Path, rounds: int, *, messages: int) -> list[Line]:
    """Measure a log of that many messages in a file, and one of a tenth of them in PostgreSQL."""
    cluster = Cluster(folder / "server")
    cluster.create()
    cluster.start()
    try:
        return [
            asyncio.run(_in_file(folder / "home", rounds, messages)),
            asyncio.run(_in_database(cluster.url(), rounds, messages // 10)),
        ]
    finally:
        remove(cluster)


async def _in_file(home: Path, rounds: int, messages: int) -> Line:
    store = await SqliteStore.open(home)
    try:
        await _fill(store, messages)
        return await _line(store, rounds, f"{messages:,} messages")
    finally:
        await store.close()


async def _in_database(url: str, rounds: int, messages: int) -> Line:
    store = await PostgresStore.open(Database(url), "search")

    async def is_indexed() -> bool:
        return await store.load_cursor(INDEX_CURSOR) > messages - LOT_MESSAGES

    try:
        await _fill(store, messages)
        await until_async(is_indexed)
        return await _line(store, rounds, f"{messages:,} messages in PostgreSQL")
    finally:
        await store.close()


async def _fill(store: EventStore, messages: int) -> None:
    for batch in _batches(random.Random(14), vocabulary(), messages):
        await store.append(batch)


async def _line(store: EventStore, rounds: int, log: str) -> Line:
    chance, known = random.Random(15), vocabulary()
    return Line(
        what=f"search in {log}, first {FIRST} (p95)",
        against="rare and common words, pairs of words, in one channel or in all",
        goal=Goal(Bound.AT_MOST, 50, "ms"),
        figures=[await _p95(store, _queries(chance, known)) for _ in range(rounds)],
    )


def vocabulary() -> list[str]:
    """Different words, the shortest first."""
    words = [""]
    for word in words:
        if len(words) > VOCABULARY:
            break
        words += [word + letter for letter in LETTERS]
    return words[1 : VOCABULARY + 1]


def _batches(chance: random.Random, words: Sequence[str], messages: int) -> Iterator[list[Event]]:
    weights = list(accumulate(1 / rank for rank in range(1, len(words) + 1)))
    for first in range(1, messages + 1, _BATCH):
        yield [
            _message(seq, " ".join(chance.choices(words, cum_weights=weights, k=WORDS)))
            for seq in range(first, min(first + _BATCH, messages + 1))
        ]


def _message(seq: int, text: str) -> Event:
    fact = UserMessage(
        text=text, speaker_name="Grace", target_agent=None, channel=channel_id(seq % CHANNELS)
    )
    return Event(seq, _WHEN, SessionId("boot"), "person:Grace", None, fact)


def _queries(chance: random.Random, words: Sequence[str]) -> Iterator[MessageSearch]:
    """Mixed searches: the words of a search are equally likely to be common, usual or rare."""
    ranks = (10, 1000, len(words))
    for number in range(QUERIES):
        wanted = [words[chance.randrange(chance.choice(ranks))] for _ in range(1 + number % 2)]
        channel = channel_id(number % CHANNELS) if number % 4 == 3 else None
        yield MessageSearch(words=tuple(dict.fromkeys(wanted)), channel=channel)


async def _p95(store: EventStore, searches: Iterator[MessageSearch]) -> float:
    """Milliseconds from the question to the answer that is shown."""
    delays: list[float] = []
    for search in searches:
        began = perf_counter()
        found = await store.search(search, before=SEQ_END, limit=FIRST)
        found_page(Team(), " ".join(search.words), search, found)
        delays.append(1000 * (perf_counter() - began))
    return statistics.quantiles(delays, n=20)[18]
