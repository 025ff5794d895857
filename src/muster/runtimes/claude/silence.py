"""Notices that nothing is heard of work that is under way, and says so once for each silence.

The program itself gives a silent model server its time, and asks again. Whoever looks on should not
have to guess meanwhile.
"""

import asyncio
from collections.abc import Callable

from muster.engine.ports import SessionActivity
from muster.limits import CLAUDE_SILENCE_SECONDS
from muster.machines.vocabulary import Activity


class SilenceTimer:
    """The time since something was heard."""

    def __init__(
        self, awaited: Callable[[], bool], tell: Callable[[SessionActivity], object]
    ) -> None:
        """Only while something is awaited is silence worth a word."""
        self._awaited = awaited
        self._tell = tell
        self._timer: asyncio.TimerHandle | None = None

    def heard(self) -> None:
        """Something was heard: begin anew."""
        self.end()
        if self._awaited():
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(CLAUDE_SILENCE_SECONDS, self._over)

    def end(self) -> None:
        """Nothing more will be heard."""
        if self._timer is not None:
            self._timer.cancel()

    def _over(self) -> None:
        if self._awaited():
            text = f"nothing heard for {CLAUDE_SILENCE_SECONDS:.0f} seconds"
            self._tell(SessionActivity(kind=Activity.SILENT, name="model", text=text))
