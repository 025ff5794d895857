"""A team as it is shown: one answer for the command line now and for HTTP next.

Views hold what a reader asks for, in the seeds' spelling, with names in place of seat numbers. Why
an agent is held to be in its state is part of the answer: which evidence, and how old.
"""

from datetime import datetime, timedelta

import msgspec

from muster.machines.ids import ChannelId, SeatId, SessionId
from muster.machines.state import Agent, Channel, Status, Team, TurnState
from muster.machines.vocabulary import Authority, Role, RunMode


class View(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Something that is shown."""


class EvidenceView(View, frozen=True, kw_only=True):
    """What a shown status rests on."""

    kind: str
    seq: int
    at: datetime
    age_seconds: float


class AgentView(View, frozen=True, kw_only=True):
    """Somebody in a seat."""

    seat: SeatId
    name: str | None
    status: Status
    authority: Authority
    disabled: bool
    session: SessionId | None
    desired: RunMode
    current: RunMode
    failures: int
    retry_at: datetime | None
    turn: TurnState
    channels: dict[ChannelId, TurnState]
    evidence: EvidenceView | None

    @property
    def label(self) -> str:
        """What to call it, also while it has no name."""
        return self.name or f"seat {self.seat}"


class ChannelView(View, frozen=True, kw_only=True):
    """Where agents speak in order."""

    channel: ChannelId
    state: str
    holder: str | None
    epoch: int
    deadline: datetime | None
    remaining_seconds: float | None
    waits_for: str | None
    ring: tuple[str, ...]


class TeamView(View, frozen=True, kw_only=True):
    """Everything that a team is, at one moment."""

    seq: int
    human: str
    agents: tuple[AgentView, ...]
    channels: tuple[ChannelView, ...]
    sessions: int
    conversations: int


class TokenView(View, frozen=True, kw_only=True):
    """A token, without its secret."""

    id: str
    role: Role
    agent: str | None
    note: str


class NewToken(TokenView, frozen=True, kw_only=True):
    """A token with its secret, which is shown this once."""

    secret: str


class TokenList(View, frozen=True, kw_only=True):
    """Every token that counts."""

    tokens: tuple[TokenView, ...]


def view_team(team: Team, now: datetime, *, running: bool) -> TeamView:
    """The whole team in the order of its seats and of its channels' names.

    While no muster is running, nobody confirms anything, and who was alive is unknown.
    """
    if not running:
        team = msgspec.structs.replace(team, boot=SessionId(""))
    return TeamView(
        seq=team.seq,
        human=team.human,
        agents=tuple(
            view_agent(team, team.agents[seat], now)
            for seat in sorted(team.agents)
            if team.agents[seat].status is not Status.NONE
        ),
        channels=tuple(_channel(team, team.channels[name], now) for name in sorted(team.channels)),
        sessions=len(team.sessions),
        conversations=len(team.delegation.conversations),
    )


def view_agent(team: Team, agent: Agent, now: datetime) -> AgentView:
    """One of the team."""
    return AgentView(
        seat=agent.seat,
        name=agent.name,
        status=team.shown_status(agent),
        authority=agent.authority,
        disabled=agent.disabled,
        session=agent.session,
        desired=agent.run.desired,
        current=agent.run.current,
        failures=agent.run.failures,
        retry_at=agent.run.retry_at,
        turn=team.turn_state(agent),
        channels={name: team.channels[name].state_of(agent.seat) for name in agent.channels},
        evidence=_evidence(agent, now),
    )


def _evidence(agent: Agent, now: datetime) -> EvidenceView | None:
    found = agent.evidence
    if found is None:
        return None
    age = max(timedelta(), now - found.at)
    return EvidenceView(
        kind=found.kind, seq=found.seq, at=found.at, age_seconds=age.total_seconds()
    )


def _channel(team: Team, channel: Channel, now: datetime) -> ChannelView:
    turn, deadline = channel.turn, _deadline(channel)
    return ChannelView(
        channel=channel.id,
        state=_state(channel),
        holder=team.agent(turn.holder).id if turn else None,
        epoch=channel.epoch,
        deadline=deadline,
        remaining_seconds=(deadline - now).total_seconds() if deadline else None,
        waits_for=turn.wait.reason if turn and turn.wait else None,
        ring=tuple(team.agent(seat).id for seat in channel.ring),
    )


def _state(channel: Channel) -> str:
    """What goes on in a channel, in a word."""
    if channel.drain:
        return "stopping"  # work that lost its turn is being stopped; nobody is ACTIVE meanwhile
    if channel.turn:
        return "waiting" if channel.turn.wait else "active"
    if channel.resting:
        return "resting"
    return "idle" if channel.ring else "empty"


def _deadline(channel: Channel) -> datetime | None:
    """When the channel moves on by itself."""
    if channel.drain:
        return channel.drain.until
    turn = channel.turn
    if turn is None:
        return None
    if turn.wait:
        return turn.wait.until
    return min(moment for moment in (turn.until, turn.cap, turn.silent_at) if moment)
