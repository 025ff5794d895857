"""Looks at the wall clock for scheduled runs, and sends `CheckSchedule` when one may be due.

Scheduled times are values in the state, on the wall clock; `timers.py` is for deadlines on the
team's clock. The machine decides: this service only says which time it is.
"""

import asyncio
import logging
from collections.abc import Sequence
from datetime import UTC, tzinfo
from zoneinfo import ZoneInfo

from muster.engine.dispatcher import Commit, Dispatcher
from muster.engine.ports import Clock
from muster.errors import Refused, StoreFailed, Unavailable
from muster.limits import SCHEDULE_LOOK_SECONDS, STORE_RETRY_SECONDS
from muster.machines.commands import CheckSchedule
from muster.machines.events import AgentConfigured, DesiredSet
from muster.machines.ids import MUSTER, SeatId
from muster.machines.vocabulary import Authority

log = logging.getLogger(__name__)


def zone_of(name: str) -> tzinfo:
    """The time zone of that name. UTC needs no data of the system."""
    return UTC if name == "UTC" else ZoneInfo(name)


class Schedules:
    """The schedules of a team, and the one task that waits for the next run."""

    def __init__(self, dispatcher: Dispatcher, clock: Clock) -> None:
        """Follow the agents whose desired state or settings change."""
        self._dispatcher = dispatcher
        self._clock = clock
        self._wake = asyncio.Event()
        dispatcher.watch(self._on_commit)

    async def run(self) -> None:
        """Check every schedule and wait for the next run, for ever."""
        while True:
            self._wake.clear()
            sent = [await self._check(seat) for seat in self._followed()]
            await self._rest(0.0 if all(sent) else STORE_RETRY_SECONDS)

    def _on_commit(self, commit: Commit) -> None:
        if any(isinstance(event.fact, DesiredSet | AgentConfigured) for event in commit.events):
            self._wake.set()

    def _followed(self) -> Sequence[SeatId]:
        """The agents that run by a schedule."""
        agents = self._dispatcher.team.agents.values()
        ours = (agent for agent in agents if agent.authority is Authority.MUSTER)
        return [agent.seat for agent in ours if agent.run.follows_schedule]

    async def _check(self, seat: SeatId) -> bool:
        """Check the schedule of an agent; false if the log could not take what follows."""
        try:
            zone = zone_of(self._dispatcher.team.agents[seat].run.policy.timezone)
            check = CheckSchedule(seat=seat, wall=self._clock.wall().astimezone(zone))
            await self._dispatcher.send(check, actor=MUSTER)
        except StoreFailed:
            return False  # the dispatcher has told it
        except (Refused, Unavailable) as error:
            log.warning("%s", error, extra={"action": "schedule_failed", "seat": seat})
        return True

    async def _rest(self, at_least: float) -> None:
        """Wait for the next run or a change, at most `SCHEDULE_LOOK_SECONDS`."""
        agents, wall = self._dispatcher.team.agents, self._clock.wall()
        followed = self._followed()
        if not followed:
            await self._wake.wait()
            return
        times = [agents[seat].run.scheduled_at for seat in followed]
        waits = [(at - wall).total_seconds() for at in times if at is not None]
        wait = min([SCHEDULE_LOOK_SECONDS, *waits])
        timer = self._clock.call_later(max(wait, at_least), self._wake.set)
        try:
            await self._wake.wait()
        finally:
            timer.cancel()
