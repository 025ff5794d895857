"""The text that a model is writing, from the events of its stream. Pure.

Claude Code passes the events of the model's API on. The words of an agent are in a block of text,
or in the arguments of one of muster's tools, whose JSON is not complete yet.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from muster.runtimes.process.lines import END_OF_TURN

StreamedEvent = Mapping[str, Any]  # an event of the model's API, as JSON has it

SPOKEN: Final = {"mcp__muster__turn_complete": "message", "mcp__muster__send_message": "text"}
"""The tools whose arguments are words, and the argument."""

_ESCAPE: Final = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?$")
"""An escape at the end that is not complete."""

_HALF: Final = re.compile(r"[\ud800-\udbff]$")
"""The first half of a character."""


class WrittenText:
    """The block that the model is writing."""

    def __init__(self) -> None:
        """Begin before any block."""
        self._argument: str | None = None
        """The argument with the words, in a block that calls a tool."""

        self._is_speech = False
        self._text = ""

    @property
    def text(self) -> str:
        """The words so far, without lines for muster."""
        if not self._is_speech:
            return ""
        text = self._text if self._argument is None else argument(self._text, self._argument)
        if "TURN_COMPLETE" not in text:
            return text
        lines = (line for line in text.split("\n") if not END_OF_TURN.fullmatch(line.rstrip()))
        return "\n".join(lines).rstrip()

    def take(self, event: StreamedEvent) -> None:
        """Take the next event of the stream."""
        match event:
            case {"type": "content_block_start", "content_block": {"type": "text"}}:
                self._begin(is_speech=True)
            case {"type": "content_block_start", "content_block": {"type": "tool_use", "name": n}}:
                self._begin(is_speech=n in SPOKEN, argument=SPOKEN.get(n))
            case {"type": "content_block_start" | "message_start"}:
                self._begin(is_speech=False)
            case {"type": "content_block_delta", "delta": {"text": str(more)}}:
                self._text += more
            case {"type": "content_block_delta", "delta": {"partial_json": str(more)}}:
                self._text += more
            case _:
                pass

    def _begin(self, *, is_speech: bool, argument: str | None = None) -> None:
        self._is_speech, self._argument, self._text = is_speech, argument, ""


def argument(raw: str, name: str) -> str:
    """A text in the beginning of a JSON object, as far as it has come."""
    found = re.search(rf'"{name}"\s*:\s*"((?:[^"\\]|\\.)*\\?)', raw, re.DOTALL)
    if found is None:
        return ""
    try:
        text: str = json.loads(f'"{_ESCAPE.sub("", found[1])}"', strict=False)
    except ValueError:  # JSON that is wrong, and not only incomplete
        return ""
    return _HALF.sub("", text)
