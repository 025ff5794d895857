"""What one of the demo team is told: prompts on its stdin, and what stands in them.

A prompt is text for a model, so a script has to look for what it knows: the lines with which muster
hands over a turn, the news of a channel, or a message.
"""

import json
import os
import re
import select
from collections.abc import Iterator
from enum import StrEnum
from typing import Final, NamedTuple

READ_BYTES: Final = 64 * 1024

MEMORY_ENDS: Final = "</agent>\n"
"""What stands before it are a soul and a transcript, and nothing in them is new."""


class Kind(StrEnum):
    """What there is to do."""

    TURN = "turn"
    NEWS = "news"  # somebody spoke in a channel
    LETTER = "letter"  # a person spoke to this agent alone


class Message(NamedTuple):
    """Something that somebody said."""

    speaker: str
    text: str
    again: bool


class Errand(NamedTuple):
    """One thing of a prompt."""

    kind: Kind
    channel: str
    messages: tuple[Message, ...]


_HEADS: Final = (
    (Kind.TURN, re.compile(r"It is your turn in the channel (.+) \(turn \d+\)\. ")),
    (Kind.NEWS, re.compile(r"New in the channel (.+):$")),
    (Kind.LETTER, re.compile(r"You have new messages(:)$")),
)
_MESSAGE: Final = re.compile(r"\[([^\]]+)\]( \(told before\))?: (.*)")


class Stdin:
    """Prompts, one after another."""

    def __init__(self, file: int = 0) -> None:
        """Read them from this file."""
        self._file = file
        self._rest = b""

    def read(self, seconds: float | None = None) -> str | None:
        """The next prompt, or nothing where none comes in time. `EOFError`: there is no more."""
        while b"\n" not in self._rest:
            if not select.select([self._file], [], [], seconds)[0]:
                return None
            data = os.read(self._file, READ_BYTES)
            if not data and seconds is None:
                raise EOFError
            if not data:
                return None
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\n")
        return str(json.loads(line)["text"])


def errands(prompt: str) -> list[Errand]:
    """All that there is to do in a prompt, in its order."""
    return list(_errands(prompt.rpartition(MEMORY_ENDS)[2].splitlines()))


def _errands(lines: list[str]) -> Iterator[Errand]:
    head: tuple[Kind, str] | None = None
    messages: list[Message] = []
    for line in lines:
        if found := _head(line):
            if head is not None:
                yield Errand(*head, tuple(messages))
            head, messages = found, []
        elif head is not None:
            _add(messages, line)
    if head is not None:
        yield Errand(*head, tuple(messages))


def _head(line: str) -> tuple[Kind, str] | None:
    for kind, pattern in _HEADS:
        if found := pattern.match(line):
            return kind, "" if kind is Kind.LETTER else found[1]
    return None


def _add(messages: list[Message], line: str) -> None:
    """A line begins a message, or goes on with the last."""
    if found := _MESSAGE.match(line):
        messages.append(Message(found[1], found[3], found[2] is not None))
    elif messages and line:
        last = messages.pop()
        messages.append(last._replace(text=f"{last.text}\n{line}"))
