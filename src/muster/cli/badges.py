"""An agent's badge, and the evidence for its status, in a terminal.

Apart from `render.py`, because views load all words of the machines, and `muster --help` has none.
"""

from datetime import datetime

from muster.cli.render import Cell, Tone, duration
from muster.views.answers.agents import AgentView, Badge, EvidenceView


def badge_cell(agent: AgentView) -> Cell:
    """The word of an agent's badge: green as in the dashboard, red while it fails."""
    if agent.failures:
        return Cell(agent.badge.status, Tone.BAD)
    return Cell(agent.badge.status, Tone.GOOD if agent.badge.color == "green" else Tone.DIM)


def badge_line(badge: Badge, now: datetime) -> str:
    """The line of a badge at this moment, with the time until it changes by itself."""
    if badge.due is None:
        return badge.line
    left = (badge.due - now).total_seconds()
    return f"{badge.line} {_in_time(left)}" if left > 0 else f"{badge.line} now"


def _in_time(seconds: float) -> str:
    """A time to come, rounded as the dashboard rounds it."""
    for below, size, unit in ((90, 1, "s"), (5400, 60, "min"), (129_600, 3600, "h")):
        if seconds < below:
            return f"in {max(1, round(seconds / size))} {unit}"
    return f"in {round(seconds / 86_400)} d"


def evidence(found: EvidenceView | None) -> str:
    """The evidence for an agent's status, and its age."""
    if found is None:
        return "no evidence"
    age = duration(found.age_seconds)
    return f"{found.kind} for {age}" if found.is_ongoing else f"{found.kind}, {age} ago"
