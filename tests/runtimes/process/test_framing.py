"""Framing: the same bytes give the same lines, however they come."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from muster.limits import OUTPUT_LINE_BYTES_MAX
from muster.runtimes.process.framing import Framer, Run

LONG = b"x" * (OUTPUT_LINE_BYTES_MAX + 10)


def framed(*chunks: bytes) -> list[Run]:
    framer = Framer()
    return [*(run for chunk in chunks for run in framer.push(chunk)), *framer.flush()]


def lines(runs: list[Run]) -> list[bytes]:
    """All lines, put together again."""
    return b"".join(run.raw for run in runs).split(b"\n")


def cut(data: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[begin:end] for begin, end in pairwise(edges)]


PARTS = (b"\n", b"\r\n", b"a", "ä€𝄞".encode(), b"\xff", b"\xf0\x9d", LONG)
parts = st.lists(st.integers(0, len(PARTS) - 1), max_size=12)


@given(chosen=parts, places=st.lists(st.integers(0, 1_000_000), max_size=12))
def test_any_way_to_cut_the_bytes_gives_the_same_lines(
    chosen: list[int], places: list[int]
) -> None:
    data = b"".join(PARTS[number] for number in chosen)
    runs = framed(*cut(data, places))
    assert lines(runs) == data.split(b"\n")
    assert all(run.raw for run in runs)


@given(chosen=parts, places=st.lists(st.integers(0, 1_000_000), max_size=12))
def test_a_run_says_truly_whether_it_begins_and_ends_a_line(
    chosen: list[int], places: list[int]
) -> None:
    data = b"".join(PARTS[number] for number in chosen)
    before = b"\n"
    runs = framed(*cut(data, places))
    for number, run in enumerate(runs):
        assert run.begins == before.endswith(b"\n")
        assert run.ends or not run.raw.endswith(b"\n")
        assert not run.ends or run.raw.endswith(b"\n") or number == len(runs) - 1
        before = run.raw


def test_a_line_without_an_end_is_kept_until_it_has_one() -> None:
    framer = Framer()
    assert framer.push(b"one\ntw") == [Run(b"one\n")]
    assert framer.push(b"o") == []
    assert framer.push(b"\nthree") == [Run(b"two\n")]
    assert framer.flush() == [Run(b"three")]
    assert framer.flush() == []


def test_what_is_kept_of_a_long_line_is_bounded_and_its_pieces_say_so() -> None:
    framer = Framer()
    assert framer.push(LONG) == [Run(LONG, ends=False)]
    assert framer.push(LONG) == [Run(LONG, begins=False, ends=False)]
    assert framer.push(b"end\nnext\n") == [Run(b"end\n", begins=False), Run(b"next\n")]


def test_no_character_is_cut_in_two() -> None:
    framer = Framer()
    for sign in ("ä", "€", "𝄞"):
        for kept in range(1, len(sign.encode())):
            data = LONG + sign.encode()[:kept]
            assert framer.push(data)[-1].raw == LONG
            assert framer.push(sign.encode()[kept:] + LONG)[-1].raw == sign.encode() + LONG
