"""Follows a team's commits, and exports them in batches while anything happens.

What waits for the collector is bounded: the oldest spans and records are dropped, and a warning in
the log says so once. A collector that is away costs muster nothing else.
"""

import asyncio
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Final, Protocol

from muster.engine.dispatcher import Commit, Dispatcher
from muster.engine.ports import Clock
from muster.engine.tasks import run_to_completion
from muster.errors import MissingExtra, MusterError
from muster.machines.commands import LogWarning
from muster.machines.ids import MUSTER
from muster.settings.notify import TelemetrySettings
from muster.telemetry.records import EventRecord, event_record
from muster.telemetry.spans import SpanRecorder, WorkSpan

SETTLE_SECONDS: Final = 2.0
"""The pause after a commit, so that a batch is more than one span."""

AWAY_SECONDS: Final = 30.0
"""The pause before a collector that was away is tried again, if nothing happens meanwhile."""

LAST_SECONDS: Final = 2.0
"""How long the last export may hold up the end of the team."""

WAITING_MAX: Final = 20_000
"""Spans, and records, that wait for the collector: some minutes of a busy team."""


class Exporter(Protocol):
    """Sends batches to a collector; blocks."""

    def export(self, spans: list[WorkSpan], records: list[EventRecord]) -> bool:
        """Whether the collector has taken the batch."""
        ...

    def close(self) -> None:
        """End the connections."""
        ...


class Telemetry:
    """Exports the work of a team."""

    def __init__(
        self, dispatcher: Dispatcher, clock: Clock, exporter: Exporter, *, content: bool
    ) -> None:
        """Follow the commits from now on."""
        self._dispatcher = dispatcher
        self._clock = clock
        self._exporter = exporter
        self._content = content
        self._recorder = SpanRecorder(content=content)
        self._spans: deque[WorkSpan] = deque(maxlen=WAITING_MAX)
        self._records: deque[EventRecord] = deque(maxlen=WAITING_MAX)
        self._changed = asyncio.Event()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="muster-telemetry")
        self._is_away = False
        dispatcher.watch(self._on_commit)

    async def run(self) -> None:
        """Export until cancelled; the last batch is exported at the end."""
        try:
            while True:
                await self._changed.wait()
                await self._clock.sleep(SETTLE_SECONDS)
                self._changed.clear()
                await self._export()
        finally:
            await run_to_completion(self._close())

    def _on_commit(self, commit: Commit) -> None:
        for event in commit.events:
            self._spans.extend(self._recorder.record(event, commit.team))
            if record := event_record(event, commit.team, content=self._content):
                self._records.append(record)
        self._changed.set()

    async def _export(self) -> None:
        spans, self._spans = self._spans, deque(maxlen=WAITING_MAX)
        records, self._records = self._records, deque(maxlen=WAITING_MAX)
        loop, batch = asyncio.get_running_loop(), (list(spans), list(records))
        taken = await loop.run_in_executor(self._thread, self._exporter.export, *batch)
        if not taken:  # the oldest are dropped if there are too many
            self._spans = deque((*spans, *self._spans), maxlen=WAITING_MAX)
            self._records = deque((*records, *self._records), maxlen=WAITING_MAX)
            self._clock.call_later(AWAY_SECONDS, self._changed.set)
        if taken is self._is_away:
            self._is_away = not taken
            await self._tell()

    async def _tell(self) -> None:
        """Say once in the log that the collector is away, or there again."""
        away = "The collector of [telemetry] does not take spans and records; they wait, and the "
        away += "oldest are dropped. Look at its address, telemetry.otlp_url."
        text = away if self._is_away else "The collector of [telemetry] takes spans again."
        with suppress(MusterError):  # the log fails, which is told elsewhere
            await self._dispatcher.send(LogWarning(text=text), actor=MUSTER)

    async def _close(self) -> None:
        """Export what waits. A collector that does not answer holds up the stop no longer."""
        if not self._is_away:
            with suppress(TimeoutError):
                async with asyncio.timeout(LAST_SECONDS):
                    await self._export()
        self._exporter.close()
        self._thread.shutdown(wait=False, cancel_futures=True)


def telemetry_services(
    dispatcher: Dispatcher, clock: Clock, settings: TelemetrySettings, home: Path | None
) -> list[Telemetry]:
    """The export of a team's work, where the settings name a collector."""
    if not settings.otlp_url:
        return []
    try:
        from muster.telemetry.exporting import OtlpExporter
    except ImportError as missing:
        raise MissingExtra(what="[telemetry] otlp_url", extra="otel") from missing
    team = "" if home is None else home.absolute().parent.name
    life = f"{team}/{dispatcher.team.seq}/{clock.now().isoformat()}"
    exporter = OtlpExporter(settings.otlp_url, life=life, team=team)
    return [Telemetry(dispatcher, clock, exporter, content=settings.content)]
