"""Turns over HTTP: what an agent does with its turn, and what a human decides about it.

An agent's token acts for that agent. The operator names the agent, or means the holder of the turn.
"""

from muster.errors import Invalid
from muster.http.routing import ACTORS, OPERATOR, ApiCall, route
from muster.http.sending import send_message
from muster.http.types import Epoch, Note, Seconds, StrictBody
from muster.machines.commands import (
    Command,
    CompleteTurn,
    OverrideTurn,
    ResumeTurn,
    Speak,
    WaitTurn,
)
from muster.machines.ids import ChannelId, SeatId
from muster.machines.state import TurnState
from muster.machines.vocabulary import Role
from muster.views.answers import Recorded


class TurnBody(StrictBody, frozen=True, kw_only=True):
    """Which turn: its holder and its number."""

    agent: str | None = None
    epoch: Epoch | None = None
    """The turn's number. With it, a request that comes too late leaves a later turn alone."""


class CompleteTurnBody(TurnBody, frozen=True, kw_only=True):
    """The end of a turn, with a message or without."""

    message: str | None = None
    reason: Note | None = None


class PassTurnBody(TurnBody, frozen=True, kw_only=True):
    """The end of a turn without a message."""

    reason: Note | None = None


class WaitTurnBody(TurnBody, frozen=True, kw_only=True):
    """A pause in the middle of a turn."""

    reason: Note = "waiting"
    timeout_seconds: Seconds | None = None


class OverrideTurnBody(StrictBody, frozen=True, kw_only=True):
    """A human's decision about an agent's turn."""

    to: TurnState
    agent: str | None = None


@route("POST", "/api/channels/{channel}/turn/complete", may=ACTORS)
async def complete_turn(call: ApiCall, channel: ChannelId, body: CompleteTurnBody) -> Recorded:
    """End a turn, with a message or without."""
    seat = _holder(call, channel, body.agent)
    if body.message is None:
        end = CompleteTurn(channel=channel, seat=seat, epoch=body.epoch, reason=body.reason)
        return await send_message(call, end)
    message = Speak(
        channel=channel,
        seat=seat,
        text=body.message,
        epoch=body.epoch,
        complete=True,
        key=call.key,
    )
    return await send_message(call, message)


@route("POST", "/api/channels/{channel}/turn/pass", may=ACTORS)
async def pass_turn(call: ApiCall, channel: ChannelId, body: PassTurnBody) -> Recorded:
    """End a turn without a message."""
    seat, reason = _holder(call, channel, body.agent), body.reason or "pass"
    end = CompleteTurn(channel=channel, seat=seat, epoch=body.epoch, reason=reason)
    return await _carry_out(call, end)


@route("POST", "/api/channels/{channel}/turn/wait", may=ACTORS)
async def wait_turn(call: ApiCall, channel: ChannelId, body: WaitTurnBody) -> Recorded:
    """Pause a turn and keep it."""
    return await _carry_out(
        call,
        WaitTurn(
            channel=channel,
            seat=_holder(call, channel, body.agent),
            reason=body.reason,
            epoch=body.epoch,
            timeout_seconds=body.timeout_seconds,
        ),
    )


@route("POST", "/api/channels/{channel}/turn/resume", may=ACTORS)
async def resume_turn(call: ApiCall, channel: ChannelId, body: TurnBody) -> Recorded:
    """Resume a turn that was paused. Only a human resumes a turn that a human interrupted."""
    seat = _holder(call, channel, body.agent)
    return await _carry_out(call, ResumeTurn(channel=channel, seat=seat, epoch=body.epoch))


@route("POST", "/api/channels/{channel}/turn/override", may=OPERATOR)
async def override_turn(call: ApiCall, channel: ChannelId, body: OverrideTurnBody) -> Recorded:
    """Give the turn to an agent, or take it away."""
    seat = _holder(call, channel, body.agent)
    return await _carry_out(call, OverrideTurn(channel=channel, seat=seat, to=body.to))


async def _carry_out(call: ApiCall, command: Command) -> Recorded:
    return Recorded(seq=(await call.send(command)).seq)


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
