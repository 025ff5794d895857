"""Turns over HTTP: what an agent says about its turn, and what a human decides about it.

An agent's token acts for that agent. The operator names the agent, or means whoever has the turn.
"""

from muster.errors import Forbidden, Invalid
from muster.http.routes.channels import Body, Seconds, channel_in
from muster.http.routes.messages import Epoch, Said, say
from muster.http.routes.tokens import Note
from muster.http.routing import ACTORS, OPERATOR, Call, Handler, Route
from muster.machines.commands import (
    Command,
    CompleteTurn,
    OverrideTurn,
    ResumeTurn,
    Speak,
    WaitTurn,
)
from muster.machines.ids import SeatId
from muster.machines.state import TurnState
from muster.machines.vocabulary import Role
from muster.views.channels import View


class TurnAct(Body, frozen=True, kw_only=True):
    """Which turn is meant: of whom, and which number it has."""

    agent: str | None = None
    epoch: Epoch | None = None
    """The turn's number. With it, what is said too late does nothing to a later turn."""


class Completing(TurnAct, frozen=True, kw_only=True):
    """The end of a turn, with last words or without."""

    message: str | None = None
    reason: Note | None = None


class Passing(TurnAct, frozen=True, kw_only=True):
    """The end of a turn without a word."""

    reason: Note | None = None


class Waiting(TurnAct, frozen=True, kw_only=True):
    """A pause in the middle of a turn."""

    reason: Note = "waiting"
    timeout_seconds: Seconds | None = None


class Overriding(Body, frozen=True, kw_only=True):
    """What a human decides about an agent's turn."""

    to: TurnState
    agent: str | None = None


class Carried(View, frozen=True, kw_only=True):
    """That something was done, and where the log stood then."""

    seq: int


async def complete(call: Call) -> Said:
    """End a turn. With a message, that is said first; sent again, it ends nobody else's turn."""
    body: Completing = call.body
    channel, seat = channel_in(call.path), meant(call, body.agent)
    ended: Command = CompleteTurn(channel=channel, seat=seat, epoch=body.epoch, reason=body.reason)
    if body.message is not None:
        ended = Speak(
            channel=channel,
            seat=seat,
            text=body.message,
            epoch=body.epoch,
            complete=True,
            key=call.key,
        )
    return await say(call, ended)


async def pass_on(call: Call) -> Carried:
    """End a turn without saying anything."""
    body: Passing = call.body
    return await _carry_out(
        call,
        CompleteTurn(
            channel=channel_in(call.path),
            seat=meant(call, body.agent),
            epoch=body.epoch,
            reason=body.reason or "pass",
        ),
    )


async def wait(call: Call) -> Carried:
    """Pause a turn and keep it."""
    body: Waiting = call.body
    return await _carry_out(
        call,
        WaitTurn(
            channel=channel_in(call.path),
            seat=meant(call, body.agent),
            reason=body.reason,
            epoch=body.epoch,
            timeout_seconds=body.timeout_seconds,
        ),
    )


async def resume(call: Call) -> Carried:
    """Go on with a turn that was paused. One that a human holds, only a human lets go."""
    body: TurnAct = call.body
    channel, seat = call.team.channel(channel_in(call.path)), meant(call, body.agent)
    turn = channel.turn
    held = turn is not None and turn.wait is not None and turn.wait.by_human
    if held and call.caller.role is Role.AGENT:
        name, remedy = call.team.agent(seat).id, "It goes on when the human has finished."
        raise Forbidden(who=repr(name), act="resume what a human interrupted", remedy=remedy)
    return await _carry_out(call, ResumeTurn(channel=channel.id, seat=seat, epoch=body.epoch))


async def override(call: Call) -> Carried:
    """Give the turn to an agent, or take it away."""
    body: Overriding = call.body
    channel, seat = channel_in(call.path), meant(call, body.agent)
    return await _carry_out(call, OverrideTurn(channel=channel, seat=seat, to=body.to))


async def _carry_out(call: Call, command: Command) -> Carried:
    return Carried(seq=(await call.send(command)).seq)


def meant(call: Call, agent: str | None) -> SeatId:
    """Whose turn it is about: the one who is named, the caller, or whoever has the turn."""
    if agent is not None:
        return call.acting_as(agent).seat
    if call.caller.role is Role.AGENT and call.caller.seat is not None:
        return call.caller.seat
    turn = call.team.channel(channel_in(call.path)).turn
    if turn is None:
        raise Invalid(what="agent", why="must be named: nobody has the turn")
    return turn.holder


def _route(act: str, handler: Handler, body: type, answer: type, summary: str) -> Route:
    return Route(
        method="POST",
        path=f"/api/channels/{{channel}}/turn/{act}",
        handler=handler,
        may=OPERATOR if act == "override" else ACTORS,
        summary=summary,
        body=body,
        answer=answer,
    )


ROUTES: tuple[Route, ...] = (
    _route("complete", complete, Completing, Said, "End a turn, with last words or without."),
    _route("pass", pass_on, Passing, Carried, "End a turn without a word."),
    _route("wait", wait, Waiting, Carried, "Pause a turn and keep it."),
    _route("resume", resume, TurnAct, Carried, "Go on with a turn that was paused."),
    _route("override", override, Overriding, Carried, "Give the turn to an agent, or take it."),
)
