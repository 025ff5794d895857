"""Remembers an agent's conversation with its program in the agent's folder, for the next session.

Beside its id are the counts that the program reported for it: some count from its beginning on.
"""

import logging
import os
import time
from pathlib import Path
from typing import Final, Self

import msgspec
from msgspec.structs import replace

from muster.machines.vocabulary import NOTHING_USED, Usage
from muster.regular_files import read_start

FILE: Final = "conversation.json"
FILE_BYTES_MAX: Final = 4096

log = logging.getLogger(__name__)


class ProgramConversation(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation of a program; without an id there is none yet."""

    program: str = ""
    """The runtime, and the command or preset: another program knows nothing of it."""

    id: str = ""
    cwd: str = ""
    """Where it was held: most programs find conversations by that."""

    began_s: int = 0
    """When it began, by the wall clock: a program may name its files by that."""

    used: Usage = NOTHING_USED
    has_words: bool = True
    """Whether the program was given a prompt in it. Most programs keep no other conversation, so
    an attempt to resume one would fail."""

    @property
    def is_resumable(self) -> bool:
        """Whether there is something to go on with."""
        return bool(self.id) and self.has_words

    def opened(self, conversation: str) -> Self:
        """The new conversation that a program has opened instead."""
        return replace(self, id=conversation, began_s=wall_s(), used=NOTHING_USED, has_words=False)


def recall(folder: Path | None, program: str, cwd: Path) -> ProgramConversation:
    """The last conversation with a program; an empty one where there is none, or it was with
    another program or in another folder."""
    new = ProgramConversation(program=program, cwd=str(cwd))
    if folder is None:
        return new
    try:
        found = msgspec.json.decode(
            read_start(folder / FILE, FILE_BYTES_MAX), type=ProgramConversation
        )
    except (OSError, ValueError):
        return new
    return found if (found.program, found.cwd) == (new.program, new.cwd) else new


def remember(folder: Path | None, conversation: ProgramConversation) -> None:
    """Keep it, whole or not at all. A session does not suffer if that fails."""
    if folder is None:
        return
    new = folder / f".{FILE}.new"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(file, "wb") as opened:
            opened.write(msgspec.json.encode(conversation) + b"\n")
        new.replace(folder / FILE)
    except OSError as error:
        log.warning(
            "cannot write %s: %s. The conversation cannot be resumed after this session",
            folder / FILE,
            error.strerror,
            extra={"action": "conversation_not_kept", "path": str(folder / FILE)},
        )


def with_words(folder: Path | None, conversation: ProgramConversation) -> ProgramConversation:
    """The conversation as it is from its first prompt on, which is remembered."""
    if conversation.has_words:
        return conversation
    spoken = replace(conversation, has_words=True)
    remember(folder, spoken)
    return spoken


def used_since(before: Usage, now: Usage) -> Usage:
    """The usage since, by counts from the beginning of a conversation on."""
    return Usage(
        cost_usd=round(max(0.0, now.cost_usd - before.cost_usd), 8),
        input_tokens=max(0, now.input_tokens - before.input_tokens),
        output_tokens=max(0, now.output_tokens - before.output_tokens),
        cache_read_tokens=max(0, now.cache_read_tokens - before.cache_read_tokens),
        cache_write_tokens=max(0, now.cache_write_tokens - before.cache_write_tokens),
    )


def began_this_minute(conversation: ProgramConversation) -> bool:
    """Whether a conversation began in this minute of the clock."""
    return bool(conversation.id) and conversation.began_s // 60 == wall_s() // 60


def wall_s() -> int:
    """The wall clock, by which programs name their files."""
    return int(time.time())
