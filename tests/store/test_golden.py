"""Golden logs: the log of every release stays readable."""

from pathlib import Path

import pytest

from muster.machines.events import FACTS
from muster.store.codec import decode, encode

GOLDEN = sorted((Path(__file__).parent / "golden").glob("*.jsonl"))
CURRENT = Path(__file__).parent / "golden" / "v1_third.jsonl"


@pytest.mark.parametrize("log", GOLDEN, ids=lambda log: log.stem)
def test_a_golden_log_is_read_in_order(log: Path) -> None:
    events = [decode(line) for line in log.read_bytes().splitlines()]

    assert [event.seq for event in events] == list(range(1, len(events) + 1))


def test_the_newest_golden_log_is_encoded_to_the_same_bytes() -> None:
    for line in CURRENT.read_bytes().splitlines():
        assert encode(decode(line)) == line


def test_the_newest_golden_log_has_every_kind_of_event() -> None:
    kinds = {type(decode(line).fact) for line in CURRENT.read_bytes().splitlines()}

    assert kinds == set(FACTS)
