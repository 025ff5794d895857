"""Text from the command line and from standard input, whatever bytes it has.

Python decodes arguments with the encoding of the locale, and keeps other bytes as surrogates, which
no request can carry. muster speaks UTF-8 in every locale. In a text for people and agents, bytes
that are no UTF-8 become U+FFFD: the rest of the text is worth more than an error. In a name or a
value they are refused.
"""

import os
import sys
from collections.abc import Iterator
from io import TextIOWrapper
from typing import Final, TextIO

import click

TEXTS: Final = frozenset(
    {"about", "description", "note", "reason", "stop_phrase", "text", "words"},
)
"""Parameters of verbs that are texts for people or agents; other strings are names or values."""


def read_stdin() -> str:
    """Standard input as text."""
    stdin: TextIO = sys.stdin
    if isinstance(stdin, TextIOWrapper):
        stdin.reconfigure(encoding="utf-8", errors="replace")
    return stdin.read()


def text_or_stdin(text: str) -> str:
    """A text as it was given; for `-` it is read from standard input."""
    return read_stdin() if text == "-" else text


def has_stray_bytes(text: str) -> bool:
    """Whether an argument has bytes that the locale's encoding does not know."""
    return any("\udc80" <= char <= "\udcff" for char in text)


def take_as_utf8(command: click.Command) -> None:
    """Let a verb and its subcommands take their strings as UTF-8 in every locale."""
    for each in _tree(command):
        for parameter in each.params:
            if parameter.type is click.STRING:
                parameter.type = _TEXT if parameter.name in TEXTS else _NAME


def _tree(command: click.Command) -> Iterator[click.Command]:
    yield command
    if isinstance(command, click.Group):
        for each in command.commands.values():
            yield from _tree(each)


class _Utf8(click.ParamType[str]):
    """A string whose bytes are UTF-8."""

    name = "text"

    def __init__(self, errors: str) -> None:
        self._errors = errors

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> str:
        text = click.STRING.convert(value, param, ctx)
        if not has_stray_bytes(text):
            return text
        try:
            return os.fsencode(text).decode("utf-8", self._errors)
        except UnicodeDecodeError:
            self.fail(f"{text!r} has bytes that are no UTF-8.", param, ctx)


_TEXT: Final = _Utf8("replace")
_NAME: Final = _Utf8("strict")
