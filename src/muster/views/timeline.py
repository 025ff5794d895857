"""Lanes of the timeline: the states of every agent over time, by machine. Pure.

A lane is computed from the folded state after each event, so the timeline and the team of a moment
cannot disagree. Changes that are too close together to be drawn become one span with their number.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Final, NamedTuple

from muster.machines.ids import SeatId
from muster.machines.state import Agent, Status, Team
from muster.machines.vocabulary import Machine

CHANGES_MAX: Final = 200_000
"""Changes in memory, some 20 MB; beyond that the older half is dropped."""

SPANS_MAX: Final = 12_000
"""Spans of one answer: more cannot be seen, and are slow to compute and to send."""

WORKING: Final = "working"
FREE: Final = "free"
"""The state of a lane of delegation: its agent has a conversation, or not."""


class LaneId(NamedTuple):
    """The key of a lane: agent and machine. Lanes of delegation have the names of states, which
    need not be seats: MAIN, QUEUE, or an agent that is only a description.
    """

    machine: Machine
    seat: SeatId | None
    name: str = ""


class Span(NamedTuple):
    """A state from a moment on, until the next span of its lane."""

    at: float
    """Seconds since 1970."""

    seq: int
    state: str
    changes: int
    """The number of changes in this span."""


class _Lane:
    """The changes of one lane in order; times never go back, even if the clock did."""

    __slots__ = ("seqs", "states", "times")

    def __init__(self) -> None:
        self.times: list[float] = []
        self.seqs: list[int] = []
        self.states: list[str] = []

    def add(self, at: float, seq: int, state: str) -> bool:
        """Add a state, if it differs from the last."""
        if self.states and self.states[-1] == state:
            return False
        self.times.append(max(at, self.times[-1]) if self.times else at)
        self.seqs.append(seq)
        self.states.append(state)
        return True

    def forget(self, before: int) -> int:
        """Drop the changes before a seq, except for the last one; return how many."""
        gone = max(0, bisect_right(self.seqs, before) - 1)
        del self.times[:gone], self.seqs[:gone], self.states[:gone]
        return gone

    def within(self, since: float, until: float) -> range:
        """The indexes of a window: the last change before it, and all changes in it."""
        return range(max(0, bisect_right(self.times, since) - 1), bisect_left(self.times, until))

    def spans(self, places: range, step: float) -> Iterator[Span]:
        """The spans at these indexes, at least a step apart."""
        place = places.start
        while place < places.stop:
            at = self.times[place]
            after = max(place + 1, bisect_left(self.times, at + step, place, places.stop))
            yield Span(at, self.seqs[after - 1], self.states[after - 1], after - place)
            place = after

    def state_at(self, seq: int) -> str | None:
        place = bisect_right(self.seqs, seq) - 1
        return self.states[place] if place >= 0 else None


class Lanes:
    """Every lane of a team, from the beginning of its log as far as it has been read."""

    def __init__(self, *, changes_max: int = CHANGES_MAX) -> None:
        """Keep at most so many changes in memory."""
        self._lanes: dict[LaneId, _Lane] = {}
        self._seen: dict[SeatId, tuple[str, ...]] = {}
        self._changes = 0
        self._changes_max = changes_max
        self.complete_from = 0
        """The seq from which on no change is missing."""

    def observe(
        self, before: Team, after: Team, seat: SeatId | None, at: Callable[[], datetime]
    ) -> None:
        """Add the changes of an event about this seat, or about no seat in particular.

        `when` is called only if something changed: most events change no lane.
        """
        changed = [
            (LaneId(machine, agent.seat), state)
            for agent in _touched(before, after, seat)
            if self._news(agent, states := _states(after, agent))
            for machine, state in zip(_MACHINES, states, strict=True)
        ]
        if after.delegation is not before.delegation:
            changed += self._delegated(after)
        if changed:
            seconds = at().timestamp()
            for lane, state in changed:
                self.add(lane, seconds, after.seq, state)

    def _news(self, agent: Agent, states: tuple[str, ...]) -> bool:
        """Whether the states of an agent differ from the last ones seen."""
        if self._seen.get(agent.seat) == states:
            return False
        self._seen[agent.seat] = states
        return True

    def _delegated(self, team: Team) -> list[tuple[LaneId, str]]:
        busy = {each.state for each in team.delegation.conversations.values()}
        known = {lane.name for lane in self._lanes if lane.machine is Machine.DELEGATION}
        return [
            (LaneId(Machine.DELEGATION, None, name), WORKING if name in busy else FREE)
            for name in sorted(busy | known)
        ]

    def add(self, lane: LaneId, at: float, seq: int, state: str) -> None:
        """Add a state to a lane from an event on."""
        self._changes += self._lanes.setdefault(lane, _Lane()).add(at, seq, state)
        if self._changes > self._changes_max:
            self._forget()

    def _forget(self) -> None:
        seqs = sorted(seq for lane in self._lanes.values() for seq in lane.seqs)
        self.complete_from = seqs[len(seqs) // 2]
        for lane in self._lanes.values():
            self._changes -= lane.forget(self.complete_from)

    def window(
        self, since: datetime, until: datetime, points: int
    ) -> Iterator[tuple[LaneId, tuple[Span, ...]]]:
        """Every lane that has spans in a window, for a drawing of this width in pixels.

        With too many spans the resolution is reduced.
        """
        begin, end = since.timestamp(), until.timestamp()
        places = {lane: changes.within(begin, end) for lane, changes in self._lanes.items()}
        while points > 1 and sum(min(len(each), points) for each in places.values()) > SPANS_MAX:
            points //= 2
        for lane in sorted(places, key=_order):
            spans = tuple(self._lanes[lane].spans(places[lane], (end - begin) / points))
            if any(span.state not in (FREE, Status.NONE) for span in spans):
                yield lane, spans

    def states_at(self, seq: int) -> dict[LaneId, str]:
        """The state of every lane at a moment."""
        found = {lane: changes.state_at(seq) for lane, changes in self._lanes.items()}
        return {lane: state for lane, state in found.items() if state is not None}


def _order(lane: LaneId) -> tuple[bool, int, int, str]:
    """Sort order: agents by seat, each with its machines; then lanes without a seat."""
    return lane.seat is None, lane.seat or 0, list(Machine).index(lane.machine), lane.name


def _touched(before: Team, after: Team, seat: SeatId | None) -> Iterable[Agent]:
    """The seats whose states the event may have changed."""
    if after.nodes is not before.nodes:
        return after.agents.values()  # agents that were alive are unknown now
    if after.agents is before.agents and after.channels is before.channels:
        return ()
    if seat is not None:
        found = after.agents.get(seat)
        return () if found is None else (found,)
    return () if after.agents is before.agents else after.agents.values()


_MACHINES: Final = (Machine.IDENTITY, Machine.RUN, Machine.TURNS)


def _states(team: Team, agent: Agent) -> tuple[str, ...]:
    return team.shown_status(agent), agent.run.current, team.turn_state(agent)


def states_of(team: Team, agent: Agent) -> dict[Machine, str]:
    """The shown state of an agent in each machine."""
    return dict(zip(_MACHINES, _states(team, agent), strict=True))
