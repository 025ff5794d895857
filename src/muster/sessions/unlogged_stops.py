"""Stops that the log could not take, because the disk is full or the home cannot be written.

An agent must be stoppable then, too: it may be the one that fills the disk. Its program is stopped
at once, and nothing of it starts again; the pause is sent again until the log takes it. Only then
does it survive a restart of muster, so its sender is told that it is not recorded yet.
"""

import asyncio
from collections.abc import Callable, Coroutine

from msgspec.structs import replace

from muster.engine.dispatcher import Dispatcher
from muster.engine.ports import Clock
from muster.errors import MusterError, StoppedUnlogged, StoreFailed
from muster.limits import STORE_RETRY_SECONDS
from muster.machines.commands import Command, SetDesired
from muster.machines.ids import SeatId
from muster.machines.vocabulary import Authority, RunMode, Urgency

StopSeat = Callable[[SeatId, Urgency], Coroutine[None, None, None]]
"""Stops the sessions of an agent, without the log."""


class UnloggedStops:
    """The pauses that are carried out and not recorded yet."""

    def __init__(
        self, dispatcher: Dispatcher, clock: Clock, tasks: asyncio.TaskGroup, stop: StopSeat
    ) -> None:
        """Take every pause that the dispatcher cannot record."""
        self._dispatcher = dispatcher
        self._clock = clock
        self._tasks = tasks
        self._stop = stop
        self._waiting: dict[SeatId, asyncio.Event] = {}
        dispatcher.on_unwritten(self._take)

    async def recorded(self, seat: SeatId) -> None:
        """Return when no pause of this agent waits to be recorded."""
        while (waiting := self._waiting.get(seat)) is not None:
            await waiting.wait()

    def _take(self, command: Command, actor: str, error: StoreFailed) -> StoreFailed | None:
        """Stop the agent that a failed command would have paused; the error for its sender."""
        if not isinstance(command, SetDesired) or command.desired is not RunMode.PAUSE:
            return None
        agent = self._dispatcher.team.agents.get(command.seat)
        if agent is None or agent.authority is not Authority.MUSTER:
            return None
        again = command.seat in self._waiting
        urgency = Urgency.NOW if command.now or again else Urgency.GRACEFUL
        self._tasks.create_task(self._stop(command.seat, urgency))
        if not again:
            self._waiting[command.seat] = asyncio.Event()
            still = replace(command, if_generation=agent.run.generation)
            self._tasks.create_task(self._record(still, actor))
        return StoppedUnlogged(name=agent.id, detail=error.found["detail"])

    async def _record(self, command: SetDesired, actor: str) -> None:
        """Send a pause until the log takes it. A newer desired state stands."""
        try:
            while not await self._is_settled(command, actor):
                await self._clock.sleep(STORE_RETRY_SECONDS)
        finally:
            self._waiting.pop(command.seat).set()

    async def _is_settled(self, command: SetDesired, actor: str) -> bool:
        try:
            await self._dispatcher.begin(command, actor=actor).written
        except StoreFailed:
            return False
        except MusterError:  # refused: somebody asked for something else since
            return True
        return True
