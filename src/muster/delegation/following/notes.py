"""What muster remembers of a program that it follows, from one hook to the next.

Every hook may be a process of its own, so this stands in a small file beside the log. It can be
lost: then a subagent is known by its name alone, and files that are on record already are recorded
once more.
"""

import json
import os
import tempfile
from collections.abc import Collection
from pathlib import Path
from typing import Final

import msgspec

from muster.delegation.folder.footprints import Look
from muster.delegation.following.owner import plain
from muster.regular_files import read_regular

FOLDER: Final = "following"

GIVEN_MAX: Final = 64
"""How many tasks may wait for their subagents to start."""


class Given(msgspec.Struct, frozen=True, kw_only=True):
    """A task that was set, while its subagent has not started."""

    to: str
    text: str
    by: str = ""
    """The subagent that set it; nothing where MAIN did."""


class Subagent(msgspec.Struct, frozen=True, kw_only=True):
    """A subagent that works."""

    conversation: str
    state: str = ""
    """The state that it is; nothing where it is no agent of the session."""

    main: str = ""
    """The conversation for which it was started: its own, or the one beside which that is."""

    giver: str = ""
    """The subagent that handed over to it."""


class Notes(msgspec.Struct, kw_only=True):
    """One session of the program."""

    opened: float = 0.0
    """When the hook began that opened the newest conversation, in seconds since the machine did."""

    given: list[Given] = msgspec.field(default_factory=list[Given])
    subagents: dict[str, Subagent] = msgspec.field(default_factory=dict[str, Subagent])
    background: list[str] = msgspec.field(default_factory=list[str])
    """Subagents that worked on when MAIN had ended its turn."""

    answered: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    """What MAIN said in conversations that were left open for those."""

    looks: dict[str, Look] = msgspec.field(default_factory=dict[str, Look])
    """The files of each conversation's outputs that are on record."""

    def give(self, given: Given) -> None:
        """A task is set."""
        self.given = [*self.given, given][-GIVEN_MAX:]

    def take(self, agent: str) -> list[Given]:
        """The tasks that a subagent which starts may have; one of them is its own, and taken."""
        fitting = [each for each in self.given if each.to == agent]
        if fitting:
            self.given.remove(fitting[0])
        return fitting

    def waits(self, conversation: str, *, newest: bool) -> bool:
        """Whether somebody works for a conversation while MAIN does not. Whoever is not known has
        not started yet, and is for the newest."""
        known = self.subagents
        return any(
            known[each].main == conversation if each in known else newest
            for each in self.background
        )

    def forget(self, conversation: str) -> None:
        """A conversation is closed. Its subagents are still known, in case one of them reports."""
        self.answered.pop(conversation, None)
        self.looks.pop(conversation, None)


class Notebook:
    """The notes in a folder of the home."""

    def __init__(self, home: Path) -> None:
        """The folder is made when there is something to keep."""
        self._folder = home / FOLDER

    def read(self, session: str) -> Notes:
        """What is known of a session; nothing where it was lost."""
        try:
            return msgspec.convert(json.loads(read_regular(self._path(session))), Notes)
        except (OSError, ValueError, RecursionError, msgspec.ValidationError):
            return Notes()

    def write(self, session: str, notes: Notes) -> None:
        """Keep it; where nothing is left to remember, no file is."""
        path = self._path(session)
        if notes == Notes():
            path.unlink(missing_ok=True)
            return
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        # not msgspec's own writer: names of files may have half a surrogate in them
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
        """Forget every session that has nothing open."""
        kept = {self._path(session) for session in sessions}
        for path in self._folder.glob("*.json"):
            if path not in kept:
                path.unlink(missing_ok=True)

    def _path(self, session: str) -> Path:
        return self._folder / f"{plain(session)}.json"
