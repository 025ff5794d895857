"""Lines: what is meant for muster is understood, what only talks about it is text."""

import pytest

from muster.engine import ports
from muster.engine.ports import (
    AgentText,
    BadLine,
    Marker,
    Result,
    SessionReport,
    TurnDone,
    TurnWaits,
)
from muster.limits import (
    MARKER_LINE_BYTES_MAX,
    MESSAGE_BYTES_MAX,
    OUTPUT_LINE_BYTES_MAX,
    SAID_LINE_BYTES_MAX,
    SOUL_BYTES_MAX,
)
from muster.machines.vocabulary import Awaits, Usage
from muster.runtimes.lines.types import Interrupted
from muster.runtimes.process.framing import Framer, Run
from muster.runtimes.process.lines import SHOWN_CHARS, HiddenMarker, Interpreter, LineRest

STATUS = '[AGENT_STATUS] {"agents":[]}'
MARKER = Marker(name="AGENT_STATUS", body='{"agents":[]}')
HIDDEN = HiddenMarker(name="AGENT_STATUS").reported()


def said(*lines: str, hasty: bool = False) -> list[SessionReport]:
    interpreter = Interpreter()
    run = Run("".join(f"{line}\n" for line in lines).encode())
    return [word.said for word in interpreter.words(run, hasty=hasty)]


@pytest.mark.parametrize(
    ("line", "meaning"),
    [
        ('{"type":"say","text":"hello"}', AgentText(text="hello")),
        (
            '{"type": "say", "text": "hello", "channel": "design"}',
            AgentText(text="hello", channel="design"),
        ),
        ('{"type":"turn_complete"}', TurnDone()),
        ('{"type":"turn_complete","channel":"c","text":"t"}', TurnDone(channel="c", text="t")),
        ('{"type":"turn_wait","reason":"ci","seconds":5}', TurnWaits(reason="ci", seconds=5)),
        ('{"type":"turn_complete","to":"Ben"}', TurnDone(to="Ben")),
        (
            '{"type":"turn_wait","reason":"ci","awaits":"resume"}',
            TurnWaits(reason="ci", awaits=Awaits.RESUME),
        ),
        ('{"type":"turn_resume","channel":"c"}', ports.TurnResumes(channel="c")),
        ('{"type":"partial","text":"I th"}', ports.PartialText(text="I th")),
        ('{"type":"raise_hand","channel":"c"}', ports.HandRaised(channel="c")),
        ('{"type":"raise_hand","raised":false}', ports.HandRaised(raised=False)),
        ("TURN_COMPLETE @Ben", TurnDone(to="Ben")),
        ("TURN_COMPLETE @Ada Lovelace ", TurnDone(to="Ada Lovelace")),
        ('{"type":"working"}', ports.Working()),
        ('{"type":"result"}', Result()),
        ('{"type":"result","ok":false,"text":"no"}', Result(ok=False, text="no")),
        (
            '{"type":"result","usage":{"costUsd":0.5,"outputTokens":8}}',
            Result(usage=Usage(cost_usd=0.5, output_tokens=8)),
        ),
        ('{"type":"interrupted"}', Interrupted()),
        ('{"type":"working","more":1}', ports.Working()),
        ("TURN_COMPLETE", TurnDone()),
        ("TURN_COMPLETE  \r", TurnDone()),
        (STATUS, MARKER),
        ("[AGENT_STATUS] nobody", Marker(name="AGENT_STATUS", body="nobody")),
        ("[AGENT_STATUS]", Marker(name="AGENT_STATUS", body="")),
        ('[AGENT_REGISTERED]{"name":', Marker(name="AGENT_REGISTERED", body='{"name":')),
    ],
)
@pytest.mark.parametrize("hasty", [False, True])
def test_a_line_that_is_meant_for_muster_is_understood(
    line: str, meaning: SessionReport, hasty: bool
) -> None:
    assert said("before", line, "after", hasty=hasty) == [meaning]


@pytest.mark.parametrize(
    ("escaped", "text"),
    [
        (r"caf\udce9.txt", "caf\ufffd.txt"),
        (r"\uD83D", "\ufffd"),
        (r"\ud83d\ud83d\ude00\ude00", "\ufffd\U0001f600\ufffd"),
        (r"\\ud83d \udce9 \\\udce9", "\\ud83d \ufffd \\\ufffd"),
        (r"\u0041\n\udce9", "A\n\ufffd"),
    ],
)
def test_half_a_character_in_a_line_for_muster_is_replaced(escaped: str, text: str) -> None:
    assert said(f'{{"type":"turn_complete","text":"{escaped}"}}') == [TurnDone(text=text)]


def test_half_a_character_makes_no_line_for_muster_of_a_text() -> None:
    assert said(r'{"type":"say","text":"\udce9"', r'{"type":7,"text":"\udce9"}') == []


def test_the_type_of_an_object_may_stand_anywhere_in_it() -> None:
    assert said('{"text":"hello","type":"say"}') == [AgentText(text="hello")]


@pytest.mark.parametrize(
    "line",
    [
        "",
        "text",
        '{"type":"something"}',
        '{"type":7}',
        '{"text":"hello"}',
        '{"type":"say"',
        '["type","say"]',
        ' {"type":"working"}',
        'x {"type":"working"}',
        " TURN_COMPLETE",
        "> TURN_COMPLETE",
        "TURN_COMPLETE.",
        "say TURN_COMPLETE",
        "TURN_COMPLETED",
        f" {STATUS}",
        f"    {STATUS}",
        f"> {STATUS}",
        f"- {STATUS}",
        f"`{STATUS}`",
        f"It printed {STATUS}",
        '[AGENT_OTHER] {"a":1}',
    ],
)
@pytest.mark.parametrize("hasty", [False, True])
def test_what_only_looks_like_it_is_text(line: str, hasty: bool) -> None:
    assert said("before", line, "after", hasty=hasty) == []


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"type":"say"}', "text"),
        ('{"type":"say","text":7}', "str"),
        ('{"type":"turn_wait","reason":"x","seconds":"soon"}', "seconds"),
        ('{"type":"result","ok":"yes"}', "ok"),
    ],
)
def test_an_object_with_wrong_fields_is_said_to_be_wrong(line: str, reason: str) -> None:
    [bad] = said(line)
    assert isinstance(bad, BadLine)
    assert bad.line == line
    assert reason in bad.reason


# ── fences ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("opening", "closing"),
    [
        ("```", "```"),
        ("```json", "```"),
        ("~~~", "~~~"),
        ("~~~ `x`", "~~~"),
        ("   ```", "  ```"),
        ("```", "`````"),
        ("````", "````  "),
    ],
)
@pytest.mark.parametrize("hasty", [False, True])
def test_a_marker_inside_a_code_fence_is_text_and_after_it_counts(
    opening: str, closing: str, hasty: bool
) -> None:
    assert said(opening, STATUS, STATUS, closing, hasty=hasty) == [HIDDEN, HIDDEN]
    assert said(opening, STATUS, closing, STATUS, hasty=hasty) == [HIDDEN, MARKER]
    assert said(opening, "x", closing, opening, STATUS, hasty=hasty) == [HIDDEN]


@pytest.mark.parametrize(
    ("opening", "still_inside"),
    [("```", "~~~"), ("````", "```"), ("```", "``` json"), ("~~~", "```"), ("```", "    ```")],
)
def test_a_fence_is_closed_only_by_its_like(opening: str, still_inside: str) -> None:
    assert said(opening, still_inside, STATUS) == [HIDDEN]


@pytest.mark.parametrize("line", ["``", "```a`b", "    ```", "x ```", "> ```"])
def test_what_is_no_fence_opens_none(line: str) -> None:
    assert said(line, STATUS) == [MARKER]


def test_a_fence_lasts_over_runs() -> None:
    interpreter = Interpreter()
    status = STATUS.encode() + b"\n"
    runs = (b"```\n", status, b"text\n", status, b"```\n", status)
    found = [[word.said for word in interpreter.words(Run(raw))] for raw in runs]
    assert found == [[], [HIDDEN], [], [HIDDEN], [], [MARKER]]


def test_a_marker_in_a_code_block_stays_part_of_the_text() -> None:
    raw = f"```\n{STATUS}\n```\n".encode()
    (word,) = Interpreter().words(Run(raw))
    assert raw[word.start : word.end] == b""


def test_an_open_code_block_can_be_closed_from_outside() -> None:
    interpreter = Interpreter()
    interpreter.words(Run(b"```\n"))
    interpreter.close_fence()
    assert [word.said for word in interpreter.words(Run(STATUS.encode()))] == [MARKER]


# ── lines that are too long ───────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("size", [1000, 4096, 70_000, 300_000])
def test_an_object_that_is_too_long_is_said_to_be_wrong_once_however_it_comes(size: int) -> None:
    raw = b'{"type":"turn_wait","reason":"' + b"x" * OUTPUT_LINE_BYTES_MAX + b'"}\nTURN_COMPLETE\n'
    framer, interpreter = Framer(), Interpreter()
    chunks = [raw[at : at + size] for at in range(0, len(raw), size)]
    runs = [run for chunk in chunks for run in framer.push(chunk)]
    words = [word.said for run in runs for word in interpreter.words(run)]
    bad, *rest = [word for word in words if not isinstance(word, LineRest)]
    assert isinstance(bad, BadLine)
    assert "64 KiB" in bad.reason
    assert len(bad.line) == SHOWN_CHARS
    assert rest == [TurnDone()]


@pytest.mark.parametrize("size", [4096, 70_000, 300_000, 10_000_000])
@pytest.mark.parametrize(("unit", "escaped"), [("x", "x"), ("\x01", "\\u0001")])
def test_a_message_of_the_greatest_length_arrives_whole_however_it_comes(
    unit: str, escaped: str, size: int
) -> None:
    text = escaped * MESSAGE_BYTES_MAX
    raw = f'hello\n{{"type": "say", "text": "{text}", "channel": "design"}}\nTURN_COMPLETE\n'
    said = AgentText(text=unit * MESSAGE_BYTES_MAX, channel="design")
    assert heard(raw.encode(), size) == [said, TurnDone()]


@pytest.mark.parametrize("size", [70_000, 10_000_000])
@pytest.mark.parametrize("unit", ["x", "é", "\\\\", "\\u0001", "\\ud83d\\ude00", "a\\n"])
@pytest.mark.parametrize("whole", [True, False])
def test_a_message_that_is_too_long_is_cut_and_the_next_line_counts(
    unit: str, size: int, whole: bool
) -> None:
    bytes_max = SAID_LINE_BYTES_MAX - 100 if whole else SAID_LINE_BYTES_MAX + 100_000
    text = unit * (bytes_max // len(unit.encode()))
    raw = f'{{"type":"turn_complete","text":"{text}"}}\nTURN_COMPLETE\n'.encode()
    done, *rest = heard(raw, size)
    assert isinstance(done, TurnDone)
    assert done.cut
    assert done.text is not None
    assert MESSAGE_BYTES_MAX - 4 < len(done.text.encode()) <= MESSAGE_BYTES_MAX
    assert rest == [TurnDone()]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"type":"say","text":"LONG" and more', "it is no JSON object"),
        ('{"type":"say","word":"LONG"}', "Object missing required field `text`"),
        ('{"type":"turn_complete","text":"t","to":"LONG"}', "its other fields are too long"),
        ('{"type":"say","text":"t","channel":"LONG"}', "its other fields are too long"),
    ],
)
def test_a_long_line_that_is_no_message_is_rejected_and_never_lost(line: str, reason: str) -> None:
    raw = line.replace("LONG", "x" * OUTPUT_LINE_BYTES_MAX).encode() + b"\nTURN_COMPLETE\n"
    for size in (4096, 1_000_000):
        bad, *rest = heard(raw, size)
        assert isinstance(bad, BadLine)
        assert bad.reason == reason
        assert rest == [TurnDone()]


@pytest.mark.parametrize("size", [4096, 70_000, 300_000, 3_000_000])
def test_a_registration_with_the_longest_soul_arrives_whole_however_it_comes(size: int) -> None:
    soul = "\\u0001" * SOUL_BYTES_MAX  # every byte as a JSON escape
    body = f'{{"name":"Lyra","individuationArtifact":"{soul}"}}'
    raw = f"hello\n[AGENT_REGISTERED] {body}\nTURN_COMPLETE\n".encode()
    assert heard(raw, size) == [Marker(name="AGENT_REGISTERED", body=body), TurnDone()]


@pytest.mark.parametrize("size", [70_000, 300_000, 3_000_000])
def test_a_registration_that_is_too_long_is_rejected_once_and_the_next_line_counts(
    size: int,
) -> None:
    raw = b"[AGENT_REGISTERED] " + b"x" * MARKER_LINE_BYTES_MAX + b"\nTURN_COMPLETE\n"
    bad, *rest = heard(raw, size)
    assert isinstance(bad, BadLine)
    assert "262144 bytes" in bad.reason
    assert rest == [TurnDone()]


def heard(raw: bytes, size: int) -> list[SessionReport]:
    """What is said in bytes that come in pieces of a size."""
    framer, interpreter = Framer(), Interpreter()
    chunks = [raw[at : at + size] for at in range(0, len(raw), size)]
    runs = [run for chunk in chunks for run in framer.push(chunk)]
    words = [word.said for run in runs for word in interpreter.words(run)]
    return [word for word in words if not isinstance(word, LineRest)]


def test_the_end_of_a_long_line_is_never_a_word() -> None:
    framer, interpreter = Framer(), Interpreter()
    runs = [*framer.push(b"x" * (OUTPUT_LINE_BYTES_MAX + 1)), *framer.push(b"TURN_COMPLETE\n")]
    assert [interpreter.words(run) for run in runs] == [[], []]
