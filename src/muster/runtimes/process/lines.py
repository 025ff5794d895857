"""What a line of a program's stdout means to muster, if anything.

Three kinds of line are meant for muster: a JSON object whose `type` is known, `TURN_COMPLETE`
alone, and an identity marker with what follows it, outside code fences. Each begins where its line
begins: what is indented, quoted or in the middle of a line is text that somebody talks about. So is
all of stderr.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from muster.engine import ports
from muster.engine.ports import BadLine, Marker, Said, TurnDone
from muster.runtimes.process.framing import LINE_BYTES_MAX, Run

TURN_COMPLETE: Final = "TURN_COMPLETE"

INDENT_MAX: Final = 3
"""How far a fence may be indented."""

SHOWN_CHARS: Final = 200
"""How much of a line that cannot be understood is shown: enough to find it in the output."""

SHOWN_BYTES: Final = 4 * SHOWN_CHARS

FENCES: Final = (b"```", b"~~~")
SIGNS: Final = (b"TURN_COMPLETE", b"[AGENT_", b"{")
HASTY_SIGNS: Final = (b"TURN_COMPLETE", b"[AGENT_", b'{"type"')
"""What a line begins with that may be meant for muster; in haste, what it usually begins with."""


class Interrupted(Said, frozen=True, kw_only=True):
    """It has stopped its work, as it was asked to. Only its runtime needs to know."""


class Nothing(Said, frozen=True, kw_only=True):
    """The rest of a line that has been told of already."""


class _Kind(msgspec.Struct):
    type: str


TYPES: Final[Mapping[str, type[Said]]] = {
    "say": ports.Says,
    "turn_complete": TurnDone,
    "turn_wait": ports.TurnWaits,
    "turn_resume": ports.TurnResumes,
    "working": ports.Working,
    "result": ports.Result,
    "interrupted": Interrupted,
}
"""The JSON lines that mean something, by their `type`."""

_KIND: Final = msgspec.json.Decoder(_Kind)
_DECODERS: Final = {name: msgspec.json.Decoder(said) for name, said in TYPES.items()}
_MARKERS: Final = r"\[(AGENT_REGISTERED|AGENT_STATUS)\]"
_KNOWN: Final = re.compile(rf'\{{"type"\s*:\s*"({"|".join(TYPES)})"|{_MARKERS}')
_MARKER: Final = re.compile(rf"{_MARKERS}\s*(.*)")
_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")


class Word(NamedTuple):
    """Something that is meant for muster, and where it stands in its run."""

    start: int
    end: int
    said: Said


class Interpreter:
    """Reads the lines of one stream, in order."""

    def __init__(self) -> None:
        """Begin outside any fence."""
        self._fence = ""
        self._skipping = False  # the line that is under way was for muster, and too long

    def words(self, run: Run, *, hasty: bool = False) -> list[Word]:
        """What a run of lines says. The lines between are text like any other."""
        if not run.begins:
            said = self._continued(run)
        elif not run.ends:
            said = _too_long(run.raw)
            self._skipping = said is not None
        else:
            return list(self._words(run.raw, HASTY_SIGNS if hasty else SIGNS))
        return [] if said is None else [Word(0, len(run.raw), said)]

    def _words(self, raw: bytes, signs: Sequence[bytes]) -> Iterator[Word]:
        for start in sorted(_starts(raw, signs)):
            end = raw.find(b"\n", start) + 1 or len(raw)
            said = self._line(raw[start:end])
            if said is not None:
                yield Word(start, end, said)

    def _line(self, raw: bytes) -> Said | None:
        if len(raw) > LINE_BYTES_MAX + 1:
            return _too_long(raw)
        return self._whole(raw.decode("utf-8", "replace").rstrip())

    def _whole(self, text: str) -> Said | None:
        if text == TURN_COMPLETE:
            return TurnDone()
        if text[:1] == "{":
            return _object(text)
        fence = _FENCE.match(text)
        if fence is not None:
            self._pass_fence(fence[1], fence[2])
            return None
        marker = None if self._fence else _MARKER.fullmatch(text)
        return None if marker is None else Marker(name=marker[1], body=marker[2])

    def _pass_fence(self, fence: str, info: str) -> None:
        """Open or close a code block, by the rules of CommonMark."""
        if not self._fence:
            if fence[0] == "~" or "`" not in info:
                self._fence = fence
        elif fence.startswith(self._fence) and not info.strip():
            self._fence = ""

    def _continued(self, run: Run) -> Said | None:
        skipped = self._skipping
        self._skipping = skipped and not run.ends
        return Nothing() if skipped else None


def _starts(raw: bytes, signs: Sequence[bytes]) -> set[int]:
    """Where those lines begin that may mean something."""
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


def _too_long(raw: bytes) -> BadLine | None:
    """Somebody has more to say to muster than a line may have."""
    text = raw[:SHOWN_BYTES].decode("utf-8", "replace")
    if _KNOWN.match(text) is None:
        return None
    return BadLine(line=text[:SHOWN_CHARS], reason="a line may have 64 KiB; say it in several")


def _object(text: str) -> Said | None:
    """What a JSON object says; nothing where it is none of ours."""
    try:
        kind = _KIND.decode(text).type
    except msgspec.MsgspecError:
        return None
    if kind not in _DECODERS:
        return None
    try:
        return _DECODERS[kind].decode(text)
    except msgspec.ValidationError as error:
        return BadLine(line=text[:SHOWN_CHARS], reason=str(error))
