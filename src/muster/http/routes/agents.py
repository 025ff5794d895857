"""Agents over HTTP: the team, and agents that register, connect and leave by themselves.

Registration issues a token that acts as that agent alone. The agent is present from `connect` on,
until its heartbeats stop (`engine/presence.py`).
"""

from typing import Annotated, Final

import msgspec

from muster import limits
from muster.errors import Disabled, SecretShown, WrongState
from muster.http.auth import new_token
from muster.http.recording import record
from muster.http.routing import ACTORS, EVERYBODY, OPERATOR, ApiCall, route
from muster.http.types import Body, Note, Query, StrictBody
from muster.machines.commands import (
    ConnectAgent,
    DisableAgent,
    DisconnectAgent,
    EnableAgent,
    EnrollAgent,
    RenewTurn,
    ReportCurrent,
    ReportUsage,
    RestoreAgent,
    RetireAgent,
)
from muster.machines.events import AgentDismissed, AgentRetired
from muster.machines.identity.crew import retired_as
from muster.machines.ids import ChannelId, SeatId
from muster.machines.state import Agent, Status, TurnState
from muster.machines.vocabulary import Authority, Role, RunMode, Usage
from muster.views.agents import view_agent, view_agents
from muster.views.answers import Recorded
from muster.views.answers.agents import (
    AgentList,
    AgentView,
    NewToken,
    PresenceView,
    RegisteredAgent,
)
from muster.views.answers.roster import TeamRoster
from muster.views.run.roster import view_roster

BEATS: Final = 3
"""Heartbeats within one timeout, so that a lost one does no harm."""


class RegistrationBody(Body, frozen=True, kw_only=True):
    """An agent that wants to join."""

    name: str
    color: Annotated[str, msgspec.Meta(max_length=limits.NAME_CHARS_MAX)] = ""
    max_turns: Annotated[int, msgspec.Meta(ge=1, le=limits.MAX_TURNS_MAX)] = 1
    """Turns that it may hold at once."""


class HeartbeatBody(Body, frozen=True, kw_only=True):
    """A heartbeat, and what the agent is doing."""

    working: bool = False
    """Whether it works on its turns, which renews their timeouts."""

    current: RunMode | None = None
    """Its current run mode, for an agent that runs by itself."""


class ReasonBody(Body, frozen=True, kw_only=True):
    """Why, for the log."""

    reason: Note = ""


# ── the team ──────────────────────────────────────────────────────────────────────────────────────


class AgentsQuery(Query, frozen=True, kw_only=True):
    """Which agents."""

    retired: bool = False
    """Whether to show retired agents, too."""


@route("GET", "/api/agents", may=EVERYBODY)
async def list_agents(call: ApiCall, query: AgentsQuery) -> AgentList:
    """List the agents with their documents, and the team's button: SUMMON, WAKE or none."""
    now = call.muster.clock.now()
    can_summon = call.muster.can_summon
    return view_agents(call.team, now, running=True, retired=query.retired, can_summon=can_summon)


@route("GET", "/api/roster", may=EVERYBODY)
async def show_roster(call: ApiCall) -> TeamRoster:
    """Show the team in a few words: who is here, what each agent does, and whose turn it is."""
    return view_roster(call.team, call.caller.seat)


@route("GET", "/api/agents/{name}", may=EVERYBODY)
async def show_agent(call: ApiCall, name: str) -> AgentView:
    """Show an agent: its status, its document, and the evidence for the status."""
    agent = call.agent(name)
    return view_agent(call.team, agent, call.muster.clock.now(), whole=True)


@route("POST", "/api/agents", may=OPERATOR, status=201)
async def register_agent(call: ApiCall, body: RegistrationBody) -> RegisteredAgent:
    """Register an agent that connects by itself; its token is in this answer only."""
    enroll = EnrollAgent(
        name=body.name, authority=Authority.SELF, color=body.color, max_turns=body.max_turns
    )
    receipt = await call.send(enroll)
    if receipt.repeated:
        raise SecretShown(seq=receipt.seq)
    agent = call.agent(body.name)
    command, secret = new_token(call.muster.ids, Role.AGENT, seat=agent.seat, note="registered")
    await call.send_more(command)
    token = NewToken(
        id=command.token_id, role=Role.AGENT, agent=agent.id, note=command.note, secret=secret
    )
    return RegisteredAgent(agent=_view(call, agent), token=token)


def _view(call: ApiCall, agent: Agent) -> AgentView:
    return view_agent(call.team, agent, call.muster.clock.now())


@route("DELETE", "/api/agents/{name}", may=OPERATOR)
async def retire_agent(call: ApiCall, name: str) -> AgentView:
    """Retire an agent that connects by itself, or a summoned one: nothing runs it, and its name is
    free when its session has ended."""
    receipt = await call.first_try()  # of a retry the name may be another agent's
    if receipt is None:
        receipt = await call.send(RetireAgent(seat=call.agent(name).seat))
    retired = next(each.fact for each in receipt.events)
    assert isinstance(retired, AgentRetired | AgentDismissed)
    return _view(call, call.team.agent(retired.seat))


@route("POST", "/api/agents/{name}/restore", may=OPERATOR)
async def restore_agent(call: ApiCall, name: str) -> AgentView:
    """Bring a retired agent back to its seat, paused, with its name, soul and history."""
    found = call.agent(name)
    gone = None if found.retired else retired_as(call.team, name)
    seat = (gone or found).seat
    await call.send(RestoreAgent(seat=seat))
    return _view(call, call.team.agent(seat))


# ── usage ─────────────────────────────────────────────────────────────────────────────────────────


class UsageBody(StrictBody, frozen=True, kw_only=True):
    """The usage of an agent since its last report."""

    cost_usd: float = 0.0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    channel: str | None = None
    """The channel whose turn it was for: one in which the agent has the turn, or had the last."""


@route("POST", "/api/agents/{name}/usage", may=ACTORS)
async def report_usage(call: ApiCall, name: str, body: UsageBody) -> Recorded:
    """Report cost and tokens of an agent that connects by itself. They count for its limits."""
    agent = call.acting_as(name)
    usage = Usage(
        cost_usd=body.cost_usd,
        input_tokens=body.input_tokens,
        output_tokens=body.output_tokens,
        cache_read_tokens=body.cache_read_tokens,
        cache_write_tokens=body.cache_write_tokens,
    )
    channel = None if body.channel is None else ChannelId(body.channel)
    return await record(call, ReportUsage(seat=agent.seat, usage=usage, channel=channel))


# ── presence ──────────────────────────────────────────────────────────────────────────────────────


@route("POST", "/api/agents/{name}/connect", may=ACTORS)
async def connect_agent(call: ApiCall, name: str) -> PresenceView:
    """Connect an agent: it is present from now on."""
    agent = call.acting_as(name)
    await call.send_more(ConnectAgent(seat=agent.seat))  # a retry connects it again
    return _presence(call, agent.seat)


@route("POST", "/api/agents/{name}/heartbeat", may=ACTORS)
async def take_heartbeat(call: ApiCall, name: str, body: HeartbeatBody) -> PresenceView:
    """Take a heartbeat; `working` renews its turns, `current` reports its run mode.

    An agent that counts as OFFLINE is refused, and so learns that it has to connect again.
    """
    agent = call.acting_as(name)
    if agent.disabled:
        raise Disabled(name=agent.id)
    if agent.status is not Status.ALIVE:
        raise WrongState(act="take a heartbeat of", name=agent.id, state=agent.status)
    if body.current is not None:
        report = ReportCurrent(seat=agent.seat, current=body.current)
        await call.send_more(report)
    if body.working:
        for channel, epoch in _turns(call, agent.seat).items():
            renew = RenewTurn(channel=channel, seat=agent.seat, epoch=epoch, heartbeat=True)
            await call.send_more(renew)
    return _presence(call, agent.seat)


@route("POST", "/api/agents/{name}/disconnect", may=ACTORS)
async def disconnect_agent(call: ApiCall, name: str, body: ReasonBody) -> PresenceView:
    """Disconnect an agent. It loses its turns and its places in channels."""
    agent = call.acting_as(name)
    reason = body.reason or "disconnected"
    await call.send(DisconnectAgent(seat=agent.seat, reason=reason))
    return _presence(call, agent.seat)


@route("POST", "/api/agents/{name}/disable", may=OPERATOR)
async def disable_agent(call: ApiCall, name: str, body: ReasonBody) -> AgentView:
    """Disable an agent: it is not started and not heard until it is enabled."""
    agent = call.agent(name)
    await call.send(DisableAgent(seat=agent.seat, reason=body.reason))
    return _view(call, call.team.agent(agent.seat))


@route("POST", "/api/agents/{name}/enable", may=OPERATOR)
async def enable_agent(call: ApiCall, name: str) -> AgentView:
    """Enable an agent that was disabled."""
    agent = call.agent(name)
    await call.send(EnableAgent(seat=agent.seat))
    return _view(call, call.team.agent(agent.seat))


def _presence(call: ApiCall, seat: SeatId) -> PresenceView:
    timeout_s = call.muster.presence.timeout_s
    return PresenceView(
        agent=_view(call, call.team.agent(seat)),
        heartbeat_seconds=timeout_s / BEATS,
        timeout_seconds=timeout_s,
        turns=_turns(call, seat),
    )


def _turns(call: ApiCall, seat: SeatId) -> dict[ChannelId, int]:
    """The turns that it holds and that are running; a paused one has a timeout of its own."""
    channels = (call.team.channels[name] for name in call.team.agent(seat).channels)
    return {
        channel.id: channel.epoch
        for channel in channels
        if channel.state_of(seat) is TurnState.ACTIVE
    }
