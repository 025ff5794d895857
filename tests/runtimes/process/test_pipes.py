"""Streams: all is told in order while it is little, and what is left out of a flood is counted."""

from hypothesis import given
from hypothesis import strategies as st

from muster.engine.ports import AgentText, Marker, Output, SessionReport, TurnDone
from muster.limits import (
    FENCE_IDLE_SECONDS,
    OUTPUT_BURST_BYTES,
    OUTPUT_BYTES_MAX,
    OUTPUT_BYTES_PER_SECOND,
    OUTPUT_TAIL_BYTES,
)
from muster.runtimes.process.lines import HiddenMarker
from muster.runtimes.process.pipes import STDERR, STDOUT, OutputBudget, OutputStream

LINE = b"a line of a flood, like all the others in it ......\n"
FLOOD = LINE * (2 * OUTPUT_BURST_BYTES // len(LINE))


def a_stream(name: str = STDOUT) -> OutputStream:
    return OutputStream(name, OutputBudget(0.0))


def poured(*chunks: bytes, name: str = STDOUT) -> list[SessionReport]:
    stream = a_stream(name)
    told = [said for chunk in chunks for said in stream.take(chunk, 0.0)]
    return told + stream.end()


def chunked(data: bytes, size: int = 65536) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


def outputs(said: list[SessionReport]) -> list[Output]:
    return [each for each in said if isinstance(each, Output)]


def test_lines_wait_for_more_and_are_told_together() -> None:
    stream = a_stream()
    assert stream.take(b"one\ntwo\nthr", 0.0) == []
    assert stream.waiting
    assert stream.flush() == [Output(stream=STDOUT, text="one\ntwo")]
    assert not stream.waiting
    assert stream.flush() == []
    assert stream.end() == [Output(stream=STDOUT, text="thr")]


def test_words_are_told_at_once_after_the_text_before_them() -> None:
    stream = a_stream()
    said = stream.take(b'one\n{"type":"say","text":"x"}\ntwo\nTURN_COMPLETE\nthree\n', 0.0)
    assert said == [
        Output(stream=STDOUT, text="one"),
        AgentText(text="x"),
        Output(stream=STDOUT, text="two"),
        TurnDone(),
    ]
    assert stream.flush() == [Output(stream=STDOUT, text="three")]


def test_a_word_without_an_end_is_understood_at_the_end() -> None:
    assert poured(b"TURN_COMPLETE") == [TurnDone()]


def test_nothing_on_stderr_means_anything() -> None:
    text = 'TURN_COMPLETE\n{"type":"working"}\n[AGENT_STATUS] {}'
    assert poured(text.encode(), name=STDERR) == [Output(stream=STDERR, text=text)]


def test_empty_lines_and_other_ends_of_lines_are_kept_as_lines() -> None:
    assert poured(b"\n\na\r\n\nb\n") == [Output(stream=STDOUT, text="\n\na\n\nb")]


def test_what_is_not_utf_8_is_replaced() -> None:
    assert poured(b"a\xffb\xc3\n") == [
        Output(stream=STDOUT, text="a\N{REPLACEMENT CHARACTER}b\N{REPLACEMENT CHARACTER}")
    ]


def test_an_event_carries_whole_lines_up_to_its_limit() -> None:
    said = outputs(poured(LINE * 1000))
    assert all(len(output.text) <= OUTPUT_BYTES_MAX for output in said)
    assert all(len(output.text) > OUTPUT_BYTES_MAX - 2 * len(LINE) for output in said[:-1])
    assert "\n".join(output.text for output in said) == (LINE * 1000).decode().strip()


PARTS = (b"\n", b"abc", "ä€𝄞".encode(), b"\xff" * 9000, b"x" * 20_000)


@given(st.lists(st.integers(0, len(PARTS) - 1)), st.integers(2000, 70_000))
def test_no_event_is_too_large_and_none_of_the_text_is_lost(chosen: list[int], size: int) -> None:
    data = b"".join(PARTS[number] for number in chosen)[: OUTPUT_BURST_BYTES - 1]
    said = outputs(poured(*chunked(data, size)))
    assert all(len(output.text.encode()) <= OUTPUT_BYTES_MAX for output in said)
    told = "".join(output.text for output in said).replace("\n", "")
    assert told == data.decode("utf-8", "replace").replace("\n", "")


def test_a_flood_is_told_up_to_the_budget_and_its_end_with_how_much_was_left_out() -> None:
    told = outputs(poured(*chunked(FLOOD)))
    *before, last = told
    assert sum(len(output.text) + 1 for output in before) <= OUTPUT_BURST_BYTES + 65536
    assert all(output.omitted == 0 for output in before)
    assert len(last.text) <= OUTPUT_TAIL_BYTES
    assert FLOOD.decode().endswith(last.text + "\n")
    assert sum(len(output.text) + 1 + output.omitted for output in told) == len(FLOOD)


def test_words_in_a_flood_are_not_lost() -> None:
    words = b'TURN_COMPLETE\n{"type":"say","text":"x"}\n[AGENT_STATUS] {}\n'
    said = poured(*chunked(FLOOD + words + FLOOD))
    assert [each for each in said if not isinstance(each, Output)] == [
        TurnDone(),
        AgentText(text="x"),
        Marker(name="AGENT_STATUS", body="{}"),
    ]
    told = sum(len(output.text) + 1 + output.omitted for output in outputs(said))
    assert told == 2 * len(FLOOD)


def test_a_word_that_a_flood_cuts_in_two_is_understood() -> None:
    data = FLOOD + b"TURN_COMPLETE\n" + LINE
    at = len(FLOOD) + 5
    said = poured(data[:at], data[at:])
    assert TurnDone() in said


def test_a_fence_in_a_flood_still_hides_what_is_in_it() -> None:
    hidden = b"[AGENT_STATUS] {}\n"
    said = poured(*chunked(FLOOD + b"```\n" + FLOOD + hidden + b"```\n" + FLOOD))
    assert [each for each in said if not isinstance(each, Output)] == [
        HiddenMarker(name="AGENT_STATUS").reported()
    ]


def test_a_code_block_left_open_ends_with_the_next_prompt_after_a_pause() -> None:
    stream, marker = a_stream(), b"[AGENT_STATUS] {}\n"
    stream.take(b"```\n", 0.0)
    stream.prompted(0.5)  # it may still be writing
    assert stream.take(marker, 0.5)[-1] == HiddenMarker(name="AGENT_STATUS").reported()
    stream.prompted(0.5 + FENCE_IDLE_SECONDS)
    assert stream.take(marker, 3.0)[-1] == Marker(name="AGENT_STATUS", body="{}")


def test_when_there_is_budget_again_the_next_text_says_what_is_missing() -> None:
    stream = a_stream()
    told = [said for chunk in chunked(FLOOD) for said in stream.take(chunk, 0.0)]
    shown = sum(len(output.text) + 1 for output in outputs(told))
    stream.take(b"later\n", 60.0)
    assert stream.flush() == [Output(stream=STDOUT, text="later", omitted=len(FLOOD) - shown)]
    assert stream.end() == []


def test_both_streams_of_a_session_share_a_budget() -> None:
    budget = OutputBudget(0.0)
    out, err = OutputStream(STDOUT, budget), OutputStream(STDERR, budget)
    for chunk in chunked(FLOOD):
        out.take(chunk, 0.0)
    err.take(b"why\n", 0.0)
    assert not err.waiting
    assert err.end() == [Output(stream=STDERR, text="why")]


def test_the_last_line_is_known_whether_or_not_it_was_told() -> None:
    stream = a_stream(STDERR)
    stream.take(b"Traceback\nError: no\n\n  \n", 0.0)
    assert stream.last_line == "Error: no"
    for chunk in [*chunked(FLOOD), b"last words\n"]:
        stream.take(chunk, 0.0)
    stream.end()
    assert stream.last_line == "last words"


def test_a_budget_is_filled_up_at_its_rate_and_no_further_than_a_burst() -> None:
    budget = OutputBudget(0.0)
    assert budget.admit(OUTPUT_BURST_BYTES, 0.0)
    assert not budget.admit(1, 0.0)
    assert budget.admit(OUTPUT_BYTES_PER_SECOND, 1.0)
    assert not budget.admit(1, 1.0)
    assert budget.admit(OUTPUT_BURST_BYTES, 3600.0)
    assert not budget.admit(1, 3600.0)
