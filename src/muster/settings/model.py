"""Settings of a team: loaded and validated once at the start, then handed down frozen.

They come from `muster.toml` in the team's home and from `MUSTER_...` variables, which win. A wrong
value raises `BadSettings` with its place and what to write instead. Options of the command line
override both; the command line sees to that.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NamedTuple, cast

import msgspec

from muster.errors import BadSettings, BadSource, Refused
from muster.limits import TURN_SECONDS_MAX
from muster.machines.identity.palette import appearance
from muster.machines.ids import GRID_SEATS, SeatId
from muster.machines.names import check_human_name
from muster.machines.vocabulary import Allowance, Placeholder, TurnConfig
from muster.settings.agents import AGENTS, AgentSettings, Confine, WorkspaceKind, read_agents
from muster.settings.channels import CHANNELS, ChannelSettings, Known, read_channels
from muster.settings.file import line_of, parsed, text_of
from muster.settings.notify import (
    NOTIFY,
    NotifySettings,
    PushSettings,
    TelemetrySettings,
    read_notify,
)
from muster.settings.process import Isolate
from muster.settings.roles import check_births
from muster.settings.rules import (
    Rule,
    WrongError,
    check_database,
    check_public_url,
    check_trusted,
    converted,
    has_password,
    in_words,
    rule_of,
    shown,
    suggestion,
)
from muster.settings.server import NodeSettings, OidcSettings, ServerSettings, is_safe_url
from muster.settings.state_files import check_state_files
from muster.settings.turn_rules import TURN_RULES

SETTINGS_FILE: Final = "muster.toml"
INBOX_FOLDER: Final = "inboxes"
TURNS: Final = "turns"

STORE_DATABASE: Final = "store.database"

HEARTBEAT_TIMEOUT_SECONDS: Final = 15.0
"""Three missed heartbeats of five seconds."""


class TeamSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The `[team]` table: the person, and the folder of inbox files."""

    human: Annotated[str, Rule("Name of the person the agents work for.")] = "human"
    cost_usd_per_day: Annotated[
        float,
        Rule(
            "What all agents together may cost on a day (UTC), in dollars; 0 means no limit. An "
            "agent that spends more is paused.",
            0,
            1_000_000,
        ),
    ] = 100.0
    inboxes: Annotated[
        str,
        Rule("Folder of the inbox files, beside the home; empty means `inboxes` in the home."),
    ] = ""

    by_hand: Annotated[bool, Rule("Whether Claude Codes run by hand are listed as agents.")] = True

    def inboxes_beside(self, home: Path) -> Path:
        """The folder of the inbox files; in the home by default."""
        if not self.inboxes:
            return home.absolute() / INBOX_FOLDER
        chosen = os.path.expanduser(self.inboxes)  # noqa: PTH111 - Path's own fails without a home
        return home.absolute().parent / chosen


class PresenceSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The `[presence]` table: heartbeats."""

    heartbeat_timeout_seconds: Annotated[
        float,
        Rule(
            "Heartbeat timeout of agents that connect by themselves.",
            0.1,
            TURN_SECONDS_MAX,
        ),
    ] = HEARTBEAT_TIMEOUT_SECONDS


class StoreSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Where and how the log is kept."""

    database: Annotated[
        str,
        Rule(
            "PostgreSQL database that keeps the log, such as postgresql://ada@db.example.org/muster"
            "?sslmode=verify-full; empty means the file `team.db` in the home. A password belongs "
            "into ~/.pgpass or into the variable, not into the file."
        ),
    ] = ""
    team: Annotated[
        str, Rule("Name of the team in the database; empty means the name of its folder.")
    ] = ""

    snapshot_every: Annotated[
        int, Rule("Number of events between two snapshots of the state.", 100, 10_000_000)
    ] = 20_000  # a fraction of a second of replay after a crash


class DelegationSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The `[delegation]` table: how delegated tasks are run, and their limits."""

    runtime: Annotated[
        Literal["auto", "command", "claude"],
        Rule(
            "Kind of program that runs a delegated task, for agents without a table of their own; "
            '"auto" is the command if there is one, or else Claude Code if it is installed.'
        ),
    ] = "auto"
    command: Annotated[
        tuple[str, ...],
        Rule("Program that runs a delegated task, for agents without a table of their own."),
    ] = ()
    prompt: Annotated[
        Literal["stdin", "file", "none"],
        Rule("How the task is passed: on stdin, as a file (MUSTER_PROMPT_FILE), or not at all."),
    ] = "stdin"
    confine: Annotated[
        Confine,
        Rule(
            'Where tasks may write, enforced by the kernel: "outputs", "worktree" (and the '
            'project), or "none" (everywhere); for agents that do not say it themselves.'
        ),
    ] = "none"
    sockets: Annotated[
        bool, Rule("Whether a confined task may use Unix sockets, and so reach local daemons.")
    ] = False
    isolate: Annotated[
        Isolate,
        Rule(
            'What tasks may not see, enforced by the kernel: "home" hides the team\'s home, '
            '"strict" also other processes and TCP ports; or "none"; for agents that do not say it '
            "themselves."
        ),
    ] = "home"
    workspace: Annotated[
        WorkspaceKind,
        Rule(
            'Where tasks work: "shared" (the outputs of their conversation), or "worktree" (a git '
            "worktree of the project for each conversation); for agents that do not say it "
            "themselves."
        ),
    ] = "shared"
    selector: Annotated[
        str,
        Rule(
            "Agent that is asked which agent a request is for, where the router is unsure; empty "
            "is the lead if it runs, or else the person."
        ),
    ] = ""
    task_seconds: Annotated[float, Rule("Timeout of a delegated task.", 0.1, TURN_SECONDS_MAX)] = (
        1800.0  # as the longest turn
    )
    max_cost_usd: Annotated[
        float, Rule("Cost limit of one conversation, in dollars; 0 means no limit.", 0, 1_000_000)
    ] = 0.0
    max_tokens: Annotated[
        int, Rule("Token limit of one conversation; 0 means no limit.", 0, 10**15)
    ] = 0

    @property
    def allowance(self) -> Allowance:
        """The limits of one conversation."""
        return Allowance(max_cost_usd=self.max_cost_usd, max_tokens=self.max_tokens)


class SummonSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The `[summon]` table: the seats that SUMMON prepares, and where their agents run."""

    seats: Annotated[
        int, Rule("Number of seats around the lead that SUMMON prepares.", 1, len(GRID_SEATS))
    ] = len(GRID_SEATS)
    names: Annotated[
        tuple[str, ...],
        Rule("Names that the agents are asked to take, in the order of the seats; empty is free."),
    ] = ()
    roles: Annotated[
        tuple[str, ...], Rule("Roles of the agents in the team, in the order of the seats.")
    ] = ()
    colors: Annotated[
        tuple[str, ...], Rule("Colours of the seats, in their order; empty is the usual one.")
    ] = ()
    genders: Annotated[
        tuple[str, ...], Rule("Genders of the seats, in their order; empty is the usual one.")
    ] = ()
    sessions: Annotated[
        Literal["own", "lead"],
        Rule('Where agents of a Claude Code lead run: "own" (a session each) or "lead" (in it).'),
    ] = "own"

    def place(self, seat: SeatId) -> Placeholder:
        """The seat as SUMMON prepares it."""
        usual, index = appearance(seat), GRID_SEATS.index(seat)
        return Placeholder(
            grid_position=seat,
            color=_at(self.colors, index) or usual.color,
            gender=_at(self.genders, index) or usual.gender,
            name=_at(self.names, index),
            role=_at(self.roles, index),
        )


def _at(words: tuple[str, ...], index: int) -> str:
    return words[index] if index < len(words) else ""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a user may choose. Each field is a table of `muster.toml`."""

    team: TeamSettings = TeamSettings()
    server: ServerSettings = ServerSettings()
    presence: PresenceSettings = PresenceSettings()
    turns: TurnConfig = TurnConfig()
    store: StoreSettings = StoreSettings()
    node: NodeSettings = NodeSettings()
    telemetry: TelemetrySettings = TelemetrySettings()
    delegation: DelegationSettings = DelegationSettings()
    summon: SummonSettings = SummonSettings()
    push: PushSettings = PushSettings()
    oidc: OidcSettings = OidcSettings()
    agents: Mapping[str, AgentSettings] = {}
    """The `[agents.NAME]` tables; `agents.py` validates them."""

    channels: Mapping[str, ChannelSettings] = {}
    """The `[channels.NAME]` tables; `channels.py` validates them."""

    notify: Mapping[str, NotifySettings] = {}
    """The `[notify.NAME]` tables; `notify.py` validates them."""


class Setting(NamedTuple):
    """One setting, as it can be written in `muster.toml` or in a variable."""

    key: str
    kind: Any  # any annotation of a field; msgspec reads it
    default: object
    rule: Rule

    @property
    def variable(self) -> str:
        """The environment variable that overrides it."""
        return "MUSTER_" + self.key.replace(".", "_").upper()

    @property
    def expected(self) -> str:
        """The allowed values, in words."""
        return in_words(self.kind, self.rule)


NAMED_TABLES: Final = (AGENTS, CHANNELS, NOTIFY)
"""The tables that hold one table for each name."""


def _all_settings() -> Iterator[Setting]:
    for table in msgspec.structs.fields(Settings):
        if table.name not in NAMED_TABLES:
            for field in msgspec.structs.fields(table.type):
                key = f"{table.name}.{field.name}"
                rule = TURN_RULES[field.name] if table.name == TURNS else rule_of(field.type)
                yield Setting(key, field.type, field.default, rule)


SETTINGS: Final[Mapping[str, Setting]] = {setting.key: setting for setting in _all_settings()}
"""Every setting by its dotted key; the starter file and the docs go by it."""

TABLES: Final = tuple(
    field.name for field in msgspec.structs.fields(Settings) if field.name not in NAMED_TABLES
)
"""The fixed tables, whose settings a variable can override."""


def load_settings(home: Path, environ: Mapping[str, str]) -> Settings:
    """Load the settings of the team in `home`; everything not set has its default."""
    path = home / SETTINGS_FILE
    return parse_settings(path, text_of(path) or "", environ)


def parse_settings(path: Path, text: str, environ: Mapping[str, str]) -> Settings:
    """The settings in the text of a file; `path` is for the message of a mistake."""
    return read_settings(path, text, parsed(path, text) if text else {}, environ)


def read_settings(
    path: Path, text: str, document: Mapping[str, object], environ: Mapping[str, str]
) -> Settings:
    """The settings in the content of a file. `text` finds the line of a mistake."""
    document = dict(document)
    written, listed = document.pop(AGENTS, {}), document.pop(CHANNELS, {})
    notify = read_notify(path, text, document.pop(NOTIFY, {}))
    chosen = dict(_from_file(path, text, document))
    chosen.update(_from_environment(environ))
    settings = _build(chosen)
    agents = read_agents(path, text, written, human=settings.team.human)
    summon, human = settings.summon, settings.team.human
    check_births(path, text, summon.names, seats=summon.seats, human=human, taken=agents)
    check_state_files(path, text, path.parent, agents)
    channels = read_channels(path, text, listed, Known(agents, settings.turns, TURN_RULES))
    return msgspec.structs.replace(settings, agents=agents, channels=channels, notify=notify)


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
            yield key, _checked_in_file(key, value)
        except WrongError as wrong:
            line = line_of(text, tuple(key.split(".")))
            raise BadSettings(path=path, line=line, what=wrong.what, remedy=wrong.remedy) from None


def _entries(document: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """Every dotted key in the file with its value; a misplaced table counts as a value."""
    for table, content in document.items():
        if table in TABLES and isinstance(content, dict):
            for name, value in cast("dict[str, object]", content).items():
                yield f"{table}.{name}", value
        else:
            yield table, content


def _from_environment(environ: Mapping[str, str]) -> Iterator[tuple[str, object]]:
    """Read `MUSTER_TABLE_...` variables; others with the prefix belong to other programs."""
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
    """The value of a variable; a list is written as on a command line."""
    if not isinstance(SETTINGS[key].default, tuple):
        return text
    import shlex  # seldom needed

    try:
        return shlex.split(text)
    except ValueError as wrong:
        raise WrongError(f"{key} is {shown(text)}", f"Close its quotes ({wrong}).") from None


# ── what may be written ───────────────────────────────────────────────────────────────────────────


def _checked_in_file(key: str, value: object) -> object:
    """A value of the file, which people share: it has no password."""
    result = _checked(key, value, strict=True)
    if key == STORE_DATABASE and has_password(str(result)):
        remedy = f"Put it into ~/.pgpass, or set {SETTINGS[key].variable}."
        raise WrongError(f"{key} has a password", remedy)
    return result


def _checked(key: str, value: object, *, strict: bool) -> object:
    setting = SETTINGS.get(key)
    if setting is None:
        raise _unknown(key)
    result: object = converted(key, value, setting.kind, setting.rule, strict=strict)
    if key == "team.human":
        _check_human(str(result))
    if key == "server.public_url":
        check_public_url(str(result))
    if key == "oidc.issuer" and result and not is_safe_url(str(result)):
        remedy = "Write it as https://id.example.org, as the provider writes it."
        raise WrongError(f"{key} is {shown(result)}", remedy)
    if key.startswith("server.trusted_"):
        check_trusted(key, str(result))
    if key == STORE_DATABASE:
        check_database(key, str(result))
    return result


def _check_human(name: str) -> None:
    """Agents address the person by name, so the rules for agent names apply."""
    try:
        check_human_name(name)
    except Refused as refused:
        raise WrongError(f"team.human is {shown(name)}", f"{refused}") from None


def _unknown(key: str) -> WrongError:
    if key in TABLES:
        return WrongError(f"{key} is a table", f"Write [{key}], and its settings below.")
    known = [*SETTINGS, *TABLES, *NAMED_TABLES]
    named = (f"{table}.NAME" for table in NAMED_TABLES)
    tables = ", ".join(f"[{table}]" for table in (*TABLES, *named))
    otherwise = f"remove it; the tables are {tables}"
    return WrongError(f"there is no setting {key}", suggestion(key, known, otherwise))
