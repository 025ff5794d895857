"""Teams for the benchmarks: built by commands, as in production, and written in large commits."""

import random
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from muster.engine.loading import load_from
from muster.engine.system import SystemClock
from muster.machines import commands as c
from muster.machines.commands import Command
from muster.machines.events import Event
from muster.machines.ids import (
    FIRST_ENROLLED_SEAT,
    MUSTER,
    ChannelId,
    SeatId,
    SessionId,
    agent_actor,
    person,
)
from muster.machines.kernel import snapshots
from muster.machines.kernel.team import decide
from muster.machines.state import Channel, Team
from muster.machines.vocabulary import Authority, TurnConfig
from muster.sessions.reactor import Sessions
from muster.store.base import EventStore, Snapshot
from muster.store.sqlite import SqliteStore

HUMAN: Final = "Grace"
ACTOR: Final = person(HUMAN)
LIFE: Final = SessionId("boot-1")

_WEEK_SECONDS: Final = 7 * 24 * 3600.0
NEVER_OVER: Final = TurnConfig(
    default_timeout_seconds=_WEEK_SECONDS,
    max_turn_seconds=_WEEK_SECONDS,
    rest_after_idle_rounds=1_000_000,
    turns_per_message=0,
    cost_usd_per_message=0.0,
    alike_in_a_row=0,
)
"""Turns without timeout, conversations without end: every measured step is the same work."""

_COMMIT_EVENTS: Final = 8192


def channel_id(number: int) -> ChannelId:
    """The name of a channel by its number."""
    return ChannelId(f"channel-{number}")


def founding(channels: int, members: int, config: TurnConfig = NEVER_OVER) -> Iterator[Command]:
    """The commands that create a team whose agents are all connected, each in one channel."""
    yield c.StartMuster(server_session=LIFE, muster_version="bench", human=HUMAN)
    seat = FIRST_ENROLLED_SEAT
    for number in range(channels):
        yield c.CreateChannel(channel=channel_id(number), config=config)
        for _ in range(members):
            yield c.EnrollAgent(name=f"Agent {seat}", authority=Authority.SELF)
            yield c.ConnectAgent(seat=seat)
            yield c.AddMember(channel=channel_id(number), seat=seat)
            seat = SeatId(seat + 1)


def founded(channels: int, members: int, now: datetime) -> Team:
    """Build such a team in memory."""
    team = Team()
    for command in founding(channels, members):
        team = decide(team, command, now, actor=ACTOR, life=LIFE).team
    return team


class Scribe:
    """Writes a team's events into a store, many commands per commit."""

    def __init__(self, store: EventStore, now: datetime, team: Team) -> None:
        self._store = store
        self._unwritten: list[Event] = []
        self.team = team
        self.now = now

    def send(self, command: Command, actor: str = ACTOR) -> None:
        """Decide a command; its events are written later."""
        decision = decide(self.team, command, self.now, actor=actor, life=LIFE)
        self.team = decision.team
        self._unwritten += decision.events

    async def write(self, *, at_least: int = 1) -> None:
        """Write the decided events, if there are enough for a commit."""
        if len(self._unwritten) >= at_least:
            events, self._unwritten = self._unwritten, []
            await self._store.append(events)

    async def snapshot(self) -> None:
        """Save a snapshot, and move the reactor's cursor to the end."""
        await self.write()
        snapshot = Snapshot(self.team.seq, snapshots.encode(self.team))
        await self._store.save_snapshot(snapshot, snapshots.VERSION)
        await self._store.save_cursor(Sessions.name, self.team.seq)


@asynccontextmanager
async def writing(home: Path) -> AsyncGenerator[Scribe]:
    """Open or create a home, with a `Scribe` that continues its log."""
    store = await SqliteStore.open(home)
    try:
        scribe = await continuing(store)
        yield scribe
        await scribe.write()
    finally:
        await store.close()


async def continuing(store: EventStore) -> Scribe:
    """A `Scribe` that continues the log of a store."""
    return Scribe(store, SystemClock().now(), (await load_from(store)).team)


async def found(scribe: Scribe, *, channels: int, members: int) -> None:
    """Create a new team."""
    for command in founding(channels, members):
        scribe.send(command)
        await scribe.write(at_least=_COMMIT_EVENTS)
    await scribe.write()


async def found_home(home: Path, *, channels: int, members: int, snapshot: bool = False) -> None:
    """Create a home with a new team."""
    async with writing(home) as scribe:
        await found(scribe, channels=channels, members=members)
        if snapshot:
            await scribe.snapshot()


# ── simulated load ────────────────────────────────────────────────────────────────────────────────


class Life:
    """The simulated work of a busy team: turns, activity, waits, and human messages.

    Of a hundred actions, sixty are a turn that ends with a post, fifteen are activity, ten a turn
    passed in silence, seven a human message, five a wait, three a disconnect.
    """

    def __init__(self, scribe: Scribe, seed: int = 1) -> None:
        self._scribe = scribe
        self._chance = random.Random(seed)  # the same actions in every run
        self._deeds: tuple[Callable[[Channel, SeatId], None], ...] = (
            *[self._speak] * 60,
            *[self._work] * 15,
            *[self._pass] * 10,
            *[self._hear] * 7,
            *[self._wait] * 5,
            *[self._drop_out] * 3,
        )

    async def until(self, seq: int) -> None:
        """Continue until the log has about that many events."""
        scribe = self._scribe
        channels = sorted(scribe.team.channels)
        while scribe.team.seq < seq:
            scribe.now += timedelta(seconds=1)
            channel = scribe.team.channels[self._chance.choice(channels)]
            assert channel.turn is not None
            self._chance.choice(self._deeds)(channel, channel.turn.holder)
            await scribe.write(at_least=_COMMIT_EVENTS)
        await scribe.write()

    def _speak(self, channel: Channel, seat: SeatId) -> None:
        text = "all tests pass; next I look at the parser. " * self._chance.randint(1, 10)
        self._send(c.Speak(channel=channel.id, seat=seat, text=text, complete=True), seat)

    def _work(self, channel: Channel, seat: SeatId) -> None:
        self._scribe.now += timedelta(seconds=10)
        self._send(c.RenewTurn(channel=channel.id, seat=seat), seat)

    def _pass(self, channel: Channel, seat: SeatId) -> None:
        self._send(c.CompleteTurn(channel=channel.id, seat=seat, epoch=channel.epoch), seat)

    def _hear(self, channel: Channel, seat: SeatId) -> None:
        text = "please look at the failing build first"
        self._scribe.send(c.PostMessage(channel=channel.id, text=text, speaker_name=HUMAN))

    def _wait(self, channel: Channel, seat: SeatId) -> None:
        self._send(c.WaitTurn(channel=channel.id, seat=seat, reason="for the build"), seat)
        self._send(c.ResumeTurn(channel=channel.id, seat=seat), seat)

    def _drop_out(self, channel: Channel, seat: SeatId) -> None:
        self._scribe.send(c.DisconnectAgent(seat=seat, reason="heartbeat"), MUSTER)
        self._send(c.ConnectAgent(seat=seat), seat)
        self._scribe.send(c.AddMember(channel=channel.id, seat=seat))

    def _send(self, command: Command, seat: SeatId) -> None:
        self._scribe.send(command, agent_actor(self._scribe.team.agents[seat].id))
