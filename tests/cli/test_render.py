"""Output for a terminal: escaped, cut to its width, and coloured only where allowed."""

import json

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from muster.cli.render import (
    Cell,
    Look,
    Tone,
    clean,
    columns,
    count,
    duration,
    fit,
    json_line,
    paint,
    table,
)


@given(st.text())
def test_cleaned_text_has_only_printable_characters(text: str) -> None:
    assert clean(text).replace("\u200c", "").replace("\u200d", "").isprintable()


@given(st.text(alphabet=st.characters(categories=["L", "N", "P", "S"])))
def test_printable_text_stays_as_it_is(text: str) -> None:
    assert clean(text) == text


def test_emoji_and_persian_are_shown_as_they_are_and_hidden_joiners_are_not() -> None:
    for text in ("👩\u200d👩\u200d👧", "❤️\u200d🔥", "می\u200cخواهم", "क्\u200dष"):
        assert clean(f"a {text}!") == f"a {text}!"
    assert columns("می\u200cخواهم") == 7
    assert clean("p\u200dm") == r"p\u200dm"
    assert clean("\u200d👩") == r"\u200d👩"
    assert clean("👩\u200d") == r"👩\u200d"
    assert clean("a\u202eb\u2066") == r"a\u202eb\u2066"


def test_escape_sequences_are_shown_instead_of_obeyed() -> None:
    assert clean("\x1b[2J\x1b]0;owned\x07") == r"\x1b[2J\x1b]0;owned\x07"
    assert clean("a\x9b31mb") == r"a\x9b31mb"
    assert clean("safe\u202etxt") == r"safe\u202etxt"
    assert clean("Ev\u200bil") == r"Ev\u200bil"
    assert clean("two\nlines\tand\rmore") == "two lines and more"
    assert clean("lone \ud800 half") == r"lone \ud800 half"


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])))
def test_json_keeps_its_meaning_and_loses_its_controls(text: str) -> None:
    line = json_line(msgspec.json.encode({"text": text}))
    assert line.isprintable()
    assert json.loads(line) == {"text": text}


def test_colour_appears_only_where_it_is_wanted() -> None:
    assert paint("x", Tone.GOOD, Look()) == "x"
    assert paint("x", Tone.GOOD, Look(color=True)) == "\x1b[32mx\x1b[0m"
    assert paint("x", Tone.PLAIN, Look(color=True)) == "x"
    assert paint("\x1b[0m", Tone.BAD, Look(color=True)) == "\x1b[31m\\x1b[0m\x1b[0m"


def test_wide_and_combining_letters_are_counted_as_terminals_show_them() -> None:
    assert columns("abc") == 3
    assert columns("日本") == 4
    assert columns("e\u0301") == 1


@given(st.text(), st.integers(0, 30))
def test_fitted_text_never_takes_more_than_its_width(text: str, width: int) -> None:
    assert columns(fit(clean(text), width)) <= width


def test_a_table_lines_up_and_its_last_column_gives_way() -> None:
    rows = [("1", "Ada", "a long story about Ada"), ("10", "日本", "short")]
    assert table(("SEAT", "NAME", "WHY"), rows, Look()).split("\n") == [
        "SEAT  NAME  WHY",
        "1     Ada   a long story about Ada",
        "10    日本  short",
    ]
    narrow = table(("SEAT", "NAME", "WHY"), rows, Look(width=24)).split("\n")
    assert narrow[1] == "1     Ada   a long stor…"


def test_no_cell_can_bring_a_control_character_or_a_line_into_a_table() -> None:
    rows = [(Cell("\x1b[31mEve\n9  Ada", Tone.GOOD), "x")]
    lines = table(("NAME", "X"), rows, Look()).split("\n")
    assert len(lines) == 2
    assert all(line.isprintable() for line in lines)


def test_spans_of_time_are_told_in_their_largest_unit() -> None:
    spans = [(-1, "0 s"), (0.4, "0 s"), (59, "59 s"), (60, "1 min"), (7300, "2 h"), (2e5, "2 d")]
    assert [duration(seconds) for seconds, _ in spans] == [text for _, text in spans]


def test_one_thing_is_singular() -> None:
    assert [count(0, "agent"), count(1, "agent"), count(2, "agent")] == [
        "0 agents",
        "1 agent",
        "2 agents",
    ]
