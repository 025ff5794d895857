"""A hook that was called, its answer, and the names that both ends of the socket use.

`plugin/client.py` has its own copy of these names, because it imports nothing; a test compares.
"""

import os
from pathlib import Path
from typing import Final, NamedTuple, Protocol

import msgspec

POLICY_EVENT: Final = "PreToolUse"
"""The hook that decides. If it cannot be answered, the call that it asks about is denied."""

RECORD_EVENT: Final = "PostToolUse"
"""The hook that only records, at every file that is written."""

STARTER_TOOLS: Final = ("Agent", "Task")
"""Tools that start a subagent."""

RECORD_SECONDS: Final = 10.0
"""How long the end of a process waits for records that are still being written."""

DENIED: Final = 2
"""The exit code of a hook that denies."""


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


class HookResponder(Protocol):
    """Answers hooks."""

    async def answer(self, call: HookCall) -> HookAnswer:
        """Answer one call, or raise; `answers.answer_safely` makes a denial of that."""
        ...

    async def finish(self) -> None:
        """Wait, a bounded time, for records that are still being written."""
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
