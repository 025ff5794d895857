"""Reports the text of a model as output, except for the lines in it that are meant for muster.

Markers and `TURN_COMPLETE` count on lines of their own outside code fences, as in any program's
output. JSON does not: a model that shows some has not done what it says.
"""

from typing import NamedTuple

from muster.engine.ports import BadLine, SessionReport, TurnDone
from muster.runtimes.process.framing import Run
from muster.runtimes.process.lines import END_OF_TURN, Interpreter, ParsedLine
from muster.runtimes.process.pipes import STDOUT, OutputBudget, OutputStream


class SpeechInterpreter(Interpreter):
    """Reads one text. The next one is read by another: a fence ends with its text."""

    def _whole(self, text: str) -> SessionReport | None:
        if text[:1] == "{" or (self._fence and END_OF_TURN.fullmatch(text)):
            return None
        return super()._whole(text)

    def of(self, raw: bytes) -> list[ParsedLine]:
        """The lines of a text that are meant for muster."""
        found = self.words(Run(raw))
        return [
            word
            for word in found
            if not (isinstance(word.said, BadLine) and word.said.line[:1] == "{")
        ]


class Prose(OutputStream):
    """Text of a model under a budget; nothing in it is looked at."""

    __slots__ = ()

    def __init__(self, budget: OutputBudget) -> None:
        """Tell it as what a program prints."""
        super().__init__(STDOUT, budget)
        self._interpreter = None


class Spoken(NamedTuple):
    """A text, told."""

    said: list[SessionReport]
    rest: str
    """The text without the lines for muster."""

    after: str
    """The same, but only what follows the end of a turn, where one is ended in it."""


def spoken(text: str, prose: Prose, now: float, *, before: str = "", begun: str = "") -> Spoken:
    """Tell a text. A turn that ends in it ends with what stands before, there or in `before`.

    `begun` is the beginning of the same text, which was told already.
    """
    raw = text.encode("utf-8", "replace").strip(b"\n") + b"\n"
    said: list[SessionReport] = []
    rest = since = begun.encode("utf-8", "replace")
    at = 0
    for word in SpeechInterpreter().of(raw):
        piece = raw[at : word.start]
        said += _told(prose, piece, now)
        rest, since, at = rest + piece, since + piece, word.end
        if isinstance(word.said, TurnDone):
            said.append(TurnDone(text=_text(since) or before or None, to=word.said.to))
            since, before = b"", ""
        else:
            said.append(word.said)
    said += _told(prose, raw[at:], now)
    return Spoken(said, _text(rest + raw[at:]), _text(since + raw[at:]))


def _told(prose: Prose, raw: bytes, now: float) -> list[SessionReport]:
    return [*prose.take(raw, now), *prose.flush()] if raw.strip() else []


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace").strip()
