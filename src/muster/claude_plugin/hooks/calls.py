"""The call of a hook, its answer, and the constants that both ends of the socket use.

`plugin/client.py` imports nothing and has a copy of these constants; a test compares the two.
"""

import os
from pathlib import Path
from typing import Final, NamedTuple, Protocol

import msgspec

POLICY_EVENT: Final = "PreToolUse"
"""The policy hook. If it cannot be answered, its tool call is denied."""

COMMAND_EVENT: Final = "UserPromptExpansion"
"""The hook before a typed command is expanded. If it cannot be answered, it is not expanded."""

REQUEST_EVENT: Final = "PermissionRequest"
"""The hook before the user is asked about a tool call."""

RECORD_EVENT: Final = "PostToolUse"
"""The hook that only records files, after every tool call that writes one."""

STARTER_TOOLS: Final = ("Agent", "Task")
"""Tools that start a subagent."""

RECORD_SECONDS: Final = 10.0
"""Timeout at the end of a process for records that are still being written."""

DENIED: Final = 2
"""The exit code of a hook that denies."""


class HookCall(msgspec.Struct, frozen=True, kw_only=True):
    """One call of a hook, as `claude_plugin/plugin/client.py` sends it."""

    event: str
    project: Path
    token: str = ""
    pid: int = 0
    began: float = 0.0
    """Start time of the hook, in seconds since boot: hooks can overtake each other."""

    data: bytes = b""


class HookAnswer(NamedTuple):
    """Code 0: the text goes to stdout. Code 2: it goes to stderr, and the call is denied."""

    code: int
    text: str


class HookResponder(Protocol):
    """Answers hooks."""

    async def answer(self, call: HookCall) -> HookAnswer:
        """Answer one call, or raise; `answers.answer_safely` turns an exception into a denial."""
        ...

    async def finish(self) -> None:
        """Wait, with a timeout, for records that are still being written."""
        ...


def now() -> float:
    """Seconds since boot; 0 on a system without that clock."""
    try:
        return float(Path("/proc/uptime").read_text(encoding="ascii").split()[0])
    except (OSError, ValueError, IndexError):
        return 0.0


def began_of(pid: int | str = "self") -> float:
    """Start time of a process by the same clock; `exec` does not change it."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
        ticks = int(stat[stat.rindex(b")") + 2 :].split()[19])
        return ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return 0.0
