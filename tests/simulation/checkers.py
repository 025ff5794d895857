"""An independent oracle for the log of a team.

The checker does not know how the machines decide. It reads events in order and keeps just enough
state to detect a broken promise.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime

from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.events import Event, Fact
from muster.machines.ids import ChannelId, SeatId, SessionId
from muster.machines.run_control.ending import UNFINISHED
from muster.machines.run_control.fold import initial_run
from muster.machines.state import Team, TurnState
from muster.machines.turns.granting import offer_turn
from muster.machines.turns.table import has_news
from muster.machines.vocabulary import Authority, Machine, RunMode

_HELD = (TurnState.ACTIVE, TurnState.WAITING)
_ONE_SHOTS = (RunMode.RUN_ONCE, RunMode.RUN_CLEANUP)


def usurped(event: Event) -> Iterator[str]:
    """Violations: actions of an agent that only people may take."""
    if not event.actor.startswith("agent:"):
        return
    match event.fact:
        case e.StateTransition(trigger="human_release" | "human_override" as trigger):
            yield f"{event.actor} causes a {trigger}"
        case e.ApprovalAnswered():
            yield f"{event.actor} answers an approval"
        case _:
            pass


def forgotten_turns(team: Team, now: datetime) -> Iterator[str]:
    """Violations: free turns that would be granted if they were offered now.

    A rest that is due does not count: it comes with the next offer.
    """
    for channel in team.channels:
        facts = offer_turn(team, c.OfferTurn(channel=channel), now)
        if any(isinstance(fact, e.StateTransition | e.ChannelRoused) for fact in facts):
            yield f"the turn in {channel} is free, and nobody is granted it"


def granted_in_vain(team: Team, events: Iterable[Event]) -> Iterator[str]:
    """Violations: turns by the ring's order for an agent that muster runs, without any news."""
    for event in events:
        fact = event.fact
        if not isinstance(fact, e.StateTransition) or fact.trigger != "turn_granted":
            continue
        assert fact.channel is not None
        assert fact.seat is not None
        channel, agent = team.channels[fact.channel], team.agents[fact.seat]
        if channel.turn is not None and channel.epoch == fact.epoch:
            ours = agent.authority in (Authority.MUSTER, Authority.LEAD) and not agent.unasked
            if ours and not has_news(channel, fact.seat, channel.read):
                yield f"{agent.id} is granted a turn in {fact.channel} without news"


class LogChecker:
    """Checks a log event by event; `read` returns the violations of the next event."""

    def __init__(self) -> None:
        self.seq = 0
        self.holders: dict[ChannelId, SeatId] = {}
        self.epochs: dict[ChannelId, int] = {}
        self.lanes: dict[tuple[SeatId, ChannelId], str] = {}
        self.statuses: dict[SeatId, str] = {}
        self.rings: dict[ChannelId, list[SeatId]] = {}
        self.souls: dict[SeatId, str] = {}
        self.desired: dict[SeatId, tuple[RunMode, int]] = {}
        self.one_shots: set[tuple[SeatId, int]] = set()
        self.stopping = False
        self.sessions: dict[SeatId, SessionId] = {}
        self.tasks: dict[SessionId, SeatId] = {}
        self.disabled: set[SeatId] = set()
        self.quiet: dict[ChannelId, str] = {}
        """Channels that are archived or rest: no turn is granted there."""

        self.passed: set[ChannelId] = set()
        self.barred: set[tuple[ChannelId, SeatId]] = set()
        self.lost: set[tuple[ChannelId, SeatId]] = set()
        """Places of agents that left by a crash or a disconnect."""

    def read(self, event: Event) -> Iterator[str]:
        """Check one event; return its violations."""
        if event.seq != self.seq + 1:
            yield f"event {event.seq} follows event {self.seq}"
        if event.cause is not None and not 0 < event.cause < event.seq:
            yield f"event {event.seq} follows from event {event.cause}"
        self.seq = event.seq
        yield from usurped(event)
        self._newcomer(event.fact)
        match event.fact:
            case e.StateTransition(machine=Machine.TURNS, channel=str()) as fact:
                yield from self._turn(fact)
            case e.StateTransition(machine=Machine.IDENTITY) as fact:
                yield from self._identity(fact)
            case e.MemberJoined() | e.MemberLeft() as fact:
                yield from self._membership(fact, event.actor)
            case (
                e.ChannelRested()
                | e.ChannelRoused()
                | e.ChannelArchived()
                | e.ChannelRestored()
                | e.TurnsPassed() as fact
            ):
                yield from self._channel(fact)
            case e.DesiredSet() as fact:
                yield from self._wish(fact)
            case e.SessionRequested() as fact:
                yield from self._start(fact)
            case e.SessionEnd() as fact:
                yield from self._end(fact)
            case _:
                pass

    def _turn(self, fact: e.StateTransition) -> Iterator[str]:
        assert fact.seat is not None
        assert fact.channel is not None
        lane = (fact.seat, fact.channel)
        known = self.lanes.get(lane, TurnState.IDLE)
        kept = fact.trigger == "place_kept"  # recorded again, because its agent was away
        if known != fact.source and not kept:
            yield f"{fact.agent_id} moves from {fact.source} in {fact.channel}, but is {known}"
        self.lanes[lane] = fact.target
        holder = self.holders.get(fact.channel)
        if fact.target in _HELD and holder not in (None, fact.seat):
            yield f"{fact.agent_id} is {fact.target} in {fact.channel}, where seat {holder} is"
        if fact.target in _HELD:
            self.holders[fact.channel] = fact.seat
        elif holder == fact.seat:
            del self.holders[fact.channel]
        if fact.target == TurnState.ACTIVE and fact.source == TurnState.QUEUED:
            yield from self._grant(fact)
        if fact.target == TurnState.OFFLINE:
            del self.lanes[lane]

    def _grant(self, fact: e.StateTransition) -> Iterator[str]:
        assert fact.seat is not None
        assert fact.channel is not None
        assert fact.epoch is not None
        if fact.epoch <= self.epochs.get(fact.channel, 0):
            yield f"turn {fact.epoch} in {fact.channel} is granted again"
        self.epochs[fact.channel] = fact.epoch
        if fact.seat not in self.rings.get(fact.channel, []):
            yield f"{fact.agent_id} is granted the turn in {fact.channel} without a place there"
        if fact.channel in self.quiet:
            yield f"{fact.agent_id} is granted the turn in {fact.channel}, after {self.quiet}"
        self.passed.discard(fact.channel)

    def _channel(
        self,
        fact: e.ChannelRested
        | e.ChannelRoused
        | e.ChannelArchived
        | e.ChannelRestored
        | e.TurnsPassed,
    ) -> Iterator[str]:
        """A rest says which limit was reached; a silent round is recorded once."""
        match fact:
            case e.TurnsPassed(channel=channel, seats=seats):
                if channel in self.passed:
                    yield f"the same round is passed twice in {channel}"
                if not set(seats) <= set(self.rings.get(channel, [])):
                    yield f"agents without a place in {channel} are passed over"
                self.passed.add(channel)
            case e.ChannelRested(channel=channel, limit=limit):
                if channel in self.holders:
                    yield f"{channel} rests while its turn is held"
                self.quiet[channel] = limit
                self.passed.discard(channel)
            case e.ChannelArchived(channel=channel):
                self.quiet[channel] = "archived"
            case e.ChannelRoused(channel=channel) | e.ChannelRestored(channel=channel):
                self.quiet.pop(channel, None)

    def _identity(self, fact: e.StateTransition) -> Iterator[str]:
        assert fact.seat is not None
        known = self.statuses.get(fact.seat, "none")
        if known != fact.source:
            yield f"seat {fact.seat} goes from {fact.source} to {fact.target}, but is {known}"
        self.statuses[fact.seat] = fact.target

    def _membership(self, fact: e.MemberJoined | e.MemberLeft, actor: str) -> Iterator[str]:
        """A person's removal lasts until a person adds the agent again; only a lost place comes
        back.
        """
        ring, place = self.rings.setdefault(fact.channel, []), (fact.channel, fact.seat)
        by_agent = actor.startswith("agent:")
        if isinstance(fact, e.MemberJoined):
            if by_agent and place in self.barred:
                yield f"{actor} adds seat {fact.seat}, which a person removed, to {fact.channel}"
            if (fact.place is not None) is not (place in self.lost):
                yield f"seat {fact.seat} joins {fact.channel} at {fact.place}"
            self.barred.discard(place)
            self.lost.discard(place)
            ring.insert(len(ring) if fact.place is None else fact.place, fact.seat)
            return
        if place in self.lost:
            self.lost.discard(place)
        else:
            ring.remove(fact.seat)
        if fact.keeps_place:
            self.lost.add(place)
        self.lanes.pop((fact.seat, fact.channel), None)
        if fact.reason == "removed" and actor.startswith("person:"):
            self.barred.add(place)
        if self.quiet.get(fact.channel) != "archived":
            self.quiet.pop(fact.channel, None)  # nobody may be left, and that ends a rest

    def _newcomer(self, fact: Fact) -> None:
        """The desired state of a new agent, or of one under a new authority."""
        match fact:
            case e.AgentEnrolled(agent=profile, authority=authority, on_call=on_call):
                begun = (initial_run(authority, on_call=on_call).desired, 0)
                self.desired[profile.grid_position] = begun
            case e.AgentsSummoned(placeholders=placeholders, authority=authority):
                for place in placeholders:
                    begun = (initial_run(authority).desired, 0)
                    self.desired.setdefault(place.grid_position, begun)
            case e.AgentRegistered(agent=profile):
                self.souls.setdefault(profile.grid_position, profile.individuation_artifact)
                begun = (initial_run(Authority.LEAD).desired, 0)
                self.desired.setdefault(profile.grid_position, begun)
            case e.AgentDisabled(seat=seat):
                self.disabled.add(seat)
                self._forget_places(seat)
            case e.AgentRetired(seat=seat):
                self._forget_places(seat)
            case e.AgentEnabled(seat=seat):
                self.disabled.discard(seat)
            case e.MusterStopping() | e.MusterStarted():
                self.stopping = isinstance(fact, e.MusterStopping)
            case _:
                pass

    def _forget_places(self, seat: SeatId) -> None:
        self.lost = {place for place in self.lost if place[1] != seat}

    def _wish(self, fact: e.DesiredSet) -> Iterator[str]:
        before = self.desired.get(fact.seat, (RunMode.PAUSE, 0))
        if fact.generation != before[1] + 1 or fact.previous != before[0]:
            yield f"the wish {fact.generation} for seat {fact.seat} does not follow {before}"
        self.desired[fact.seat] = (fact.desired, fact.generation)

    def _start(self, fact: e.SessionRequested) -> Iterator[str]:
        desired, generation = self.desired.get(fact.seat, (RunMode.PAUSE, 0))
        if self.stopping:
            yield f"seat {fact.seat} is started by {fact.trigger}, but muster is stopping"
        if desired is RunMode.PAUSE:
            yield f"seat {fact.seat} is started by {fact.trigger}, but it is paused"
        if fact.seat in self.disabled:
            yield f"seat {fact.seat} is started by {fact.trigger}, but it is disabled"
        if fact.task is not None:
            self.tasks[fact.session] = fact.seat
            return
        if fact.mode is not desired or fact.generation != generation:
            yield f"seat {fact.seat} is started for a wish that is out of date"
        if fact.seat in self.sessions:
            yield f"seat {fact.seat} is started while {self.sessions[fact.seat]} lives"
        if fact.mode in _ONE_SHOTS:
            if (fact.seat, generation) in self.one_shots:
                yield f"seat {fact.seat} runs twice for the one-shot {generation}"
            self.one_shots.add((fact.seat, generation))
        self.sessions[fact.seat] = fact.session

    def _end(self, fact: e.SessionEnd) -> Iterator[str]:
        if fact.task is not None:
            lived = self.tasks.pop(fact.session, None) == fact.seats[0]
        else:
            lived = self.sessions.pop(fact.seats[0], None) == fact.session
        if fact.outcome in UNFINISHED:  # a one-shot that ended with muster is still wanted
            seat = fact.seats[0]
            _, generation = self.desired.get(seat, (RunMode.PAUSE, 0))
            self.one_shots.discard((seat, generation))
        if not lived:
            yield f"session {fact.session} ends, but did not live"
