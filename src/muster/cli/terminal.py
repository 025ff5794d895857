"""The terminal behind standard output."""

import os
import sys

from muster.cli.render import Look


def look() -> Look:
    """Colour and width for a person at a terminal; neither for a pipe."""
    if not sys.stdout.isatty():
        return Look()
    return Look(color=_wants_color(), width=_width())


def _wants_color() -> bool:
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _width() -> int:
    asked = os.environ.get("COLUMNS", "")
    try:
        return (
            int(asked) if asked.isdecimal() else os.get_terminal_size(sys.stdout.fileno()).columns
        )
    except OSError:
        return 80
