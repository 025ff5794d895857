"""Counts of a running team's commits: since the start of this process, in memory."""

from collections import Counter

from muster.engine.dispatcher import Commit, Dispatcher
from muster.machines.events import CommandRefused, StateTransition
from muster.machines.vocabulary import Machine


class CommitCounts:
    """Counts what is committed."""

    def __init__(self, dispatcher: Dispatcher) -> None:
        self.events: Counter[str] = Counter()
        """Committed events by type."""

        self.turns: Counter[str] = Counter()
        """Turns by the state that they came to: ACTIVE for each that was granted."""

        self.refused: Counter[str] = Counter()
        """Refused commands that are on record, by the code of the refusal."""

        dispatcher.watch(self._count)

    def _count(self, commit: Commit) -> None:
        for stored, event in zip(commit.stored, commit.events, strict=True):
            self.events[stored.type] += 1
            match event.fact:
                case StateTransition(machine=Machine.TURNS, target=state):
                    self.turns[state] += 1
                case CommandRefused(code=code):
                    self.refused[code] += 1
                case _:
                    pass
