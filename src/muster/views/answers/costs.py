"""Answers about costs: usage of a team, and by agent, session, channel and conversation."""

from muster.machines.ids import ChannelId, ConversationId, SeatId, SessionId
from muster.views.answers import View
from muster.views.answers.agents import UsageView


class LimitedView(UsageView, frozen=True, kw_only=True):
    """Usage that may have a limit."""

    max_cost_usd: float | None = None
    """Null is no limit."""

    max_tokens: int | None = None


class BurningView(LimitedView, frozen=True, kw_only=True):
    """Usage with its burn rate."""

    usd_per_minute: float = 0.0
    """Over the last ten minutes; 0 where there is no work, or a single piece."""

    today_usd: float = 0.0
    """On this day (UTC)."""

    max_usd_per_day: float | None = None


class AgentCost(BurningView, frozen=True, kw_only=True):
    """All usage of an agent."""

    agent: str
    seat: SeatId
    counted: UsageView | None
    """The part that counts against the limit: since a person last set the desired state."""


class SessionCost(LimitedView, frozen=True, kw_only=True):
    """Usage of a session."""

    session: SessionId
    agent: str
    seat: SeatId
    ended: bool = False


class DayCost(UsageView, frozen=True, kw_only=True):
    """Usage of an agent with a model on a day."""

    day: str
    """In UTC: `2026-11-17`."""

    agent: str
    """Empty for agents without a seat."""

    model: str
    """The model that spoke last in each piece of work; empty where a program does not tell."""


class ChannelCost(BurningView, frozen=True, kw_only=True):
    """Usage in the turns of a channel."""

    channel: ChannelId


class ConversationCost(UsageView, frozen=True, kw_only=True):
    """Usage of a conversation, by every agent that worked on it."""

    conversation: ConversationId


class CostsView(View, frozen=True, kw_only=True):
    """Usage of a team: in all, and by agent, session, channel and conversation."""

    seq: int
    team: UsageView
    usd_per_minute: float
    """The burn rate of all agents together, over the last ten minutes."""

    today_usd: float
    agents: tuple[AgentCost, ...]
    sessions: tuple[SessionCost, ...]
    """Live sessions, then the newest ones that have ended, the newest first."""

    channels: tuple[ChannelCost, ...]
    conversations: tuple[ConversationCost, ...]
    """The conversations with the newest usage, the newest at the end."""

    days: tuple[DayCost, ...]
    """By day, agent and model, the newest day first."""
