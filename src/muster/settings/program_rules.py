"""Which settings of an agent belong to which runtime, and what each runtime needs."""

from collections.abc import Mapping, Sequence
from typing import Final, Protocol

from muster.settings.agent_programs import PROGRAM_TABLES, AcpSettings
from muster.settings.policies import POLICIES, PolicySettingError
from muster.settings.process import PROCESS


class ProgramSettings(Protocol):
    """The settings of an agent that say which program it is."""

    @property
    def runtime(self) -> str: ...  # noqa: D102

    @property
    def command(self) -> tuple[str, ...]: ...  # noqa: D102

    @property
    def preset(self) -> str: ...  # noqa: D102

    @property
    def script(self) -> tuple[str, ...]: ...  # noqa: D102

    @property
    def target(self) -> str: ...  # noqa: D102

    @property
    def acp(self) -> AcpSettings: ...  # noqa: D102


NOT_WITH_SCRIPT: Final = ("command", "preset", "prompt", "speaks", "long_lived")
"""Settings of a program that a script replaces."""

_NOT_WITH_PRESET: Final = ("command", "prompt", "speaks", "long_lived")
"""Settings of a program that a preset knows."""

_OF_A_COMMAND: Final = (*NOT_WITH_SCRIPT, "script", "arguments", "stop_signal")

_OF_A_PROCESS: Final = (
    "cwd",
    "confine",
    "sockets",
    "env",
    *(name for name in PROCESS if name not in (*_OF_A_COMMAND, "interrupt_seconds")),
)

_RUN_BY_MUSTER: Final = (
    *_OF_A_COMMAND,
    *_OF_A_PROCESS,
    "workspace",
    "target",
    "wake_check",
    "handover",
    "interrupt_seconds",
    *PROGRAM_TABLES,
    *(name for name in POLICIES if name != "groups"),
)


def _tables_but(runtime: str) -> tuple[str, ...]:
    return tuple(name for name in PROGRAM_TABLES if name != runtime)


_USELESS: Final[Mapping[str, tuple[Sequence[str], str]]] = {
    "command": (
        (*PROGRAM_TABLES, "target"),
        'Remove it, or write runtime = "{name}".',
    ),
    "claude": (
        (*_OF_A_COMMAND, "loop", "target", *_tables_but("claude")),
        "Remove it: muster knows how Claude Code is run.",
    ),
    "codex": (
        (*_OF_A_COMMAND, "loop", "target", *_tables_but("codex")),
        "Remove it: muster knows how Codex is run.",
    ),
    "acp": (
        (*_OF_A_COMMAND[1:], "loop", "target", *_tables_but("acp")),
        "Remove it: the protocol says how such an agent is given prompts.",
    ),
    "python": (
        (*_OF_A_COMMAND, "loop", "moves", *_OF_A_PROCESS, *PROGRAM_TABLES),
        "Remove it: such an agent is no process of its own.",
    ),
    "file": (
        _RUN_BY_MUSTER,
        "Remove it: such an agent starts itself, and follows its state file.",
    ),
}
"""Settings without effect for each runtime, and the remedy."""

_RUNTIME_OF: Final = {"target": "python"}
"""The runtime of a setting that does not have its name."""


def check_program(key: str, agent: ProgramSettings, given: Mapping[str, object]) -> None:
    """Check that an agent has what its runtime needs, and nothing that another one does."""
    _check_needed(key, agent)
    _check_preset(key, agent, given)
    useless, remedy = _USELESS[agent.runtime]
    for one in useless:
        if one in given:
            what = f'{key}.{one} means nothing with runtime = "{agent.runtime}"'
            raise PolicySettingError(one, what, remedy.format(name=_RUNTIME_OF.get(one, one)))


def _check_preset(key: str, agent: ProgramSettings, given: Mapping[str, object]) -> None:
    """Check what goes with a preset of a program, and what needs one."""
    if agent.preset:
        for one in _NOT_WITH_PRESET:
            if one in given:
                what = f"{key}.{one} means nothing beside preset"
                raise PolicySettingError(one, what, "Remove one of them.")
    elif "arguments" in given and agent.runtime == "command":
        what = f"{key}.arguments means nothing without preset"
        raise PolicySettingError("arguments", what, "Write them into command.")


def _check_needed(key: str, agent: ProgramSettings) -> None:
    runtime = agent.runtime
    if runtime == "command" and not (agent.command or agent.script or agent.preset):
        remedy = 'Write command = ["program", "argument"], or another runtime, such as "claude".'
        raise PolicySettingError("", f"{key} has no command", remedy)
    if runtime == "acp" and bool(agent.command) == bool(agent.acp.preset):
        has = "both a command and a preset" if agent.command else "neither a command nor a preset"
        remedy = 'Write acp = { preset = "gemini" }, or command = ["program", "argument"].'
        raise PolicySettingError("", f"{key} has {has}", remedy)
    if runtime == "python":
        module, _, function = agent.target.partition(":")
        names = (*module.split("."), *function.split("."))
        if not all(name.isidentifier() for name in names):
            what = f"{key}.target is {agent.target!r}" if agent.target else f"{key} has no target"
            raise PolicySettingError("target", what, 'Write target = "package.module:function".')
