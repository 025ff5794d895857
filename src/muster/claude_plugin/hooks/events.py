"""What the hooks of Claude Code say, as far as muster relies on it.

All of it is hostile: names, paths and prompts may be anything and of any length. What is needed
must be there and of its kind; fields that nobody knows are passed over.
"""

import json
from typing import Final, TypeVar

import msgspec

from muster.delegation.following.owner import plain

BACKGROUND_MAX: Final = 1000
"""How many tasks in the background are looked at."""


class BadHook(ValueError):
    """The input of a hook is not what such a hook sends; says what is wrong."""


class Hook(msgspec.Struct, frozen=True, kw_only=True):
    """What every hook says. With `agent_id` it comes from a subagent, else from MAIN."""

    session_id: str
    cwd: str = ""
    agent_id: str | None = None
    agent_type: str | None = None

    @property
    def subagent(self) -> str:
        """The id of the subagent that it comes from; nothing for MAIN."""
        return plain(self.agent_id) if self.agent_id else ""


class ToolUseHook(Hook, frozen=True, kw_only=True):
    """PreToolUse: a tool is about to be called."""

    tool_name: str
    tool_input: dict[str, object]


class ToolDoneHook(Hook, frozen=True, kw_only=True):
    """PostToolUse: a tool was called."""

    tool_name: str
    tool_input: dict[str, object]
    tool_response: object = None


class PromptHook(Hook, frozen=True, kw_only=True):
    """UserPromptSubmit: an input has come."""

    prompt: str


class SubagentStartHook(Hook, frozen=True, kw_only=True):
    """A subagent starts."""

    agent_id: str  # pyright: ignore[reportIncompatibleVariableOverride, reportGeneralTypeIssues]
    agent_type: str  # pyright: ignore[reportIncompatibleVariableOverride, reportGeneralTypeIssues]


class SubagentStopHook(SubagentStartHook, frozen=True, kw_only=True):
    """A subagent has stopped."""

    last_assistant_message: str | None = None


class Background(msgspec.Struct, frozen=True, kw_only=True):
    """Something that goes on while MAIN does not."""

    id: str
    type: str = ""
    status: str = ""


class StopHook(Hook, frozen=True, kw_only=True):
    """MAIN has answered."""

    last_assistant_message: str | None = None
    stop_hook_active: bool = False
    background_tasks: list[Background] = []

    @property
    def working(self) -> list[str]:
        """The subagents that work on."""
        return [
            plain(each.id)
            for each in self.background_tasks[:BACKGROUND_MAX]
            if each.type == "subagent" and each.status == "running"
        ]


class SessionStartHook(Hook, frozen=True, kw_only=True):
    """A session of the program begins, goes on, or has cut down what it remembers."""

    source: str = "startup"


class SessionEndHook(Hook, frozen=True, kw_only=True):
    """A session of the program ends."""

    reason: str = ""


Kind = TypeVar("Kind", bound=Hook)


def read(data: bytes, kind: type[Kind]) -> Kind:
    """What a hook says; `BadHook` where it is not what this kind of hook sends."""
    try:
        # not msgspec's own reader: what people type may have half a surrogate in it
        return msgspec.convert(json.loads(data), kind)
    except (ValueError, RecursionError, msgspec.ValidationError) as wrong:
        raise BadHook(f"its input is not as it should be: {wrong}") from None


def whole(text: str | None) -> str:
    """A text in whole characters."""
    return (text or "").encode("utf-8", "replace").decode()
