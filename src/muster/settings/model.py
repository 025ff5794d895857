"""Settings: what a user may choose, read once at start, checked, and handed down.

They come from `muster.toml` in the team's home and from `MUSTER_...` variables, which win. Every
mistake is a `BadSettings` that names where it stands and what to write instead. Options of the
command line win over both; that is the command line's affair.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, cast

import msgspec

from muster.errors import BadSettings, BadSource, Refused
from muster.limits import TURN_SECONDS_MAX
from muster.machines.names import check_agent_name
from muster.machines.state import Team
from muster.machines.vocabulary import Allowance, TurnConfig
from muster.settings.agents import AGENTS, AgentSettings, read_agents
from muster.settings.file import line_of, parsed, text_of
from muster.settings.rules import Rule, WrongError, converted, in_words, shown, suggestion

SETTINGS_FILE: Final = "muster.toml"
HOME_FOLDER: Final = ".muster"
HOME_VARIABLE: Final = "MUSTER_HOME"
INBOX_FOLDER: Final = "inboxes"

HEARTBEAT_TIMEOUT_SECONDS: Final = 15.0
"""Three heartbeats of five seconds that did not come."""


class TeamSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Who works here."""

    human: str = "human"
    inboxes: str = ""

    def inboxes_beside(self, home: Path) -> Path:
        """The folder of the inbox files: in the home, unless it says so."""
        if not self.inboxes:
            return home.absolute() / INBOX_FOLDER
        chosen = os.path.expanduser(self.inboxes)  # noqa: PTH111 - Path's own fails without a home
        return home.absolute().parent / chosen


class ServerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Where `muster up` listens."""

    host: str = "127.0.0.1"
    port: int = 6878
    open_browser: bool = True


class PresenceSettings(msgspec.Struct, frozen=True, kw_only=True):
    """When an agent that connects by itself counts as gone."""

    heartbeat_timeout_seconds: float = HEARTBEAT_TIMEOUT_SECONDS


class StoreSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How the log is kept."""

    snapshot_every: int = 20_000  # a fraction of a second of replay after a crash


class DelegationSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How agents that are known by their files only are run on a task."""

    command: tuple[str, ...] = ()
    prompt: Literal["stdin", "file", "none"] = "stdin"
    task_seconds: float = 1800.0  # as the longest turn
    max_cost_usd: float = 0.0
    max_tokens: int = 0

    @property
    def allowance(self) -> Allowance:
        """What one conversation may use up."""
        return Allowance(max_cost_usd=self.max_cost_usd, max_tokens=self.max_tokens)


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a user may choose. Each field is a table of `muster.toml`."""

    team: TeamSettings = TeamSettings()
    server: ServerSettings = ServerSettings()
    presence: PresenceSettings = PresenceSettings()
    turns: TurnConfig = TurnConfig()
    store: StoreSettings = StoreSettings()
    delegation: DelegationSettings = DelegationSettings()
    agents: Mapping[str, AgentSettings] = {}
    """By their names; how each is run. What may stand there is told in `agent_settings.py`."""


def _seconds(about: str) -> Rule:
    return Rule(about, 0.1, TURN_SECONDS_MAX)


RULES: Final[Mapping[str, Rule]] = {
    "team.human": Rule("The name of the person whom the agents work for."),
    "team.inboxes": Rule(
        "The folder of the inbox files, seen from the folder that holds the home; "
        "nothing is `inboxes` in the home."
    ),
    "server.host": Rule(
        "The address to listen on; others than this machine reach it only if you say so."
    ),
    "server.port": Rule("The port to listen on; 0 picks a free one.", 0, 65535),
    "server.open_browser": Rule(
        "Whether `muster up` opens the dashboard, on a terminal with a screen."
    ),
    "presence.heartbeat_timeout_seconds": _seconds(
        "An agent that connects by itself and is not heard of for this long is OFFLINE."
    ),
    "turns.default_timeout_seconds": _seconds(
        "A turn without a sign of work is taken away after this long."
    ),
    "turns.human_interrupt_mode": Rule("What a person's message does to a turn in progress."),
    "turns.announce_timeouts": Rule("Whether a channel is told that a turn timed out."),
    "turns.announce_disconnects": Rule("Whether a channel is told that a member is gone."),
    "turns.auto_detect_turn_end": Rule("Whether silence after a post ends the turn."),
    "turns.auto_detect_silence_seconds": _seconds("How long that silence is."),
    "turns.wait_timeout_seconds": _seconds(
        "How long a holder may wait for something before it forfeits."
    ),
    "turns.max_turn_seconds": _seconds("The longest turn, whatever signs of work there are."),
    "turns.interrupt_hold_seconds": _seconds(
        "A turn that a person interrupted goes on after this silence."
    ),
    "turns.rest_after_idle_rounds": Rule(
        "A channel rests after this many whole rounds without a post.", 1, 1_000_000
    ),
    "turns.max_cost_usd": Rule(
        "What all turns in a channel may cost together, in dollars; 0 is no limit.", 0, 1_000_000
    ),
    "turns.max_tokens": Rule(
        "How many tokens all turns in a channel may use together; 0 is no limit.", 0, 10**15
    ),
    "store.snapshot_every": Rule(
        "A snapshot is kept each time this many events were added.", 100, 10_000_000
    ),
    "delegation.command": Rule(
        "The program that runs an agent on a task, where the agent has no table of its own."
    ),
    "delegation.prompt": Rule(
        "How it gets the task: on stdin, as a file in MUSTER_PROMPT_FILE, or not."
    ),
    "delegation.task_seconds": _seconds("How long an agent may work on a task."),
    "delegation.max_cost_usd": Rule(
        "What one conversation may cost, in dollars; 0 is no limit.", 0, 1_000_000
    ),
    "delegation.max_tokens": Rule(
        "How many tokens one conversation may use; 0 is no limit.", 0, 10**15
    ),
}


class Setting(NamedTuple):
    """One setting, as it can be written in `muster.toml` or in a variable."""

    key: str
    kind: Any  # whatever a field may be annotated with; msgspec reads it
    default: object
    rule: Rule

    @property
    def variable(self) -> str:
        """The environment variable that overrides it."""
        return "MUSTER_" + self.key.replace(".", "_").upper()

    @property
    def expected(self) -> str:
        """What may be written, in words."""
        return in_words(self.kind, self.rule)


def _all_settings() -> Iterator[Setting]:
    for table in msgspec.structs.fields(Settings):
        if table.name != AGENTS:
            for field in msgspec.structs.fields(table.type):
                key = f"{table.name}.{field.name}"
                yield Setting(key, field.type, field.default, RULES[key])


SETTINGS: Final[Mapping[str, Setting]] = {setting.key: setting for setting in _all_settings()}
"""Every setting by its dotted key; the starter file and the docs go by it."""

TABLES: Final = tuple(
    field.name for field in msgspec.structs.fields(Settings) if field.name != AGENTS
)
"""The tables of fixed settings; a variable can override what stands in one of these."""


def find_home(chosen: Path | None, environ: Mapping[str, str]) -> Path:
    """The team's home: the one chosen, else `MUSTER_HOME`, else `.muster` in this folder."""
    return Path(chosen or environ.get(HOME_VARIABLE) or HOME_FOLDER).absolute()


def load_settings(home: Path, environ: Mapping[str, str]) -> Settings:
    """Read what the user chose for the team in `home`; what nobody chose has its default."""
    path = home / SETTINGS_FILE
    text = text_of(path)
    document = {} if text is None else parsed(path, text)
    written = document.pop(AGENTS, {})
    chosen = dict(_from_file(path, text or "", document))
    chosen.update(_from_environment(environ))
    settings = _build(chosen)
    agents = read_agents(path, text or "", written, human=settings.team.human)
    return msgspec.structs.replace(settings, agents=agents)


def _build(chosen: Mapping[str, object]) -> Settings:
    tables: dict[str, dict[str, object]] = {table: {} for table in TABLES}
    for key, value in chosen.items():
        table, name = key.split(".")
        tables[table][name] = value
    plain = Settings()
    return msgspec.structs.replace(
        plain,
        **{
            table: msgspec.structs.replace(getattr(plain, table), **values)
            for table, values in tables.items()
        },
    )


# ── where settings come from ──────────────────────────────────────────────────────────────────────


def _from_file(
    path: Path, text: str, document: Mapping[str, object]
) -> Iterator[tuple[str, object]]:
    for key, value in _entries(document):
        try:
            yield key, _checked(key, value, strict=True)
        except WrongError as wrong:
            line = line_of(text, tuple(key.split(".")))
            raise BadSettings(path=path, line=line, what=wrong.what, remedy=wrong.remedy) from None


def _entries(document: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """Every dotted key in the file with its value; a table where none belongs counts as a value."""
    for table, content in document.items():
        if table in TABLES and isinstance(content, dict):
            for name, value in cast("dict[str, object]", content).items():
                yield f"{table}.{name}", value
        else:
            yield table, content


def _from_environment(environ: Mapping[str, str]) -> Iterator[tuple[str, object]]:
    """Only variables named after a table are ours: programs around muster have theirs."""
    keys = {setting.variable: setting.key for setting in SETTINGS.values()}
    prefixes = tuple(f"MUSTER_{table.upper()}_" for table in TABLES)
    for variable in sorted(name for name in environ if name.startswith(prefixes)):
        if variable not in keys:
            what, remedy = "there is no such setting", suggestion(variable, keys, "unset it")
            raise BadSource(path=variable, line=0, what=what, remedy=remedy)
        key = keys[variable]
        try:
            yield key, _checked(key, _listed(key, environ[variable]), strict=False)
        except WrongError as wrong:
            raise BadSource(path=variable, line=0, what=wrong.what, remedy=wrong.remedy) from None


def _listed(key: str, text: str) -> object:
    """What a variable says: a list is written in it as words are at a command line."""
    if not isinstance(SETTINGS[key].default, tuple):
        return text
    import shlex  # seldom needed

    try:
        return shlex.split(text)
    except ValueError as wrong:
        raise WrongError(f"{key} is {shown(text)}", f"Close its quotes ({wrong}).") from None


# ── what may be written ───────────────────────────────────────────────────────────────────────────


def _checked(key: str, value: object, *, strict: bool) -> object:
    setting = SETTINGS.get(key)
    if setting is None:
        raise _unknown(key)
    result: object = converted(key, value, setting.kind, setting.rule, strict=strict)
    if key == "team.human":
        _check_human(str(result))
    return result


def _check_human(name: str) -> None:
    """A person is spoken to by name, so the rules for names hold, in a team without anybody yet."""
    try:
        check_agent_name(Team(human=""), name)
    except Refused as refused:
        raise WrongError(f"team.human is {shown(name)}", f"{refused}") from None


def _unknown(key: str) -> WrongError:
    if key in TABLES:
        return WrongError(f"{key} is a table", f"Write [{key}], and its settings below.")
    known = [*SETTINGS, *TABLES, AGENTS]
    tables = ", ".join(f"[{table}]" for table in (*TABLES, f"{AGENTS}.NAME"))
    otherwise = f"remove it; the tables are {tables}"
    return WrongError(f"there is no setting {key}", suggestion(key, known, otherwise))
