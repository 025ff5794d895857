"""Transition tables: the data from which machines decide, and diagrams and tests are generated."""

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

import msgspec

from muster.errors import Impossible

Subject = TypeVar("Subject")


class Row(msgspec.Struct, Generic[Subject], frozen=True):
    """One transition. Of rows with the same source and trigger the first whose guard holds wins."""

    source: str
    target: str
    trigger: str
    action: str
    """A description of the transition for readers of the table."""

    guard: Callable[[Subject], bool] | None = None

    @property
    def condition(self) -> str | None:
        """The guard's name as words."""
        return self.guard.__name__.strip("_").replace("_", " ") if self.guard else None


class Table(Generic[Subject]):
    """The transitions of one machine, looked up by state and trigger."""

    def __init__(self, *rows: Row[Subject]) -> None:
        """Index the rows, keeping their order."""
        self.rows = rows
        self._by_source_and_trigger: dict[tuple[str, str], list[Row[Subject]]] = {}
        for row in rows:
            self._by_source_and_trigger.setdefault((row.source, row.trigger), []).append(row)
        self._unguarded = {
            key: rows[0].target
            for key, rows in self._by_source_and_trigger.items()
            if len(rows) == 1 and rows[0].guard is None
        }

    def __iter__(self) -> Iterator[Row[Subject]]:
        return iter(self.rows)

    def allows(self, source: str, trigger: str) -> bool:
        """Whether there is any row for this trigger in this state."""
        return (source, trigger) in self._by_source_and_trigger

    def target(self, source: str, trigger: str, subject: Subject, want: str | None = None) -> str:
        """The target of a transition; with `want`, only that one. A missing row is a bug."""
        only = self._unguarded.get((source, trigger))
        if only is not None and (want is None or want == only):
            return only
        for row in self._by_source_and_trigger.get((source, trigger), ()):
            guard = row.guard
            if (guard is None or guard(subject)) and (want is None or row.target == want):
                return row.target
        raise Impossible(what=f"no transition for {trigger!r} in state {source!r}")
