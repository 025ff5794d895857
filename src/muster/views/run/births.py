"""The line of a seat whose agent is being born, or was not born, in words."""

from datetime import datetime

from muster import limits
from muster.machines.state import Agent, Failure

IN_TIME = "no agent registered here in time"


def short(text: str, most: int = limits.BADGE_LINE_CHARS) -> str:
    """A text in one line of bounded length: notes and reasons come from programs and people."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def reason_of(failure: Failure) -> str:
    """The exit code and the last line of stderr, which says most; the page has the lines before."""
    code, _, words = failure.reason.partition(": ")
    if code.startswith("exit code") and words:
        return short(f"{code}: {words.rpartition(' | ')[2]}", limits.BADGE_REASON_CHARS)
    return short(failure.reason, limits.BADGE_REASON_CHARS)


def hatching(agent: Agent) -> tuple[str, datetime | None]:
    """An egg: when it expires, and after a failed try when the next one is."""
    failure, retry = agent.run.last_failure, agent.run.retry_at
    if failure is not None and agent.session is None and retry is not None:
        return f"its birth failed: {reason_of(failure)}; next try", retry
    return "no name yet; expires", agent.hatch_until


def unborn(agent: Agent) -> str:
    """A seat whose agent was not born: why, as far as muster knows."""
    if agent.run.last_failure is not None:
        return f"not born: {reason_of(agent.run.last_failure)}"
    by_process = agent.evidence is not None and agent.evidence.kind == "process"
    return "not born: its session ended without a name" if by_process else IN_TIME
