"""Messages that other programs put into a session's queue: one file each, not named by a number.

A `.json` file has a `text` and may have a `from`; any other file is the text itself. A program must
write the file under a hidden name and then rename it, so that muster never reads half a message. A
symbolic link is invalid: it could make a request of any file that muster can read.
"""

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from muster.limits import MESSAGE_BYTES_MAX
from muster.regular_files import TooLong, read_regular

REJECTED: Final = ".rejected"
"""The suffix of a file that is not a valid message."""

DEFAULT_SPEAKER: Final = "queue"
"""The speaker of a message without a `from`."""

_OURS: Final = re.compile(r"\d{3,}\.json")


class QueueFile(NamedTuple):
    """A message in the queue's folder, or in `wrong` the reason why it is invalid."""

    path: Path
    at: datetime
    text: str = ""
    speaker: str = DEFAULT_SPEAKER
    wrong: str = ""


class _Message(msgspec.Struct, frozen=True):
    text: str
    speaker: str = msgspec.field(name="from", default=DEFAULT_SPEAKER)


def read_messages(folder: Path) -> list[QueueFile]:
    """Every message of other programs in the folder, sorted by file name."""
    try:
        paths = sorted(folder.iterdir())
    except OSError:
        return []
    return [_read(path) for path in paths if _is_message(path)]


def _is_message(path: Path) -> bool:
    name = path.name
    own = _OURS.fullmatch(name) or name.startswith(".") or name.endswith(REJECTED)
    return not own and (path.is_symlink() or path.is_file())


def _read(path: Path) -> QueueFile:
    at = datetime.fromtimestamp(path.lstat().st_mtime, UTC)
    if path.is_symlink():
        return QueueFile(path, at, wrong="is a symbolic link")
    try:
        data = read_regular(path, bytes_max=MESSAGE_BYTES_MAX, follow_links=False)
        if path.suffix == ".json":
            message = msgspec.json.decode(data, type=_Message)
        else:
            message = _Message(data.decode("utf-8").strip())
    except TooLong:
        return QueueFile(path, at, wrong=f"is over {MESSAGE_BYTES_MAX} bytes")
    except (OSError, UnicodeDecodeError, msgspec.DecodeError) as error:
        return QueueFile(path, at, wrong=f"cannot be read: {error}")
    if not message.text.strip() or not message.speaker:
        return QueueFile(path, at, wrong="says nothing")
    return QueueFile(path, at, message.text, message.speaker)


def reject(message: QueueFile) -> None:
    """Rename an invalid file, so that it is not read again."""
    message.path.rename(message.path.with_name(message.path.name + REJECTED))
