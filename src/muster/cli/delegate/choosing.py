"""The question which agent is meant, for a person at a terminal: one key answers it."""

import os
import sys
import termios
import tty
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Final

import click
import msgspec

from muster.cli.render import clean
from muster.errors import Ambiguous
from muster.machines.vocabulary import Ranked

NONE: Final = 1
"""The exit code if the person chose no agent."""


def can_ask() -> bool:
    """Whether a person can read a question and answer it with a key."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def chosen_agent(unclear: Ambiguous) -> str:
    """Ask which agent is meant, and return its name; any other key ends the command."""
    choices = msgspec.convert(unclear.found["candidates"], tuple[Ranked, ...])
    with _single_keys() as terminal:
        click.echo("\n".join(_question(choices)))
        key = os.read(terminal, 1)  # empty at the end of input
    number = int(key) if key.isdigit() else 0
    if not 1 <= number <= len(choices):
        click.echo("No agent was chosen, so nothing was done.")
        raise click.exceptions.Exit(NONE)
    return choices[number - 1].agent


@contextmanager
def _single_keys() -> Generator[int]:
    """Have the terminal pass on each key without Enter and unseen; Ctrl-C still interrupts.

    The mode is set before the question is printed, and input that came before is kept: a key that
    is pressed at once counts.
    """
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    tty.setcbreak(terminal, termios.TCSANOW)
    try:
        yield terminal
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)


def _question(choices: Sequence[Ranked]) -> Sequence[str]:
    width = max(len(clean(each.agent)) for each in choices)
    names = " or ".join(clean(each.agent) for each in choices)
    return [
        f"{names}?",
        *(
            f"  {at}  {clean(each.agent):<{width}}  {clean(each.reason)}"
            for at, each in enumerate(choices, 1)
        ),
        f"Press {'1' if len(choices) == 1 else f'1 to {len(choices)}'}; any other key cancels.",
    ]
