"""Progress of a shutdown, for the terminal of the server: which agents still work, and how long.

A terminal gets one line that is rewritten every second; a file or a journal gets a line whenever
the agents that are waited for change.
"""

import asyncio
import sys
from typing import Final

from muster.cli.render import fit
from muster.cli.saying import say
from muster.cli.shutdown_text import drain_text
from muster.cli.terminal import look
from muster.engine.dispatcher import Commit
from muster.team import Muster
from muster.views.answers.channels import ShutdownView
from muster.views.run.shutdown import view_shutdown

REFRESH_SECONDS: Final = 1.0
CLEAR: Final = "\r\x1b[2K"


class DrainReport:
    """Tells a person how a shutdown goes on."""

    def __init__(self, muster: Muster, *, hint: str = "Ctrl-C stops them now.") -> None:
        """Print from the beginning of the shutdown on."""
        self._muster = muster
        self._hint = hint
        self._is_terminal = sys.stdout.isatty()
        self._changed = asyncio.Event()
        self._told: object = None

    async def run(self) -> None:
        """Print until cancelled."""
        self._muster.dispatcher.watch(self._on_commit)
        try:
            while True:
                await self._wait()
                self._changed.clear()
                shutdown = view_shutdown(self._muster.team)
                if shutdown is not None:
                    self._tell(shutdown)
        finally:
            self._muster.dispatcher.unwatch(self._on_commit)
            if self._is_terminal and self._told is not None:
                say(CLEAR, newline=False)

    async def _wait(self) -> None:
        refreshes = self._is_terminal and self._muster.team.shutdown is not None
        try:
            async with asyncio.timeout(REFRESH_SECONDS if refreshes else None):
                await self._changed.wait()
        except TimeoutError:
            return

    def _on_commit(self, commit: Commit) -> None:
        if commit.team.shutdown is not None:
            self._changed.set()

    def _tell(self, shutdown: ShutdownView) -> None:
        if not shutdown.working:
            return
        text = f"Stopping: {drain_text(shutdown, self._muster.clock.now())}"
        hint = f" {self._hint}" if shutdown.until is not None and self._hint else ""
        if self._is_terminal:
            self._told = True
            say(CLEAR + fit(text + hint, (look().width or 80) - 1), newline=False)
            return
        told = (shutdown.urgency, [each.agent for each in shutdown.working])
        if told != self._told:
            self._told = told
            say(text)
