"""Parses the prompts that a demo agent reads on stdin.

A prompt is text for a model, so a script searches it for known lines: those with which muster hands
over a turn, the news of a channel, or a message.
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
"""The end of the soul and the transcript, which hold nothing new."""


class Kind(StrEnum):
    """The kind of a prompt."""

    TURN = "turn"
    NEWS = "news"  # new messages in a channel
    DIRECT = "direct"  # a person's message to this agent alone


class Message(NamedTuple):
    """A message in a prompt."""

    speaker: str
    text: str
    again: bool


class PromptItem(NamedTuple):
    """One task of a prompt: a turn, news or a direct message, with its messages."""

    kind: Kind
    channel: str
    messages: tuple[Message, ...]


_HEADS: Final = (
    (Kind.TURN, re.compile(r"It is your turn in the channel (.+) \(turn \d+(?:, .+?)?\)\. ")),
    (Kind.NEWS, re.compile(r"New in the channel (.+):$")),
    (Kind.DIRECT, re.compile(r"You have new messages(:)$")),
)
_MESSAGE: Final = re.compile(r"\[([^\]]+)\]( \(told before\))?: (.*)")


class PromptReader:
    """A stream of prompts."""

    def __init__(self, file: int = 0) -> None:
        """Read prompts from a file descriptor."""
        self._file = file
        self._rest = b""

    def read(self, seconds: float | None = None) -> str | None:
        """The next prompt, or None after the timeout. Raises `EOFError` at the end of stdin."""
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


def parse_prompt(prompt: str) -> list[PromptItem]:
    """The tasks of a prompt, in order."""
    return list(_items(prompt.rpartition(MEMORY_ENDS)[2].splitlines()))


def _items(lines: list[str]) -> Iterator[PromptItem]:
    head: tuple[Kind, str] | None = None
    messages: list[Message] = []
    for line in lines:
        if found := _head(line):
            if head is not None:
                yield PromptItem(*head, tuple(messages))
            head, messages = found, []
        elif head is not None:
            _add(messages, line)
    if head is not None:
        yield PromptItem(*head, tuple(messages))


def _head(line: str) -> tuple[Kind, str] | None:
    for kind, pattern in _HEADS:
        if found := pattern.match(line):
            return kind, "" if kind is Kind.DIRECT else found[1]
    return None


def _add(messages: list[Message], line: str) -> None:
    """Add a line: the start of a message, or a continuation of the last."""
    if found := _MESSAGE.match(line):
        messages.append(Message(found[1], found[3], found[2] is not None))
    elif messages and line:
        last = messages.pop()
        messages.append(last._replace(text=f"{last.text}\n{line}"))
