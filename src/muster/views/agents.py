"""A team as it is shown: one answer for the command line now and for HTTP next.

Views hold what a reader asks for, in the seeds' spelling, with names in place of seat numbers. Why
an agent is held to be in its state is part of the answer: which evidence, and how old.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Final

import msgspec

from muster.machines.ids import ChannelId, SeatId, SessionId
from muster.machines.state import Agent, Channel, Phase, Status, Team, TurnState
from muster.machines.vocabulary import Authority, Budget, Role, RunMode
from muster.views.channels import (
    ApprovalView,
    UsageView,
    approvals_of,
    usage_or_nothing,
)
from muster.views.documents import AgentDocument, Button, button_of, document_of


class View(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Something that is shown."""


class EvidenceView(View, frozen=True, kw_only=True):
    """What a shown status rests on."""

    kind: str
    seq: int
    at: datetime
    age_seconds: float


class Control(View, frozen=True, kw_only=True):
    """Something that a person may press, and what it asks for."""

    label: str
    color: str
    desired: RunMode


class Badge(View, frozen=True, kw_only=True):
    """What an agent does, in the words and colours of the seed, and what can be pressed then."""

    status: str
    color: str
    controls: tuple[Control, ...]


_RUNNING: Final = Badge(
    status="RUNNING",
    color="green",
    controls=(Control(label="Stop Agent", color="red", desired=RunMode.PAUSE),),
)
_IDLE: Final = Badge(
    status="IDLE",
    color="gray",
    controls=(Control(label="Start Agent", color="orange", desired=RunMode.CONTINUOUS),),
)

BADGES: Final[Mapping[RunMode, Badge]] = {
    RunMode.CONTINUOUS: _RUNNING,
    RunMode.RUN_ONCE: _RUNNING,
    RunMode.RUN_CLEANUP: _RUNNING,
    RunMode.PAUSE: _IDLE,
}
"""The seed's table: by what an agent is doing, whatever is wanted of it."""


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
    badge: Badge
    failures: int
    retry_at: datetime | None
    turn: TurnState
    channels: dict[ChannelId, TurnState]
    evidence: EvidenceView | None
    approvals: tuple[ApprovalView, ...] = ()
    """What it waits for a person to allow."""

    used: UsageView | None = None
    """All that it has ever used up; null where that is nothing."""

    document: AgentDocument | None = None
    """Who it is; left out where somebody asks how it is only."""

    @property
    def label(self) -> str:
        """What to call it, also while it has no name."""
        return self.name or f"seat {self.seat}"


class AgentList(View, frozen=True, kw_only=True):
    """Everybody in the team, and what can be pressed for all of them."""

    agents: tuple[AgentView, ...]
    button: Button | None


class Called(View, frozen=True, kw_only=True):
    """Who is to be born, to wake or to sleep."""

    seq: int
    """Where the log stood when it was asked for."""

    agents: tuple[AgentView, ...]
    button: Button | None


class SessionView(View, frozen=True, kw_only=True):
    """A life of a program that muster runs."""

    id: SessionId
    pid: int | None
    mode: RunMode
    phase: Phase
    used: UsageView | None = None


class RunView(View, frozen=True, kw_only=True):
    """What is wanted of an agent, and what it does."""

    agent: str
    authority: Authority
    """Whose word is the truth about what it does."""

    disabled: bool
    desired: RunMode
    generation: int
    """The number of this wish."""

    set_by: str
    set_at: datetime | None
    note: str
    current: RunMode
    answered: int
    """The number of the wish that `current` answers."""

    differs_since: datetime | None
    """Since when it has not done what is wanted."""

    failures: int
    """Sessions in a row that failed."""

    retry_at: datetime | None
    session: SessionView | None
    budget: Budget
    used: UsageView | None = None
    """What it has used up since a person last said what is wanted: the budget goes by that."""

    badge: Badge
    seq: int
    """Where the log stood when it was so."""


class OutputView(View, frozen=True, kw_only=True):
    """Something that a session printed."""

    seq: int
    ts: datetime
    session: SessionId
    stream: str
    text: str
    omitted: int = 0
    """How many bytes were left out before it; they are in the files of the agent's folder."""


class OutputPage(View, frozen=True, kw_only=True):
    """Some of an agent's output in order. `after` asks for the next page, if there is `more`."""

    output: tuple[OutputView, ...]
    after: int
    more: bool


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
    used: UsageView | None = None


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
    team = team if running else _at_rest(team)
    return TeamView(
        seq=team.seq,
        human=team.human,
        agents=tuple(view_agent(team, agent, now) for agent in _in_order(team)),
        channels=tuple(_channel(team, team.channels[name], now) for name in sorted(team.channels)),
        sessions=len(team.sessions),
        conversations=len(team.delegation.conversations),
    )


def view_agents(team: Team, now: datetime, *, running: bool) -> AgentList:
    """Everybody with their documents, in the order of their seats."""
    team = team if running else _at_rest(team)
    agents = tuple(view_agent(team, agent, now, whole=True) for agent in _in_order(team))
    return AgentList(agents=agents, button=button_of(team))


def _at_rest(team: Team) -> Team:
    """The team while no muster runs: nobody has confirmed anything in this life of it."""
    return msgspec.structs.replace(team, boot=SessionId(""))


def _in_order(team: Team) -> Iterator[Agent]:
    agents = (team.agents[seat] for seat in sorted(team.agents))
    return (agent for agent in agents if agent.status is not Status.NONE)


def view_agent(team: Team, agent: Agent, now: datetime, *, whole: bool = False) -> AgentView:
    """One of the team: how it is, and with `whole` also who it is."""
    return AgentView(
        seat=agent.seat,
        name=agent.name,
        status=team.shown_status(agent),
        authority=agent.authority,
        disabled=agent.disabled,
        session=agent.session,
        desired=agent.run.desired,
        current=agent.run.current,
        badge=BADGES[agent.run.current],
        failures=agent.run.failures,
        retry_at=agent.run.retry_at,
        turn=team.turn_state(agent),
        channels={name: team.channels[name].state_of(agent.seat) for name in agent.channels},
        evidence=_evidence(agent, now),
        approvals=approvals_of(agent),
        used=usage_or_nothing(agent.used),
        document=document_of(agent) if whole else None,
    )


def view_run(team: Team, agent: Agent) -> RunView:
    """Whether one of the team should run, and whether it does."""
    run = agent.run
    return RunView(
        agent=agent.id,
        authority=agent.authority,
        disabled=agent.disabled,
        desired=run.desired,
        generation=run.generation,
        set_by=run.set_by,
        set_at=run.set_at,
        note=run.note,
        current=run.current,
        answered=run.answered,
        differs_since=run.differs_since,
        failures=run.failures,
        retry_at=run.retry_at,
        session=_session(team, agent),
        budget=run.budget,
        used=usage_or_nothing(run.used),
        badge=BADGES[run.current],
        seq=team.seq,
    )


def _session(team: Team, agent: Agent) -> SessionView | None:
    found = team.sessions.get(agent.session) if agent.session else None
    if found is None:
        return None
    return SessionView(
        id=found.id,
        pid=found.pid,
        mode=found.mode,
        phase=found.phase,
        used=usage_or_nothing(found.used),
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
        used=usage_or_nothing(channel.used),
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
