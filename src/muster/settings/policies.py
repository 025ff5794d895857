"""The settings of an agent that say when muster starts, restarts and stops it by itself.

`agents.py` reads them with the rest of an agent's table; what concerns several agents is checked
here.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from graphlib import CycleError, TopologicalSorter
from typing import Annotated, Final

import msgspec

from muster.limits import RETRY_SECONDS_FIRST, RETRY_SECONDS_MAX, TURN_SECONDS_MAX
from muster.machines.ids import name_key
from muster.machines.policies import RunPolicy
from muster.machines.vocabulary import MissedRuns, OnSilence, RestartPolicy
from muster.settings.rules import Rule, WrongError, shown, suggestion


class PolicySettings(msgspec.Struct, frozen=True, kw_only=True):
    """When an agent starts, restarts and stops by itself."""

    restart: Annotated[
        RestartPolicy,
        Rule(
            "What `continuous` does when a session has ended by itself: start the next one, retry"
            " after a failure only, or pause the agent."
        ),
    ] = RestartPolicy.ALWAYS
    loop: Annotated[
        bool | None,
        Rule(
            "Whether a program that ends by itself finds its own work: `continuous` runs it again"
            " and again. If not, it runs when there is work: a turn, a message, a scheduled time."
            " Empty means so, and once when it is started."
        ),
    ] = None
    restart_seconds: Annotated[
        float,
        Rule(
            "First pause before a failed session is retried; doubled with each failure in a row.",
            0.1,
            TURN_SECONDS_MAX,
        ),
    ] = RETRY_SECONDS_FIRST
    restart_seconds_max: Annotated[
        float, Rule("Longest pause before a failed session is retried.", 0.1, TURN_SECONDS_MAX)
    ] = RETRY_SECONDS_MAX
    success_codes: Annotated[tuple[int, ...], Rule("Exit codes that count as success.", 0, 255)] = (
        0,
    )
    autostart: Annotated[
        bool,
        Rule("Whether the agent starts with muster, unless a person or a budget has paused it."),
    ] = False
    after: Annotated[
        tuple[str, ...],
        Rule("Names of agents that must be running before a session of this one starts."),
    ] = ()
    groups: Annotated[
        tuple[str, ...], Rule("Groups of the agent, for `muster start --group` and the like.")
    ] = ()
    graceful_seconds: Annotated[
        float | None,
        Rule("Longest time of a graceful stop; then the session is stopped now.", 0, 604_800),
    ] = None

    schedule: Annotated[
        str,
        Rule(
            "Cron expression, such as 0 9 * * MON-FRI: `continuous` runs one session at each of its"
            " times."
        ),
    ] = ""
    every: Annotated[str, Rule("Interval between runs instead, such as 90s, 30m, 2h or 1d.")] = ""
    timezone: Annotated[str, Rule("Time zone of schedule, such as Europe/Berlin.")] = "UTC"
    missed: Annotated[MissedRuns, Rule("Runs missed while muster was down: one now, or none.")] = (
        MissedRuns.ONCE
    )
    silent_seconds: Annotated[
        float | None,
        Rule("Longest time without a sign of work while the agent works.", 1, TURN_SECONDS_MAX),
    ] = None
    on_silence: Annotated[
        OnSilence, Rule("Reaction to a longer silence: log it, interrupt the work, or restart.")
    ] = OnSilence.TELL
    moves: Annotated[
        bool,
        Rule(
            "Whether the agent starts on another machine of the team while its own is away. Its"
            " table must be in the settings of each machine that may run it."
        ),
    ] = False
    needs: Annotated[
        tuple[str, ...], Rule("Labels that a machine must have to run the agent (`node.labels`).")
    ] = ()

    @property
    def policy(self) -> RunPolicy:
        """The policies, as the machine has them."""
        return RunPolicy(
            restart=self.restart,
            restart_seconds=self.restart_seconds,
            restart_seconds_max=self.restart_seconds_max,
            success_codes=self.success_codes,
            autostart=self.autostart,
            after=self.after,
            groups=self.groups,
            graceful_seconds=self.graceful_seconds,
            schedule=self.schedule,
            every=self.every,
            timezone=self.timezone,
            missed=self.missed,
            silent_seconds=self.silent_seconds,
            on_silence=self.on_silence,
            moves=self.moves,
            needs=self.needs,
        )


_CRON_FIELDS: Final = 5
"""Minute, hour, day, month, weekday."""

POLICIES = tuple(field.name for field in msgspec.structs.fields(PolicySettings))
"""The names of these settings."""


def check_schedule(name: str, agent: PolicySettings, given: Mapping[str, object]) -> None:
    """Refuse a schedule that cannot be followed. The error names the setting."""
    key = f"agents.{name}"
    if agent.schedule and agent.every:
        raise PolicySettingError("every", f"{key} has schedule and every", "Remove one of them.")
    if not agent.schedule and not agent.every:
        for one in ("timezone", "missed"):
            if one in given:
                what = f"{key}.{one} means nothing without a schedule"
                raise PolicySettingError(one, what, "Remove it, or write schedule or every.")
        return
    if given.get("restart") in (RestartPolicy.ALWAYS, RestartPolicy.NEVER):
        what = f'{key}.restart means nothing with a schedule, unless it is "on-failure"'
        raise PolicySettingError("restart", what, "Remove it: the schedule says when it runs.")
    _check_times(key, agent)


def _check_times(key: str, agent: PolicySettings) -> None:
    from zoneinfo import ZoneInfo  # only schedules need these

    from cronsim import CronSimError

    from muster.machines.run_control.schedule import interval_s, next_run

    try:
        if agent.timezone != "UTC":  # which needs no data of the system
            ZoneInfo(agent.timezone)
    except (ValueError, OSError, LookupError):
        what = f"{key}.timezone is {shown(agent.timezone)}, which this machine does not know"
        raise PolicySettingError(
            "timezone", what, "Write one such as Europe/Berlin, or UTC."
        ) from None
    if agent.every:
        try:
            interval_s(agent.every)
        except ValueError:
            what = f"{key}.every is {shown(agent.every)}"
            raise PolicySettingError("every", what, "Write 90s, 30m, 2h or 1d.") from None
        return
    what = f"{key}.schedule is {shown(agent.schedule)}"
    fields = agent.schedule.split()
    if len(fields) == _CRON_FIELDS + 1:  # which the library takes, with seconds first
        seconds, five = f"{what}: its first field, {fields[0]!r}, would be seconds", fields[1:]
        remedy = f"Write five fields, such as {' '.join(five)}, or every for shorter intervals."
        raise PolicySettingError("schedule", seconds, remedy)
    try:
        first = next_run(agent.policy, datetime(2000, 1, 1, tzinfo=UTC))
    except CronSimError as error:
        remedy = "Write minute, hour, day, month and weekday, such as 0 9 * * MON-FRI."
        raise PolicySettingError("schedule", f"{what} ({error})", remedy) from None
    if first is None:
        raise PolicySettingError(
            "schedule", f"{what}, which never comes", "Write a day that exists."
        )


class PolicySettingError(WrongError):
    """A wrong policy, and the setting that it is in."""

    def __init__(self, setting: str, what: str, remedy: str) -> None:
        """Name the setting, what is wrong, and what to write instead."""
        super().__init__(what, remedy)
        self.setting = setting


class DependencyError(WrongError):
    """A wrong dependency, and the agent whose `after` it is in."""

    def __init__(self, name: str, what: str, remedy: str) -> None:
        """Name the agent, what is wrong, and what to write instead."""
        super().__init__(what, remedy)
        self.name = name


def check_dependencies(agents: Mapping[str, PolicySettings]) -> None:
    """Refuse an unknown name in `after`, and agents that wait for each other."""
    names = {name_key(name): name for name in agents}
    graph = {name: list(_known(name, agent, names)) for name, agent in agents.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        cycle: Sequence[str] = error.args[1]
        way = " → ".join(reversed(cycle))
        what = f"agents.{cycle[0]}.after makes a circle: {way}"
        raise DependencyError(cycle[0], what, "Take one of them out of after.") from None


def _known(name: str, agent: PolicySettings, names: Mapping[str, str]) -> Iterator[str]:
    for other in agent.after:
        found = names.get(name_key(other))
        if found is None:
            what = f"agents.{name}.after names {other!r}, and there is no such agent"
            remedy = suggestion(other, names.values(), "write a table for it, or take it out")
            raise DependencyError(name, what, remedy)
        yield found
