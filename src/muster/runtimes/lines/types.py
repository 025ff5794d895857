"""The JSON lines that a program writes for muster, by their `type`, and those that it is answered.

A line is one JSON object with a `type`. Lines that no type is known for are text. The version of
these lines grows when a program that knows an older one would misread a newer one; muster tells it
in `MUSTER_LINES`, and a program may say which one it writes (`hello`).
"""

from collections.abc import Mapping
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from muster.engine import ports
from muster.engine.ports import SessionReport
from muster.limits import LINE_ID_CHARS_MAX, LINE_NAME_CHARS_MAX, TURN_SECONDS_MAX
from muster.machines.ids import AnnouncedTurns

LINES_VERSION: Final = 1
LINES_VARIABLE: Final = "MUSTER_LINES"
"""The variable that tells a program the version of the lines that muster reads and writes."""

LineId = Annotated[str, Meta(min_length=1, max_length=LINE_ID_CHARS_MAX)]
LineName = Annotated[str, Meta(min_length=1, max_length=LINE_NAME_CHARS_MAX)]


class InternalReport(SessionReport, frozen=True, kw_only=True):
    """A report for the runtime itself: no listener gets it."""


class Interrupted(InternalReport, frozen=True, kw_only=True):
    """The program has stopped its work after an interrupt. A `turn_complete` or a `result` says the
    same, unless it has the `epoch` of an earlier turn."""


class ToolCallLine(InternalReport, frozen=True, kw_only=True):
    """A tool call begins: it is shown on the agent's page, and is a sign of work."""

    id: LineId
    """The program's id of the call; its result has the same."""

    name: LineName
    input: object = None
    """The arguments: a text, or any JSON."""


class ToolResultLine(InternalReport, frozen=True, kw_only=True):
    """A tool call has ended."""

    id: LineId
    ok: bool = True
    text: str = ""
    """What came of it."""


class ApprovalRequestLine(InternalReport, frozen=True, kw_only=True):
    """Asks a person for permission. The answer is a line on the program's stdin."""

    id: LineId
    """The program's id of the request; the answer has the same."""

    tool: LineName
    """What it wants to use, in a word."""

    detail: str
    """The act in the words of the program; marked as such beside an `input`."""

    seconds: Annotated[float, Meta(ge=1, le=TURN_SECONDS_MAX)] = 600.0
    """How long a person has to answer; after that it is denied."""

    input: Mapping[str, object] = {}
    """The arguments of the tool, such as `command` or `file_path`: shown with their effects."""


class HelloLine(InternalReport, frozen=True, kw_only=True):
    """Says which version of the lines the program writes. Left out, version 1."""

    version: int


class UsageLine(ports.Spending, frozen=True, kw_only=True):
    """The usage of the present piece of work so far; its result tells all of it."""


TYPES: Final[Mapping[str, type[SessionReport]]] = {
    "hello": HelloLine,
    "say": ports.AgentText,
    "partial": ports.PartialText,
    "tool_call": ToolCallLine,
    "tool_result": ToolResultLine,
    "usage": UsageLine,
    "approval_request": ApprovalRequestLine,
    "working": ports.Working,
    "turn_complete": ports.TurnDone,
    "turn_wait": ports.TurnWaits,
    "turn_resume": ports.TurnResumes,
    "raise_hand": ports.HandRaised,
    "result": ports.Result,
    "interrupted": Interrupted,
}
"""The JSON lines that mean something, by their `type`."""


class PromptLine(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="type", tag="prompt"):
    """A prompt: something to do, or to know."""

    text: str
    turns: AnnouncedTurns = {}
    """The turns that it announces: their channels, and the `epoch` of each."""


class ApprovalLine(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="approval"):
    """The answer to a request for approval."""

    id: str
    allowed: bool
    reason: str
    """Who decided, or why nobody did, as a sentence for a model."""

    note: str = ""
    """The words of the person."""


ANSWERS: Final = (PromptLine, ApprovalLine)
"""The lines that muster writes to a program's stdin."""


def line_of(said: PromptLine | ApprovalLine) -> bytes:
    """A line for a program's stdin."""
    return msgspec.json.encode(said) + b"\n"


def sound(text: str) -> str:
    """A text without halves of characters, which are nothing in JSON."""
    return text.encode("utf-8", "replace").decode()
