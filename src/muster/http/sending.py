"""Messages that are sent once: a retry with the same `Idempotency-Key` is not sent again."""

from collections.abc import Sequence

from muster.errors import Repeated
from muster.http.routing import ApiCall
from muster.machines.commands import Command
from muster.machines.events import AgentMessage, Event, UserMessage
from muster.views.answers import Recorded
from muster.views.effects import effect_of


async def send_message(call: ApiCall, command: Command) -> Recorded:
    """Send a command that says something; a repeated one gets the place of the first."""
    try:
        receipt = await call.send(command)
    except Repeated as repeated:
        return Recorded(seq=_seq_of(repeated), repeated=True)
    await _forget_uploads(call, receipt.events)
    told, effect = effect_of(call.team, receipt.events)
    seq = _message_seq(receipt.events) or receipt.seq
    return Recorded(seq=seq, delivered_to=told, effect=effect)


def _seq_of(repeated: Repeated) -> int:
    seq = repeated.found["seq"]
    assert isinstance(seq, int)
    return seq


def _message_seq(events: Sequence[Event]) -> int | None:
    said = (each.seq for each in events if isinstance(each.fact, UserMessage | AgentMessage))
    return next(said, None)


async def _forget_uploads(call: ApiCall, events: Sequence[Event]) -> None:
    for event in events:
        if isinstance(event.fact, UserMessage | AgentMessage) and event.fact.files:
            assert call.muster.files is not None
            await call.muster.files.named(event.fact.files)
