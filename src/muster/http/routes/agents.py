"""Agents over HTTP: who is here, and agents that register, connect and leave by themselves.

Whoever registers gets a token, and with it may act as that agent alone. It is here from `connect`
on, for as long as it is heard of (`engine/presence.py`).
"""

from typing import Annotated, Final

import msgspec

from muster import limits
from muster.errors import Disabled, WrongState
from muster.http.routes.tokens import Note, new_token
from muster.http.routing import ACTORS, EVERYBODY, OPERATOR, Call, Route
from muster.machines.commands import (
    ConnectAgent,
    DisableAgent,
    DisconnectAgent,
    EnableAgent,
    EnrollAgent,
    RenewTurn,
    ReportCurrent,
)
from muster.machines.ids import ChannelId, SeatId
from muster.machines.state import Agent, Status, TurnState
from muster.machines.vocabulary import Authority, Role, RunMode
from muster.views.agents import AgentList, AgentView, NewToken, view_agent, view_agents

BEATS: Final = 3
"""How many heartbeats fit into the time after which an agent counts as gone."""


class Registration(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Who wants to join."""

    name: str
    color: Annotated[str, msgspec.Meta(max_length=limits.NAME_CHARS_MAX)] = ""
    max_turns: int = 1
    """How many turns it may hold at once."""


class Registered(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Who joined, and the token to act with."""

    agent: AgentView
    token: NewToken


class Presence(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An agent as muster knows it now, and when it wants to be heard of."""

    agent: AgentView
    heartbeat_seconds: float
    """How often to send a heartbeat while nothing else is asked."""

    timeout_seconds: float
    """How long it may be silent."""

    turns: dict[ChannelId, int]
    """The turns that it holds, with their epochs."""


class Heartbeat(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A sign of life."""

    working: bool = False
    """Whether it works on its turns, which renews them."""

    current: RunMode | None = None
    """What it is doing, where it runs by itself and wants that to be known."""


class Reason(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Why."""

    reason: Note = ""


# ── who is here ───────────────────────────────────────────────────────────────────────────────────


async def list_agents(call: Call) -> AgentList:
    """Say who is in the team."""
    return view_agents(call.team, call.muster.clock.now(), running=True)


async def show_agent(call: Call) -> AgentView:
    """Say who an agent is, and how it is."""
    agent = call.agent(call.path["name"])
    return view_agent(call.team, agent, call.muster.clock.now(), whole=True)


async def register_agent(call: Call) -> Registered:
    """Give somebody a seat and a token."""
    wish: Registration = call.body
    enroll = EnrollAgent(
        name=wish.name, authority=Authority.SELF, color=wish.color, max_turns=wish.max_turns
    )
    await call.send(enroll)
    agent = call.agent(wish.name)
    command, secret = new_token(call.muster.ids, Role.AGENT, seat=agent.seat, note="registered")
    await call.send(command)
    token = NewToken(
        id=command.token_id, role=Role.AGENT, agent=agent.id, note=command.note, secret=secret
    )
    return Registered(agent=_view(call, agent), token=token)


def _view(call: Call, agent: Agent) -> AgentView:
    return view_agent(call.team, agent, call.muster.clock.now())


# ── coming and going ──────────────────────────────────────────────────────────────────────────────


async def connect_agent(call: Call) -> Presence:
    """Say that an agent is here."""
    agent = call.acting_as(call.path["name"])
    await call.send(ConnectAgent(seat=agent.seat))
    return _presence(call, agent.seat)


async def hear_agent(call: Call) -> Presence:
    """Take a sign of life. Whoever counts as gone must connect again, and so learns of it."""
    agent = call.acting_as(call.path["name"])
    if agent.disabled:
        raise Disabled(name=agent.id)
    if agent.status is not Status.ALIVE:
        raise WrongState(act="take a heartbeat of", name=agent.id, state=agent.status)
    if call.body.current is not None:
        await call.send(ReportCurrent(seat=agent.seat, current=call.body.current))
    if call.body.working:
        for channel, epoch in _turns(call, agent.seat).items():
            await call.send(RenewTurn(channel=channel, seat=agent.seat, epoch=epoch))
    return _presence(call, agent.seat)


async def disconnect_agent(call: Call) -> Presence:
    """Say that an agent leaves."""
    agent = call.acting_as(call.path["name"])
    reason = call.body.reason or "disconnected"
    await call.send(DisconnectAgent(seat=agent.seat, reason=reason))
    return _presence(call, agent.seat)


async def disable_agent(call: Call) -> AgentView:
    """Keep an agent from being started or heard."""
    agent = call.agent(call.path["name"])
    await call.send(DisableAgent(seat=agent.seat, reason=call.body.reason))
    return _view(call, call.team.agent(agent.seat))


async def enable_agent(call: Call) -> AgentView:
    """Let an agent come back."""
    agent = call.agent(call.path["name"])
    await call.send(EnableAgent(seat=agent.seat))
    return _view(call, call.team.agent(agent.seat))


def _presence(call: Call, seat: SeatId) -> Presence:
    timeout_s = call.muster.presence.timeout_s
    return Presence(
        agent=_view(call, call.team.agent(seat)),
        heartbeat_seconds=timeout_s / BEATS,
        timeout_seconds=timeout_s,
        turns=_turns(call, seat),
    )


def _turns(call: Call, seat: SeatId) -> dict[ChannelId, int]:
    """The turns that are running: one that stands still has a clock of its own."""
    channels = (call.team.channels[name] for name in call.team.agent(seat).channels)
    return {
        channel.id: channel.epoch
        for channel in channels
        if channel.state_of(seat) is TurnState.ACTIVE
    }


ROUTES: Final = (
    Route(
        method="GET",
        path="/api/agents",
        handler=list_agents,
        may=EVERYBODY,
        summary="Who is in the team, with their documents, and the button: SUMMON, WAKE or none.",
        answer=AgentList,
    ),
    Route(
        method="POST",
        path="/api/agents",
        handler=register_agent,
        may=OPERATOR,
        summary="Register an agent that connects by itself; its token is in this answer only.",
        body=Registration,
        answer=Registered,
        status=201,
    ),
    Route(
        method="GET",
        path="/api/agents/{name}",
        handler=show_agent,
        may=EVERYBODY,
        summary="Who an agent is, how it is, and which evidence says so.",
        answer=AgentView,
    ),
    Route(
        method="POST",
        path="/api/agents/{name}/connect",
        handler=connect_agent,
        may=ACTORS,
        summary="Say that an agent is here.",
        answer=Presence,
    ),
    Route(
        method="POST",
        path="/api/agents/{name}/heartbeat",
        handler=hear_agent,
        may=ACTORS,
        summary="A sign of life; with `working` also of work, and `current` says what it does.",
        body=Heartbeat,
        answer=Presence,
    ),
    Route(
        method="POST",
        path="/api/agents/{name}/disconnect",
        handler=disconnect_agent,
        may=ACTORS,
        summary="Say that an agent leaves. It loses its places.",
        body=Reason,
        answer=Presence,
    ),
    Route(
        method="POST",
        path="/api/agents/{name}/disable",
        handler=disable_agent,
        may=OPERATOR,
        summary="Take an agent out until it is enabled again.",
        body=Reason,
        answer=AgentView,
    ),
    Route(
        method="POST",
        path="/api/agents/{name}/enable",
        handler=enable_agent,
        may=OPERATOR,
        summary="Let an agent that was disabled come back.",
        answer=AgentView,
    ),
)
