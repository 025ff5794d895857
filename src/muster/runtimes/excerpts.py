"""Short texts for the log: something as JSON on one line, and as much of a text as is recorded."""

import json

from muster.limits import ACTIVITY_CHARS_MAX


def compact(given: object) -> str:
    """Something as JSON on one line."""
    try:
        return json.dumps(given, ensure_ascii=False, separators=(",", ":"), default=str)
    except (ValueError, RecursionError):
        return "?"


def excerpt(text: str, most: int = ACTIVITY_CHARS_MAX) -> str:
    """As much of a text as the log is told."""
    return text if len(text) <= most else f"{text[: most - 1]}…"
