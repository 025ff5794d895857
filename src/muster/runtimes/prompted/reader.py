"""Turns what a model says and does in its work into `SessionReport`s. Pure.

Text comes in pieces: it is shown as it grows, and is told when a tool call or the end of the work
ends it. The last text of a piece of work is its answer.
"""

from collections.abc import Callable, Iterator

from muster.engine.ports import Output, PartialText, SessionActivity, SessionReport, Working
from muster.limits import MESSAGE_BYTES_MAX, PARTIAL_SECONDS
from muster.machines.vocabulary import Activity
from muster.runtimes.excerpts import excerpt
from muster.runtimes.process.pipes import STDERR, OutputBudget
from muster.runtimes.prompted.speech import Prose, spoken

WORKING_SECONDS = 1.0
"""How often a model that goes on talking is told of as a sign of work."""


class WorkReader:
    """Reads the work of one session."""

    def __init__(self, budget: OutputBudget, now: Callable[[], float]) -> None:
        """Tell text under a budget."""
        self._prose = Prose(budget)
        self._now = now
        self._printed: list[str] = []
        self._calls: dict[str, str] = {}
        self._text = ""
        self._before = ""
        """The last text, as long as no turn has ended with it."""

        self._answer = ""
        self._partial_at = 0.0
        self._worked_at = 0.0

    @property
    def is_calling(self) -> bool:
        """Whether the work stands while a tool does its own."""
        return bool(self._calls)

    def take_printed(self) -> bytes:
        """All that was read since this was last asked, as it goes into the output file."""
        printed, self._printed = "".join(self._printed), []
        return printed.encode("utf-8", "replace")

    # ── what the model says ───────────────────────────────────────────────────────────────────────

    def say(self, piece: str) -> Iterator[SessionReport]:
        """A piece of text: show what there is so far, not too often."""
        # One more than fits into a message, so that its cut is noticed; a piece has any length.
        self._text += piece[: MESSAGE_BYTES_MAX + 1 - len(self._text)]
        yield from self.work()
        now = self._now()
        if now - self._partial_at >= PARTIAL_SECONDS and self._text.strip():
            self._partial_at = now
            yield PartialText(text=self._text)

    def work(self) -> Iterator[SessionReport]:
        """A sign of work, not too often."""
        now = self._now()
        if now - self._worked_at >= WORKING_SECONDS:
            self._worked_at = now
            yield Working()

    def complain(self, text: str) -> Iterator[SessionReport]:
        """The program itself has something to say."""
        self._printed.append(text.rstrip("\n") + "\n")
        if text.strip():
            yield Output(stream=STDERR, text=excerpt(text.strip()))

    # ── what it does ──────────────────────────────────────────────────────────────────────────────

    def call(self, ref: str, name: str, given: str) -> Iterator[SessionReport]:
        """A tool call begins."""
        yield from self._end_text()
        self._calls[ref] = name
        self._printed.append(f"[{name}] {given}\n")
        yield SessionActivity(kind=Activity.TOOL_CALL, name=name, text=excerpt(given), ref=ref)

    def done(self, ref: str, text: str, *, failed: bool) -> Iterator[SessionReport]:
        """A tool call has ended; one that never began is told as a whole."""
        name = self._calls.pop(ref, None)
        if name is None:
            return
        self._printed.append(f"[{name} {'failed' if failed else 'done'}] {text}\n")
        kind = Activity.TOOL_FAILED if failed else Activity.TOOL_DONE
        yield SessionActivity(kind=kind, name=name, text=excerpt(text), ref=ref)

    # ── the end of a piece of work ────────────────────────────────────────────────────────────────

    def end(self) -> Iterator[SessionReport]:
        """The work is over: tell what is left."""
        yield from self._end_text()
        yield from self._prose.end()
        for ref in list(self._calls):
            yield from self.done(ref, "it did not say what came of it", failed=True)

    def take_answer(self) -> str:
        """The answer of the work that is over."""
        answer, self._answer, self._before = self._answer, "", ""
        return answer

    def _end_text(self) -> Iterator[SessionReport]:
        text, self._text = self._text, ""
        if not text.strip():
            return
        self._printed.append(text.rstrip("\n") + "\n")
        told = spoken(text, self._prose, self._now(), before=self._before)
        yield from told.said
        self._before, self._answer = told.after, told.rest
