"""A shutdown in words: which agents still work, since when, and how long they have."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from muster.cli.render import clean, duration
from muster.views.answers.channels import ShutdownView, WorkingAgent

NAMES_MAX: Final = 6
"""Agents that are named; the others are counted."""


def drain_text(shutdown: ShutdownView, now: datetime) -> str:
    """Which agents are waited for, and for how long at most."""
    if not shutdown.working:
        return "no agent works any more."
    names = working_text(shutdown.working, now)
    if shutdown.until is None:
        return f"stops {names}."
    left = max(0.0, (shutdown.until - now).total_seconds())
    return f"waits for {names}; for {left:.0f} s at most."


def working_text(working: Sequence[WorkingAgent], now: datetime) -> str:
    """Agents and how long each has worked."""
    named = [
        f"{clean(each.agent)} ({each.mode}, {duration((now - each.since).total_seconds())})"
        for each in working[:NAMES_MAX]
    ]
    more = len(working) - len(named)
    return ", ".join([*named, *([f"{more} more"] if more else [])])
