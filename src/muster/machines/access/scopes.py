"""Scopes: a member, or a token, that may act on some agents and channels, and on nothing else.

A scope limits acts, not reading. Each command has its targets: the agents and channels that all
have to be in the scope. A command without a row here is about the whole team, and refused. A new
command that members may send is refused to limited ones until somebody says what it is about.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from muster.errors import Forbidden, Invalid, NotFound
from muster.machines import commands as c
from muster.machines.approvals.decide import open_approval
from muster.machines.commands import Command
from muster.machines.ids import LEAD_SEAT, ChannelId, SeatId
from muster.machines.needs.decide import place_of_need
from muster.machines.state import Team
from muster.machines.vocabulary import Role, Scope


class Targets(NamedTuple):
    """The agents and channels that a command acts on."""

    agents: Sequence[SeatId] = ()
    channels: Sequence[ChannelId] = ()


def _of_need(team: Team, key: str, now: datetime) -> Targets:
    seat, channel = place_of_need(team, key, now)
    return _of_place(seat, channel)


def _of_place(seat: SeatId | None, channel: ChannelId | None) -> Targets:
    """The channel, if there is one: an agent's words in a channel are a matter of the channel."""
    if channel is not None:
        return Targets(channels=(channel,))
    return Targets() if seat is None else Targets(agents=(seat,))


# Each value takes a command of its key's type; hence Any.
_TARGETS: Final[dict[type[Command], Callable[[Team, Any, datetime], Targets]]] = {
    c.PostMessage: lambda team, command, now: Targets(channels=(command.channel,)),
    c.ResumeTurn: lambda team, command, now: Targets(channels=(command.channel,)),
    c.OverrideTurn: lambda team, command, now: Targets(channels=(command.channel,)),
    c.SendMessage: lambda team, command, now: Targets(
        (LEAD_SEAT if command.seat is None else command.seat,)
    ),
    c.SetDesired: lambda team, command, now: Targets((command.seat,)),
    c.RestartAgent: lambda team, command, now: Targets((command.seat,)),
    c.InterruptWork: lambda team, command, now: Targets((command.seat,)),
    c.RetryMessages: lambda team, command, now: Targets((command.seat,)),
    c.WakeAgents: lambda team, command, now: Targets(command.seats),
    c.SleepAgents: lambda team, command, now: Targets(command.seats),
    c.AnswerApproval: lambda team, command, now: Targets(
        (open_approval(team, command.approval)[0].seat,)
    ),
    c.SettleNeed: lambda team, command, now: _of_need(team, command.key, now),
    c.ReopenNeed: lambda team, command, now: _of_need(team, command.key, now),
    c.AllowMore: lambda team, command, now: _of_need(team, command.key, now),
    c.SeeMessages: lambda team, command, now: _of_place(command.seat, command.channel),
}

_OWN_LOOK: Final = c.SeeMessages
"""Without a target it says that its sender has looked at the team, which concerns nobody else."""


def check_scope(team: Team, scope: Scope | None, command: Command, now: datetime) -> None:
    """Refuse a command about anything that is not in the sender's scope."""
    if scope is None:
        return
    find = _TARGETS.get(type(command))
    found = Targets() if find is None else find(team, command, now)
    outside = [
        *(f"agent {_name(team, seat)}" for seat in found.agents if seat not in scope.agents),
        *(f"channel {name!r}" for name in found.channels if name not in scope.channels),
    ]
    is_about_team = not found.agents and not found.channels and type(command) is not _OWN_LOOK
    if outside or is_about_team:
        raise outside_scope(outside[0] if outside else "the whole team")


def outside_scope(what: str) -> Forbidden:
    """The refusal of an act on something that is not in the sender's scope."""
    remedy = "An operator can permit it (`muster user role`, `muster token issue`)."
    return Forbidden(who="A member with a scope", act=f"act on {what}", remedy=remedy)


def _name(team: Team, seat: SeatId) -> str:
    agent = team.agents.get(seat)
    return repr(str(seat) if agent is None else agent.id)


def check_new_scope(team: Team, scope: Scope | None, role: Role) -> None:
    """A scope is one of a member, and names what is there."""
    if scope is None:
        return
    if role is not Role.MEMBER:
        raise Invalid(what="a scope", why=f"limits a member, and the role is {role}")
    for seat in scope.agents:
        if seat not in team.agents:
            raise NotFound(kind="agent", name=str(seat))
    for channel in scope.channels:
        team.channel(channel)


def narrowed(one: Scope | None, other: Scope | None) -> Scope | None:
    """The scope of everything that both permit. None is the whole team."""
    if one is None or other is None:
        return one or other
    return Scope(
        agents=_in_both(one.agents, other.agents), channels=_in_both(one.channels, other.channels)
    )


def _in_both(one: Iterable[Any], other: Iterable[Any]) -> tuple[Any, ...]:
    # Any: ids of agents, or of channels
    kept = frozenset(other)
    return tuple(each for each in one if each in kept)
