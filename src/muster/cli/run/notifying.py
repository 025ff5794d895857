"""Messages to the program that has started the server: ready, alive, stopping.

The protocol is systemd's `sd_notify`: lines of `NAME=value` in one datagram to the socket that
`NOTIFY_SOCKET` names. `muster up --detach` listens on such a socket, too, so there is one way to
say that a server is ready. The variables are taken out of the environment: agents must not speak
for the server.
"""

import asyncio
import os
import socket
from collections.abc import MutableMapping
from contextlib import suppress
from typing import Final

SOCKET_VARIABLE: Final = "NOTIFY_SOCKET"
WATCHDOG_VARIABLES: Final = ("WATCHDOG_USEC", "WATCHDOG_PID")

BEATS: Final = 3
"""Signs of life in the time that the watchdog allows: one may be late."""


class Notifier:
    """The socket of the starting program; without one, every message is dropped."""

    def __init__(self, path: str | None, watchdog_s: float | None = None) -> None:
        """`path` is a file, or `@` and a name in the abstract namespace."""
        self.is_listening = bool(path)
        self.watchdog_s = watchdog_s
        self._address = f"\0{path[1:]}" if path and path.startswith("@") else path

    @classmethod
    def take(cls, environ: MutableMapping[str, str]) -> "Notifier":
        """The socket that the environment names; its variables are removed."""
        path = environ.pop(SOCKET_VARIABLE, None)
        microseconds, pid = (environ.pop(name, "") for name in WATCHDOG_VARIABLES)
        is_ours = not pid or pid == str(os.getpid())
        watchdog_s = int(microseconds) / 1e6 if microseconds.isdecimal() and is_ours else None
        return cls(path, watchdog_s)

    def send(self, **fields: str) -> None:
        """Send fields such as `READY="1"`. A program that does not listen any more is ignored."""
        if not self._address:
            return
        text = "\n".join(f"{name}={value}" for name, value in fields.items())
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as opened:
            opened.setblocking(False)  # a full queue must not hold up the event loop
            opened.connect(self._address)
            opened.send(text.encode())

    async def stay_alive(self) -> None:
        """Send signs of life from the event loop, so that one that hangs is noticed."""
        while self.watchdog_s:
            self.send(WATCHDOG="1")
            await asyncio.sleep(self.watchdog_s / BEATS)
