"""The `[agents.NAME]` tables of `muster.toml`, loaded and validated.

A table says how an agent is run, not whether: people decide that at any time. Environment variables
cannot define agents: the programs that run on this machine are in the file. A wrong value raises
`BadSettings` with its line and what to write instead.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal, cast

import msgspec

from muster.errors import BadSettings, Refused
from muster.limits import MAX_TURNS_MAX
from muster.machines.documents import Handover
from muster.machines.ids import LEAD_SEAT, name_key
from muster.machines.names import check_agent_name
from muster.machines.state import Team
from muster.machines.vocabulary import RunsFor
from muster.settings.agent_programs import (
    PROGRAM_TABLES,
    AcpSettings,
    ClaudeSettings,
    CodexSettings,
    OncePreset,
)
from muster.settings.file import line_of
from muster.settings.policies import (
    POLICIES,
    DependencyError,
    PolicySettingError,
    check_dependencies,
    check_schedule,
)
from muster.settings.process import PROCESS, BudgetSettings, ProcessSettings
from muster.settings.program_rules import NOT_WITH_SCRIPT, check_program
from muster.settings.programs import (
    ENVIRONMENT_IN_WORDS,
    read_command,
    read_environment,
    refuse_nul,
)
from muster.settings.roles import check_script, check_soul_text
from muster.settings.rules import (
    Rule,
    WrongError,
    converted,
    in_words,
    is_text_kind,
    rule_of,
    shown,
    suggestion,
)

AGENTS: Final = "agents"
"""The table that holds the agents' own."""

ANYBODY: Final = "*"
"""The table for every summoned agent without a table of its own."""

BUDGET: Final = "budget"
CLAUDE: Final = "claude"

STATE_FILE: Final = "agent_state.json"

Confine = Literal["outputs", "worktree", "none"]
"""Where the kernel lets the program of an agent write."""


PromptWay = Literal["stdin", "lines", "file", "none"]
"""How a program gets its prompt."""

WorkspaceKind = Literal["shared", "worktree"]
"""Whether an agent works in a git worktree of its own."""

RuntimeKind = Literal["command", "claude", "codex", "acp", "python", "file"]
"""The kinds of agents."""

LONG_LIVED: Final = frozenset({"claude", "codex", "acp", "python"})
"""The runtimes whose sessions wait for work."""


class AgentSettings(ProcessSettings, frozen=True, kw_only=True):
    """How one agent is run."""

    runtime: Annotated[
        RuntimeKind,
        Rule(
            'Kind of agent: "command" (a program), "claude" (Claude Code), "codex" (Codex), "acp"'
            ' (an agent of the Agent Client Protocol), "python" (a coroutine of yours in muster\'s'
            ' process), "file" (your own loop).'
        ),
    ] = "command"
    command: Annotated[tuple[str, ...], Rule("Program and arguments; no shell is involved.")] = ()
    preset: Annotated[
        OncePreset,
        Rule("A program for one piece of work that muster knows how to run, instead of command."),
    ] = ""
    arguments: Annotated[
        tuple[str, ...], Rule("More arguments for the program of a preset, such as its model.")
    ] = ()
    target: Annotated[
        str, Rule('The coroutine of a "python" agent, such as "package.module:function".')
    ] = ""
    script: Annotated[
        tuple[str, ...],
        Rule(
            "Lines that the agent says, one in each turn, instead of a program or a model; an empty"
            " one passes the turn."
        ),
    ] = ()
    soul: Annotated[
        str, Rule("Soul of the agent, given to it once: an agent that has a soul keeps it.")
    ] = ""
    cwd: Annotated[str | None, Rule("Working directory, relative to the home's parent.")] = None
    env: Annotated[
        Mapping[str, str], Rule("Environment variables, added to muster's own environment.")
    ] = {}
    prompt: Annotated[
        PromptWay,
        Rule(
            "How the prompt is passed: on stdin, as a JSON line on a stdin that stays open for"
            " answers, as a file (MUSTER_PROMPT_FILE), or not at all."
        ),
    ] = "stdin"
    speaks: Annotated[
        Literal["output", "lines"],
        Rule("Which output counts as speech in a turn: everything printed, or only JSON lines."),
    ] = "output"
    long_lived: Annotated[
        bool, Rule("Whether the program waits for work inside its session instead of exiting.")
    ] = False
    confine: Annotated[
        Confine | None,
        Rule(
            'Where it may write, enforced by the kernel: "outputs", "worktree" (and its working '
            'directory), or "none" (everywhere).'
        ),
    ] = None
    sockets: Annotated[
        bool, Rule("Whether a confined program may use Unix sockets, and so reach local daemons.")
    ] = False
    workspace: Annotated[
        WorkspaceKind | None,
        Rule(
            'Where it works: "shared" (its working directory itself), or "worktree" (a git worktree'
            " of its own, whose changes a person merges)."
        ),
    ] = None
    seat: Annotated[
        int | None,
        Rule("Place in the grid; 4 is the lead's. Empty means the next free seat from 9 on.", 0, 8),
    ] = None
    color: Annotated[str, Rule("Colour of the agent in the dashboard.")] = ""
    max_turns: Annotated[
        int, Rule("Number of turns the agent may hold at once.", 1, MAX_TURNS_MAX)
    ] = 1
    description: Annotated[
        str, Rule("What the agent is for; a channel's selector chooses by it.")
    ] = ""
    unasked: Annotated[
        bool, Rule("Whether the agent is granted turns in which there is nothing new for it.")
    ] = False
    wake_check: Annotated[
        bool, Rule("Whether the agent is asked who it is when it wakes, and the answer compared.")
    ] = False
    handover: Annotated[
        Handover,
        Rule(
            "Given to it when it wakes, beside soul and notes: a digest of earlier sessions and"
            " the last transcript (all), the digest alone, the last transcript alone, or neither."
        ),
    ] = Handover.ALL
    state_file: Annotated[
        str | None, Rule("Path of the agent's `agent_state.json`, relative to the home's parent.")
    ] = None
    formerly: Annotated[
        tuple[str, ...],
        Rule("Former names, the last one first: tells a rename from a new agent."),
    ] = ()
    budget: BudgetSettings = BudgetSettings()
    claude: ClaudeSettings = ClaudeSettings()
    acp: AcpSettings = AcpSettings()
    codex: CodexSettings = CodexSettings()

    @property
    def is_long_lived(self) -> bool:
        """Whether the program waits for work inside its session, as Claude Code always does."""
        return self.long_lived or self.runtime in LONG_LIVED or bool(self.script)

    @property
    def reads_lines(self) -> bool:
        """Whether the program reads prompts and answers as JSON lines on its stdin."""
        return self.long_lived or self.prompt == "lines"

    @property
    def runs_for(self) -> RunsFor:
        """The reason for which sessions start.

        A program that is told nothing, or that follows a state file of somebody else, finds its own
        work unless its settings say otherwise.
        """
        if self.loop is not None:
            return RunsFor.LOOP if self.loop else RunsFor.WORK
        if self.preset:
            return RunsFor.WORK
        finds_work = self.is_long_lived or self.state_file is not None or self.prompt == "none"
        return RunsFor.LOOP if finds_work else RunsFor.START

    def cwd_beside(self, home: Path) -> Path:
        """The working directory; the home's parent by default."""
        return home.absolute().parent / (self.cwd or "")

    def state_file_beside(self, home: Path, folder: str) -> Path:
        """The path of the agent's `agent_state.json`; in its folder in the home by default."""
        if self.state_file is None:
            return home.absolute() / AGENTS / folder / STATE_FILE
        return home.absolute().parent / self.state_file

    def env_file_in(self, home: Path) -> Path | None:
        """The path of the agent's file of environment variables, which is seen from the home."""
        return None if self.env_file is None else home.absolute() / self.env_file


_FOR_ONE: Final = ("seat", "state_file", "formerly", "soul")
"""Settings that only one agent can have."""


def expected(key: str) -> str:
    """The allowed values of an agent's setting, in words."""
    if key == "env":
        return ENVIRONMENT_IN_WORDS
    return in_words(_KINDS[key], AGENT_RULES[key])


def read_agents(
    path: Path, text: str, written: object, *, human: str
) -> Mapping[str, AgentSettings]:
    """The agents of the file by name. `written` is the content of its `agents` table."""
    try:
        agents = dict(_agents(written, human))
        _check_dependencies(agents)
    except _MisplacedError as wrong:
        key, what, remedy = (AGENTS, *wrong.place), wrong.what, wrong.remedy
        line, name = line_of(text, key), ".".join(key)
        raise BadSettings(path=path, line=line, what=what, remedy=remedy, key=name) from None
    return agents


def _check_dependencies(agents: Mapping[str, AgentSettings]) -> None:
    try:
        check_dependencies(agents)
    except DependencyError as wrong:
        raise _MisplacedError((wrong.name, "after"), wrong.what, wrong.remedy) from None


class _MisplacedError(WrongError):
    """A wrong value, and its place in the agents' tables."""

    def __init__(self, place: tuple[str, ...], what: str, remedy: str) -> None:
        super().__init__(what, remedy)
        self.place = place


def _agents(written: object, human: str) -> Iterator[tuple[str, AgentSettings]]:
    if not isinstance(written, dict):
        what = f"{AGENTS} is {shown(written)}"
        raise _MisplacedError((), what, "Write [agents.NAME] for each, and its settings below.")
    names: dict[str, str] = {}
    seats: dict[int, str] = {}
    for name, table in cast("dict[str, object]", written).items():
        try:
            agent = _agent(name, table, human)
            _check_unique(name, agent, names, seats)
        except _MisplacedError as wrong:
            raise _MisplacedError((name, *wrong.place), wrong.what, wrong.remedy) from None
        yield name, agent


def _agent(name: str, table: object, human: str) -> AgentSettings:
    if not isinstance(table, dict):
        what = f"agents.{name} is {shown(table)}, not a table"
        remedy = "Write [agents.NAME] with the name of an agent, and its settings below."
        raise _MisplacedError((), what, remedy)
    if name != ANYBODY:
        _check_name(name, human)
    values = dict(_values(name, cast("dict[str, object]", table)))
    for part, kind in _PARTS.items():
        values[part] = kind(**values.get(part, {}))
    agent = AgentSettings(**values)
    _check_whole(name, agent, cast("dict[str, object]", table))
    return agent


def _check_name(name: str, human: str) -> None:
    try:
        check_agent_name(Team(human=human), name)
    except Refused as refused:
        what = f"agents.{name[:64]!r} cannot be: {str(refused)[0].lower()}{str(refused)[1:]}"
        raise _MisplacedError((), what.rstrip("."), "Give it another name.") from None


def _check_unique(
    name: str, agent: AgentSettings, names: dict[str, str], seats: dict[int, str]
) -> None:
    other = names.setdefault(name_key(name), name)
    if other != name:
        what = f"agents.{name} and agents.{other} differ only in case"
        raise _MisplacedError((), what, "Give one of them another name.")
    if agent.seat is None:
        return
    sitting = seats.setdefault(agent.seat, name)
    if sitting != name:
        what = f"{_key(name, 'seat')} is {agent.seat}, where {sitting} sits"
        remedy = "Give one of them another seat, or none: then it gets one from 9 on."
        raise _MisplacedError(("seat",), what, remedy)


def _check_whole(name: str, agent: AgentSettings, given: Mapping[str, object]) -> None:
    """Check settings that depend on each other."""
    alone = ("runtime", "seat", "state_file") if agent.runtime == "file" else _FOR_ONE
    for one in alone:
        if name == ANYBODY and one in given:
            what = f"{_key(name, one)} is for one agent, and {ANYBODY!r} are many"
            raise _MisplacedError((one,), what, "Remove it, or name the agent.")
    _check_role(name, agent, given)
    if agent.runtime == "file" and agent.seat == LEAD_SEAT:
        what = f"{_key(name, 'seat')} is the lead's, and a lead reports births on its output"
        remedy = 'Give it another seat, or write runtime = "command" or "claude".'
        raise _MisplacedError(("seat",), what, remedy)
    try:
        check_program(f"{AGENTS}.{name}", agent, given)
        check_schedule(name, agent, given)
    except PolicySettingError as wrong:
        place = (wrong.setting,) if wrong.setting else ()
        raise _MisplacedError(place, wrong.what, wrong.remedy) from None


def _check_role(name: str, agent: AgentSettings, given: Mapping[str, object]) -> None:
    """Check what an agent says and is told: its script and its soul."""
    for one, check in (("script", check_script), ("soul", check_soul_text)):
        try:
            check(_key(name, one), getattr(agent, one))
        except WrongError as wrong:
            raise _MisplacedError((one,), wrong.what, wrong.remedy) from None
    for one in NOT_WITH_SCRIPT:
        if agent.script and one in given:
            what = f"{_key(name, one)} means nothing beside script"
            raise _MisplacedError((one,), what, "Remove one of them.")


# ── single values ─────────────────────────────────────────────────────────────────────────────────


_PARTS: Final[Mapping[str, type[msgspec.Struct]]] = {BUDGET: BudgetSettings, **PROGRAM_TABLES}
"""The tables inside an agent's own."""


def _kinds() -> Iterator[tuple[str, Any]]:  # any annotation of a field
    fields = msgspec.structs.fields(AgentSettings)
    for field in sorted(fields, key=lambda each: (each.name in POLICIES, each.name in PROCESS)):
        if field.name not in _PARTS:
            yield field.name, field.type
    for part, kind in _PARTS.items():
        for field in msgspec.structs.fields(kind):
            yield f"{part}.{field.name}", field.type


_KINDS: Final[Mapping[str, Any]] = dict(_kinds())
"""Every setting of an agent, and its annotated type."""

AGENT_RULES: Final[Mapping[str, Rule]] = {key: rule_of(kind) for key, kind in _KINDS.items()}
"""Every setting of an agent, and its rule."""


def is_text(key: str) -> bool:
    """Whether an agent's setting is a text, or one of several words."""
    return key.startswith("env.") or (key in _KINDS and is_text_kind(_KINDS[key]))


PATHS: Final = (
    "cwd",
    "state_file",
    "env_file",
    "claude.agents",
    "claude.program",
    "codex.program",
)
"""Settings of an agent that are paths."""

_EXAMPLES: Final = {
    BUDGET: "budget = { sessions_per_hour = 10 }",
    CLAUDE: 'claude = { model = "sonnet" }',
    "acp": 'acp = { preset = "gemini" }',
    "codex": 'codex = { sandbox = "workspace-write" }',
}


def _key(name: str, key: str) -> str:
    return f"{AGENTS}.{name}.{key}"


# The value of any setting; its kind says the type.
def _values(name: str, table: Mapping[str, object]) -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        if key not in _PARTS:
            yield key, _checked(name, key, value)
        elif isinstance(value, dict):
            part = cast("dict[str, object]", value)
            yield key, {each: _checked(name, f"{key}.{each}", what) for each, what in part.items()}
        else:
            what = f"{_key(name, key)} is {shown(value)}"
            raise _MisplacedError((key,), what, f"Write {_EXAMPLES[key]}.")


def _checked(name: str, key: str, value: object) -> object:
    try:
        if key not in _KINDS:
            raise _unknown(name, key)
        if key == "command":
            return read_command(_key(name, key), value)
        if key == "env":
            return read_environment(_key(name, key), value)
        result = converted(_key(name, key), value, _KINDS[key], AGENT_RULES[key])
        return _plain(key, _key(name, key), result) if isinstance(result, str) else result
    except WrongError as wrong:
        raise _MisplacedError(tuple(key.split(".")), wrong.what, wrong.remedy) from None


def _unknown(name: str, key: str) -> WrongError:
    otherwise = f"remove it; an agent has {', '.join(_KINDS)}"
    return WrongError(
        f"there is no setting {_key(name, key)}", suggestion(key, [*_KINDS, *_PARTS], otherwise)
    )


def _plain(key: str, full: str, value: str) -> str:
    refuse_nul(full, value)
    if key not in PATHS:
        return value
    if not value.strip():
        raise WrongError(f"{full} is empty", "Give a path, or remove it for the default.")
    try:
        return str(Path(value).expanduser())
    except RuntimeError:
        remedy = "Write the path without ~."
        raise WrongError(f"{full} is {shown(value)}, and there is no such user", remedy) from None
