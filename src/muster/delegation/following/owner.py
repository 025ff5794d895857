"""Keepers: programs that lead a conversation which muster only follows, and who they are.

A keeper stands in the log as a text, `claude:SESSION:PID@STARTED`; a conversation that one of its
subagents has for itself, as the same with `/SUBAGENT` at its end. Pid and start time tell whether
that program still lives; another life of the same session is the same keeper.
"""

import re
from collections.abc import Callable
from hashlib import sha256
from typing import Final, NamedTuple

PROGRAM: Final = "claude"

_PLAIN: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_TEXT: Final = re.compile(r"claude:([^:/]+):(\d+)@([^/]*)(?:/(.+))?")

Lives = Callable[[str], bool]
"""Whether the program of a keeper still runs."""


class Keeper(NamedTuple):
    """A program that leads conversations."""

    session: str
    pid: int = 0
    """0 where nobody knows it: then nobody can tell either that it is gone."""

    started: str = ""
    subagent: str = ""

    def __str__(self) -> str:
        """As it stands in the log."""
        own = f"/{self.subagent}" if self.subagent else ""
        return f"{PROGRAM}:{self.session}:{self.pid}@{self.started}{own}"

    def of(self, subagent: str) -> "Keeper":
        """The same program, for a conversation that a subagent has for itself."""
        return self._replace(subagent=plain(subagent))


def parse(text: str) -> Keeper | None:
    """The keeper that a text names; none where it is that of another kind of program."""
    found = _TEXT.fullmatch(text)
    if found is None:
        return None
    return Keeper(found[1], int(found[2]), found[3], found[4] or "")


def plain(name: str) -> str:
    """An id as it can stand in a keeper and in the name of a file, whatever it is."""
    if _PLAIN.fullmatch(name):
        return name
    return sha256(name.encode(errors="surrogatepass")).hexdigest()[:32]


def nobody_can_tell(keeper: str) -> bool:
    """A keeper counts as alive where nobody has said how to find out."""
    return True
