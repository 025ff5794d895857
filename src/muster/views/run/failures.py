"""Lines about failures of an agent: how often its sessions failed, what they left unanswered."""

from muster import limits
from muster.machines.state import Agent, RunControl
from muster.views.run.births import reason_of, short


def failed_line(run: RunControl) -> str:
    """How often it failed in a row and why: short, because the time of the next try comes after.

    A start by hand resets the backoff, not the number of failures since the last success.
    """
    failure = run.last_failure
    if failure is None:
        return _times(run.failures)
    return f"{_times(failure.count)}: {reason_of(failure)}"


def unanswered_line(agent: Agent) -> str | None:
    """Messages that stay unanswered until a person tries again."""
    left = agent.unanswered
    if left is None:
        return None
    return f"left a message unanswered: {short(left.reason, limits.BADGE_REASON_CHARS)}"


def waiting_line(agent: Agent) -> str:
    """A program that waits for work; a failure is told until work succeeds."""
    failure = agent.run.last_failure
    if failure is None:
        return "waiting for work"
    return f"waiting for work; {_times(failure.count)}: {reason_of(failure)}"


def _times(count: int) -> str:
    return "failed once" if count == 1 else f"failed {count} times"
