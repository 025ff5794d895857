"""Partial text: what the holders of turns are writing, in memory and never in the log.

The hub has the latest text of each turn in progress, from its beginning. Readers are told at most
every `PARTIAL_SECONDS` for each channel, and only of the newest text. When the message is posted or
the turn ends, the text is dropped, and readers are told an empty one.
"""

from collections.abc import Callable
from typing import Final

import msgspec

from muster.engine.dispatcher import Commit, Dispatcher
from muster.engine.ports import Clock
from muster.limits import PARTIAL_CHARS_MAX, PARTIAL_SECONDS
from muster.machines.events import AgentMessage, Fact, StateTransition
from muster.machines.ids import ChannelId, SeatId
from muster.machines.turns.table import HELD, require_turn
from muster.machines.vocabulary import Machine

EVENT: Final = "partial"
"""The name of its events on a stream."""


class Partial(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The text that an agent has written so far in a turn; empty when there is none any more."""

    channel: ChannelId
    seat: SeatId
    agent: str
    epoch: int
    text: str


PartialReader = Callable[[Partial], object]
"""Callback for every new text. Must be quick and not raise."""


class _Slot:
    """The text of one channel, and when readers may be told again."""

    __slots__ = ("latest", "told_at", "waiting")

    def __init__(self, latest: Partial, told_at: float) -> None:
        self.latest = latest
        self.told_at = told_at
        self.waiting = False


class Partials:
    """The partial text of all turns in progress."""

    def __init__(self, dispatcher: Dispatcher, clock: Clock) -> None:
        """Drop a text when a commit posts the message or ends the turn."""
        self._dispatcher = dispatcher
        self._clock = clock
        self._slots: dict[ChannelId, _Slot] = {}
        self._readers: list[PartialReader] = []
        dispatcher.watch(self._on_commit)

    def subscribe(self, reader: PartialReader) -> None:
        """Tell a reader of every new text from now on."""
        self._readers.append(reader)

    def latest(self, channel: ChannelId) -> Partial | None:
        """The text of the turn in a channel, if its holder has written any."""
        slot = self._slots.get(channel)
        return None if slot is None else slot.latest

    def put(self, channel: ChannelId, seat: SeatId, text: str, epoch: int | None = None) -> None:
        """Replace the text of a turn. Anybody but its ACTIVE holder is refused.

        A selector's turn has no message, so its text is not shown. Of a long text, the end counts.
        """
        team = self._dispatcher.head
        held = require_turn(team, channel, seat, epoch, "write", self._clock.now())
        turn = held.channel.turn
        if turn is None or turn.choosing:
            return
        partial = Partial(
            channel=channel,
            seat=seat,
            agent=held.agent.id,
            epoch=held.channel.epoch,
            text=text[-PARTIAL_CHARS_MAX:],
        )
        slot = self._slots.get(channel)
        if slot is None:
            slot = self._slots[channel] = _Slot(partial, self._clock.monotonic() - PARTIAL_SECONDS)
        elif slot.latest == partial:
            return
        slot.latest = partial
        if not slot.waiting:
            self._tell_in_time(channel, slot)

    def _tell_in_time(self, channel: ChannelId, slot: _Slot) -> None:
        """Tell readers now, or when the time since the last text is long enough."""
        left = slot.told_at + PARTIAL_SECONDS - self._clock.monotonic()
        if left <= 0:
            self._tell(slot)
            return
        slot.waiting = True
        self._clock.call_later(left, lambda: self._is_time(channel, slot))

    def _is_time(self, channel: ChannelId, slot: _Slot) -> None:
        slot.waiting = False
        if self._slots.get(channel) is slot:  # not dropped meanwhile
            self._tell(slot)

    def _tell(self, slot: _Slot) -> None:
        slot.told_at = self._clock.monotonic()
        for reader in self._readers:
            reader(slot.latest)

    def _on_commit(self, commit: Commit) -> None:
        if not self._slots:
            return
        for event in commit.events:
            channel = _channel_without_text(event.fact)
            if channel is not None:
                self._drop(channel)

    def _drop(self, channel: ChannelId) -> None:
        slot = self._slots.pop(channel, None)
        if slot is not None and slot.latest.text:
            slot.latest = msgspec.structs.replace(slot.latest, text="")
            self._tell(slot)


def _channel_without_text(fact: Fact) -> ChannelId | None:
    """The channel in which a message was posted, or a turn has ended."""
    if isinstance(fact, AgentMessage):
        return fact.channel
    if not isinstance(fact, StateTransition) or fact.machine is not Machine.TURNS:
        return None
    return fact.channel if fact.source in HELD and fact.target not in HELD else None
