"""Messages that are sent once: a retry with the same `Idempotency-Key` is not sent again."""

from collections.abc import Sequence

from muster.errors import Repeated
from muster.http.routing import ApiCall
from muster.machines.commands import Command
from muster.machines.events import AgentMessage, Event, UserMessage
from muster.views.answers import Recorded


async def send_message(call: ApiCall, command: Command) -> Recorded:
    """Send a command that says something; a repeated one gets the place of the first."""
    try:
        receipt = await call.send(command)
    except Repeated as repeated:
        return Recorded(seq=_seq_of(repeated), repeated=True)
    return Recorded(seq=_message_seq(receipt.events) or receipt.seq)


def _seq_of(repeated: Repeated) -> int:
    seq = repeated.found["seq"]
    assert isinstance(seq, int)
    return seq


def _message_seq(events: Sequence[Event]) -> int | None:
    said = (each.seq for each in events if isinstance(each.fact, UserMessage | AgentMessage))
    return next(said, None)
