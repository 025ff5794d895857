"""The messages of Claude Code, as records. Pure.

Only what muster reads of them is here. A message or a block of a kind that is not known is left
out: a newer program says more than an older one.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from muster.runtimes.prompted.json_lines import JsonObject

Data = Mapping[str, Any]  # what the program says, as JSON has it
Content = Any  # what a tool gives back: a text, or blocks


class _Block(msgspec.Struct, frozen=True, kw_only=True):
    pass


class TextBlock(_Block, frozen=True, kw_only=True):
    """A piece of text."""

    text: str


class ThinkingBlock(_Block, frozen=True, kw_only=True):
    """The model thinks; nobody is told what."""


class ToolUseBlock(_Block, frozen=True, kw_only=True):
    """A call of a tool."""

    id: str
    name: str
    input: Data = {}


class ToolResultBlock(_Block, frozen=True, kw_only=True):
    """The result of a call."""

    tool_use_id: str
    content: Content = None
    is_error: bool | None = None


Block = TextBlock | ThinkingBlock | ToolUseBlock | ToolResultBlock

_BLOCKS: Final[Mapping[str, type[Block]]] = {
    "text": TextBlock,
    "thinking": ThinkingBlock,
    "redacted_thinking": ThinkingBlock,
    "tool_use": ToolUseBlock,
    "server_tool_use": ToolUseBlock,
    "tool_result": ToolResultBlock,
}
_SERVER_RESULT: Final = "_tool_result"
"""How the types of results of tools end that the model server runs itself."""


class AssistantMessage(msgspec.Struct, frozen=True, kw_only=True):
    """The model says something, or calls tools."""

    content: tuple[Block, ...]
    model: str = ""
    message_id: str = ""
    usage: Data | None = None
    parent_tool_use_id: str | None = None
    """The call that started the helper that says it; None for the agent itself."""


class ToolResults(msgspec.Struct, frozen=True, kw_only=True):
    """The results of calls, which the model is told in the name of the user."""

    content: tuple[ToolResultBlock, ...]
    parent_tool_use_id: str | None = None


class SystemMessage(msgspec.Struct, frozen=True, kw_only=True):
    """The program itself has something to say."""

    subtype: str
    data: Data


class StreamEvent(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of what the model is writing, as its server sends it."""

    event: Data
    parent_tool_use_id: str | None = None


class ResultMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of work is over."""

    subtype: str = ""
    is_error: bool = False
    result: str | None = None
    errors: tuple[str, ...] | None = None
    session_id: str = ""
    stop_reason: str | None = None
    terminal_reason: str | None = None
    api_error_status: int | None = None
    origin: Data | None = None
    total_cost_usd: float | None = None
    usage: Data | None = None
    model_usage: Mapping[str, Data] | None = msgspec.field(name="modelUsage", default=None)


ClaudeMessage = AssistantMessage | ToolResults | SystemMessage | StreamEvent | ResultMessage


class _Said(msgspec.Struct, frozen=True):
    """The message within a message, as the model server has it."""

    content: str | list[JsonObject]
    model: str = ""
    id: str = ""
    usage: Data | None = None


class _Speech(msgspec.Struct, frozen=True):
    message: _Said
    parent_tool_use_id: str | None = None


def message_of(wired: JsonObject) -> ClaudeMessage | None:
    """The message in a line of the program; None for a kind that muster does not read.

    Raises `msgspec.ValidationError` for one that is not as its kind is.
    """
    match wired.get("type"):
        case "assistant":
            return _assistant(msgspec.convert(wired, _Speech))
        case "user":
            return _results(msgspec.convert(wired, _Speech))
        case "result":
            return msgspec.convert(wired, ResultMessage)
        case "stream_event":
            return msgspec.convert(wired, StreamEvent)
        case "system":
            return SystemMessage(subtype=str(wired.get("subtype")), data=wired)
        case "command_lifecycle" | "conversation_reset" as kind:
            return SystemMessage(subtype=kind, data=wired)
        case _:
            return None


def _assistant(speech: _Speech) -> AssistantMessage:
    said = speech.message
    return AssistantMessage(
        content=_blocks(said.content),
        model=said.model,
        message_id=said.id,
        usage=said.usage,
        parent_tool_use_id=speech.parent_tool_use_id,
    )


def _results(speech: _Speech) -> ToolResults:
    blocks = _blocks(speech.message.content)
    return ToolResults(
        content=tuple(each for each in blocks if isinstance(each, ToolResultBlock)),
        parent_tool_use_id=speech.parent_tool_use_id,
    )


def _blocks(content: str | list[JsonObject]) -> tuple[Block, ...]:
    if isinstance(content, str):
        return (TextBlock(text=content),)
    known = ((each, _kind(str(each.get("type")))) for each in content)
    return tuple(msgspec.convert(each, kind) for each, kind in known if kind is not None)


def _kind(name: str) -> type[Block] | None:
    return _BLOCKS.get(name) or (ToolResultBlock if name.endswith(_SERVER_RESULT) else None)
