"""Writes a team as a template: its agents, souls, channels and rules, and no private words.

Messages, notes, tokens, the values of environment variables and the paths of this machine stay
here. What is left out is named, so that the reader of the template can put it back.
"""

import re
from collections.abc import Iterator, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

import msgspec

from muster.machines.identity.places import grid_place
from muster.machines.ids import LEAD_SEAT, name_key
from muster.machines.state import Agent, Channel, Status, Team
from muster.machines.vocabulary import Authority, SpeakerOrder, TurnConfig
from muster.settings.agents import AGENTS, ANYBODY, PATHS
from muster.settings.channels import CHANNELS, MEMBERS, SELECTOR
from muster.settings.model import Settings
from muster.templates.reading import ABOUT, FORMAT, TABLES, TEMPLATE, is_inside

PRIVATE: Final = ("env", "env_file", "formerly", "state_file")
"""Settings of an agent that are about this machine alone."""

_PATH: Final = re.compile(r"""(?<![^\s'"=:,;()\[\]{}<>|&`])(/(?!/)[^\s'"=:,;()\[\]{}<>|&`]*)""")
"""A path from the root, where a word begins."""

# The rest of a name is bounded: a long word must not be searched again from each of its letters.
_SECRET_NAME: Final = r"(?:token|secret|passw(?:or)?d|api[_-]?key|credential)[\w-]{0,64}"
_SECRET: Final = re.compile(rf"({_SECRET_NAME}\s*[=:]\s*)(\S+)", re.IGNORECASE)
_SECRET_FLAG: Final = re.compile(rf"--?[\w-]*{_SECRET_NAME}", re.IGNORECASE)
_BEARER: Final = re.compile(r"\b(?:sk|ghp|gho|xox[abp]|glpat)[-_][\w-]{12,}")

REMOVED: Final = "REMOVED"

# The content of a TOML file: tables and values of any type.
_Data = dict[str, Any]


class Written(NamedTuple):
    """A template, and what was left out of it."""

    text: str
    left_out: tuple[str, ...]


class _Exporter:
    def __init__(self, document: _Data, settings: Settings, team: Team, project: Path) -> None:
        self._document = document
        self._settings = settings
        self._team = team
        self._project = project
        self._folders = (str(project), str(Path.home()))
        self.left_out: list[str] = []

    # ── agents ────────────────────────────────────────────────────────────────────────────────────

    def agents(self) -> _Data:
        """The agents of the settings, and those that were born into the team."""
        written = cast("_Data", self._document.get(AGENTS, {}))
        known = {name_key(name) for name in written}
        named = {name: self._table(name, table) for name, table in written.items()}
        for seat in sorted(self._team.agents):
            agent = self._team.agents[seat]
            if agent.name is None or agent.retired or name_key(agent.name) in known:
                continue
            base = self._base(agent, written)
            if base is None:
                self.left_out.append(f"agent {agent.name}: {_why_not(agent)}")
            else:
                named[agent.name] = self._born(agent, base)
        return named

    def _base(self, agent: Agent, written: _Data) -> _Data | None:
        """The table by which an agent without its own is run."""
        if agent.authority is not Authority.MUSTER and not agent.hosted:
            return None
        if agent.run.on_call or agent.status not in (Status.ALIVE, Status.SLEEPING):
            return None
        if agent.hosted:
            lead = next((each for each in written.values() if each.get("seat") == LEAD_SEAT), None)
            return None if lead is None else {k: v for k, v in lead.items() if k != "seat"}
        return written.get(ANYBODY)

    def _table(self, name: str, table: _Data) -> _Data:
        seat = self._team.names.get(name_key(name))
        soul = self._team.agents[seat].soul if seat is not None else ""
        cleaned = self._cleaned(name, table)
        return self._with_soul(cleaned, soul) if soul and name != ANYBODY else cleaned

    def _born(self, agent: Agent, base: _Data) -> _Data:
        table = self._cleaned(agent.id, base)
        place = grid_place(self._team, agent)
        if place is not None:
            table["seat"] = int(place)
        if agent.role:
            table["description"] = self._text(agent.role)
        return self._with_soul(table, agent.soul)

    def _with_soul(self, table: _Data, soul: str) -> _Data:
        return {**table, "soul": self._text(soul)} if soul else table

    def _cleaned(self, name: str, table: _Data) -> _Data:
        """The table of an agent without what is private or about this machine."""
        kept: _Data = {}
        for key, value in self._with_paths(name, table).items():
            if key in PRIVATE:
                names = f" ({', '.join(cast('_Data', value))})" if isinstance(value, dict) else ""
                self.left_out.append(f"agents.{name}.{key}{names}")
            elif key == "command":
                kept[key] = self._command(cast("list[str]", value))
            else:
                kept[key] = self._value(value)
        return kept

    def _with_paths(self, name: str, table: _Data) -> _Data:
        """The table, without the paths that lead out of the project."""
        table = deepcopy(table)
        for key in (each for each in PATHS if each not in PRIVATE):
            part, _, below = key.partition(".")
            holder = cast("_Data", table.get(part, {})) if below else table
            found = str(holder.get(below or part, ""))
            if Path(found).is_relative_to(self._project):
                holder[below or part] = str(Path(found).relative_to(self._project))
            elif not is_inside(found):
                del holder[below or part]
                self.left_out.append(f"agents.{name}.{key}")
        return table

    def _command(self, command: list[str]) -> list[str]:
        """A command without secrets: neither in an argument, nor after an option for one."""
        before = ["", *command]
        return [
            REMOVED if _SECRET_FLAG.fullmatch(flag) else self._text(argument)
            for flag, argument in zip(before, command, strict=False)
        ]

    # Any value of TOML, the same kind as before.
    def _value(self, value: Any) -> Any:  # noqa: ANN401
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, list):
            return [self._value(each) for each in cast("list[Any]", value)]
        if isinstance(value, dict):
            return {key: self._value(each) for key, each in cast("_Data", value).items()}
        return value

    def _text(self, text: str) -> str:
        """A text without paths of this machine and without secrets."""
        for folder in self._folders:
            text = re.sub(rf"{re.escape(folder)}/+", "", text)
            text = re.sub(rf"{re.escape(folder)}(?![\w.-])", ".", text)
        text = _PATH.sub(_shortened, text)
        return _BEARER.sub(REMOVED, _SECRET.sub(rf"\1{REMOVED}", text))

    # ── channels and rules ────────────────────────────────────────────────────────────────────────

    def channels(self, agents: _Data) -> _Data:
        """The channels of the team that are not archived, and those of the settings to come."""
        written = cast("_Data", self._document.get(CHANNELS, {}))
        found = {name: table for name, table in written.items() if name not in self._team.channels}
        for name in sorted(self._team.channels):
            channel = self._team.channels[name]
            if not channel.archived:
                found[str(name)] = self._channel(channel, agents)
        return found

    def _channel(self, channel: Channel, agents: _Data) -> _Data:
        names = {name_key(name): name for name in agents}
        members = [self._team.agents[seat].id for seat in channel.places]
        known = [names[name_key(each)] for each in members if name_key(each) in names]
        rules = dict(_rules(channel.config, self._settings.turns))
        if name_key(channel.config.selector) not in names:
            rules.pop(SELECTOR, None)
            if channel.config.speaker_order is SpeakerOrder.SELECTOR:
                rules["speaker_order"] = str(SpeakerOrder.RING)
                self.left_out.append(f"channels.{channel.id}.{SELECTOR}")
        return {MEMBERS: known, **{key: self._value(rule) for key, rule in rules.items()}}

    def rest(self, agents: _Data) -> Iterator[tuple[str, object]]:
        """The other tables that a template may hold.

        A name that SUMMON asked for and an agent has taken is the name of a table now.
        """
        taken = {name_key(name) for name in agents}
        for table in TABLES:
            if table not in (AGENTS, CHANNELS) and table in self._document:
                content = dict(cast("_Data", self._document[table]))
                command = content.get("command")
                if command is not None:
                    content["command"] = self._command(command)
                names = cast("list[str] | None", content.get("names"))
                if names is not None:
                    content["names"] = [
                        name if name_key(name) not in taken else "" for name in names
                    ]
                yield table, self._value(content)


def _why_not(agent: Agent) -> str:
    if agent.authority is Authority.SELF:
        return "it connects by itself"
    if agent.authority is Authority.LEAD:
        return "its lead runs it"
    return "the settings name no program for it"


def _shortened(found: re.Match[str]) -> str:
    """The last name of a path of this machine; a word such as `/help` is none."""
    path = found[1]
    is_path = path.count("/") > 1 or Path(path).exists()
    return (path.rstrip("/").rpartition("/")[2] or ".") if is_path else path


def _rules(config: TurnConfig, usual: TurnConfig) -> Iterator[tuple[str, object]]:
    """The rules of a channel that are not the usual ones."""
    for name in config.__struct_fields__:
        value = getattr(config, name)
        if value != getattr(usual, name):
            yield name, msgspec.to_builtins(value)


def write_template(
    document: Mapping[str, object], settings: Settings, team: Team, project: Path, about: str
) -> Written:
    """The team as the text of a template. `document` is the content of its settings file."""
    exporter = _Exporter(dict(document), settings, team, project)
    agents = exporter.agents()
    channels = exporter.channels(agents)
    content = {
        TEMPLATE: {"format": FORMAT, **({ABOUT: about} if about else {})},
        **dict(exporter.rest(agents)),
        **({AGENTS: agents} if agents else {}),
        **({CHANNELS: channels} if channels else {}),
    }
    left_out = tuple(_line(each) for each in exporter.left_out)
    comments = [f"# Left out: {each}\n" for each in left_out]
    return Written("".join([*comments, "\n" if comments else "", _dumped(content)]), left_out)


def _line(text: str) -> str:
    """A text in one line, as a comment of TOML may have it."""
    return "".join(char if char.isprintable() else "?" for char in text)


def _dumped(content: _Data) -> str:
    """The content as TOML; a text of several lines is written as such, if it stays the same."""
    import tomllib

    import tomlkit  # slow, and only an edit needs it

    shown = {**content}
    if AGENTS in content:
        shown[AGENTS] = {name: _shown(table) for name, table in content[AGENTS].items()}
    text = tomlkit.dumps(shown)
    return text if tomllib.loads(text) == content else tomlkit.dumps(content)


def _shown(table: _Data) -> _Data:
    import tomlkit

    soul = str(table.get("soul", ""))
    if "\n" not in soul or '"""' in soul or "\\" in soul:
        return table
    return {**table, "soul": tomlkit.string(f"\n{soul}", multiline=True)}
