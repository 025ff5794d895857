"""The receipt for a request that is one command: its place in the log, and what it led to.

An answer that hands a turn to a program is put on record here, too.
"""

from collections.abc import Sequence

from muster.engine.dispatcher import Receipt
from muster.http.routing import ApiCall
from muster.machines.commands import Command, ReportTaken
from muster.machines.events import AgentMessage, Event, UserMessage
from muster.machines.ids import SeatId, SessionId
from muster.machines.vocabulary import Role, Taken
from muster.views.answers import Recorded
from muster.views.answers.messages import Do, Next
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


async def record_told(call: ApiCall, seat: SeatId, found: Next) -> Next:
    """Record that a program with prompts has learned of its turn by asking, before its prompt.

    Otherwise its acts in the turn would be refused, as those of work that came before the turn.
    """
    team, channel = call.muster.team, found.channel
    if found.do is not Do.TURN or channel is None or call.caller.role is not Role.AGENT:
        return found
    session = team.sessions.get(team.agents[seat].session or SessionId(""))
    turn = team.channels[channel].turn
    is_told = turn is None or turn.taken or turn.holder != seat
    if session is not None and session.confirms_prompts and not is_told:
        text = f"turn {found.epoch} in {channel}"
        told = ReportTaken(session=session.id, how=Taken.INJECTED, text=text, channels=(channel,))
        await call.send_more(told)
    return found


async def _forget_uploads(call: ApiCall, events: Sequence[Event]) -> None:
    for event in events:
        if isinstance(event.fact, UserMessage | AgentMessage) and event.fact.files:
            assert call.muster.files is not None
            await call.muster.files.named(event.fact.files)
