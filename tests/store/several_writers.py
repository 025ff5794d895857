"""Several writers on one log: rounds of commands that they send at once, and what must hold."""

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

from muster.engine.dispatcher import Dispatcher, Receipt
from muster.engine.loading import load_from
from muster.errors import NameTaken, Refused, Repeated
from muster.machines.commands import Command, CompleteTurn, EnrollAgent, PostMessage
from muster.machines.events import Event
from muster.machines.vocabulary import Authority
from muster.store.base import EventStore
from muster.store.codec import stored
from muster.testing.clock import ManualClock
from tests.builders import (
    ADA,
    BEN,
    DESIGN,
    HUMAN,
    a_dispatcher,
    logged,
    seat_of,
    with_agents,
    with_channel,
)


class Order(NamedTuple):
    """A command that one of the writers sends, and the loop's iterations that it waits before."""

    writer: int
    command: Command
    key: str | None = None
    delay: int = 0


Outcome = Receipt | Refused


def enroll(name: str) -> Command:
    return EnrollAgent(name=name, authority=Authority.SELF)


def post(text: str) -> Command:
    return PostMessage(channel=DESIGN, text=text, speaker_name="Marcus")


TURN_OVER = CompleteTurn(channel=DESIGN, seat=ADA)


class Writers:
    """Dispatchers on several openings of one log, with a team of two in a channel."""

    def __init__(self, stores: Sequence[EventStore], dispatchers: Sequence[Dispatcher]) -> None:
        self.stores = stores
        self.dispatchers = dispatchers
        self.outcomes: list[tuple[Order, Outcome]] = []

    @classmethod
    async def on(cls, stores: Sequence[EventStore]) -> "Writers":
        clock = ManualClock()
        first = await a_dispatcher(stores[0], clock)
        await with_agents(first, "Ada", "Ben")
        await with_channel(first, [ADA, BEN])
        others = [Dispatcher(each, clock, (await load_from(each)).team) for each in stores[1:]]
        return cls(stores, [first, *others])

    async def play(self, orders: Sequence[Order]) -> None:
        """Send a round of commands at once."""
        outcomes = await asyncio.gather(*map(self._send, orders))
        self.outcomes += zip(orders, outcomes, strict=True)

    async def _send(self, order: Order) -> Outcome:
        for _ in range(order.delay):
            await asyncio.sleep(0)
        try:
            sender = self.dispatchers[order.writer]
            return await sender.send(order.command, actor=HUMAN, key=order.key)
        except Refused as refused:
            return refused

    async def check(self) -> None:
        """No gap, no place twice, each answered command once, and the same state everywhere."""
        for store in self.stores:
            await store.append(())  # hears of everything
        events = await logged(self.stores[0])
        assert [each.seq for each in events] == list(range(1, len(events) + 1))
        places = [each for _, outcome in self.outcomes for each in self._events(outcome)]
        assert all(stored(each) == stored(events[each.seq - 1]) for each in places)
        assert len({each.seq for each in places}) == len(places)
        team = self.dispatchers[0].team
        assert all(each.team == each.head == team for each in self.dispatchers)
        assert (await load_from(self.stores[-1])).team == team
        self._check_names()
        self._check_keys()

    @staticmethod
    def _events(outcome: Outcome) -> Sequence[Event]:
        return outcome.events if isinstance(outcome, Receipt) else ()

    def _check_names(self) -> None:
        """A name is given once, to whichever writer asked first."""
        asked: dict[str, list[Outcome]] = {}
        for order, outcome in self.outcomes:
            if isinstance(order.command, EnrollAgent):
                asked.setdefault(order.command.name, []).append(outcome)
        for name, outcomes in asked.items():
            assert sum(isinstance(each, Receipt) for each in outcomes) == 1
            assert all(isinstance(each, Receipt | NameTaken) for each in outcomes)
            assert seat_of(self.dispatchers[-1].team, name)

    def _check_keys(self) -> None:
        """A key is carried out once, and everybody else is told the place."""
        by_key: dict[str, list[Outcome]] = {}
        for order, outcome in self.outcomes:
            if order.key is not None:
                by_key.setdefault(order.key, []).append(outcome)
        for outcomes in by_key.values():
            (done,) = (each for each in outcomes if isinstance(each, Receipt))
            repeated = [each for each in outcomes if isinstance(each, Repeated)]
            assert len(repeated) == len(outcomes) - 1
            assert {each.seq for each in repeated} <= {done.events[0].seq}
