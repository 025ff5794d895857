"""Copies the pauses of the team in the home into a session that has a log of its own.

A state machine session can have its own log, in its folder. An agent that is paused or disabled in
the team of the home must not run there either, so the session's team follows that state while it
is open: a pause lets a running task finish, as `muster stop` does, and disabling ends it at once.
The home's team decides about the agents that it knows; a pause that the session's own budget set
is left alone.
"""

import asyncio
import logging
from typing import Final, Protocol

from muster.engine.dispatcher import Dispatcher
from muster.engine.ports import Clock
from muster.errors import MusterError
from muster.machines.commands import DisableAgent, EnableAgent, EnrollAgent, SetDesired
from muster.machines.ids import MUSTER, SeatId, name_key
from muster.machines.state import Agent, Team
from muster.machines.vocabulary import Authority, RunMode

log = logging.getLogger(__name__)

NOTE: Final = "paused in the team of the home"

POLL_SECONDS: Final = 1.0
"""How soon a change in the home's team is noticed. Its log may belong to another process."""


class HomeTeam(Protocol):
    """The team in the home, whose log may belong to another process."""

    def stamp(self) -> object:
        """Something that differs after every change of the log; cheap to read."""
        ...

    def read(self) -> Team | None:
        """The team as it is now; None where the home has none."""
        ...


async def follow(dispatcher: Dispatcher, clock: Clock, home: HomeTeam) -> None:
    """Hold agents back as the home's team does, until cancelled."""
    stamp = home.stamp()
    while True:
        passed = asyncio.Event()
        timer = clock.call_later(POLL_SECONDS, passed.set)
        try:
            await passed.wait()
        finally:
            timer.cancel()
        if home.stamp() == stamp:
            continue
        stamp = home.stamp()
        try:
            team = await asyncio.to_thread(home.read)
            if team is not None:
                await hold_back(dispatcher, team)
        except MusterError as error:  # the last known state holds until the log can be read again
            log.warning("%s", error, extra={"action": "home_unreadable"})


async def hold_back(dispatcher: Dispatcher, home: Team) -> None:
    """Copy the pauses of the home's agents into the session's team."""
    for name in dispatcher.team.delegation.agents:
        seat = home.names.get(name_key(name))
        if seat is not None and home.agents[seat].authority is Authority.MUSTER:
            await _copy(dispatcher, name, home.agents[seat])


async def _copy(dispatcher: Dispatcher, name: str, agent: Agent) -> None:
    paused = agent.run.desired is RunMode.PAUSE
    seat = dispatcher.team.names.get(name_key(name))
    if seat is None:
        if not paused and not agent.disabled:
            return
        seat = await _enroll(dispatcher, name)
    here = dispatcher.team.agents[seat]
    if agent.disabled and not here.disabled:
        await dispatcher.send(DisableAgent(seat=seat, reason=NOTE), actor=MUSTER)
    elif here.disabled and not agent.disabled:
        await dispatcher.send(EnableAgent(seat=seat), actor=MUSTER)
    if paused and here.run.desired is not RunMode.PAUSE:
        await _desire(dispatcher, seat, RunMode.PAUSE, NOTE)
    elif not paused and here.run.desired is RunMode.PAUSE and here.run.note == NOTE:
        await _desire(dispatcher, seat, RunMode.CONTINUOUS, "")


async def _enroll(dispatcher: Dispatcher, name: str) -> SeatId:
    command = EnrollAgent(name=name, authority=Authority.MUSTER, on_call=True)
    await dispatcher.send(command, actor=MUSTER)
    return dispatcher.team.names[name_key(name)]


async def _desire(dispatcher: Dispatcher, seat: SeatId, desired: RunMode, note: str) -> None:
    command = SetDesired(seat=seat, desired=desired, set_by=MUSTER, note=note)
    await dispatcher.send(command, actor=MUSTER)
