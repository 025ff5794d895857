"""Reports about sessions and commands of their agents: sent until the log takes or refuses them."""

import logging
from typing import Final

from muster.engine.dispatcher import Dispatcher
from muster.engine.ports import Clock
from muster.engine.retrying import retry_pause
from muster.errors import Broken, Closed, MusterError, Refused, StoreFailed, Unavailable
from muster.machines.commands import Command, RejectMarker
from muster.machines.ids import MUSTER, SeatId, SessionId, agent_actor
from muster.sessions.tools import check_exists

log = logging.getLogger(__name__)

ATTEMPTS: Final = 2
"""How often a command is tried before it is set aside."""


class Reports:
    """Sends reports, with retries while the store is unavailable."""

    def __init__(self, dispatcher: Dispatcher, clock: Clock) -> None:
        """Send to this dispatcher."""
        self._dispatcher = dispatcher
        self._clock = clock

    async def send(self, command: Command, cause: int) -> bool:
        """Send a report, with retries while the store is unavailable; tell if it was accepted."""
        failures = 0
        while True:
            try:
                await self._dispatcher.send(command, actor=MUSTER, cause=cause)
            except (Refused, Closed) as error:
                log.info("%s", error, extra={"action": "report_refused", "cause": cause})
                return False
            except Broken as error:
                log.error("%s", error, exc_info=error, extra={"action": "report_failed"})
                return False
            except Unavailable as error:
                failures += 1
                if not isinstance(error, StoreFailed):  # that one the dispatcher has told
                    log.warning("%s", error, extra={"action": "report_failed", "cause": cause})
                await self._clock.sleep(retry_pause(error, failures))
            else:
                return True


class SessionCommands:
    """Sends commands as the agent of one session."""

    def __init__(
        self, dispatcher: Dispatcher, clock: Clock, *, session: SessionId, seat: SeatId
    ) -> None:
        """Act for this seat."""
        self._dispatcher = dispatcher
        self._clock = clock
        self._session = session
        self._seat = seat

    @property
    def _actor(self) -> str:
        return agent_actor(self._dispatcher.team.agents[self._seat].id)

    async def reject(self, marker: str, reason: str) -> None:
        """Put on record that something that the program said is rejected."""
        await self.send(RejectMarker(seat=self._seat, marker=marker, reason=reason))

    async def send(self, command: Command, *, marker: str | None = None) -> None:
        """Send a command, with retries while the store is unavailable; record a refusal.

        A command that fails twice while the store takes the record of that is set aside: nothing
        that a program says can keep muster from hearing what it says next.
        """
        failures = 0
        while True:
            try:
                check_exists(self._dispatcher.team, self._seat, command)
                await self._dispatcher.send(command, actor=self._actor)
            except Refused as refused:
                if not refused.recorded or marker is not None:
                    name = marker or type(command).__name__
                    await self._put_on_record(name, str(refused))
                return
            except Closed:
                return
            except Unavailable as error:
                failures += 1
                if not isinstance(error, StoreFailed):  # that one the dispatcher has told
                    log.warning("%s", error, extra={"action": "intake_failed", "seat": self._seat})
                if failures >= ATTEMPTS and await self._set_aside(marker, command, error):
                    return
                await self._clock.sleep(retry_pause(error, failures))
            else:
                return

    async def _set_aside(self, marker: str | None, command: Command, error: Unavailable) -> bool:
        """Put a command on record that the store does not take; tell if it took the record."""
        reason = f"is set aside: the log did not take it ({error})"
        return await self._put_on_record(marker or type(command).__name__, reason)

    async def fail(self, what: str, error: Exception) -> None:
        """Log a report that failed, in muster's log and in the team's."""
        extra = {"action": "intake_failed", "session": self._session, "seat": self._seat}
        log.error("a report of a session could not be handled", exc_info=error, extra=extra)
        await self._put_on_record(what, f"could not be handled: {error}")

    async def _put_on_record(self, marker: str, reason: str) -> bool:
        rejected = RejectMarker(seat=self._seat, marker=marker, reason=reason)
        try:
            await self._dispatcher.send(rejected, actor=self._actor)
        except StoreFailed:
            return False
        except MusterError as error:
            log.warning("%s", error, extra={"action": "intake_failed", "seat": self._seat})
            return False
        return True
