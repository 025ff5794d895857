"""The usage of a conversation of Claude Code, from the transcripts that it keeps.

Each message of the model tells its tokens: the conversation's own transcript has those of MAIN, and
a file for each subagent has the others. The price is an estimate until the program ends: then it
writes down what it counted itself. The format is the program's own and may change, so a line that
is not understood is skipped.
"""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

from muster.claude_plugin.prices import PricedMessages, usage_of_models
from muster.machines.vocabulary import NOTHING_USED, Usage
from muster.regular_files import open_regular

FILES_MAX: Final = 500
"""Transcripts of subagents that are read; more are left out."""

BYTES_MAX: Final = 64 * 1024 * 1024
"""How much of a transcript is read at once; the rest is read the next time."""

CONVERSATIONS_MAX: Final = 100
"""Conversations whose place in their files is remembered."""

SYNTHETIC: Final = "<synthetic>"
"""The model of messages that the program wrote itself."""

Line = Mapping[str, Any]  # a line of a transcript, as JSON


class Metered(NamedTuple):
    """The usage of a conversation so far, and the model that spoke last."""

    usage: Usage = NOTHING_USED
    model: str = ""


class _Conversation:
    """The transcripts of one conversation, each read up to a place."""

    def __init__(self) -> None:
        self._spent = PricedMessages()
        self._read: dict[Path, int] = {}
        self._exact = NOTHING_USED
        self._model = ""

    def read(self, transcript: Path) -> Metered:
        """Read what is new, and return the sum."""
        helpers = sorted(transcript.with_suffix("").glob("subagents/*.jsonl"))[:FILES_MAX]
        for path in (transcript, *helpers):
            for line in self._new_lines(path):
                self._take(line, is_main=path == transcript)
        found = self._spent.usage
        # The program's own count, once it has counted all of that; other requests are in it, too.
        return Metered(self._exact if self._exact.tokens >= found.tokens else found, self._model)

    def _new_lines(self, path: Path) -> Iterator[Line]:
        try:
            descriptor = open_regular(path)
        except (OSError, ValueError):
            return
        with os.fdopen(descriptor, "rb") as file:
            begin = self._read.get(path, 0)
            file.seek(begin)
            whole, end, _ = file.read(BYTES_MAX).rpartition(b"\n")
        self._read[path] = begin + len(whole) + len(end)
        yield from filter(None, map(_parsed, whole.split(b"\n")))

    def _take(self, line: Line, *, is_main: bool) -> None:
        message = line.get("message")
        if line.get("type") == "cost-state" and is_main:
            models: Mapping[str, Line] = line.get("modelUsage") or {}
            self._spent.learn(models)
            self._exact = usage_of_models(models, line.get("totalCostUSD"))
        elif line.get("type") == "assistant" and isinstance(message, dict):
            self._count(cast("Line", message), is_main=is_main)

    def _count(self, message: Line, *, is_main: bool) -> None:
        model, usage = str(message.get("model") or ""), message.get("usage")
        if model == SYNTHETIC or not isinstance(usage, dict):
            return
        self._model = model if is_main else self._model
        self._spent.count(str(message.get("id") or ""), model, cast("Line", usage))


def _parsed(line: bytes) -> Line | None:
    try:
        found = json.loads(line) if line.strip() else None
    except (ValueError, RecursionError):
        return None
    return cast("Line", found) if isinstance(found, dict) else None


class TranscriptMeter:
    """The usage of conversations by their transcripts. It reads files: call it in a thread."""

    def __init__(self) -> None:
        """Know of no conversation yet."""
        self._known: dict[str, _Conversation] = {}

    def read(self, transcript: str) -> Metered:
        """The usage of the conversation with this transcript; nothing if it cannot be read."""
        if not transcript or "\0" in transcript:
            return Metered()
        known = self._known.pop(transcript, None) or _Conversation()
        self._known[transcript] = known
        while len(self._known) > CONVERSATIONS_MAX:
            del self._known[next(iter(self._known))]
        try:
            return known.read(Path(transcript))
        except (TypeError, AttributeError, OSError):  # the format is not ours
            return Metered()
