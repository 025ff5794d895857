"""Programs that run for one piece of work and that muster knows how to run.

Such a program reads a prompt, works, prints what it does, and ends. Nobody can be asked meanwhile:
what its own rules do not allow is denied. Each preset says in a sentence what holds.
"""

from collections.abc import Mapping
from typing import Final

import msgspec
from msgspec.structs import replace

from muster.runtimes.once.dialects import (
    ClaudeDialect,
    CodexDialect,
    Dialect,
    GeminiDialect,
    OpencodeDialect,
)
from muster.settings.agent_programs import OncePreset
from muster.settings.agents import AgentSettings, PromptWay

PROMPT_FILE_ARGUMENT: Final = "{prompt_file}"
"""The argument in a preset's command that stands for the path of the prompt."""


class Once(msgspec.Struct, frozen=True, kw_only=True):
    """How one program is run."""

    label: str
    command: tuple[str, ...]
    install: str
    """The command that installs it."""

    tested: str
    """The version that muster is tested with; empty if only its output was."""

    prompt: PromptWay = "stdin"
    dialect: type[Dialect] | None = None
    """Reads its output; without one its output is what the agent says."""

    variables: Mapping[str, str] = {}
    enforcement: str
    """A sentence about what is enforced, and what is only advice to the program."""

    signed_in: tuple[str, ...] = ()
    """Variables, or files relative to HOME, of which one shows that it is signed in."""


ONCE: Final[Mapping[OncePreset, Once]] = {
    "claude-p": Once(
        label="Claude Code (claude -p)",
        command=("claude", "-p", "--output-format", "stream-json", "--verbose"),
        install="npm install -g @anthropic-ai/claude-code",
        tested="2.1",
        dialect=ClaudeDialect,
        enforcement=(
            "Its own permission rules decide: what they do not allow is denied; nobody is asked."
            ' runtime = "claude" asks.'
        ),
        signed_in=("ANTHROPIC_API_KEY", ".claude/.credentials.json"),
    ),
    "codex-exec": Once(
        label="Codex (codex exec)",
        command=("codex", "exec", "--json", "--skip-git-repo-check", "-"),
        install="npm install -g @openai/codex",
        tested="0.166.0",
        dialect=CodexDialect,
        enforcement=(
            "Its own sandbox is read-only, unless its arguments say --sandbox workspace-write;"
            ' nobody is asked. runtime = "codex" asks.'
        ),
        signed_in=("OPENAI_API_KEY", ".codex/auth.json"),
    ),
    "gemini-p": Once(
        label="Gemini CLI (gemini -p)",
        command=("gemini", "--skip-trust", "--output-format", "stream-json", "-p", ""),
        install="npm install -g @google/gemini-cli",
        tested="0.61.0",
        dialect=GeminiDialect,
        enforcement=(
            "It has no tools that write or run commands, unless its arguments say --approval-mode;"
            ' nobody is asked. acp = { preset = "gemini" } asks.'
        ),
        signed_in=("GEMINI_API_KEY", "GOOGLE_API_KEY", ".gemini/oauth_creds.json"),
    ),
    "opencode-run": Once(
        label="opencode (opencode run)",
        command=("opencode", "run", "--format", "json"),
        install="npm install -g opencode-ai",
        tested="1.18.33",
        dialect=OpencodeDialect,
        variables={
            "OPENCODE_PERMISSION": '{"edit":"ask","bash":"ask"}',
            "OPENCODE_CONFIG_CONTENT": '{"experimental":{"continue_loop_on_deny":true}}',
        },
        enforcement=(
            "Advice only: edits and commands are denied, because nobody is asked."
            ' acp = { preset = "opencode" } asks.'
        ),
        signed_in=(".local/share/opencode/auth.json",),
    ),
    "aider": Once(
        label="aider",
        command=(
            "aider",
            "--yes-always",
            "--no-pretty",
            "--no-stream",
            "--no-check-update",
            "--message-file",
            PROMPT_FILE_ARGUMENT,
        ),
        install="pip install aider-chat",
        tested="",
        prompt="file",
        enforcement=(
            "Nothing: it edits and commits in its working directory without asking. With"
            ' confine = "outputs" the kernel keeps it from that.'
        ),
        signed_in=("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", ".aider.conf.yml"),
    ),
}
"""The presets by name."""


def run_once(agent: AgentSettings) -> AgentSettings:
    """The settings of an agent with a preset, with the program and all that goes with it."""
    preset = ONCE[agent.preset]
    return replace(
        agent,
        command=(*preset.command, *agent.arguments),
        prompt=preset.prompt,
        speaks="output" if preset.dialect is None else "lines",
        env={**preset.variables, **agent.env},
    )
