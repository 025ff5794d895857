"""Printing from a program that must not fail for it: a server, which outlives its terminal.

A closed pipe and a terminal that is gone make every write fail. The output is lost then; the
shutdown that it tells of goes on.
"""

import os
import sys
from typing import TextIO

import click


def say(text: str, *, err: bool = False, newline: bool = True) -> None:
    """Print a line; if that fails, print nothing from now on."""
    try:
        click.echo(text, err=err, nl=newline)
    except OSError:
        _silence(sys.stderr if err else sys.stdout)


def terminals() -> list[int]:
    """The standard streams that are a terminal. To be asked while the terminal is there."""
    return [number for number in range(3) if os.isatty(number)]


def leave(streams: list[int]) -> None:
    """Point these streams to nowhere: their terminal was closed."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in streams:
        os.dup2(nowhere, number)
    os.close(nowhere)


def _silence(stream: TextIO) -> None:
    try:
        leave([stream.fileno()])
    except (OSError, ValueError):  # it has no number: nothing can be done about it
        return
