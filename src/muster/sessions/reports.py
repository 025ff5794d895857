"""Reports about sessions: sent until the log has taken or refused them."""

import logging

from muster.engine.dispatcher import Dispatcher
from muster.engine.ports import Clock
from muster.engine.retrying import retry_pause
from muster.errors import Broken, Closed, Refused, StoreFailed, Unavailable
from muster.machines.commands import Command
from muster.machines.ids import MUSTER

log = logging.getLogger(__name__)


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
