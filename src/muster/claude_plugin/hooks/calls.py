"""A hook that was called, what it is answered, and who answers."""

import os
from pathlib import Path
from typing import NamedTuple, Protocol

import msgspec


class HookCall(msgspec.Struct, frozen=True, kw_only=True):
    """One call of a hook, as `claude_plugin/plugin/client.py` hands it over."""

    event: str
    project: Path
    token: str = ""
    pid: int = 0
    began: float = 0.0
    """When the hook began, in seconds since the machine did: hooks may overtake each other."""

    data: bytes = b""


class HookAnswer(NamedTuple):
    """Code 0: the text goes to stdout. Code 2: it goes to stderr, and what was asked is denied."""

    code: int
    text: str


class Answering(Protocol):
    """Whoever answers hooks."""

    async def answer(self, call: HookCall) -> HookAnswer:
        """Answer one call."""
        ...


def now() -> float:
    """Seconds since the machine was started; 0 where nobody can tell."""
    try:
        return float(Path("/proc/uptime").read_text(encoding="ascii").split()[0])
    except (OSError, ValueError, IndexError):
        return 0.0


def began_here() -> float:
    """When this very process was started, by the same clock, whatever it has become since."""
    try:
        stat = Path("/proc/self/stat").read_bytes()
        ticks = int(stat[stat.rindex(b")") + 2 :].split()[19])
        return ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return 0.0
