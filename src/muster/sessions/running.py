"""A session in this process, from its order to its end."""

import asyncio
from typing import Final

from muster.engine import ports
from muster.engine.ports import Exit
from muster.machines.vocabulary import Outcome

NEVER_STARTED: Final = Exit(outcome=Outcome.CUT_OFF, reason="stopped before it started")
"""The end of a session that was stopped before its program ran. Its one-shot is not done."""


class RunningSession:
    """The handle and the asyncio task of a session in this process."""

    def __init__(self) -> None:
        """Begin before the program has started."""
        self.session: ports.SessionHandle | None = None
        self.task: asyncio.Task[None] | None = None
        self.runtime: ports.Runtime | None = None
        self.is_over = False
        """Whether its program has ended; the end may not be reported yet."""

        self.settled: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when the program has started or has failed to start."""

    def settle(self) -> None:
        """Wake the waiters: the program has started or has failed to start."""
        if not self.settled.done():
            self.settled.set_result(None)
