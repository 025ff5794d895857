"""Refused requests on record: who tried what it may not, counted for a minute, as one warning.

A request with a wrong token, of another site or for another role changes nothing, but somebody
tried. Every one as an event of its own would let a stranger fill the log.
"""

import logging
from collections import Counter
from typing import Final

from muster.engine.dispatcher import Dispatcher
from muster.engine.ports import Clock
from muster.engine.tasks import TaskOwner
from muster.errors import MusterError
from muster.machines.commands import LogWarning
from muster.machines.ids import MUSTER

WATCHED: Final = (401, 403)
"""The status of refusals that somebody without the right caused."""

COUNT_SECONDS: Final = 60.0
KINDS_MAX: Final = 20
"""Different callers and codes in one warning; the rest is counted together."""

OTHERS: Final = "others"

log = logging.getLogger(__name__)


class RefusedRequests:
    """Counts refused requests, and puts the counts on record once a minute while there are any."""

    def __init__(self, dispatcher: Dispatcher, clock: Clock) -> None:
        """Record with this dispatcher; a minute is one of this clock."""
        self._dispatcher = dispatcher
        self._clock = clock
        self._counts: Counter[str] = Counter()
        self._records = TaskOwner("the record of refused requests")

    def count(self, error: MusterError, caller: str) -> None:
        """Count a refusal, if it is of a kind that is watched."""
        if error.status not in WATCHED:
            return
        if not self._counts:
            self._clock.call_later(COUNT_SECONDS, self._begin_record)
        kind = f"{caller} ({error.code})"
        is_known = kind in self._counts or len(self._counts) < KINDS_MAX
        self._counts[kind if is_known else OTHERS] += 1

    def _begin_record(self) -> None:
        self._records.start(self._record())

    async def _record(self) -> None:
        counts, self._counts = self._counts, Counter()
        told = ", ".join(f"{number} of {kind}" for kind, number in counts.most_common())
        text = f"refused requests in the last minute: {told}"
        try:
            await self._dispatcher.send(LogWarning(text=text), actor=MUSTER)
        except MusterError as error:
            log.warning("%s; not on record: %s", text, error, extra={"action": "refused_requests"})
