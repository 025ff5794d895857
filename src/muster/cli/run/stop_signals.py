r"""The signals that end a server: the first asks it to stop, the second to stop now.

Ctrl-C is SIGINT, a service manager sends SIGTERM, and a terminal that is closed sends SIGHUP. A
server that was started with SIGHUP ignored (`nohup`) goes on without its terminal. Ctrl-\ is
SIGQUIT, which stops now at once, and in order: its default would leave the agents behind.

Children inherit signals that are ignored, and a shell ignores SIGINT and SIGQUIT for what it starts
in the background. Such signals get a handler that does nothing: then the agents' programs start
with the default, and can be stopped.
"""

import asyncio
import signal
from types import FrameType
from typing import Final, get_args

from muster.cli.saying import leave, terminals
from muster.settings.process import StopSignal

REASONS: Final = {
    signal.SIGINT: "Ctrl-C",
    signal.SIGTERM: "SIGTERM",
    signal.SIGHUP: "its terminal was closed",
    signal.SIGQUIT: "Ctrl-\\",
}


class StopSignals:
    """Which signals have come. Create it inside the event loop."""

    def __init__(self) -> None:
        """Listen from now on, instead of dying of them."""
        self.first = asyncio.Event()
        self.second = asyncio.Event()
        self.reason = ""
        self.urgent = False
        """Whether the first signal came from a program: a person at a terminal has time."""

        self._terminals = terminals()
        loop = asyncio.get_running_loop()
        for number in REASONS:
            if number is signal.SIGHUP and signal.getsignal(number) is signal.SIG_IGN:
                continue
            loop.add_signal_handler(number, self._on_signal, number)
        for name in get_args(StopSignal):
            if signal.getsignal(signal.Signals[name]) is signal.SIG_IGN:
                signal.signal(signal.Signals[name], _do_nothing)

    def _on_signal(self, number: signal.Signals) -> None:
        if number is signal.SIGHUP:
            leave(self._terminals)
        if number is signal.SIGQUIT or self.first.is_set():
            self.second.set()
        if not self.first.is_set():
            self.reason, self.urgent = REASONS[number], number is not signal.SIGINT
            self.first.set()


def _do_nothing(number: int, frame: FrameType | None) -> None:
    """Handle a signal that was ignored when muster was started."""
