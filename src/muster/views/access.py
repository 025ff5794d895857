"""Access of callers: the one place that decides who reads what, for every route and stream.

A channel with the read rule `members` is private: only its members (with those that lost their
places and may come back), users whose scope names it, and operators read it. For any other caller
it does not exist: it is not in the team that the caller is shown, and its events are not in the log
that the caller reads. The programs of its members have been told what was said in it, so what they
print, note, ask and are prompted with is hidden with it. Of the end of a session such a caller sees
the exit code, and not the last words of the program.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

import msgspec
from msgspec.structs import replace

from muster.machines import events as e
from muster.machines.events import Fact
from muster.machines.ids import MUSTER, ChannelId, SeatId
from muster.machines.maps import drop, put
from muster.machines.state import Agent, RunControl, Team
from muster.machines.turns.privacy import channels_let_into, insiders
from muster.machines.vocabulary import Role, Scope
from muster.store import codec
from muster.store.base import Stored
from muster.views.answers.agents import ScopeView

PROGRAM_TEXT: Final = frozenset(
    {
        "agent_output",
        "agent_activity",
        "agent_plan",
        "prompt_taken",
        "session_result",
        "approval_requested",
        "approval_answered",
        "marker_rejected",
        "note_remembered",
        "note_edited",
        "hand_reported",
        "wake_checked",
    }
)
"""Events with text of a program, which may repeat what was said in any of its channels."""

NEEDS: Final = frozenset({"need_settled", "need_reopened"})
"""Events about needs, whose keys name channels."""

FAILED: Final = "its session failed"
"""Shown in place of a reason that the caller may not read."""

ShowEvent = Callable[[Stored], Stored | None]
"""An event as a reader sees it; None where it does not exist for the reader."""


def show_all(stored: Stored) -> Stored | None:
    """Show a reader every event as it is."""
    return stored


def shown_events(page: Iterable[Stored], show: ShowEvent) -> list[Stored]:
    """Events as a reader sees them, without those that do not exist for the reader."""
    return [shown for each in page if (shown := show(each)) is not None]


class Access(msgspec.Struct, frozen=True, kw_only=True):
    """The channels and events that one caller may read."""

    hidden: frozenset[ChannelId] = frozenset()
    """The channels that do not exist for the caller."""

    insiders: frozenset[SeatId] = frozenset()
    """Agents that have been told what was said in one of them."""

    def shown_event(self, stored: Stored) -> Stored | None:
        """An event as the caller sees it; None where it does not exist for the caller."""
        if not self.hidden:
            return stored
        if stored.channel in self.hidden or stored.type in NEEDS:
            return None
        if stored.type == "message_imported":
            fact = codec.decode(stored.data).fact
            assert isinstance(fact, e.MessageImported)
            return None if fact.message.channel in self.hidden else stored
        return self._shown_work(stored) if stored.seat in self.insiders else stored

    def _shown_work(self, stored: Stored) -> Stored | None:
        """An event about an agent that knows what the caller may not know."""
        is_warning = stored.type == "warning_logged" and stored.channel is None
        if is_warning or stored.type in PROGRAM_TEXT:
            return None
        cut = _CUT.get(stored.type)
        if cut is None:
            return stored
        event = codec.decode(stored.data)
        shown = cut(event.fact)
        return codec.stored(replace(event, fact=shown)) if shown is not event.fact else stored

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
        shown = replace(
            agent,
            channels=tuple(name for name in agent.channels if name not in self.hidden),
            draining=tuple(name for name in agent.draining if name not in self.hidden),
        )
        return _without_program_text(shown) if agent.seat in self.insiders else shown


def _without_program_text(agent: Agent) -> Agent:
    wake, left = agent.last_wake, agent.unanswered
    return replace(
        agent,
        approvals=(),
        notes=(),
        last_wake=None if wake is None else replace(wake, said=""),
        unanswered=None if left is None else replace(left, reason=FAILED),
        run=_shown_run(agent.run),
    )


def _shown_run(run: RunControl) -> RunControl:
    failure = run.last_failure
    return replace(
        run,
        note=_shown_note(run.note, run.set_by),
        last_failure=None if failure is None else replace(failure, reason=failure.outcome),
    )


def _shown_note(note: str, set_by: str) -> str:
    """A note without the words of a program, which follow those of muster."""
    return note.partition(": ")[0] if set_by == MUSTER else note


# ── events without the words of a program ─────────────────────────────────────────────────────────


def _session_end(fact: Fact) -> Fact:
    assert isinstance(fact, e.SessionEnd)
    return replace(fact, reason="")


def _desired_set(fact: Fact) -> Fact:
    assert isinstance(fact, e.DesiredSet)
    return replace(fact, note=_shown_note(fact.note, fact.set_by))


def _unanswered(fact: Fact) -> Fact:
    assert isinstance(fact, e.MessagesReturned | e.MessagesUnanswered)
    return replace(fact, reason=FAILED) if fact.reason else fact


_CUT: Final[Mapping[str, Callable[[Fact], Fact]]] = {
    "session_end": _session_end,
    "desired_set": _desired_set,
    "messages_returned": _unanswered,
    "messages_unanswered": _unanswered,
}


FULL_ACCESS: Final = Access()


def access_of(team: Team, role: Role, seat: SeatId | None, user: str = "") -> Access:
    """The access of the bearer of a token, which changes with the members of channels."""
    if role is Role.OPERATOR or not team.private:
        return FULL_ACCESS
    let_in = channels_let_into(team, user)
    private = [team.channels[name] for name in team.private if name not in let_in]
    hidden = [each for each in private if seat not in each.ring and seat not in each.lost_places]
    if not hidden:
        return FULL_ACCESS
    return Access(
        hidden=frozenset(channel.id for channel in hidden),
        insiders=insiders(team, hidden) - {seat},  # an agent may read what its own program said
    )


def view_scope(team: Team, scope: Scope | None) -> ScopeView | None:
    """A scope with the names of its agents; none for the whole team."""
    if scope is None:
        return None
    names = tuple(team.agents[seat].id for seat in scope.agents if seat in team.agents)
    return ScopeView(agents=names, channels=scope.channels)
