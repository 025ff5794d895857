"""Which prompts a session was given, what became of each, and which piece of work is whose.

A prompt that comes in the middle of work is either taken into that work, which then has one result
for both, or begins a piece of work of its own afterwards; several that wait begin one together. The
program says when each begins. Pieces of work that nobody asked for (a helper that was left to work
has come to an end) are begun by the program itself. Pure.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from muster.engine.ports import PromptAccepted
from muster.machines.vocabulary import Taken

QUEUED: Final = "queued"
STARTED: Final = "started"
CANCELLED: Final = "cancelled"


class _Prompt(NamedTuple):
    text: str
    idle: bool
    """Whether there was nothing else to do when it came."""

    is_command: bool = False
    """Whether the program itself does it, perhaps without a word."""


class _Piece:
    """Work that is under way, until its result."""

    def __init__(self) -> None:
        self.ours = False
        """Whether a prompt of ours is among what it is about."""

        self.command = ""
        """The slash command that it is, for the program itself."""

        self.begun = False
        """Whether the model has said anything in it."""


class Prompts:
    """The prompts of one session."""

    def __init__(self) -> None:
        """Begin with nothing to do."""
        self._open: dict[str, _Prompt] = {}
        self._taken: set[str] = set()
        self._piece: _Piece | None = None
        self._results = 0
        self._cancelled = ""  # the number of the last one that was taken back
        self._reported = False  # whether the program says what becomes of prompts
        self.running = False
        """Whether the program says that there is more to come, of helpers for example."""

    @property
    def working(self) -> bool:
        """Whether a piece of work is under way."""
        return self._piece is not None

    @property
    def waiting(self) -> bool:
        """Whether a prompt has not been taken in yet."""
        return any(number not in self._taken for number in self._open)

    @property
    def idle(self) -> bool:
        """Whether there is nothing to do, and nothing to come."""
        return self._piece is None and not self._open and not self.running

    @property
    def command(self) -> str:
        """The slash command that is under way; empty for other work."""
        return "" if self._piece is None else self._piece.command

    def tell(self, number: str, text: str, *, is_command: bool = False) -> None:
        """A prompt is handed over."""
        idle = self._piece is None and not self.waiting
        self._open[number] = _Prompt(text, idle, is_command)

    def become(self, number: str, state: str) -> PromptAccepted | None:
        """The program says what becomes of a prompt; tell how it is taken in, when it is."""
        prompt = self._open.get(number)
        if prompt is None or state == QUEUED:
            return None
        self._reported = True
        if state == STARTED:
            self._taken.add(number)
            return PromptAccepted(how=self._join(prompt), text=prompt.text)
        if state == CANCELLED:
            self._cancelled = number
        del self._open[number]
        self._taken.discard(number)
        return None

    def waiting_number(self, text: str) -> str | None:
        """The number of a prompt with this text that has not been taken in yet."""
        waiting = (each for each in self._open.items() if each[0] not in self._taken)
        return next((number for number, prompt in waiting if prompt.text == text), None)

    def is_waiting(self, number: str) -> bool:
        """Whether a prompt has not been taken in, and not been taken back."""
        return number in self._open and number not in self._taken

    def is_cancelled(self, number: str) -> bool:
        """Whether this prompt is the last one that was taken back."""
        return number == self._cancelled

    def speak(self) -> None:
        """The model says something: whatever comes now comes in the middle."""
        if self._piece is None:
            self._piece = _Piece()
        self._piece.begun = True

    def result(self, *, of_ours: bool) -> bool:
        """A piece of work is done: say whether it is what came of a prompt of ours.

        `of_ours` is what a program thinks about it that says nothing of its prompts.
        """
        piece, self._piece = self._piece, None
        self._results += 1
        if self._reported:
            return piece is not None and piece.ours
        if of_ours:
            self._open.clear()
        return of_ours

    def next_result(self) -> Callable[[], bool]:
        """Whether one more piece of work is done than now."""
        so_far = self._results
        return lambda: self._results > so_far

    def _join(self, prompt: _Prompt) -> Taken:
        piece = self._piece
        if piece is not None and piece.begun:
            piece.ours = True
            return Taken.INJECTED
        if piece is None:
            piece = self._piece = _Piece()
        piece.ours = True
        piece.command = prompt.text.strip() if prompt.is_command else ""
        return Taken.STARTED if prompt.idle else Taken.QUEUED
