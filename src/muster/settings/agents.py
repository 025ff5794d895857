"""The agents of `muster.toml`: one table `[agents.NAME]` each, read and checked.

A table says how an agent is run, not whether: that is for people to say at any time. Variables do
not reach agents: what runs on this machine stands in the file. As with all settings, a mistake is
a `BadSettings` that names its line and what to write instead.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, cast

import msgspec

from muster.errors import BadSettings, Refused
from muster.limits import MAX_TURNS_MAX, TURN_SECONDS_MAX
from muster.machines.ids import name_key
from muster.machines.names import check_agent_name
from muster.machines.state import Team
from muster.settings.file import line_of
from muster.settings.rules import Rule, WrongError, converted, in_words, shown, suggestion

AGENTS: Final = "agents"
"""The table that holds the agents' own."""

ANYBODY: Final = "*"
"""Stands for everybody whom SUMMON brings to life and who has no table of its own."""

BUDGET: Final = "budget"
CLAUDE: Final = "claude"

STATE_FILE: Final = "agent_state.json"

OUR_VARIABLES: Final = "MUSTER_"
"""What variables begin with that muster itself sets for a session."""


class BudgetSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How much an agent may use up. Whoever reaches a limit is paused, with the reason as note."""

    sessions_per_hour: int | None = None
    session_seconds: float | None = None
    failures: int | None = None
    cost_usd: float | None = None
    tokens: int | None = None
    session_cost_usd: float | None = None
    session_tokens: int | None = None


class ClaudeSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How Claude Code is run."""

    model: str = ""
    permission_mode: Literal["default", "acceptEdits", "plan", "dontAsk"] = "default"
    allowed_tools: tuple[str, ...] = ()
    disallowed_tools: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    agents: str = ""
    setting_sources: tuple[Literal["user", "project", "local"], ...] = ("user", "project", "local")
    system_prompt: str = ""
    resume: bool = True
    retries: int = 2
    approval_seconds: float = 600.0
    approval_default: Literal["allow", "deny"] = "deny"
    program: str = ""


class AgentSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How one agent is run."""

    runtime: Literal["command", "claude", "file"] = "command"
    command: tuple[str, ...] = ()
    cwd: str | None = None
    env: Mapping[str, str] = {}
    prompt: Literal["stdin", "file", "none"] = "stdin"
    speaks: Literal["output", "lines"] = "output"
    long_lived: bool = False
    seat: int | None = None
    color: str = ""
    max_turns: int = 1
    state_file: str | None = None
    interrupt_seconds: float = 2.0
    terminate_seconds: float = 5.0
    output_files: int = 16
    budget: BudgetSettings = BudgetSettings()
    claude: ClaudeSettings = ClaudeSettings()

    @property
    def lives_on(self) -> bool:
        """Whether it waits for work inside its session, as Claude Code always does."""
        return self.long_lived or self.runtime == "claude"

    def cwd_beside(self, home: Path) -> Path:
        """The folder that its program works in; the one that holds the home, unless it says so."""
        return home.absolute().parent / (self.cwd or "")

    def state_file_beside(self, home: Path, name: str) -> Path:
        """Its `agent_state.json`: in its folder in the home, unless it says so."""
        if self.state_file is None:
            return home.absolute() / AGENTS / name / STATE_FILE
        return home.absolute().parent / self.state_file


AGENT_RULES: Final[Mapping[str, Rule]] = {
    "runtime": Rule(
        'Who runs it: muster its "command", or "claude" for Claude Code; or itself by obeying '
        'its state "file".'
    ),
    "command": Rule("The program and its arguments; no shell reads them."),
    "cwd": Rule("The folder it works in, seen from the folder that holds the home."),
    "env": Rule("Variables that it gets besides muster's own environment."),
    "prompt": Rule("How it gets its prompt: on stdin, as a file in MUSTER_PROMPT_FILE, or not."),
    "speaks": Rule("What it says in its turn: all that it prints, or only what its JSON lines do."),
    "long_lived": Rule("Whether it waits for work inside its session instead of ending."),
    "seat": Rule("Its place in the grid; 4 makes it the lead. Without one, from 9 on.", 0, 8),
    "color": Rule("The colour it is shown in."),
    "max_turns": Rule("How many turns it may hold at once.", 1, MAX_TURNS_MAX),
    "state_file": Rule("Its `agent_state.json`, seen from the folder that holds the home."),
    "interrupt_seconds": Rule("Stop now: how long it has after an interrupt.", 0, 3600),
    "terminate_seconds": Rule("Stop now: how long it then has before it is killed.", 0, 3600),
    "output_files": Rule("How many files of 64 MiB of its output are kept.", 1, 10_000),
    "budget.sessions_per_hour": Rule("Sessions in an hour before it is paused.", 1, 1_000_000),
    "budget.session_seconds": Rule(
        "How long a session may last before it is stopped and the agent paused.",
        0.1,
        TURN_SECONDS_MAX,
    ),
    "budget.failures": Rule("Failures in a row before it is paused.", 1, 1_000_000),
    "budget.cost_usd": Rule(
        "What it may cost in dollars, from the moment that a person starts it.", 0, 1_000_000
    ),
    "budget.tokens": Rule(
        "How many tokens it may use, from the moment that a person starts it.", 1, 10**15
    ),
    "budget.session_cost_usd": Rule("What one session may cost in dollars.", 0, 1_000_000),
    "budget.session_tokens": Rule("How many tokens one session may use.", 1, 10**15),
    "claude.model": Rule("The model; nothing is the program's own choice."),
    "claude.permission_mode": Rule("What it may do without asking a person."),
    "claude.allowed_tools": Rule("Tools that it may use without asking, such as Bash(git:*)."),
    "claude.disallowed_tools": Rule("Tools that it may never use."),
    "claude.tools": Rule("The only tools that it has; nothing is all of them."),
    "claude.agents": Rule("A folder of agent files that it gets as subagents."),
    "claude.setting_sources": Rule("Which of Claude Code's own settings count for it."),
    "claude.system_prompt": Rule("What stands in its system prompt besides its soul."),
    "claude.resume": Rule("Whether a session goes on with the conversation of the last one."),
    "claude.retries": Rule("How often its model is asked again before the session fails.", 0, 100),
    "claude.approval_seconds": Rule(
        "How long a person has to allow or deny what it asks for.", 0.1, TURN_SECONDS_MAX
    ),
    "claude.approval_default": Rule("What holds when nobody has answered by then."),
    "claude.program": Rule("Another Claude Code than the one that comes with the extra."),
}

_FOR_ONE: Final = ("seat", "state_file")
"""What cannot stand for many agents at once."""

_OF_A_COMMAND: Final = ("command", "prompt", "speaks", "long_lived")

_RUN_BY_MUSTER: Final = (
    *_OF_A_COMMAND,
    "cwd",
    "env",
    "interrupt_seconds",
    "terminate_seconds",
    "output_files",
    CLAUDE,
)

_USELESS: Final[Mapping[str, tuple[Sequence[str], str]]] = {
    "command": ((CLAUDE,), 'Take it away, or write runtime = "claude".'),
    "claude": (_OF_A_COMMAND, "Take it away: muster knows how Claude Code is run."),
    "file": (
        _RUN_BY_MUSTER,
        "Take it away: such an agent starts itself, and obeys its state file.",
    ),
}
"""What means nothing for each kind of agent, and what to do about it."""


def expected(key: str) -> str:
    """What may be written for a setting of an agent, in words."""
    if key == "env":
        return 'a table of texts, such as { NAME = "value" }'
    return in_words(_KINDS[key], AGENT_RULES[key])


def read_agents(
    path: Path, text: str, written: object, *, human: str
) -> Mapping[str, AgentSettings]:
    """The agents that the file describes, by their names. `written` is what stands in `agents`."""
    try:
        return dict(_agents(written, human))
    except _MisplacedError as wrong:
        line = line_of(text, (AGENTS, *wrong.place))
        raise BadSettings(path=path, line=line, what=wrong.what, remedy=wrong.remedy) from None


class _MisplacedError(WrongError):
    """A mistake, and where in the agents' tables it stands."""

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
        what = f"agents.{name} and agents.{other} have the same name but for its case"
        raise _MisplacedError((), what, "Give one of them another name.")
    if agent.seat is None:
        return
    sitting = seats.setdefault(agent.seat, name)
    if sitting != name:
        what = f"{_key(name, 'seat')} is {agent.seat}, where {sitting} sits"
        remedy = "Give one of them another seat, or none: then it gets one from 9 on."
        raise _MisplacedError(("seat",), what, remedy)


def _check_whole(name: str, agent: AgentSettings, given: Mapping[str, object]) -> None:
    """What no setting alone can be wrong about."""
    alone = ("runtime", "seat", "state_file") if agent.runtime == "file" else _FOR_ONE
    for one in alone:
        if name == ANYBODY and one in given:
            what = f"{_key(name, one)} is for one agent, and {ANYBODY!r} are many"
            raise _MisplacedError((one,), what, "Take it away, or name the agent.")
    if agent.runtime == "command" and not agent.command:
        what = f"agents.{name} has no command"
        remedy = 'Write command = ["program", "argument"], or runtime = "claude" or "file".'
        raise _MisplacedError((), what, remedy)
    useless, remedy = _USELESS[agent.runtime]
    for one in useless:
        if one in given:
            what = f'{_key(name, one)} means nothing with runtime = "{agent.runtime}"'
            raise _MisplacedError((one,), what, remedy)


# ── single values ─────────────────────────────────────────────────────────────────────────────────


_PARTS: Final[Mapping[str, type[BudgetSettings | ClaudeSettings]]] = {
    BUDGET: BudgetSettings,
    CLAUDE: ClaudeSettings,
}
"""The tables inside an agent's own."""


def _kinds() -> Iterator[tuple[str, Any]]:  # whatever a field may be annotated with
    for field in msgspec.structs.fields(AgentSettings):
        if field.name not in _PARTS:
            yield field.name, field.type
    for part, kind in _PARTS.items():
        for field in msgspec.structs.fields(kind):
            yield f"{part}.{field.name}", field.type


_KINDS: Final[Mapping[str, Any]] = dict(_kinds())
"""Every setting of an agent, and what it holds."""


_EXAMPLES: Final = {
    BUDGET: "budget = { sessions_per_hour = 10 }",
    CLAUDE: 'claude = { model = "sonnet" }',
}


def _key(name: str, key: str) -> str:
    return f"{AGENTS}.{name}.{key}"


# A value of whichever setting: what it is, its kind says.
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
            return _command(_key(name, key), value)
        if key == "env":
            return _environment(_key(name, key), value)
        result = converted(_key(name, key), value, _KINDS[key], AGENT_RULES[key])
        return _plain(key, _key(name, key), result) if isinstance(result, str) else result
    except WrongError as wrong:
        raise _MisplacedError(tuple(key.split(".")), wrong.what, wrong.remedy) from None


def _unknown(name: str, key: str) -> WrongError:
    otherwise = f"take it away; an agent has {', '.join(_KINDS)}"
    return WrongError(
        f"there is no setting {_key(name, key)}", suggestion(key, [*_KINDS, *_PARTS], otherwise)
    )


def _command(key: str, value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        what = f"{key} is {shown(value)}, but no shell reads it"
        raise WrongError(what, f"Write command = {_as_list(value)}.")
    command: tuple[str, ...] = converted(key, value, tuple[str, ...], AGENT_RULES["command"])
    if not command or not command[0].strip():
        remedy = 'Write command = ["program", "argument"].'
        raise WrongError(f"{key} names no program", remedy)
    for argument in command:
        _refuse_nul(key, argument)
    return command


def _as_list(line: str) -> str:
    """A command line as the list that means the same."""
    import shlex  # only mistakes need it

    try:
        words = shlex.split(line)
    except ValueError:
        words = []
    if any(sign in line for sign in "|&;<>$`*?\n"):
        words = ["sh", "-c", line]
    return msgspec.json.encode(words or ["program", "argument"]).decode().replace('","', '", "')


def _environment(key: str, value: object) -> Mapping[str, str]:
    if not isinstance(value, dict):
        raise WrongError(f"{key} is {shown(value)}", f"Give {expected('env')}.")
    for variable, content in cast("dict[str, object]", value).items():
        _check_variable(key, variable, content)
    return cast("dict[str, str]", value)


def _check_variable(key: str, variable: str, content: object) -> None:
    here = f"{key}.{variable}"
    if not isinstance(content, str):
        text = shown(content) if isinstance(content, bool | int | float) else ""
        raise WrongError(f"{here} is {shown(content)}", f'Write {variable} = "{text}".')
    if not variable or "=" in variable or "\0" in variable:
        raise WrongError(f"{key} has a variable {variable!r}", "Give it a plain name.")
    if variable.startswith(OUR_VARIABLES):
        raise WrongError(f"{here} is muster's own to set", "Give the variable another name.")
    _refuse_nul(here, content)


def _plain(key: str, full: str, value: str) -> str:
    _refuse_nul(full, value)
    if key not in ("cwd", "state_file", "claude.agents", "claude.program"):
        return value
    if not value.strip():
        raise WrongError(f"{full} is empty", "Give a path, or take it away for the default.")
    try:
        return str(Path(value).expanduser())
    except RuntimeError:
        remedy = "Write the path without ~."
        raise WrongError(f"{full} is {shown(value)}, and nobody is called so", remedy) from None


def _refuse_nul(key: str, value: str) -> None:
    if "\0" in value:
        raise WrongError(f"{key} has a NUL byte in it", "Take \\u0000 away: no program can get it.")
