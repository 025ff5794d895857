"""Remembers an agent's conversation with Claude Code, and its usage so far, in the agent's folder:
a line with the conversation's id, and two with the counts.
"""

import logging
import os
from pathlib import Path
from typing import Final

import msgspec

from muster.machines.vocabulary import Usage
from muster.regular_files import read_start
from muster.runtimes.claude.usage import Counted

FILE: Final = "claude-session"
ID_CHARS_MAX: Final = 200
FILE_BYTES_MAX: Final = 4096

log = logging.getLogger(__name__)


class Memory(msgspec.Struct, frozen=True):
    """A conversation of the program's; without an id it has none yet."""

    conversation: str = ""
    counted: Counted = Counted()


def recall(folder: Path | None) -> Memory:
    """The conversation that was remembered last; an empty one where that cannot be read."""
    if folder is None:
        return Memory()
    try:
        first, *lines = read_start(folder / FILE, FILE_BYTES_MAX).split(b"\n")
        counts = [msgspec.json.decode(line, type=Usage) for line in lines if line.strip()]
        conversation = first.decode("ascii").strip()
    except (OSError, ValueError):
        return Memory()
    fine = conversation.replace("-", "").isalnum() and len(conversation) <= ID_CHARS_MAX
    return Memory(conversation, Counted(*counts[:2])) if fine else Memory()


def remember(folder: Path | None, memory: Memory) -> None:
    """Keep it, whole or not at all. A session does not suffer if that fails."""
    if folder is None:
        return
    counted = (memory.counted.now, memory.counted.kept)
    lines = [memory.conversation.encode(), *map(msgspec.json.encode, counted), b""]
    write_whole(folder / FILE, b"\n".join(lines))


def write_whole(path: Path, content: bytes) -> None:
    """Write a file of an agent's folder atomically. A failure is logged."""
    new = path.with_name(f".{path.name}.new")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(file, "wb") as opened:
            opened.write(content)
        new.replace(path)
    except OSError as error:
        log.warning(
            "cannot write %s: %s. The conversation cannot be resumed after this session",
            path,
            error.strerror,
            extra={"action": "conversation_not_kept", "path": str(path)},
        )
