"""The settings in force: one object that every service asks, so that a change holds everywhere.

`muster.reloading` replaces them while muster runs. A service keeps no copy of a setting: it asks at
each use. The settings that only a restart of muster changes are compared with those of the start.

Each table is in force under the name that its agent has, which may differ from its own where that
belongs to another agent. A table that is about nobody, for that reason, is not in force.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import msgspec
from msgspec.structs import replace

from muster.errors import BadSettings, Refused
from muster.machines.identity.listing import Listed, Match, match_tables, present
from muster.machines.ids import FIRST_ENROLLED_SEAT, GRID_SEATS, LEAD_SEAT, SeatId, name_key
from muster.machines.state import Agent, Team
from muster.settings.agents import ANYBODY, AgentSettings, WorkspaceKind
from muster.settings.model import SETTINGS, Settings
from muster.settings.policies import POLICIES

WORKTREE: Final[WorkspaceKind] = "worktree"

RESTART_TABLES: Final = ("server", "store", "node")
RESTART_KEYS: Final = ("team.human", "team.inboxes")
"""With the tables above: what is bound, opened or put on record once, when muster starts."""

LIVE_FIELDS: Final = frozenset(
    {
        *POLICIES,
        "budget",
        "color",
        "description",
        "formerly",
        "handover",
        "max_turns",
        "seat",
        "soul",
        "state_file",
        "unasked",
        "wake_check",
    }
)
"""Settings of an agent that hold at once. Every other one is given to a program at its start."""


class SettingsProblem(msgspec.Struct, frozen=True, kw_only=True):
    """A mistake in the settings file, and what to write instead."""

    path: str
    line: int
    """The line of the mistake; 0 where it has none."""

    what: str
    remedy: str

    def __str__(self) -> str:
        place = f" line {self.line}:" if self.line else ""
        return f"{Path(self.path).name}{place} {self.what}. {self.remedy}"


def problem_of(bad: BadSettings) -> SettingsProblem:
    """The mistake that an error is about."""
    found = bad.found
    return SettingsProblem(
        path=str(found["path"]),
        line=int(str(found["line"])),
        what=str(found["what"]),
        remedy=str(found["remedy"]),
    )


class Followed(msgspec.Struct, frozen=True, kw_only=True):
    """Settings, and how far a team can follow them."""

    settings: Settings
    """Those that can be in force."""

    seats: Mapping[str, SeatId] = {}
    """The seats of the agents that tables are about, by the names of the tables."""

    refused: Mapping[str, Refused] = {}
    """The reasons why tables cannot be followed, by their names."""

    @property
    def trouble(self) -> str:
        """The tables that cannot be followed, and why; empty if all can."""
        each = (f"agents.{name} cannot be followed. {why}" for name, why in self.refused.items())
        return " ".join(each)

    def refusal_of(self, name: str) -> Refused | None:
        """The reason why the table of this name cannot be followed, or None."""
        key = name_key(name)
        return next((why for each, why in self.refused.items() if name_key(each) == key), None)

    def table_about(self, seat: SeatId) -> str | None:
        """The name of the table that is about the agent in a seat."""
        return next((name for name, each in self.seats.items() if each == seat), None)

    def seat_of(self, name: str) -> SeatId | None:
        """The seat of the agent that the table of this name is about."""
        key = name_key(name)
        return next((seat for each, seat in self.seats.items() if name_key(each) == key), None)


class SettingsInForce:
    """The settings that hold now."""

    def __init__(self, settings: Settings) -> None:
        """Begin with the settings that muster starts with."""
        self._started_with = settings
        self.written = settings
        """The settings in the file, when it last had no mistake."""

        self.followed = Followed(settings=settings)
        self.problem: SettingsProblem | None = None
        """The mistake in the file, while the earlier settings stay in force."""

    @property
    def current(self) -> Settings:
        """The settings in force, with each table under the name of its agent."""
        return self.followed.settings

    def settle(self, team: Team) -> None:
        """Find out whom the tables are about now."""
        self.followed = follow(team, self.written)

    @property
    def trouble(self) -> str:
        """The mistake in the file, or what the team cannot follow; empty without either."""
        return str(self.problem or self.followed.trouble)

    @property
    def waiting(self) -> tuple[str, ...]:
        """The settings that have changed since the start, and hold after a restart of muster."""
        return tuple(
            key
            for key in SETTINGS
            if _needs_restart(key)
            and value_of(self.current, key) != value_of(self._started_with, key)
        )

    @property
    def heartbeat_timeout_s(self) -> float:
        """The heartbeat timeout of agents that connect by themselves."""
        return self.current.presence.heartbeat_timeout_seconds


def _needs_restart(key: str) -> bool:
    return key in RESTART_KEYS or key.partition(".")[0] in RESTART_TABLES


def value_of(settings: Settings, key: str) -> object:
    """The value of a setting by its dotted key."""
    table, _, name = key.partition(".")
    return getattr(getattr(settings, table), name)


def changes_between(old: Settings, new: Settings) -> tuple[str, ...]:
    """The names of changed settings, and of agents that came, went or changed; never values."""
    keys = (key for key in SETTINGS if value_of(old, key) != value_of(new, key))
    return (
        *keys,
        *_agent_changes(old.agents, new.agents),
        *_table_changes("channels", old.channels, new.channels),
        *_table_changes("notify", old.notify, new.notify),
    )


def _table_changes(
    table: str, old: Mapping[str, object], new: Mapping[str, object]
) -> Iterator[str]:
    for name in (*new, *(gone for gone in old if gone not in new)):
        if name not in new:
            yield f"{table}.{name} removed"
        elif name not in old:
            yield f"{table}.{name} added"
        elif old[name] != new[name]:
            yield f"{table}.{name}"


def _agent_changes(
    old: Mapping[str, AgentSettings], new: Mapping[str, AgentSettings]
) -> Iterator[str]:
    gone = [name for name in old if name not in new]
    for name, agent in new.items():
        before = name
        if name not in old:
            before = next((each for each in agent.formerly if each in gone), name)
        if before in gone:
            gone.remove(before)
            yield f"agents.{before} renamed to {name}"
        elif before not in old:
            yield f"agents.{name} added"
        if before in old:
            told = "formerly" if before != name else None  # by the line on the new name
            fields = changed_fields(old[before], agent)
            yield from (f"agents.{name}.{field}" for field in fields if field != told)
    yield from (f"agents.{name} removed" for name in gone)


def changed_fields(old: AgentSettings, new: AgentSettings) -> tuple[str, ...]:
    """The settings of an agent that differ."""
    fields = AgentSettings.__struct_fields__
    return tuple(name for name in fields if getattr(old, name) != getattr(new, name))


def hosting_lead(settings: Settings) -> str | None:
    """The name of a lead whose agents run in sessions of their own, as the lead itself does."""
    for name, agent in named_agents(settings):
        if agent.seat == LEAD_SEAT and agent.runtime == "claude":
            return name if settings.summon.sessions == "own" else None
    return None


def table_of(settings: Settings, agent: Agent) -> AgentSettings:
    """The settings of an agent: its own, its lead's if it is run as its lead, or those for all."""
    by_key = {name_key(name): each for name, each in settings.agents.items()}
    own = None if agent.name is None else by_key.get(name_key(agent.name))
    lead = hosting_lead(settings) if agent.hosted and own is None else None
    if lead is not None:
        return settings.agents[lead]
    usual = by_key.get(ANYBODY) if agent.place in GRID_SEATS else None
    return own or usual or AgentSettings()


def task_workspace(settings: Settings, agent: Agent) -> WorkspaceKind:
    """Where an agent works on tasks: as its own table says, or else as for all tasks."""
    own = table_of(settings, replace(agent, seat=FIRST_ENROLLED_SEAT))
    return own.workspace or settings.delegation.workspace


def confined_by(settings: Settings) -> tuple[str, ...]:
    """The agents that the settings confine, and `delegated tasks` where those are."""
    confined = [name for name, agent in settings.agents.items() if agent.confine not in _FREE]
    return (*confined, *(("delegated tasks",) if settings.delegation.confine != "none" else ()))


_FREE: Final = (None, "none")


def named_agents(settings: Settings) -> Iterator[tuple[str, AgentSettings]]:
    """The agents with a table of their own."""
    return ((name, agent) for name, agent in settings.agents.items() if name != ANYBODY)


# ── whom the tables are about ─────────────────────────────────────────────────────────────────────


def follow(team: Team, settings: Settings) -> Followed:
    """The part of settings that a team can follow now."""
    tables = [
        Listed(
            name=name,
            seat=None if table.seat is None else SeatId(table.seat),
            formerly=table.formerly,
        )
        for name, table in named_agents(settings)
    ]
    matches = {match.table.name: match for match in match_tables(team, tables)}
    names = {name: _name_in_force(team, match) for name, match in matches.items()}
    agents = {
        kept: table
        for name, table in settings.agents.items()
        if (kept := names.get(name, name)) is not None
    }
    is_same = list(agents) == list(settings.agents)
    return Followed(
        settings=settings if is_same else replace(settings, agents=agents),
        seats={
            name: agent.seat
            for name, match in matches.items()
            if (agent := present(team, match)) is not None
        },
        refused={name: each.refused for name, each in matches.items() if each.refused is not None},
    )


def _name_in_force(team: Team, match: Match[Listed]) -> str | None:
    """The name under which a table is in force; None if it is not."""
    agent = present(team, match)
    if agent is not None:
        return agent.id
    return match.table.name if match.refused is None else None
