"""A hook that was called, what it is answered, and who answers."""

from pathlib import Path
from typing import NamedTuple, Protocol

import msgspec


class HookCall(msgspec.Struct, frozen=True, kw_only=True):
    """One call of a hook, as `claude_plugin/client.py` hands it over."""

    event: str
    project: Path
    token: str = ""
    pid: int = 0
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
