"""The inputs of Claude Code's hooks, with the fields that muster uses.

All values are hostile: names, paths and prompts can be anything and of any length. A required field
must be there and have its type; unknown fields are ignored.
"""

import json
from typing import Final, TypeVar, cast

import msgspec

from muster import whole_text
from muster.claude_plugin.typed.checking import CommandRefusal
from muster.delegation.following.owner import plain
from muster.identity.waking import DIRECTIONS
from muster.machines.state import MAIN

BACKGROUND_MAX: Final = 1000
"""Background tasks that are read; more are ignored."""


QUIET: Final = ("idle_prompt", "auth_success")
"""Kinds of notifications that are no question."""

_INJECTED: Final = ("<task-notification>", "<agent-message", "<teammate-message")
"""Prefixes of inputs that Claude Code generates itself."""

_COMMANDS: Final = ("/muster:", "/agent-state-machine", *DIRECTIONS)
"""Inputs for muster's own commands, not for MAIN."""


class BadHook(ValueError):
    """An invalid input of a hook; the message says what is wrong."""


class Hook(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of every hook. With `agent_id` it comes from a subagent, else from MAIN."""

    session_id: str
    cwd: str = ""
    transcript_path: str = ""
    agent_id: str | None = None
    agent_type: str | None = None

    @property
    def subagent(self) -> str:
        """The id of the calling subagent; empty for MAIN."""
        return plain(self.agent_id) if self.agent_id else ""


class ToolUseHook(Hook, frozen=True, kw_only=True):
    """PreToolUse: a tool is about to be called."""

    tool_name: str
    tool_input: dict[str, object]


class PermissionRequestHook(ToolUseHook, frozen=True, kw_only=True):
    """PermissionRequest: the user is about to be asked about a tool call."""


class ToolDoneHook(Hook, frozen=True, kw_only=True):
    """PostToolUse: a tool was called."""

    tool_name: str
    tool_input: dict[str, object]
    tool_response: object = None


class PromptHook(Hook, frozen=True, kw_only=True):
    """UserPromptSubmit: a user has submitted a prompt."""

    prompt: str


class ExpansionHook(Hook, frozen=True, kw_only=True):
    """UserPromptExpansion: a typed command is about to be expanded."""

    command_name: str
    refusal: CommandRefusal | None = None
    """The reason not to expand it, which muster itself adds before it asks the desk."""


class SubagentStartHook(Hook, frozen=True, kw_only=True):
    """SubagentStart: a subagent starts."""

    agent_id: str  # pyright: ignore[reportIncompatibleVariableOverride, reportGeneralTypeIssues]
    agent_type: str  # pyright: ignore[reportIncompatibleVariableOverride, reportGeneralTypeIssues]


class SubagentStopHook(SubagentStartHook, frozen=True, kw_only=True):
    """SubagentStop: a subagent has stopped."""

    last_assistant_message: str | None = None
    agent_transcript_path: str = ""


class Background(msgspec.Struct, frozen=True, kw_only=True):
    """A background task, which continues after MAIN has stopped."""

    id: str
    type: str = ""
    status: str = ""


class StopHook(Hook, frozen=True, kw_only=True):
    """Stop: MAIN has answered."""

    last_assistant_message: str | None = None
    stop_hook_active: bool = False
    background_tasks: list[Background] = []

    @property
    def working(self) -> list[str]:
        """The subagents that are still running."""
        return [
            plain(each.id)
            for each in self.background_tasks[:BACKGROUND_MAX]
            if each.type == "subagent" and each.status == "running"
        ]


class NotificationHook(Hook, frozen=True, kw_only=True):
    """Notification: Claude Code wants its user to look."""

    message: str = ""
    notification_type: str = ""

    @property
    def is_question(self) -> bool:
        """Whether it waits for an answer, and not only for the next prompt."""
        return self.notification_type not in QUIET and bool(self.message)


class SessionStartHook(Hook, frozen=True, kw_only=True):
    """SessionStart: Claude Code starts, resumes, or has compacted its context."""

    source: str = "startup"
    model: str = ""


class SessionEndHook(Hook, frozen=True, kw_only=True):
    """SessionEnd: Claude Code ends."""

    reason: str = ""


Kind = TypeVar("Kind", bound=Hook)


def read(data: bytes, kind: type[Kind]) -> Kind:
    """Parse the input of a hook; raises `BadHook` if it is invalid for this kind of hook."""
    try:
        # not msgspec's decoder: typed text can contain a lone surrogate
        return msgspec.convert(json.loads(data), kind)
    except (ValueError, RecursionError, msgspec.ValidationError) as wrong:
        raise BadHook(f"invalid hook input: {wrong}") from None


def whole(text: str | None) -> str:
    """A text without halves of characters; empty where there is none."""
    return whole_text.whole(text or "")


def text_of(fields: object, name: str) -> str:
    """A text field of a tool's input or output, which can be any JSON."""
    if not isinstance(fields, dict):
        return ""
    found = cast("dict[str, object]", fields).get(name)
    return found if isinstance(found, str) else ""


def is_input(text: str) -> bool:
    """Whether the input is a person's message to MAIN."""
    begins = text.lstrip()
    return bool(begins) and not begins.startswith((*_INJECTED, *_COMMANDS))


def handover(hook: ToolUseHook) -> str:
    """The transition that a person is shown when a subagent is started.

    Claude Code shows messages of the hook before a tool in its terminal, of SubagentStart not.
    """
    source = whole(hook.agent_type or "") if hook.subagent else MAIN
    to = hook.tool_input.get("subagent_type")
    return f"[{source} → {whole(to)}]" if isinstance(to, str) else ""
