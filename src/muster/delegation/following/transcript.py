"""Reads what a program thought, said and called, from the transcript that it keeps of itself.

Claude Code names its transcript in its hooks: one file for MAIN and one for each subagent, a line
of JSON for each message. The format is its own and may change, so a line that is not understood is
skipped; reading is bounded.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from muster.limits import STEPS_BYTES_MAX, STEPS_MAX
from muster.machines.vocabulary import Remark
from muster.regular_files import open_regular

STEP_CHARS: Final = 4000
"""The longest part of one step that is kept: a written file is in the outputs."""


class _Part(msgspec.Struct):
    """A part of a message."""

    type: str = ""
    text: str = ""
    thinking: str = ""
    name: str = ""
    input: object = None


class _Message(msgspec.Struct):
    content: str | list[_Part]


class _Line(msgspec.Struct):
    """A line of a transcript, with the fields that matter."""

    type: str = ""
    is_meta: bool = msgspec.field(name="isMeta", default=False)
    message: _Message | None = None


class TranscriptStep(NamedTuple):
    """One thing that a program did: a thought, a text, or a tool call."""

    kind: Remark
    text: str


def read_steps(path: str, *, since_input: bool = False) -> list[TranscriptStep]:
    """The steps in a transcript, or those since the last input of a person; bounded."""
    lines = list(_lines(path))
    if since_input:
        inputs = [index for index, line in enumerate(lines) if _is_input(line)]
        lines = lines[inputs[-1] + 1 :] if inputs else lines
    steps = [step for line in lines for step in _steps(line)]
    if len(steps) > STEPS_MAX:
        left = len(steps) - STEPS_MAX
        steps = [
            *steps[:STEPS_MAX],
            TranscriptStep(Remark.NOTE, f"{left} more steps are not recorded here."),
        ]
    return steps


def _lines(path: str) -> Iterator[_Line]:
    if not path or "\0" in path:
        return
    try:
        descriptor = open_regular(Path(path))
    except (OSError, ValueError):
        return
    with os.fdopen(descriptor, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - STEPS_BYTES_MAX))
        for line in file.read(STEPS_BYTES_MAX).split(b"\n"):
            try:  # not msgspec's decoder: a text can contain a lone surrogate
                yield msgspec.convert(json.loads(line), _Line)
            except (ValueError, RecursionError, msgspec.ValidationError):
                continue


def _is_input(line: _Line) -> bool:
    """Whether a person said this; results of tools and notices are messages of the user, too."""
    if line.type != "user" or line.is_meta or line.message is None:
        return False
    content = line.message.content
    if isinstance(content, str):
        return not content.startswith("<")
    kinds = {part.type for part in content}
    return "text" in kinds and "tool_result" not in kinds


def _steps(line: _Line) -> Iterator[TranscriptStep]:
    if line.type != "assistant" or line.message is None or isinstance(line.message.content, str):
        return
    for part in line.message.content:
        if part.type == "thinking" and part.thinking.strip():
            yield TranscriptStep(Remark.THINKING, _cut(part.thinking))
        elif part.type == "text" and part.text.strip():
            yield TranscriptStep(Remark.OUTPUT, _cut(part.text))
        elif part.type == "tool_use":
            given = json.dumps(part.input, ensure_ascii=False, indent=2)
            yield TranscriptStep(Remark.TOOL, _cut(f"{part.name}\n{given}"))


def _cut(text: str) -> str:
    text = text.encode("utf-8", "replace").decode()
    return text if len(text) <= STEP_CHARS else text[: STEP_CHARS - 1] + "…"
