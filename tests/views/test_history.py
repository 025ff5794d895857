"""History: the state at a moment is the fold of the log, and the lanes agree with it."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

import pytest

from muster.errors import NotFound, StillReading
from muster.machines.events import Event
from muster.machines.ids import SeatId
from muster.machines.kernel import snapshots
from muster.machines.kernel.fold import evolve, fold
from muster.machines.state import Team
from muster.machines.vocabulary import Machine
from muster.store.base import Snapshot, Stored
from muster.store.codec import stored
from muster.store.memory import MemoryStore
from muster.views import history
from muster.views.history import History
from muster.views.timeline import FREE, WORKING, LaneId, Lanes, states_of
from tests.builders import run
from tests.simulation.world import World

LIFE: Final = 1_500
"""Steps of a life that is long enough for every machine to have moved, and muster to have died."""


class Log(MemoryStore):
    """A log that is there already; it counts how much of it is read."""

    def __init__(self, events: list[Event]) -> None:
        super().__init__()
        self._log.events = [stored(event) for event in events]
        self.read_events = 0

    async def read(self, *, after: int, limit: int, **how: object) -> list[Stored]:  # pyright: ignore[reportIncompatibleMethodOverride]
        page = self._log.events[after : after + limit]
        self.read_events += len(page)
        return page


@pytest.fixture(scope="module")
def life() -> World:
    world = World(4)
    world.play(LIFE)
    assert world.counts["crash of muster"] > 1
    return world


def past_of(life: World) -> tuple[History, Log]:
    store = Log(life.log)
    return History(store, lambda: life.team), store


# ── a moment ──────────────────────────────────────────────────────────────────────────────────────


def test_a_moment_is_what_the_log_adds_up_to_by_then_and_when_that_was(life: World) -> None:
    async def scene() -> None:
        past, _ = past_of(life)
        for seq in (len(life.log) // 2, 7, 1, len(life.log) - 1, len(life.log)):
            moment = await past.moment(seq)
            assert moment.team == fold(Team(), life.log[:seq])
            assert moment.at == life.log[seq - 1].ts
        assert await past.moment(0) == (Team(), None)
        with pytest.raises(NotFound, match="event"):
            await past.moment(len(life.log) + 1)

    run(scene())


def test_a_moment_that_was_asked_for_before_is_not_folded_again(life: World) -> None:
    async def scene() -> None:
        past, store = past_of(life)
        first = await past.team_at(700)
        read = store.read_events
        assert await past.team_at(700) is first
        assert store.read_events == read

    run(scene())


def test_between_states_that_are_kept_only_the_rest_is_folded(
    life: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "KEPT_EVERY", 100)
    monkeypatch.setattr(history, "PAGE_EVENTS", 50)
    monkeypatch.setattr(history, "KEPT_STATES_MAX", 6)

    async def scene() -> None:
        past, store = past_of(life)
        await past.lanes()
        for seq in range(1, len(life.log), 97):
            read = store.read_events
            assert await past.team_at(seq) == fold(Team(), life.log[:seq])
            assert store.read_events - read <= len(life.log) // 3 + 50

    run(scene())


def test_behind_a_snapshot_only_what_came_after_it_is_folded(life: World) -> None:
    async def scene() -> None:
        past, store = past_of(life)
        half = len(life.log) // 2
        data = snapshots.encode(fold(Team(), life.log[:half]))
        await store.save_snapshot(Snapshot(half, data), snapshots.VERSION)
        assert await past.team_at(half + 10) == fold(Team(), life.log[: half + 10])
        assert store.read_events == 10
        assert await past.team_at(half - 10) == fold(Team(), life.log[: half - 10])

    run(scene())


def test_one_question_folds_no_more_than_it_may_and_the_next_goes_on_from_there(
    life: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "FOLDED_MAX", 300)
    monkeypatch.setattr(history, "PAGE_EVENTS", 100)

    async def scene() -> None:
        past, store = past_of(life)
        wanted = 700
        for reached in (300, 600):
            with pytest.raises(StillReading, match=f"{reached} of {wanted}"):
                await past.team_at(wanted)
            assert store.read_events == reached
        assert await past.team_at(wanted) == fold(Team(), life.log[:wanted])

    run(scene())


def test_a_time_is_found_in_the_log(life: World) -> None:
    async def scene() -> None:
        past, _ = past_of(life)
        for seq in (1, 2, 500, len(life.log)):
            at = life.log[seq - 1].ts
            found = await past.seq_at(at)
            assert life.log[found - 1].ts == at
            assert found == len(life.log) or life.log[found].ts > at
        assert await past.seq_at(life.log[0].ts - timedelta(seconds=1)) == 0

    run(scene())


# ── lanes ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("seed", [4, 5, 6])
def test_at_every_moment_the_lanes_say_what_the_team_was(seed: int) -> None:
    world = World(seed)
    world.play(LIFE)

    async def scene() -> None:
        past, _ = past_of(world)
        lanes = await past.lanes()
        team = Team()
        for event in world.log:
            team = evolve(team, event)
            said = lanes.states_at(event.seq)
            for agent in team.agents.values():
                for machine, state in states_of(team, agent).items():
                    assert said[LaneId(machine, agent.seat)] == state, event
            busy = {each.state for each in team.delegation.conversations.values()}
            told = {lane.name for lane, state in said.items() if state == WORKING}
            assert told == busy, event

    run(scene())


def test_lanes_go_on_where_they_were_left(life: World) -> None:
    async def scene() -> None:
        store = Log(life.log)
        heads = iter([fold(Team(), life.log[:400]), life.team])
        past = History(store, lambda: next(heads))
        first = (await past.lanes()).states_at(10**9)
        read = store.read_events
        again = (await past.lanes()).states_at(10**9)
        assert (read, store.read_events) == (400, len(life.log))
        assert first != again

    run(scene())


def test_a_window_begins_with_what_was_before_it_and_ends_before_what_comes_later() -> None:
    lanes = played([(0, "QUEUED"), (10, "ACTIVE"), (20, "QUEUED"), (30, "ACTIVE")])
    ((lane, spans),) = lanes.window(START + s(12), START + s(30), 1000)
    assert lane == LANE
    assert [(span.state, span.at - START.timestamp()) for span in spans] == [
        ("ACTIVE", 10),
        ("QUEUED", 20),
    ]


def test_what_lies_closer_together_than_a_point_is_one_span_that_says_so() -> None:
    flicker = [(100 + number / 100, ("ACTIVE", "QUEUED")[number % 2]) for number in range(50)]
    lanes = played([(0, "QUEUED"), *flicker, (900, "ACTIVE")])
    ((_, spans),) = lanes.window(START, START + s(1000), 100)
    assert [(span.state, span.changes) for span in spans] == [
        ("QUEUED", 1),
        ("QUEUED", 50),
        ("ACTIVE", 1),
    ]


def test_where_there_is_too_much_to_see_it_is_drawn_more_coarsely(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("muster.views.timeline.SPANS_MAX", 50)
    busy = played([(number, ("ACTIVE", "QUEUED")[number % 2]) for number in range(1000)])
    ((_, spans),) = busy.window(START, START + s(1000), 1000)
    assert 20 < len(spans) <= 50
    assert sum(span.changes for span in spans) == 1000


def test_of_too_many_changes_the_older_half_is_forgotten_but_not_how_things_stood() -> None:
    changes = [(number, ("ACTIVE", "QUEUED")[number % 2]) for number in range(25)]
    lanes = played(changes, changes_max=20)
    assert lanes.complete_from > 1
    assert lanes.states_at(lanes.complete_from)[LANE] in ("ACTIVE", "QUEUED")
    assert lanes.states_at(10**9)[LANE] == "ACTIVE"
    assert LANE not in lanes.states_at(1)


def test_a_lane_in_which_nothing_is_ever_to_be_seen_is_left_out() -> None:
    assert list(played([(0, FREE)]).window(START, START + s(10), 10)) == []


def test_a_clock_that_goes_back_does_not_bring_spans_into_disorder() -> None:
    lanes = played([(50, "QUEUED"), (10, "ACTIVE"), (60, "QUEUED")])
    ((_, spans),) = lanes.window(START, START + s(100), 1000)
    assert [span.at - START.timestamp() for span in spans] == [50, 60]


LANE = LaneId(Machine.TURNS, SeatId(9))
START = World(1).now


def s(seconds: float) -> timedelta:
    return timedelta(seconds=seconds)


def played(changes: Sequence[tuple[float, str]], *, changes_max: int = 1000) -> Lanes:
    """Lanes with one lane in them: at so many seconds, in such a state."""
    lanes = Lanes(changes_max=changes_max)
    for seq, (at, state) in enumerate(changes, 1):
        lanes.add(LANE, (START + s(at)).timestamp(), seq, state)
    return lanes
