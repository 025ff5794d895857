"""Finds the lines of a program's stdout that are meant for muster.

Three kinds of line are meant for muster: a JSON object whose `type` is known, `TURN_COMPLETE` alone
or with the name of the next speaker (`TURN_COMPLETE @Ada`), and an identity marker with what
follows it, outside code fences. Each begins where its line begins: what is indented, quoted or in
the middle of a line is text that somebody talks about. So is all of stderr.

The first marker inside a code block is reported as rejected, and stays part of the text: a block
that is never closed must not make muster deaf without a word.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import msgspec

from muster.engine.fitting import fitted
from muster.engine.ports import AgentText, BadLine, Marker, Result, SessionReport, TurnDone
from muster.limits import (
    MARKER_LINE_BYTES_MAX,
    OUTPUT_LINE_BYTES_MAX,
    SAID_LINE_BYTES_MAX,
    SOUL_BYTES_MAX,
)
from muster.runtimes.lines.meaning import LineMeaning
from muster.runtimes.lines.types import TYPES, InternalReport
from muster.runtimes.process.framing import Run

END_OF_TURN: Final = re.compile(r"TURN_COMPLETE(?: +@(\S.*))?")
"""The line that ends a turn, and the name of the member that is to speak next."""

INDENT_MAX: Final = 3
"""How far a fence may be indented."""

SHOWN_CHARS: Final = 200
"""How much of a line that cannot be understood is shown: enough to find it in the output."""

SHOWN_BYTES: Final = 4 * SHOWN_CHARS

FENCES: Final = (b"```", b"~~~")
MARKER_SIGN: Final = b"[AGENT_"
SIGNS: Final = (b"TURN_COMPLETE", MARKER_SIGN, b"{")
HASTY_SIGNS: Final = (b"TURN_COMPLETE", MARKER_SIGN, b'{"type"')
"""How lines meant for muster begin; over budget, only how they usually begin."""


class LineRest(InternalReport, frozen=True, kw_only=True):
    """The rest of an overlong line that was reported already."""


class HiddenMarker(InternalReport, frozen=True, kw_only=True):
    """A marker inside a code block, which is text."""

    name: str

    def reported(self) -> BadLine:
        """The report that the marker was not taken."""
        why = "it stands in a code block; close the block with a line of its fence"
        return BadLine(line=f"[{self.name}]", reason=why)


class _Kind(msgspec.Struct):
    type: str


_KIND: Final = msgspec.json.Decoder(_Kind)
_DECODERS: Final = {name: msgspec.json.Decoder(said) for name, said in TYPES.items()}
_MARKERS: Final = r"\[(AGENT_REGISTERED|AGENT_STATUS|AGENT_REMEMBERS|AGENT_AWAKE|AGENT_SAYS)\]"
_KNOWN: Final = re.compile(rf'\{{"type"\s*:\s*"({"|".join(TYPES)})"|{_MARKERS}')
_MARKER: Final = re.compile(rf"{_MARKERS}\s*(.*)")
_MARKER_START: Final = re.compile(_MARKERS.encode())
_MESSAGE_START: Final = re.compile(rb'\{"type"\s*:\s*"(say|turn_complete|result)"')
"""How a line with a message begins, which may be as long as messages are."""

_OPEN_ESCAPE: Final = re.compile(r"(\\+)(u[0-9a-fA-F]{0,3})?$")
_HIGH: Final = r"\\u[dD][89abAB][0-9a-fA-F]{2}"
_LOW: Final = r"\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_HALF: Final = re.compile(rf"{_HIGH}(?!{_LOW})|(?<!{_HIGH}){_LOW}")
"""A surrogate escape without its partner."""

_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")


class ParsedLine(NamedTuple):
    """Something that is meant for muster, and where it stands in its run."""

    start: int
    end: int
    said: SessionReport


class Interpreter:
    """Reads the lines of one stream, in order."""

    def __init__(self) -> None:
        """Begin outside any fence."""
        self._fence = ""
        self._meaning = LineMeaning()
        self._skipping = False  # the line that is under way was for muster, and too long
        self._long: bytearray | None = None  # a marker or message, longer than other lines may be

    def close_fence(self) -> None:
        """Count an open code block as closed."""
        self._fence = ""

    def words(self, run: Run, *, hasty: bool = False) -> list[ParsedLine]:
        """The lines of a run that are meant for muster. The others are text."""
        self._meaning.hasty = hasty
        if not run.begins:
            said = self._continued(run)
        elif not run.ends:
            said = self._begun(run.raw)
        else:
            return list(self._words(run.raw, HASTY_SIGNS if hasty else SIGNS))
        return [] if said is None else [ParsedLine(0, len(run.raw), said)]

    def _words(self, raw: bytes, signs: Sequence[bytes]) -> Iterator[ParsedLine]:
        for start in sorted(_starts(raw, signs)):
            end = raw.find(b"\n", start) + 1 or len(raw)
            said = self._line(raw[start:end])
            if isinstance(said, HiddenMarker):
                yield ParsedLine(end, end, said.reported())  # the line itself stays text
            elif said is not None:
                yield ParsedLine(start, end, said)

    def _line(self, raw: bytes) -> SessionReport | None:
        if len(raw) > _longest(raw) + 1:
            return _too_long(raw)
        said = self._whole(raw.decode("utf-8", "replace").rstrip())
        is_message = len(raw) > OUTPUT_LINE_BYTES_MAX + 1 and not raw.startswith(MARKER_SIGN)
        return _fitted(said, raw) if is_message else said

    def _whole(self, text: str) -> SessionReport | None:
        done = END_OF_TURN.fullmatch(text)
        if done is not None:
            return TurnDone(to=done[1])
        if text[:1] == "{":
            said = _object(text)
            return None if said is None else self._meaning.of(said)
        fence = _FENCE.match(text)
        if fence is not None:
            self._pass_fence(fence[1], fence[2])
            return None
        marker = _MARKER.fullmatch(text)
        if marker is None:
            return None
        if not self._fence:
            return Marker(name=marker[1], body=marker[2])
        return HiddenMarker(name=marker[1])

    def _pass_fence(self, fence: str, info: str) -> None:
        """Open or close a code block, by the rules of CommonMark."""
        if not self._fence:
            if fence[0] == "~" or "`" not in info:
                self._fence = fence
        elif fence.startswith(self._fence) and not info.strip():
            self._fence = ""

    def _begun(self, raw: bytes) -> SessionReport | None:
        """The beginning of a long line: a marker or a message is kept until its end."""
        is_marker = _MARKER_START.match(raw) and not self._fence
        if is_marker or _MESSAGE_START.match(raw):
            self._long = bytearray(raw)
            return LineRest()
        said = _too_long(raw)
        self._skipping = said is not None
        return said

    def _continued(self, run: Run) -> SessionReport | None:
        if self._long is not None:
            return self._more(run, self._long)
        skipped = self._skipping
        self._skipping = skipped and not run.ends
        return LineRest() if skipped else None

    def _more(self, run: Run, line: bytearray) -> SessionReport | None:
        line += run.raw
        if run.ends:
            self._long = None
            return self._line(bytes(line)) or LineRest()
        if len(line) > _longest(line):
            self._long, self._skipping = None, True
            return _too_long(bytes(line))
        return LineRest()


def _starts(raw: bytes, signs: Sequence[bytes]) -> set[int]:
    """The offsets of lines that may be meant for muster."""
    found: set[int] = set()
    for sign in signs:
        if sign[:1] not in raw:  # looking for one byte is ten times as quick
            continue
        if raw.startswith(sign):
            found.add(0)
        at = raw.find(b"\n" + sign)
        while at >= 0:
            found.add(at + 1)
            at = raw.find(b"\n" + sign, at + 1)
    for fence in FENCES:
        at = raw.find(fence) if fence[:1] in raw else -1
        while at >= 0:
            start = raw.rfind(b"\n", 0, at) + 1
            if at - start <= INDENT_MAX:
                found.add(start)
            end = raw.find(b"\n", at)
            at = raw.find(fence, end) if end >= 0 else -1
    return found


def _longest(raw: bytes | bytearray) -> int:
    """How many bytes a line that begins like this may have."""
    if raw.startswith(MARKER_SIGN):
        return MARKER_LINE_BYTES_MAX
    return SAID_LINE_BYTES_MAX if _MESSAGE_START.match(raw) else OUTPUT_LINE_BYTES_MAX


def _too_long(raw: bytes) -> SessionReport | None:
    """The report of a line for muster that is too long: the beginning of its message, if it can be
    read, or else a rejection.
    """
    if _MESSAGE_START.match(raw):
        text = raw[:SAID_LINE_BYTES_MAX].decode("utf-8", "replace")
        escape = _OPEN_ESCAPE.search(text)
        if escape is not None and len(escape[1]) % 2:  # an even number is escaped backslashes
            text = text[: escape.end(1) - 1]
        return _fitted(_object(f'{text}"}}'), raw)
    text = raw[:SHOWN_BYTES].decode("utf-8", "replace")
    if _KNOWN.match(text) is None:
        return None
    reason = "such a line may have 64 KiB"
    if raw.startswith(MARKER_SIGN):
        reason = f"a soul may have {SOUL_BYTES_MAX} bytes"
    return BadLine(line=text[:SHOWN_CHARS], reason=reason)


def _fitted(said: SessionReport | None, raw: bytes) -> SessionReport:
    """The report of a long line: its text as far as a message goes, if the other fields are short.

    A long line that cannot be read is rejected. It is no text: nobody waits for its end.
    """
    if not isinstance(said, AgentText | TurnDone | Result):
        line = raw[:SHOWN_BYTES].decode("utf-8", "replace")[:SHOWN_CHARS]
        why = said.reason if isinstance(said, BadLine) else "it is no JSON object"
        return BadLine(line=line, reason=why)
    names = (getattr(said, each, None) for each in ("channel", "to"))
    if any(len(name or "") > SHOWN_CHARS for name in names):
        return BadLine(line=str(said.text)[:SHOWN_CHARS], reason="its other fields are too long")
    return fitted(said)


def _object(text: str) -> SessionReport | None:
    """The report in a JSON object; `None` where its type is unknown."""
    try:
        kind = _KIND.decode(text).type
    except msgspec.MsgspecError:
        whole = _without_halves(text)
        return None if whole == text else _object(whole)
    except RecursionError:
        reason = "it is nested too deeply"
        return BadLine(line=text[:SHOWN_CHARS], reason=reason) if _KNOWN.match(text) else None
    if kind not in _DECODERS:
        return None
    try:
        return _DECODERS[kind].decode(text)
    except msgspec.ValidationError as error:
        return BadLine(line=text[:SHOWN_CHARS], reason=str(error))


def _without_halves(text: str) -> str:
    """A JSON text with U+FFFD for each surrogate escape that has no partner, which is no character.

    A program that dumps the name of a file writes one for each byte that is not UTF-8.
    """
    parts = text.split(r"\\")  # an escaped backslash begins no other escape
    return r"\\".join(_HALF.sub(r"\\ufffd", part) for part in parts)
