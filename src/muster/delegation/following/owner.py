"""Keepers: the owner processes of conversations that muster only records.

The log names a keeper as `claude:SESSION:PID@STARTED`, and with `/SUBAGENT` at its end for a
conversation that belongs to one of its subagents. Pid and start time tell whether the process still
runs. A later process that resumes the same session owns the same conversations.
"""

import re
from collections.abc import Callable
from hashlib import sha256
from typing import Final, NamedTuple

PROGRAM: Final = "claude"

_PLAIN: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_TEXT: Final = re.compile(r"claude:([^:/]+):(\d+)@([^/]*)(?:/(.+))?")

IsAlive = Callable[[str], bool]
"""Tells whether the process of a keeper still runs."""


class Keeper(NamedTuple):
    """The process that leads a conversation."""

    session: str
    pid: int = 0
    """0 if unknown: the process then always counts as running."""

    started: str = ""
    subagent: str = ""

    def __str__(self) -> str:
        """The keeper's name in the log."""
        own = f"/{self.subagent}" if self.subagent else ""
        return f"{PROGRAM}:{self.session}:{self.pid}@{self.started}{own}"

    def of(self, subagent: str) -> "Keeper":
        """The same process, as the keeper of a conversation that belongs to a subagent."""
        return self._replace(subagent=plain(subagent))


def parse(text: str) -> Keeper | None:
    """The keeper with this name in the log; None for another kind of program."""
    found = _TEXT.fullmatch(text)
    if found is None:
        return None
    return Keeper(found[1], int(found[2]), found[3], found[4] or "")


def plain(name: str) -> str:
    """An id that is safe in a keeper's name and in a file name; an unsafe one is hashed."""
    if _PLAIN.fullmatch(name):
        return name
    return sha256(name.encode(errors="surrogatepass")).hexdigest()[:32]


def assume_alive(keeper: str) -> bool:
    """Count every keeper as running: the default where processes cannot be checked."""
    return True
