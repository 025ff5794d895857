"""One line that shows how far a long command has come, on a terminal only.

It goes to standard error, so that output can be piped, and is removed at the end.
"""

import sys
from types import TracebackType
from typing import Final, Self

import click

from muster.engine.system import SystemClock

PERIOD_SECONDS: Final = 0.1
"""Time between two updates: as often as the eye follows."""


class ProgressLine:
    """Shows the current step and its percentage. Also a context manager, which removes the line."""

    def __init__(self) -> None:
        self._clock = SystemClock()
        self._is_shown = sys.stderr.isatty()
        self._next = 0.0

    def show(self, step: str, share: float) -> None:
        """Say which step is under way, and how much of it is done, from 0 to 1."""
        now = self._clock.monotonic()
        if self._is_shown and now >= self._next:
            self._next = now + PERIOD_SECONDS
            click.echo(f"\r\x1b[K{step} {share:4.0%}", err=True, nl=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._is_shown:
            click.echo("\r\x1b[K", err=True, nl=False)
