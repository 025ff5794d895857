"""The benchmarks of search and of injected messages measure what they say."""

import asyncio
from collections.abc import Generator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from bench import inject, search
from muster.home.lock import LOG_FILE
from muster.store.base import SEQ_END, MessageSearch
from muster.store.reading import LogReader
from muster.store.words import words_of


@pytest.fixture
def folder() -> Generator[Path]:
    """A folder that the user of a PostgreSQL server may enter."""
    with TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


def test_a_measured_search_looks_through_every_message(folder: Path) -> None:
    lines = search.measure(folder, 1, messages=3000)
    assert [(each.goal.value, each.goal.unit, len(each.figures)) for each in lines] == [
        (50, "ms", 1)
    ] * 2
    with LogReader.open(folder / "home" / LOG_FILE) as reader:
        assert reader.last_seq() == 3000
        rare = MessageSearch(words=("e",))
        common = reader.search(rare, before=SEQ_END, limit=3000)
    assert 500 < len(common.found) < 3000


def test_the_words_of_the_messages_are_different_words() -> None:
    words = search.vocabulary()
    assert len(words_of(" ".join(words))) == len(words) == search.VOCABULARY


def test_both_sides_of_an_injected_message_deliver_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inject, "MESSAGES", 5)
    (line,) = inject.measure(tmp_path, 1)
    assert len(line.figures) == 1
    assert (tmp_path / "bare" / "log").read_text().count("\n") == 2 * 5  # and a warm-up


def test_a_round_of_injected_messages_goes_to_the_agent_that_has_the_turn(tmp_path: Path) -> None:
    with asyncio.Runner() as runner, inject.ours(tmp_path / "ours", runner) as muster:
        runner.run(muster.begin())
        assert runner.run(muster.inject()) > 0
