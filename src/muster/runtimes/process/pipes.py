"""Turns the bytes of one pipe of a session into `SessionReport`s. Pure.

Text is told under a budget that both pipes of a session share, so that a flood of it costs the log
no more than a brook. What is over budget is looked through only for lines that are meant for
muster; the rest is left out and counted, and the next text says how much that was. A file has all.
"""

from collections.abc import Iterator
from typing import Final, Protocol

from muster.engine.ports import Output, SessionReport
from muster.limits import (
    FENCE_IDLE_SECONDS,
    LAST_WORDS_BYTES_MAX,
    LAST_WORDS_LINES,
    OUTPUT_BURST_BYTES,
    OUTPUT_BYTES_MAX,
    OUTPUT_BYTES_PER_SECOND,
    OUTPUT_TAIL_BYTES,
)
from muster.runtimes.process.framing import Framer, Run
from muster.runtimes.process.lines import Interpreter, ParsedLine

STDOUT: Final = "stdout"
STDERR: Final = "stderr"


class LineReader(Protocol):
    """Finds lines that are meant for muster."""

    def words(self, run: Run, *, hasty: bool = False) -> list[ParsedLine]:
        """The lines of a run that are meant for muster."""
        ...

    def close_fence(self) -> None:
        """Count an open code block as closed."""
        ...


class OutputBudget:
    """A token bucket for the text that a session may log. One chunk may overdraw it."""

    __slots__ = ("_at", "_left")

    def __init__(self, now: float) -> None:
        """Begin with a whole burst."""
        self._left = float(OUTPUT_BURST_BYTES)
        self._at = now

    def admit(self, size: int, now: float) -> bool:
        """Whether that much may be told now; then it counts as told."""
        self._left = min(
            OUTPUT_BURST_BYTES, self._left + (now - self._at) * OUTPUT_BYTES_PER_SECOND
        )
        self._at = now
        if self._left <= 0:
            return False
        self._left -= size
        return True


class OutputStream:
    """One pipe of a session."""

    __slots__ = (
        "_budget",
        "_framer",
        "_interpreter",
        "_last_at",
        "_omitted",
        "_recent",
        "_tail",
        "_text",
        "name",
    )

    def __init__(
        self, name: str, budget: OutputBudget, interpreter: LineReader | None = None
    ) -> None:
        """Tell what comes under that name; lines for muster are those of the `interpreter`."""
        self.name = name
        self._budget = budget
        self._framer = Framer()
        self._interpreter = (interpreter or Interpreter()) if name == STDOUT else None
        self._text = b""
        self._recent = b""
        self._omitted = 0
        self._tail = b""
        self._last_at = 0.0

    @property
    def waiting(self) -> bool:
        """Whether there is text that has not been told, so that more can come with it."""
        return bool(self._text)

    @property
    def last_line(self) -> str:
        """The last line with anything in it."""
        return self._lines()[-1]

    @property
    def last_lines(self) -> str:
        """The last lines with anything in them, in one."""
        return " | ".join(self._lines()[-LAST_WORDS_LINES:])

    def _lines(self) -> list[str]:
        lines = self._recent.decode("utf-8", "replace").splitlines()
        return [line.strip() for line in lines if line.strip()] or [""]

    def take(self, chunk: bytes, now: float) -> list[SessionReport]:
        """Take what came; tell what it means, except for text that may wait for more."""
        self._last_at = now
        wordy = self._budget.admit(len(chunk), now)
        return [said for run in self._framer.push(chunk) for said in self._read(run, wordy)]

    def prompted(self, now: float) -> None:
        """The program gets a prompt: a code block that it left open some time ago has ended."""
        if self._interpreter is not None and now - self._last_at >= FENCE_IDLE_SECONDS:
            self._interpreter.close_fence()

    def flush(self) -> list[SessionReport]:
        """Tell the text that has waited."""
        text, self._text = self._text, b""
        return [self._output(text)] if text else []

    def end(self) -> list[SessionReport]:
        """No more will come: tell all that is left, and the end of what was left out."""
        wordy = not self._omitted
        told = [said for run in self._framer.flush() for said in self._read(run, wordy)]
        if self._omitted:
            told += self._tell(self._take_tail())
        return told + self.flush()

    def _read(self, run: Run, wordy: bool) -> Iterator[SessionReport]:
        """Tell words; tell what is between them, or leave it out."""
        at = 0
        deal = self._tell if wordy else self._omit
        for word in self._interpreter.words(run, hasty=not wordy) if self._interpreter else ():
            yield from deal(run.raw[at : word.start])
            yield from self.flush()
            yield word.said
            at = word.end
        yield from deal(run.raw[at:])

    # ── within the budget ─────────────────────────────────────────────────────────────────────────

    def _tell(self, raw: bytes) -> Iterator[SessionReport]:
        """Add to the text, and tell as much of it as fills an event."""
        if not raw:
            return
        self._text += raw.decode("utf-8", "replace").replace("\r\n", "\n").encode()
        self._recent = (self._recent + raw)[-LAST_WORDS_BYTES_MAX:]
        whole, begin = self._text, 0
        while len(whole) - begin > OUTPUT_BYTES_MAX:  # from its place on: copies would be quadratic
            end = _cut(whole, begin)
            text, begin = whole[begin:end], end
            self._text = b""
            yield self._output(text)
        self._text = whole[begin:]

    def _output(self, text: bytes) -> Output:
        omitted, self._omitted, self._tail = self._omitted, 0, b""
        shown = text.removesuffix(b"\n").decode("utf-8")
        return Output(stream=self.name, text=shown, omitted=omitted)

    # ── beyond it ─────────────────────────────────────────────────────────────────────────────────

    def _omit(self, raw: bytes) -> Iterator[SessionReport]:
        yield from self.flush()
        self._omitted += len(raw)
        self._tail = (self._tail + raw[-OUTPUT_TAIL_BYTES:])[-OUTPUT_TAIL_BYTES:]

    def _take_tail(self) -> bytes:
        """The last lines of what was left out, from the first that is whole."""
        tail = self._tail
        if self._omitted > len(tail):
            tail = tail.partition(b"\n")[2] or tail
        self._omitted -= len(tail)
        return tail


def _cut(text: bytes, begin: int) -> int:
    """Where to cut text that is too long for one event: after a line, else after a character."""
    at = text.rfind(b"\n", begin, begin + OUTPUT_BYTES_MAX) + 1
    if at:
        return at
    at = begin + OUTPUT_BYTES_MAX
    while text[at] & 0xC0 == 0x80:
        at -= 1
    return at
