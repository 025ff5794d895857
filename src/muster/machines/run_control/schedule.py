"""Schedules: the times at which an agent runs, and the command that is sent when one may be due.

Scheduled times are on the wall clock, which comes in as a value: the engine sends `CheckSchedule`
with it, in the agent's time zone. A schedule paces `continuous` and never changes `desired`, so a
paused agent has no next run. In the hour that a daylight saving time skips, a fixed time runs at
the end of the gap; in the hour that comes twice, it runs once.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from cronsim import CronSim

from muster.limits import INTERVAL_SECONDS_MAX, MISSED_RUN_SECONDS
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.events import Fact
from muster.machines.policies import RunPolicy
from muster.machines.state import RunControl, Team
from muster.machines.vocabulary import Authority, MissedRuns

_DIGITS_MAX = 9  # more is no interval, and could be more than a float holds
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


def interval_s(text: str) -> float:
    """The seconds of an interval such as `90s`, `30m`, `2h` or `1d`; ValueError otherwise, and for
    one of more than a year.
    """
    number, unit = text[:-1], text[-1:]
    if unit not in _UNITS or not number.isdecimal() or len(number) > _DIGITS_MAX:
        raise ValueError(text)
    seconds = float(int(number) * _UNITS[unit])
    if not 0 < seconds <= INTERVAL_SECONDS_MAX:
        raise ValueError(text)
    return seconds


def next_run(policy: RunPolicy, after: datetime, last: datetime | None = None) -> datetime | None:
    """The first scheduled time after a moment, in UTC. An expression is read in the time zone of
    that moment; an interval counts from there, or from the last time that was planned.
    """
    if policy.every:
        step = interval_s(policy.every)
        base = after if last is None or last > after else last
        steps = (after - base).total_seconds() // step + 1
        return (base + timedelta(seconds=steps * step)).astimezone(UTC)
    for time in CronSim(policy.schedule, after):
        if time.astimezone(UTC) > after:  # a local time that comes twice may lie before
            return time.astimezone(UTC)
    return None


def check_schedule(team: Team, command: c.CheckSchedule, now: datetime) -> Iterator[Fact]:
    agent, wall = team.agent(command.seat), command.wall
    run = agent.run
    if not run.follows_schedule or agent.authority is not Authority.MUSTER:
        return
    planned = run.scheduled_at
    if planned is None or planned > wall:
        at = _next(run, wall)
        if at is not None and (planned is None or at < planned):  # the clock was set back
            yield e.RunPlanned(seat=agent.seat, at=at)
        return
    is_missed = wall - planned > timedelta(seconds=MISSED_RUN_SECONDS)
    skipped_to = next_run(run.policy, wall, planned)
    if is_missed and run.policy.missed is MissedRuns.SKIP and skipped_to is not None:
        yield e.RunPlanned(seat=agent.seat, at=skipped_to)
        return
    yield e.ScheduledRunDue(seat=agent.seat, at=planned, next_at=next_run(run.policy, wall))


def _next(run: RunControl, wall: datetime) -> datetime | None:
    """The next time that was not taken yet, even if the clock was set back meanwhile."""
    if run.policy.every:
        limit = wall + timedelta(seconds=interval_s(run.policy.every))
        return min(run.scheduled_at or limit, limit).astimezone(UTC)
    last = run.last_scheduled
    after = wall if last is None else max(wall, last).astimezone(wall.tzinfo)
    return next_run(run.policy, after)
