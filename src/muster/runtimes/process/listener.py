"""A listener that serialises reports from several tasks, and survives a failure to take one in."""

import asyncio
import logging
from collections.abc import Callable, Sequence

from muster.engine.ports import (
    MusterToolCall,
    Permission,
    PermissionAnswer,
    Reply,
    SessionListener,
    SessionReport,
)
from muster.runtimes.lines.types import InternalReport

log = logging.getLogger(__name__)


class SerialListener:
    """Passes the reports of one session on, one at a time and in order."""

    __slots__ = ("_listener", "_lock")

    def __init__(self, listener: SessionListener) -> None:
        """Pass everything on to `listener`."""
        self._listener = listener
        self._lock = asyncio.Lock()

    async def on_report(self, report: SessionReport) -> None:
        """Pass one report on."""
        await self.on_reports((report,))

    async def on_reports(
        self,
        reports: Sequence[SessionReport],
        after_each: Callable[[SessionReport], object] | None = None,
    ) -> None:
        """Pass several reports on with none of another task in between.

        `after_each` is called when a report has been taken in, internal ones included.
        """
        if not reports:
            return
        async with self._lock:
            for report in reports:
                if not isinstance(report, InternalReport):
                    await self._pass_on(report)
                if after_each is not None:
                    after_each(report)

    async def on_tool_call(self, call: MusterToolCall) -> Reply:
        """Tool calls do not wait for reports: a tool may run for minutes."""
        return await self._listener.on_tool_call(call)

    async def on_permission_request(self, request: Permission) -> PermissionAnswer:
        """Nor do permission requests, which wait for a person."""
        return await self._listener.on_permission_request(request)

    async def _pass_on(self, report: SessionReport) -> None:
        try:
            await self._listener.on_report(report)
        except Exception as error:  # the session goes on, and its next report may succeed
            log.error(
                "a report of a session was lost", exc_info=error, extra={"action": "report_lost"}
            )
