"""The state of a followed program between two hooks.

Every hook may be a process of its own, so a small file beside the log keeps this state. The file
may be lost: then a subagent is identified by its name alone, and files that are in the log already
are recorded once more.
"""

import json
import os
import tempfile
from collections.abc import Collection
from pathlib import Path
from typing import Final

import msgspec

from muster.delegation.folder.file_changes import FolderSnapshot
from muster.delegation.following.owner import plain
from muster.regular_files import read_regular

FOLDER: Final = "following"

GIVEN_MAX: Final = 64
"""How many tasks may wait for their subagents to start; the oldest are dropped."""


class PendingTask(msgspec.Struct, frozen=True, kw_only=True):
    """A task whose subagent has not started yet."""

    to: str
    text: str
    by: str = ""
    """The subagent that set the task; empty if MAIN did."""


class Subagent(msgspec.Struct, frozen=True, kw_only=True):
    """A running subagent."""

    conversation: str
    state: str = ""
    """Its state in the conversation; empty if it is no agent of the session."""

    main: str = ""
    """The conversation of the input that it was started for: its own, or the parent of that."""

    giver: str = ""
    """The subagent that handed the conversation over to it."""


class Notes(msgspec.Struct, kw_only=True):
    """The state of one session of the program."""

    opened: float = 0.0
    """Start of the hook that opened the newest conversation, in seconds since the last boot."""

    given: list[PendingTask] = msgspec.field(default_factory=list[PendingTask])
    subagents: dict[str, Subagent] = msgspec.field(default_factory=dict[str, Subagent])
    background: list[str] = msgspec.field(default_factory=list[str])
    """Subagents that were still running when MAIN ended its turn."""

    answered: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    """MAIN's answers in conversations that stayed open for those subagents."""

    looks: dict[str, FolderSnapshot] = msgspec.field(default_factory=dict[str, FolderSnapshot])
    """The recorded files in the outputs of each conversation."""

    since: dict[str, int] = msgspec.field(default_factory=dict[str, int])
    """When each input came, by the clock of the file system, in nanoseconds."""

    around: dict[str, FolderSnapshot] = msgspec.field(default_factory=dict[str, FolderSnapshot])
    """The recorded files outside of the outputs of each conversation, by their whole paths."""

    def give(self, given: PendingTask) -> None:
        """Remember a task until its subagent starts."""
        self.given = [*self.given, given][-GIVEN_MAX:]

    def take(self, agent: str) -> list[PendingTask]:
        """The pending tasks for this agent; the oldest is removed, as one subagent has started."""
        fitting = [each for each in self.given if each.to == agent]
        if fitting:
            self.given.remove(fitting[0])
        return fitting

    def waits(self, conversation: str, *, newest: bool) -> bool:
        """Whether a background subagent still works for a conversation.

        A subagent that has not started yet counts for the newest conversation.
        """
        known = self.subagents
        return any(
            known[each].main == conversation if each in known else newest
            for each in self.background
        )

    def forget(self, conversation: str) -> None:
        """Drop the state of a closed conversation, but not its subagents: one may still report."""
        self.answered.pop(conversation, None)
        self.looks.pop(conversation, None)
        self.since.pop(conversation, None)
        self.around.pop(conversation, None)


class NotesStore:
    """Reads and writes notes, one file for each session of a program, in a folder of the home."""

    def __init__(self, home: Path) -> None:
        """The first write creates the folder."""
        self._folder = home / FOLDER

    def read(self, session: str) -> Notes:
        """The notes of a session; empty ones if the file is missing or malformed."""
        try:
            return msgspec.convert(json.loads(read_regular(self._path(session))), Notes)
        except (OSError, ValueError, RecursionError, msgspec.ValidationError):
            return Notes()

    def write(self, session: str, notes: Notes) -> None:
        """Write the notes atomically; empty notes remove the file."""
        path = self._path(session)
        if notes == Notes():
            path.unlink(missing_ok=True)
            return
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        # not msgspec.json: file names may contain lone surrogates, which it refuses
        data = json.dumps(msgspec.to_builtins(notes))
        handle, aside = tempfile.mkstemp(prefix=".", dir=self._folder)
        try:
            with os.fdopen(handle, "w", encoding="ascii") as file:
                file.write(data)
            Path(aside).replace(path)
        except BaseException:
            Path(aside).unlink(missing_ok=True)
            raise

    def keep_only(self, sessions: Collection[str]) -> None:
        """Delete the notes of all other sessions."""
        kept = {self._path(session) for session in sessions}
        for path in self._folder.glob("*.json"):
            if path not in kept:
                path.unlink(missing_ok=True)

    def _path(self, session: str) -> Path:
        return self._folder / f"{plain(session)}.json"
