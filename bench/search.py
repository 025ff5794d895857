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
from muster.store.base import SEQ_END, MessageSearch
from muster.store.sqlite import SqliteStore
from muster.views.content.searching import found_page

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
    """Measure the line in a log of that many messages."""
    return [asyncio.run(_line(folder, rounds, messages))]


async def _line(folder: Path, rounds: int, messages: int) -> Line:
    chance = random.Random(14)
    known = vocabulary()
    store = await SqliteStore.open(folder / "home")
    try:
        for batch in _batches(chance, known, messages):
            await store.append(batch)
        figures = [await _p95(store, _queries(chance, known)) for _ in range(rounds)]
    finally:
        await store.close()
    return Line(
        what=f"search in {messages:,} messages, first {FIRST} (p95)",
        against="rare and common words, pairs of words, in one channel or in all",
        goal=Goal(Bound.AT_MOST, 50, "ms"),
        figures=figures,
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


async def _p95(store: SqliteStore, searches: Iterator[MessageSearch]) -> float:
    """Milliseconds from the question to the answer that is shown."""
    delays: list[float] = []
    for search in searches:
        began = perf_counter()
        found = await store.search(search, before=SEQ_END, limit=FIRST)
        found_page(Team(), " ".join(search.words), search, found)
        delays.append(1000 * (perf_counter() - began))
    return statistics.quantiles(delays, n=20)[18]
