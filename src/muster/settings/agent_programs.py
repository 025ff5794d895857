"""The tables of an agent's program inside `[agents.NAME]`: Claude Code, an agent of the Agent
Client Protocol, Codex.
"""

from typing import Annotated, Final, Literal, NamedTuple, get_args

import msgspec

from muster.limits import TURN_SECONDS_MAX
from muster.settings.rules import Rule

Edits = Literal["ask", "allow"]
"""Whether edits of files in the working directory need an approval."""

PermissionMode = Literal["default", "acceptEdits", "plan", "dontAsk"]
"""Claude Code's permission modes, except those without any check."""

AcpPreset = Literal["", "gemini", "opencode", "qwen", "codex-acp", "claude-acp"]
"""Agents of the protocol that muster knows how to run."""


OncePreset = Literal["", "claude-p", "codex-exec", "gemini-p", "opencode-run", "aider"]
"""Programs for one piece of work that muster knows how to run."""


class ApprovalSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How approvals of an agent's program are answered."""

    approval_seconds: Annotated[
        float, Rule("Timeout of an approval request.", 0.1, TURN_SECONDS_MAX)
    ] = 600.0
    approval_default: Annotated[
        Literal["allow", "deny"], Rule("Answer when the approval request times out.")
    ] = "deny"


class ClaudeSettings(ApprovalSettings, frozen=True, kw_only=True):
    """How Claude Code is run."""

    model: Annotated[str, Rule("Model; empty means Claude Code's default.", is_name=True)] = ""
    permission_mode: Annotated[
        PermissionMode,
        Rule("Claude Code's permission mode: what needs no approval."),
    ] = "default"
    allowed_tools: Annotated[
        tuple[str, ...], Rule("Tools allowed without approval, such as Bash(git:*).")
    ] = ()
    disallowed_tools: Annotated[tuple[str, ...], Rule("Tools that are always denied.")] = ()
    tools: Annotated[tuple[str, ...], Rule("Restrict to these tools; empty means all.")] = ()
    agents: Annotated[str, Rule("Folder of agent files to offer as subagents.")] = ""
    setting_sources: Annotated[
        tuple[Literal["user", "project", "local"], ...],
        Rule("Which of Claude Code's own settings files apply."),
    ] = ("user", "project", "local")
    system_prompt: Annotated[str, Rule("Text added to the system prompt, beside the soul.")] = ""
    resume: Annotated[
        bool, Rule("Whether a session resumes the conversation of the previous one.")
    ] = True
    retries: Annotated[
        int, Rule("Retries of a failed model request before the session fails.", 0, 100)
    ] = 2
    program: Annotated[
        str, Rule("Path of another Claude Code program than the one in the extra.")
    ] = ""
    version: Annotated[
        str, Rule("Version that the program must have, such as 2.1.325; empty means any.")
    ] = ""


class AcpSettings(ApprovalSettings, frozen=True, kw_only=True):
    """How an agent that speaks the Agent Client Protocol is run."""

    preset: Annotated[
        AcpPreset, Rule("An agent that muster knows how to run; without one, command says how.")
    ] = ""
    model: Annotated[
        str, Rule("Model of a preset that takes one; empty means its default.", is_name=True)
    ] = ""
    mode: Annotated[
        str,
        Rule(
            "The agent's mode, set at each start; empty means the preset's, or its own.",
            is_name=True,
        ),
    ] = ""
    edits: Annotated[
        Edits,
        Rule("Edits of files in the working directory: an approval for each, or always allowed."),
    ] = "ask"
    resume: Annotated[
        bool, Rule("Whether a session resumes the conversation of the previous one.")
    ] = True


class CodexSettings(ApprovalSettings, frozen=True, kw_only=True):
    """How Codex is run."""

    model: Annotated[str, Rule("Model; empty means Codex's default.", is_name=True)] = ""
    sandbox: Annotated[
        Literal["read-only", "workspace-write"],
        Rule("Codex's own sandbox for its commands: what they may write without an approval."),
    ] = "read-only"
    edits: Annotated[
        Edits,
        Rule("Edits of files in the working directory: an approval for each, or always allowed."),
    ] = "ask"
    resume: Annotated[
        bool, Rule("Whether a session resumes the conversation of the previous one.")
    ] = True
    program: Annotated[str, Rule("Path of the program; empty means codex in the PATH.")] = ""
    config: Annotated[
        tuple[str, ...], Rule("Values of Codex's own configuration, each as key=value.")
    ] = ()


class ProgramChoices(NamedTuple):
    """The settings of a runtime that choose how its program works, by their keys."""

    model: str
    mode: str = ""
    modes: tuple[str, ...] = ()
    """The modes that there are; empty where the program alone knows them."""


PROGRAM_CHOICES: Final = {
    "claude": ProgramChoices("claude.model", "claude.permission_mode", get_args(PermissionMode)),
    "acp": ProgramChoices("acp.model", "acp.mode"),
    "codex": ProgramChoices("codex.model"),
}
"""Model and mode by the runtime that has them."""

IMAGE_RUNTIMES: Final = ("claude",)
"""The runtimes whose programs take images in a prompt."""

PROGRAM_TABLES: Final = {"claude": ClaudeSettings, "acp": AcpSettings, "codex": CodexSettings}
"""The tables by the runtime that they are for."""
