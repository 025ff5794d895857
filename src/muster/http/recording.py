"""The receipt for a request that is one command: its place in the log, and what it led to."""

from collections.abc import Sequence

from muster.engine.dispatcher import Receipt
from muster.http.routing import ApiCall
from muster.machines.commands import Command
from muster.machines.events import AgentMessage, Event, UserMessage
from muster.views.answers import Recorded
from muster.views.effects import effect_of


async def record(call: ApiCall, command: Command) -> Recorded:
    """Send a command; the receipt has the place of its first event: the message, if it is one.

    That event carries the idempotency key, so a retry gets the same place.
    """
    receipt = await call.send(command)
    if receipt.repeated:
        return Recorded(seq=place_of(receipt), repeated=True)
    await _forget_uploads(call, receipt.events)
    told, effect = effect_of(call.team, receipt.events)
    return Recorded(seq=place_of(receipt), delivered_to=told, effect=effect)


def place_of(receipt: Receipt) -> int:
    """The place of a command in the log: that of its first event."""
    return receipt.events[0].seq if receipt.events else receipt.seq


async def _forget_uploads(call: ApiCall, events: Sequence[Event]) -> None:
    for event in events:
        if isinstance(event.fact, UserMessage | AgentMessage) and event.fact.files:
            assert call.muster.files is not None
            await call.muster.files.named(event.fact.files)
