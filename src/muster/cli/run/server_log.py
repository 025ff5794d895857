"""The server's own log: its level and format, and where it goes.

In the background it is `server.log` in the home, rotated; standard output and standard error go
there, too, so that nothing that a library prints is lost. In a terminal, or under systemd, it is
standard error. As JSON, each record is an object on a line of its own, with the fields that the
code gave it (`action`, and the ids that it is about) beside the message.
"""

import logging
import os
from datetime import UTC, datetime
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Final

import msgspec

from muster.settings.server import ServerSettings

FILE: Final = "server.log"
BYTES_MAX: Final = 4 * 1024 * 1024
"""One file before it is rotated: weeks of warnings."""

FILES_KEPT: Final = 3
TEXT: Final = "%(asctime)s %(levelname)s %(name)s: %(message)s"

_USUAL_FIELDS: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime"}
"""The fields that every record has; the others are its own."""


class JsonFormatter(logging.Formatter):
    """Writes a record as a JSON object on one line."""

    def format(self, record: logging.LogRecord) -> str:
        """The record: time, level, logger and message, its own fields, and the traceback."""
        own = {name: each for name, each in vars(record).items() if name not in _USUAL_FIELDS}
        moment = datetime.fromtimestamp(record.created, UTC)
        shown: dict[str, object] = {
            "time": moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **own,
        }
        if record.exc_info:
            shown["exception"] = self.formatException(record.exc_info)
        return msgspec.json.encode(shown, enc_hook=str).decode()


class ServerLog(RotatingFileHandler):
    """A log file that also takes what is printed."""

    def __init__(self, home: Path) -> None:
        """Open the file in this home."""
        super().__init__(home / FILE, maxBytes=BYTES_MAX, backupCount=FILES_KEPT, encoding="utf-8")

    def _open(self) -> TextIOWrapper:
        """Open the file for its owner only, and print there from now on."""
        stream = super()._open()
        os.fchmod(stream.fileno(), 0o600)
        for number in (1, 2):
            os.dup2(stream.fileno(), number)
        return stream


def log_to_file(home: Path, settings: ServerSettings) -> None:
    """Write the log, and everything that is printed, to the file in the home."""
    root = logging.getLogger()
    for earlier in root.handlers[:]:
        root.removeHandler(earlier)
    _write_to(ServerLog(home), logging.Formatter(TEXT), settings)


def log_to_terminal(settings: ServerSettings) -> None:
    """Write the log to standard error. A text there is for a person, who needs the message."""
    _write_to(logging.StreamHandler(), logging.Formatter("%(message)s"), settings)


def _write_to(handler: logging.Handler, text: logging.Formatter, settings: ServerSettings) -> None:
    handler.setFormatter(JsonFormatter() if settings.log_format == "json" else text)
    level = logging.getLevelNamesMapping()[settings.log_level.upper()]
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(max(level, logging.WARNING))  # libraries say too much below
    logging.getLogger("muster").setLevel(level)
