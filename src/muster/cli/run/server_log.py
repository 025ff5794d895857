"""The log file of a server in the background: `server.log` in the home, rotated.

Standard output and standard error go there, too, so that nothing that a library prints is lost. A
server in a terminal, or under systemd, writes to standard error instead.
"""

import logging
import os
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Final

FILE: Final = "server.log"
BYTES_MAX: Final = 4 * 1024 * 1024
"""One file before it is rotated: weeks of warnings."""

FILES_KEPT: Final = 3


class ServerLog(RotatingFileHandler):
    """A log file that also takes what is printed."""

    def __init__(self, home: Path) -> None:
        """Open the file in this home."""
        super().__init__(home / FILE, maxBytes=BYTES_MAX, backupCount=FILES_KEPT, encoding="utf-8")
        self.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))

    def _open(self) -> TextIOWrapper:
        """Open the file for its owner only, and print there from now on."""
        stream = super()._open()
        os.fchmod(stream.fileno(), 0o600)
        for number in (1, 2):
            os.dup2(stream.fileno(), number)
        return stream


def log_to_file(home: Path) -> None:
    """Write the log, and everything that is printed, to the file in the home."""
    handler = ServerLog(home)
    logging.getLogger().addHandler(handler)
