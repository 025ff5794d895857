"""The usage that events add, each part of it once, in the order of the log."""

from muster.machines import events as e
from muster.machines.ids import SessionId
from muster.machines.vocabulary import NOTHING_USED, Usage

Spent = e.SessionResult | e.UsageReported | e.UsageRecorded | e.WorkSpending


class SpentOnce:
    """Work tells what it has used so far, and its result all of it: each counts for what is new."""

    def __init__(self) -> None:
        """Start before any work."""
        self._so_far: dict[SessionId, Usage] = {}

    def more(self, fact: Spent) -> Usage:
        """The usage that an event adds to those before it."""
        match fact:
            case e.WorkSpending(session=session):
                before = self._so_far.get(session, NOTHING_USED)
                self._so_far[session] = before + (fact.usage - before)
                return fact.usage - before
            case e.SessionResult(session=session):
                return fact.usage - self._so_far.pop(session, NOTHING_USED)
            case _:
                return fact.usage
