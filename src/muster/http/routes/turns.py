"""Turns over HTTP: what an agent does with its turn, and what a human decides about it.

An agent's token acts for that agent. The operator names the agent, or means the holder of the turn.

    POST /api/channels/design/turn/complete?wait=30     end the turn, then wait for the next work

A turn that is ended with `wait` answers like `POST /api/agents/{name}/next`: one request a turn
instead of two.
"""

from typing import Annotated

import msgspec

from muster.errors import Invalid
from muster.http.parsing import parse_known
from muster.http.recording import place_of, record, record_told
from muster.http.routing import ACTORS, PEOPLE, SPEAKERS, ApiCall, route
from muster.http.types import Note, Query, Seconds, StrictBody
from muster.inbox.errands import Wanted
from muster.limits import PARTIAL_CHARS_MAX
from muster.machines.commands import (
    Command,
    CompleteTurn,
    OverrideTurn,
    ResumeTurn,
    Speak,
    WaitTurn,
)
from muster.machines.ids import ChannelId, Epoch, SeatId
from muster.machines.state import TurnState
from muster.machines.vocabulary import Awaits, Role
from muster.views.answers import Recorded
from muster.views.answers.channels import TurnOverridden
from muster.views.answers.messages import TurnEnded
from muster.views.turns import turn_overridden


class TurnBody(StrictBody, frozen=True, kw_only=True):
    """Which turn: its holder and its number."""

    agent: str | None = None
    epoch: Epoch | None = None
    """The turn's number. With it, a request that comes too late leaves a later turn alone."""


class CompleteTurnBody(TurnBody, frozen=True, kw_only=True):
    """The end of a turn, with a message or without."""

    message: str | None = None
    reason: Note | None = None
    to: str | None = None
    """The member that is handed the turn. Left out, the channel's rules decide."""


class PassTurnBody(TurnBody, frozen=True, kw_only=True):
    """The end of a turn without a message."""

    reason: Note | None = None
    to: str | None = None
    """The member that is handed the turn. Left out, the channel's rules decide."""


class WaitTurnBody(TurnBody, frozen=True, kw_only=True):
    """A pause in the middle of a turn."""

    reason: Note = "waiting"
    timeout_seconds: Seconds | None = None
    awaits: Awaits = Awaits.PERSON
    """What ends the wait, beside its timeout: a person's message, or a resume only."""


class PartialTextBody(TurnBody, frozen=True, kw_only=True):
    """The text so far, from its beginning; an empty one takes it back."""

    text: Annotated[str, msgspec.Meta(max_length=PARTIAL_CHARS_MAX)]


class OverrideTurnBody(StrictBody, frozen=True, kw_only=True):
    """A human's decision about an agent's turn."""

    to: TurnState
    agent: str | None = None


class EndQuery(Query, frozen=True, kw_only=True):
    """How long to wait for the agent's next work after the end of the turn."""

    wait: Annotated[float, msgspec.Meta(ge=0, le=60)] | None = None
    """Seconds. Left out, the answer comes as soon as the end is on disk, and has no work in it."""

    known: str = ""
    """Other turns that the agent is working on: `channel:epoch`, joined by commas."""


@route("POST", "/api/channels/{channel}/turn/complete", may=ACTORS)
async def complete_turn(
    call: ApiCall, channel: ChannelId, query: EndQuery, body: CompleteTurnBody
) -> TurnEnded:
    """End a turn, with a message or without; with `wait`, wait for the agent's next work."""
    seat, to = await _seat(call, channel, body.agent), call.handed_to(body.to)
    end: Command
    if body.message is None:
        end = CompleteTurn(channel=channel, seat=seat, epoch=body.epoch, reason=body.reason, to=to)
    else:
        end = Speak(
            channel=channel,
            seat=seat,
            text=body.message,
            epoch=body.epoch,
            complete=True,
            to=to,
        )
    return await _end(call, seat, query, end)


@route("POST", "/api/channels/{channel}/turn/pass", may=ACTORS)
async def pass_turn(
    call: ApiCall, channel: ChannelId, query: EndQuery, body: PassTurnBody
) -> TurnEnded:
    """End a turn without a message; with `wait`, wait for the agent's next work."""
    seat, to = await _seat(call, channel, body.agent), call.handed_to(body.to)
    reason = body.reason or "pass"
    end = CompleteTurn(channel=channel, seat=seat, epoch=body.epoch, reason=reason, to=to)
    return await _end(call, seat, query, end)


async def _end(call: ApiCall, seat: SeatId, query: EndQuery, end: Command) -> TurnEnded:
    """End a turn, then wait for the next work of the agent that ended it."""
    known = parse_known(query.known)
    ended = await record(call, end)
    if query.wait is None:
        return TurnEnded(**msgspec.structs.asdict(ended))
    work = call.muster.inbox.next(
        seat, call.send_more, Wanted(known=known), wait_s=query.wait, actor=call.caller.actor
    )
    found = await record_told(call, seat, await call.unless_ended(work))
    return TurnEnded(**msgspec.structs.asdict(ended), next=found)


@route("POST", "/api/channels/{channel}/turn/wait", may=ACTORS)
async def wait_turn(call: ApiCall, channel: ChannelId, body: WaitTurnBody) -> Recorded:
    """Pause a turn and keep it."""
    return await record(
        call,
        WaitTurn(
            channel=channel,
            seat=_holder(call, channel, body.agent),
            reason=body.reason,
            epoch=body.epoch,
            timeout_seconds=body.timeout_seconds,
            awaits=body.awaits,
        ),
    )


@route("POST", "/api/channels/{channel}/turn/resume", may=SPEAKERS)
async def resume_turn(call: ApiCall, channel: ChannelId, body: TurnBody) -> Recorded:
    """Resume a turn that was paused. Only a human resumes a turn that a human interrupted."""
    seat = _holder(call, channel, body.agent)
    return await record(call, ResumeTurn(channel=channel, seat=seat, epoch=body.epoch))


@route("POST", "/api/channels/{channel}/turn/override", may=PEOPLE)
async def override_turn(
    call: ApiCall, channel: ChannelId, body: OverrideTurnBody
) -> TurnOverridden:
    """Give the turn to an agent, now or as the next, or take it away."""
    seat = await _seat(call, channel, body.agent)
    receipt = await call.send(OverrideTurn(channel=channel, seat=seat, to=body.to))
    team = call.team
    shown = turn_overridden(team, team.channel(channel), team.agent(seat), place_of(receipt))
    return msgspec.structs.replace(shown, repeated=receipt.repeated)


@route("POST", "/api/channels/{channel}/turn/partial", may=ACTORS, status=204)
async def show_partial_text(call: ApiCall, channel: ChannelId, body: PartialTextBody) -> None:
    """Show the text that the holder of a turn is writing; the log never has it.

    Readers of `GET /api/events` get it as `event: partial`. The message replaces it.
    """
    call.team.channel(channel)  # a private one does not exist for others than its members
    seat = _holder(call, channel, body.agent)
    call.muster.partials.put(channel, seat, body.text, body.epoch)


async def _seat(call: ApiCall, channel: ChannelId, agent: str | None) -> SeatId:
    """The seat whose turn is meant; of a retry the one that was meant first."""
    first = await call.first_try()
    meant = None if first is None else getattr(first.events[0].fact, "seat", None)
    return _holder(call, channel, agent) if meant is None else meant


def _holder(call: ApiCall, channel: ChannelId, agent: str | None) -> SeatId:
    """The seat whose turn is meant: that of the named agent, of the caller, or of the holder."""
    if agent is not None:
        return call.acting_as(agent).seat
    if call.caller.role is Role.AGENT and call.caller.seat is not None:
        return call.caller.seat
    turn = call.team.channel(channel).turn
    if turn is None:
        raise Invalid(what="agent", why="must be named: nobody has the turn")
    return turn.holder
