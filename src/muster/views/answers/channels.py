"""Answers about channels: members, turn, deadline and rules; and the team as a whole.

The shutdown of muster is one of the team.
"""

from datetime import datetime

from muster.machines.ids import ChannelId, SeatId
from muster.machines.vocabulary import Awaits, Claim, Limit, RunMode, TurnConfig, TurnState, Urgency
from muster.views.answers import Recorded, View
from muster.views.answers.agents import AgentView, UsageView


class WaitView(View, frozen=True, kw_only=True):
    """Why and how long a turn is paused."""

    reason: str
    since: datetime
    until: datetime
    by_human: bool
    approval: bool = False
    """Whether it waits for an approval: then the answer ends it."""

    awaits: Awaits = Awaits.PERSON


class ClaimView(View, frozen=True, kw_only=True):
    """A member that is to speak before the ring's next."""

    agent: str
    claim: Claim
    by: str
    reason: str
    """The same in words."""


class MemberView(View, frozen=True, kw_only=True):
    """An agent that has a place in a channel."""

    agent: str
    seat: SeatId
    state: TurnState
    present: bool
    """Whether it is connected. An agent that was put to sleep keeps its place."""

    timeout_seconds: float
    unread: int
    delivered: int
    read: int
    stopped: bool = False
    """Whether a person took its turn away: it speaks again when something new is said, or when a
    person chooses it."""


class Rules(TurnConfig, frozen=True, kw_only=True, omit_defaults=False):
    """The rules of a channel, defaults included."""


class ChannelState(View, frozen=True, kw_only=True):
    """All that goes on in a channel."""

    channel: ChannelId
    config: Rules
    ring: tuple[str, ...]
    """The order of turns."""

    next: str | None
    """The member that is expected to speak next."""

    claims: tuple[ClaimView, ...] = ()
    """Members that speak before the ring's next, the most important first."""

    members: tuple[MemberView, ...]
    holder: str | None
    epoch: int
    timeout_at: datetime | None
    """When the channel moves on by itself; null while no deadline runs."""

    ends_at: datetime | None
    """When the turn ends even if work is seen."""

    waiting: WaitView | None
    stopping: str | None
    """The agent whose work is being stopped; the next turn is granted after that."""

    resting: bool
    last_message: int
    rest_limit: Limit | None = None
    """The rule that ended the conversation, while it rests."""

    rest_reason: str | None = None
    """The same in words, with what starts the conversation again."""

    newest: int = 0
    """The newest message of a person or an agent."""

    seen: int = 0
    """Up to where a person has seen the messages."""

    archived: bool = False
    granted_because: str | None = None
    """Why the holder has the turn: the ring, a handoff, a person's choice."""

    choosing: bool = False
    """Whether the holder is the selector and is asked for the next speaker."""

    turns: int = 0
    turns_since_message: int = 0
    """Turns since the last message of a person."""

    used_since_message: UsageView | None = None
    barred: tuple[str, ...] = ()
    """Agents that a person removed: only a person adds them again."""

    absent: tuple[str, ...] = ()
    """Agents whose session or connection ended: they have their places back when they return."""

    used: UsageView | None = None
    """Usage in all of its turns; null where there is none."""

    @property
    def state(self) -> str:
        """The state of the channel in a word."""
        if self.stopping:
            return "stopping"  # work that lost its turn is being stopped; no member is ACTIVE
        if self.holder:
            return "waiting" if self.waiting else "active"
        if self.archived:
            return "archived"
        if self.resting:
            return "resting"
        return "idle" if self.ring else "empty"


class ChannelList(View, frozen=True, kw_only=True):
    """Every channel, by name."""

    channels: tuple[ChannelState, ...]


class TurnOverridden(Recorded, frozen=True, kw_only=True):
    """The receipt for a person's decision about a turn."""

    agent: str
    state: TurnState
    """Its state in the channel now."""

    is_next: bool
    """Whether it speaks next, because a person chose it while it could not have the turn."""


class ChannelView(View, frozen=True, kw_only=True):
    """A channel in a line: a `ChannelState` in short, with the time that is left."""

    channel: ChannelId
    state: str
    holder: str | None
    epoch: int
    deadline: datetime | None
    remaining_seconds: float | None
    waits_for: str | None
    ring: tuple[str, ...]
    because: str | None = None
    """Why the channel rests, or why the holder has the turn."""

    used: UsageView | None = None


class WorkingAgent(View, frozen=True, kw_only=True):
    """An agent whose session has not ended yet."""

    agent: str
    mode: RunMode
    since: datetime
    pid: int | None


class ShutdownView(View, frozen=True, kw_only=True):
    """muster is shutting down: no session starts any more."""

    reason: str
    since: datetime
    urgency: Urgency
    """`graceful` while sessions may finish by themselves (a drain), `now` when they are stopped."""

    until: datetime | None
    """The end of the drain; sessions that still run are stopped then."""

    working: tuple[WorkingAgent, ...]
    """The agents that are waited for."""


class ShutdownReport(View, frozen=True, kw_only=True):
    """Whether muster is shutting down, and how."""

    shutdown: ShutdownView | None
    drain_seconds: float
    """How long sessions may finish by themselves when muster is asked to stop."""


class TeamView(View, frozen=True, kw_only=True):
    """A whole team at one moment."""

    seq: int
    human: str
    agents: tuple[AgentView, ...]
    channels: tuple[ChannelView, ...]
    sessions: int
    conversations: int
    shutdown: ShutdownView | None = None
    """Set while muster is shutting down."""
