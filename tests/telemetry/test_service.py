"""The export: when it happens, and what a collector that is away costs."""

import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from muster.engine.dispatcher import Dispatcher
from muster.engine.tasks import background
from muster.errors import MissingExtra
from muster.machines import commands as c
from muster.machines.events import WarningLogged
from muster.settings.notify import TelemetrySettings
from muster.store.memory import MemoryStore
from muster.telemetry import service
from muster.telemetry.records import EventRecord
from muster.telemetry.service import AWAY_SECONDS, SETTLE_SECONDS, Telemetry, telemetry_services
from muster.telemetry.spans import WorkSpan
from muster.testing.clock import ManualClock
from tests.builders import a_dispatcher, eventually, logged, run, settled


class Sink:
    """An exporter that keeps what it takes, if it takes anything."""

    def __init__(self) -> None:
        self.takes = True
        self.calls = 0
        self.seqs: list[object] = []
        self.is_closed = False

    def export(self, spans: list[WorkSpan], records: list[EventRecord]) -> bool:
        self.calls += 1
        if self.takes:
            self.seqs += [each.attributes["muster.seq"] for each in records]
        return self.takes

    def close(self) -> None:
        self.is_closed = True


class Stage:
    def __init__(self, dispatcher: Dispatcher, clock: ManualClock, store: MemoryStore) -> None:
        self.dispatcher, self.clock, self.store, self.sink = dispatcher, clock, store, Sink()

    async def says(self, text: str) -> None:
        await self.dispatcher.send(c.LogWarning(text=text), actor="muster")

    async def exports(self) -> None:
        """Let the pause pass, and wait for the export."""
        calls = self.sink.calls
        await settled()
        self.clock.advance(SETTLE_SECONDS)
        await eventually(lambda: self.sink.calls > calls)

    async def warnings(self) -> list[str]:
        events = await logged(self.store, WarningLogged)
        return [each.fact.text for each in events if isinstance(each.fact, WarningLogged)]


@asynccontextmanager
async def staged() -> AsyncGenerator[Stage]:
    store, clock = MemoryStore(), ManualClock()
    stage = Stage(await a_dispatcher(store, clock), clock, store)
    telemetry = Telemetry(stage.dispatcher, clock, stage.sink, content=False)
    async with background() as tasks:
        tasks.create_task(telemetry.run())
        yield stage


def test_commits_are_exported_together_after_a_pause_and_the_last_ones_at_the_end() -> None:
    async def test() -> None:
        async with staged() as stage:
            await stage.says("one")
            await stage.says("two")
            await stage.exports()
            assert len(stage.sink.seqs) == 2
            await stage.says("three")
        assert len(stage.sink.seqs) == 3
        assert stage.sink.is_closed

    run(test())


def test_a_collector_that_is_away_is_told_of_once_and_gets_everything_when_it_is_back() -> None:
    async def test() -> None:
        async with staged() as stage:
            stage.sink.takes = False
            await stage.says("one")
            await stage.exports()
            await eventually(lambda: stage.dispatcher.team.seq == 3)
            await stage.exports()
            assert len(await stage.warnings()) == 2
            stage.sink.takes = True
            stage.clock.advance(AWAY_SECONDS)
            await stage.exports()
            await eventually(lambda: stage.dispatcher.team.seq == 4)
            assert stage.sink.seqs == [2, 3]
            assert "again" in (await stage.warnings())[-1]

    run(test())


def test_what_waits_for_the_collector_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "WAITING_MAX", 3)

    async def test() -> None:
        async with staged() as stage:
            stage.sink.takes = False
            for number in range(5):
                await stage.says(f"{number}")
            await stage.exports()
            stage.sink.takes = True
            await stage.exports()
            assert len(stage.sink.seqs) == 3

    run(test())


def test_without_the_extra_the_line_that_installs_it_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "muster.telemetry.exporting", None)

    async def test() -> None:
        store, clock = MemoryStore(), ManualClock()
        dispatcher = await a_dispatcher(store, clock)
        assert telemetry_services(dispatcher, clock, TelemetrySettings(), None) == []
        collector = TelemetrySettings(otlp_url="http://127.0.0.1:4318")
        with pytest.raises(MissingExtra, match=r"muster-agents\[otel\]"):
            telemetry_services(dispatcher, clock, collector, None)

    run(test())
