"""Messages that somebody else puts into a session's queue: a file each, with any name but a number.

A `.json` file has a `text` and may have a `from`; any other file is the text. Whoever writes one
writes it under a hidden name and renames it, so that nobody reads a part of it.
"""

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from muster.limits import MESSAGE_BYTES_MAX
from muster.regular_files import TooLong, read_regular

REJECTED: Final = ".rejected"
"""What the name of a file ends with that cannot be taken in."""

NOBODY: Final = "queue"
"""Who speaks in a message that does not say it."""

_OURS: Final = re.compile(r"\d{3,}\.json")


class Dropped(NamedTuple):
    """A message as it was found, or why it cannot be one."""

    path: Path
    at: datetime
    text: str = ""
    speaker: str = NOBODY
    wrong: str = ""


class _Message(msgspec.Struct, frozen=True):
    text: str
    speaker: str = msgspec.field(name="from", default=NOBODY)


def look(folder: Path) -> list[Dropped]:
    """Every message that is there, in the order of the names."""
    try:
        paths = sorted(folder.iterdir())
    except OSError:
        return []
    return [_read(path) for path in paths if _is_meant(path)]


def _is_meant(path: Path) -> bool:
    name = path.name
    own = _OURS.fullmatch(name) or name.startswith(".") or name.endswith(REJECTED)
    return not own and path.is_file()


def _read(path: Path) -> Dropped:
    at = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    try:
        data = read_regular(path, bytes_max=MESSAGE_BYTES_MAX)
        if path.suffix == ".json":
            message = msgspec.json.decode(data, type=_Message)
        else:
            message = _Message(data.decode("utf-8").strip())
    except TooLong:
        return Dropped(path, at, wrong=f"is over {MESSAGE_BYTES_MAX} bytes")
    except (OSError, UnicodeDecodeError, msgspec.DecodeError) as error:
        return Dropped(path, at, wrong=f"cannot be read: {error}")
    if not message.text.strip() or not message.speaker:
        return Dropped(path, at, wrong="says nothing")
    return Dropped(path, at, message.text, message.speaker)


def reject(dropped: Dropped) -> None:
    """Put a file aside that cannot be taken in."""
    dropped.path.rename(dropped.path.with_name(dropped.path.name + REJECTED))
