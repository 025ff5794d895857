"""Deciding again: what a store does when another writer has appended first.

Every writer decides on the end of the log that it knows, and a commit counts only if the log still
ends there. When it does not, nothing of this process that waits was written, and all of it was
decided on an old state. So the decisions are rolled back, the events of the other writer are
passed on, and the waiting calls are decided again, in their order. A subclass calls `_overtaken`
with those events.

Refusals are decided again, too: a command that was refused is answered when no event was missing
from the state that refused it. So commands are linearizable across writers.
"""

from collections.abc import Sequence

from muster.errors import StoreFailed
from muster.machines.events import Event
from muster.store.base import Decider, Stored
from muster.store.batching import Answer, Batch, BatchingStore, encoded


class SharedStore(BatchingStore):
    """A store with other writers."""

    def __init__(self, last_seq: int) -> None:
        super().__init__(last_seq)
        self._is_followed = False
        """Whether `on_commit` is set, so that events of other writers can be passed on."""

    def append(self, events: Sequence[Event], again: Decider | None = None) -> Answer:
        """Queue events for the next commit; awaiting the answer waits until they are on disk."""
        written = super().append(events)
        self._batch().deciders.append((written, again or _once(events)))
        self._is_followed = True
        return written

    def _overtaken(self, others: Sequence[Stored]) -> None:
        """Pass on the events of other writers, then decide everything that waits again."""
        waiting = [*self._unanswered, *([self._gathering] if self._gathering else [])]
        if waiting:
            self.on_rollback()
        self._last_seq = others[-1].seq
        try:
            self.on_commit(others)
        finally:
            while not self._is_decided_again(waiting):
                self.on_rollback()

    def _is_decided_again(self, batches: Sequence[Batch]) -> bool:
        """Decide the calls of batches again. False if one failed, which is then left out: the
        decisions up to it are to be rolled back, because the decider has counted it in."""
        for batch in batches:
            batch.events.clear()
            for call in batch.deciders:
                written, decide = call
                try:
                    batch.events += encoded(decide())
                except Exception as error:
                    batch.deciders.remove(call)
                    if not written.done():
                        written.set_exception(error)
                    return False
        return True


def _once(events: Sequence[Event]) -> Decider:
    """The decider of events that only fit where the log ended."""

    def decide() -> Sequence[Event]:
        if events:
            raise StoreFailed(detail="another writer has appended to the log")
        return events

    return decide
