"""Agents of the Agent Client Protocol that muster knows how to run, and what each of them enforces.

The protocol says how an agent asks, not that it asks: an agent may write files and run commands by
itself. What keeps it from that is its mode, its own settings, or the kernel (`confine`). Each
preset says in a sentence what holds.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from muster.runtimes.prompted.private_folder import PrivateFolder
from muster.settings.agent_programs import AcpPreset


class Preset(msgspec.Struct, frozen=True, kw_only=True):
    """How one agent is run."""

    label: str
    command: tuple[str, ...]
    package: str
    """The npm package that has it."""

    tested: str
    """The version that muster is tested with."""

    mode: str = ""
    """The mode in which it asks before it acts."""

    model_option: str = ""
    """The option that names the model."""

    model_variable: str = ""
    """The variable that names the model, where there is no option."""

    auth: str = ""
    """The method by which it is authenticated, where it asks for that."""

    variables: Mapping[str, str] = {}
    session_meta: Mapping[str, object] = {}
    """Values that a conversation is opened with beside the protocol (`_meta`)."""

    own_paths: tuple[str, ...] = ()
    """Folders that it writes itself, relative to HOME."""

    private: PrivateFolder | None = None
    """How it is given a private folder instead of those, if it is confined."""

    sets_modes: bool = False
    """Whether it does not start where it may not set the modes of its own files."""

    writes_by_muster: bool = False
    """Whether its edits are made by muster (`fs/write_text_file`)."""

    loads_next_minute: bool = False
    """Whether it loads a conversation only in another minute than that in which it began."""

    usage_is_total: bool = False
    """Whether the tokens of a result count from the beginning of the conversation on."""

    is_enforced: bool = False
    """Whether an edit cannot happen without muster, if the agent is confined."""

    enforcement: str
    """A sentence about what is enforced, and what is only advice to the agent."""

    signed_in: tuple[str, ...] = ()
    """Variables, or files relative to HOME, of which one shows that it is signed in."""


PRESETS: Final[Mapping[AcpPreset, Preset]] = {
    "gemini": Preset(
        label="Gemini CLI",
        command=("gemini", "--acp"),
        package="@google/gemini-cli",
        tested="0.61.0",
        mode="default",
        model_option="-m",
        variables={"GEMINI_CLI_TRUST_WORKSPACE": "true"},
        own_paths=(".gemini",),
        private=PrivateFolder(
            ".gemini",
            "GEMINI_CLI_HOME",
            names_parent=True,
            linked=("agents", "commands", "extensions", "policies", "skills"),
            credentials=("oauth_creds.json",),
            variables={"GEMINI_PTY_INFO": "child_process"},
        ),
        sets_modes=True,
        writes_by_muster=True,
        loads_next_minute=True,
        is_enforced=True,
        enforcement=(
            "Its edits are made by muster, after an approval. Its shell asks first, which is"
            ' advice: with confine = "outputs" the kernel enforces it.'
        ),
        signed_in=("GEMINI_API_KEY", "GOOGLE_API_KEY", ".gemini/oauth_creds.json"),
    ),
    "qwen": Preset(
        label="Qwen Code",
        command=("qwen", "--acp"),
        package="@qwen-code/qwen-code",
        tested="0.24.4",
        mode="default",
        model_variable="OPENAI_MODEL",
        auth="openai",
        own_paths=(".qwen",),
        private=PrivateFolder(
            ".qwen",
            "QWEN_HOME",
            linked=("agents", "commands", "extensions", "skills"),
            credentials=("oauth_creds.json",),
            defaults=(
                "QWEN_CODE_SYSTEM_DEFAULTS_PATH",
                '{"tools": {"shell": {"enableInteractiveShell": false}}}',
            ),
        ),
        sets_modes=True,
        writes_by_muster=True,
        is_enforced=True,
        enforcement=(
            "Its edits are made by muster, after an approval. Its shell asks first, which is"
            ' advice: with confine = "outputs" the kernel enforces it.'
        ),
        signed_in=("OPENAI_API_KEY", ".qwen/oauth_creds.json"),
    ),
    "opencode": Preset(
        label="opencode",
        command=("opencode", "acp"),
        package="opencode-ai",
        tested="1.18.33",
        variables={"OPENCODE_PERMISSION": '{"edit":"ask","bash":"ask"}'},
        own_paths=(
            ".cache/opencode",
            ".config/opencode",
            ".local/share/opencode",
            ".local/state/opencode",
        ),
        enforcement=(
            "Advice only: it asks before edits and commands, and writes by itself. Confined, the"
            " kernel keeps it to its outputs, and it reports edits elsewhere as failed."
        ),
        signed_in=(".local/share/opencode/auth.json",),
    ),
    "codex-acp": Preset(
        label="Codex (ACP adapter)",
        command=("codex-acp",),
        package="@agentclientprotocol/codex-acp",
        tested="2.6.0",
        mode="read-only",
        own_paths=(".codex",),
        private=PrivateFolder(
            ".codex",
            "CODEX_HOME",
            linked=("prompts", "rules", "skills"),
            credentials=("auth.json",),
        ),
        enforcement=(
            "Its own sandbox keeps commands from writing; edits need an approval. Confined, it runs"
            " no commands: its sandbox cannot start within muster's."
        ),
        signed_in=("OPENAI_API_KEY", ".codex/auth.json"),
    ),
    "claude-acp": Preset(
        label="Claude Code (ACP adapter)",
        command=("claude-agent-acp",),
        package="@agentclientprotocol/claude-agent-acp",
        tested="0.99.1",
        mode="default",
        # Otherwise it could leave its mode for one in which nothing is asked.
        session_meta={"claudeCode": {"options": {"allowDangerouslySkipPermissions": False}}},
        own_paths=(".claude",),
        private=PrivateFolder(
            ".claude",
            "CLAUDE_CONFIG_DIR",
            linked=("agents", "commands", "hooks", "output-styles", "plugins", "rules", "skills"),
            credentials=(".credentials.json",),
        ),
        enforcement=(
            "Advice only: it asks in its mode default, and writes by itself."
            ' runtime = "claude" enforces muster\'s policy by hooks.'
        ),
        signed_in=("ANTHROPIC_API_KEY", ".claude/.credentials.json"),
    ),
}
"""The presets by name."""

OTHER: Final = Preset(
    label="An ACP agent",
    command=(),
    package="",
    tested="",
    enforcement=(
        "Advice only: whether it asks before it acts is up to the agent. With confine the kernel"
        " keeps it to its outputs."
    ),
)
"""An agent that the settings describe."""


def preset_of(name: AcpPreset) -> Preset:
    """The preset of a name; the one for other agents where it is empty."""
    return PRESETS[name] if name else OTHER
