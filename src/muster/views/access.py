"""Access of callers: the one place that decides who reads what, for every route and stream.

A channel with the read rule `members` is private: only its members (with those that lost their
places and may come back) and operators read it. For any other caller it does not exist: it is not
in the team that the caller is shown, and its events are not in the log that the caller reads. The
programs of its members have been told what was said in it, so what they print, ask and are prompted
with is hidden with it.
"""

from collections.abc import Callable
from typing import Final

import msgspec
from msgspec.structs import replace

from muster.machines.events import MessageImported
from muster.machines.ids import ChannelId, SeatId
from muster.machines.maps import drop, put
from muster.machines.state import Agent, Team
from muster.machines.vocabulary import Role
from muster.store.base import Stored
from muster.store.codec import decode

PROGRAM_TEXT: Final = frozenset(
    {
        "agent_output",
        "agent_activity",
        "prompt_taken",
        "session_result",
        "approval_requested",
        "approval_answered",
        "marker_rejected",
    }
)
"""Events with text of a program, which may repeat what was said in any of its channels."""


CanRead = Callable[[Stored], bool]
"""Whether a reader may see an event."""


def read_all(_: Stored) -> bool:
    """Let a reader see every event."""
    return True


class Access(msgspec.Struct, frozen=True, kw_only=True):
    """The channels and events that one caller may read."""

    hidden: frozenset[ChannelId] = frozenset()
    """The channels that do not exist for the caller."""

    insiders: frozenset[SeatId] = frozenset()
    """Agents that have been told what was said in one of them."""

    def can_read(self, stored: Stored) -> bool:
        """Whether the caller may see an event."""
        if not self.hidden:
            return True
        if stored.channel is not None:
            return stored.channel not in self.hidden
        if stored.type == "message_imported":
            fact = decode(stored.data).fact
            assert isinstance(fact, MessageImported)
            return fact.message.channel not in self.hidden
        return stored.seat not in self.insiders or stored.type not in PROGRAM_TEXT

    def can_see_turns(self, seat: SeatId | None) -> bool:
        """Whether the caller may see when an agent had turns: they may be in a hidden channel."""
        return seat not in self.insiders

    def shown(self, team: Team) -> Team:
        """The team without what the caller may not see."""
        if not self.hidden:
            return team
        channels, agents = team.channels, team.agents
        for name in self.hidden:
            channels = drop(channels, name)
        for agent in team.agents.values():
            if agent.seat in self.insiders or not self.hidden.isdisjoint(agent.channels):
                agents = put(agents, agent.seat, self._shown_agent(agent))
        private = tuple(name for name in team.private if name not in self.hidden)
        return replace(team, channels=channels, agents=agents, private=private)

    def _shown_agent(self, agent: Agent) -> Agent:
        return replace(
            agent,
            channels=tuple(name for name in agent.channels if name not in self.hidden),
            draining=tuple(name for name in agent.draining if name not in self.hidden),
            approvals=() if agent.seat in self.insiders else agent.approvals,
        )


FULL_ACCESS: Final = Access()


def access_of(team: Team, role: Role, seat: SeatId | None) -> Access:
    """The access of the bearer of a token, which changes with the members of channels."""
    if role is Role.OPERATOR or not team.private:
        return FULL_ACCESS
    private = [team.channels[name] for name in team.private]
    hidden = [each for each in private if seat not in each.ring and seat not in each.lost_places]
    if not hidden:
        return FULL_ACCESS
    told = {each for channel in hidden for each in (*channel.places, *channel.delivered)}
    return Access(
        hidden=frozenset(channel.id for channel in hidden),
        insiders=frozenset(told - {seat}),  # an agent may read what its own program said
    )
