"""The state document: five fields are understood, and whatever else is there stays."""

import json
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.machines.vocabulary import RunMode
from muster.mirrors.state_file.document import (
    MalformedContent,
    StateDocument,
    Wish,
    new_document,
    parse,
    timestamp,
)

SEED = b"""{
  "desired_state": "continuous",
  "current_state": "pause",
  "timestamp": "2025-10-15T22:39:14.372Z",
  "setBy": "human",
  "note": "Started via Mission Control (auto mode)"
}
"""

MOMENT = datetime(2025, 10, 15, 22, 39, 14, 372_000, tzinfo=UTC)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


def document(content: bytes) -> StateDocument:
    found = parse(content)
    assert isinstance(found, StateDocument)
    return found


def test_the_seeds_own_file_is_understood_and_written_as_it_was() -> None:
    found = document(SEED)
    assert (found.desired, found.current) == (RunMode.CONTINUOUS, RunMode.PAUSE)
    assert found.set_at == MOMENT
    assert found.wish == Wish(
        desired="continuous",
        set_by="human",
        note="Started via Mission Control (auto mode)",
        timestamp="2025-10-15T22:39:14.372Z",
    )
    assert found.unknown is None
    assert found.encode() == SEED


def test_a_new_document_has_the_seeds_fields_in_its_order() -> None:
    made = new_document(
        desired=RunMode.CONTINUOUS,
        current=RunMode.PAUSE,
        at=MOMENT,
        set_by="human",
        note="Started via Mission Control (auto mode)",
    )
    assert made.encode() == SEED


def test_moments_are_written_in_utc_with_milliseconds() -> None:
    east = timezone(timedelta(hours=2))
    assert timestamp(datetime(2026, 1, 2, 3, 4, 5, tzinfo=east)) == "2026-01-02T01:04:05.000Z"


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2025-10-15T22:39:14.372Z", MOMENT),
        ("2025-10-16T00:39:14.372+02:00", MOMENT),
        ("2025-10-15T22:39:14.372000", MOMENT),
        ("yesterday", None),
        ("", None),
        (5, None),
    ],
)
def test_any_usual_timestamp_is_understood(text: object, moment: datetime | None) -> None:
    assert document(json.dumps({"timestamp": text}).encode()).set_at == moment


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "empty"),
        (b" \n", "empty"),
        (b'{"desired_state": "pau', "not JSON"),
        (b"[]", "not a JSON object"),
        (b'{"a": NaN}', "not JSON"),
        (b"\xff\xfe\xfa", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b'{"a": ' + b"9" * 5000 + b"}", "not JSON"),
    ],
)
def test_what_is_no_document_says_why(content: bytes, why: str) -> None:
    found = parse(content)
    assert isinstance(found, MalformedContent)
    assert why in found.why


def test_missing_fields_have_defaults() -> None:
    found = document(b"{}")
    assert (found.desired, found.current) == (RunMode.PAUSE, RunMode.PAUSE)
    assert found.wish == Wish("pause", "", "", "")
    assert found.unknown is None


@pytest.mark.parametrize("value", ["dance", "", "PAUSE", 5, True, [], {}])
def test_an_unknown_state_counts_as_pause_and_is_named(value: object) -> None:
    found = document(json.dumps({"desired_state": value, "current_state": value}).encode())
    assert (found.desired, found.current) == (RunMode.PAUSE, RunMode.PAUSE)
    assert found.unknown is not None
    assert json.dumps(value) in found.unknown


def test_a_document_on_one_line_stays_on_one_line() -> None:
    found = document(b'{"desired_state": "pause"}')
    assert found.changed(current_state="pause").encode() == (
        b'{"desired_state": "pause", "current_state": "pause"}\n'
    )


def test_letters_of_any_script_and_half_characters_survive() -> None:
    content = '{"note": "café ☕", "half": "\\ud83d"}'.encode()
    written = document(content).encode()
    assert json.loads(written) == json.loads(content)
    assert "café ☕".encode() in document('{"note": "café ☕"}'.encode()).encode()


@given(st.dictionaries(st.text(), JSON, max_size=6), st.sampled_from(RunMode))
def test_whatever_others_keep_there_stays_in_its_order(
    fields: dict[str, object], mode: RunMode
) -> None:
    found = document(json.dumps(fields, indent=2).encode() + b"\n")
    written = json.loads(found.changed(current_state=str(mode)).encode())
    assert written["current_state"] == mode
    others = {name: each for name, each in written.items() if name != "current_state"}
    kept = {name: each for name, each in fields.items() if name != "current_state"}
    assert list(others.items()) == list(kept.items())
