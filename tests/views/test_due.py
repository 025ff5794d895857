"""When a channel moves on: the scheduler and every view give the same answer."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from muster.inbox.errands import answer
from muster.machines.kernel import deadlines
from muster.machines.state import Drain, HeldTurn, Wait
from muster.views.agents import view_team
from muster.views.answers.messages import Do
from muster.views.channels import channel_state
from tests.machines.scene import REVIEWS, START
from tests.machines.turns.test_turns import trio

TRIO = trio().team
SEATS = st.sampled_from(TRIO.channels[REVIEWS].ring)
MOMENTS = st.integers(0, 100).map(lambda seconds: START + timedelta(seconds=seconds))
WAITS = st.builds(
    Wait,
    reason=st.just("a while"),
    since=st.just(START),
    until=MOMENTS,
    by_human=st.booleans(),
    approval=st.booleans(),
)
TURNS = st.builds(
    HeldTurn,
    holder=SEATS,
    until=MOMENTS,
    cap=MOMENTS,
    silent_at=st.none() | MOMENTS,
    wait=st.none() | WAITS,
)
DRAINS = st.builds(Drain, seat=SEATS, until=MOMENTS)


@given(turn=st.none() | TURNS, drain=st.none() | DRAINS)
def test_the_scheduler_and_every_view_agree_on_when_a_channel_moves_on(
    turn: HeldTurn | None, drain: Drain | None
) -> None:
    channel = replace(TRIO.channels[REVIEWS], turn=turn, drain=drain)
    team = replace(TRIO, channels={REVIEWS: channel})
    scheduled = deadlines.of(team, REVIEWS)
    due = scheduled.at if scheduled else None
    assert channel_state(team, channel).timeout_at == due
    (shown,) = view_team(team, START, running=True).channels
    assert shown.deadline == due
    assert shown.remaining_seconds == (due and (due - START).total_seconds())
    if turn is not None:
        assert answer(team, turn.holder, Do.TURN, channel=channel).timeout_at == due


@given(turn=TURNS, wait=WAITS)
def test_an_approval_stops_the_clock_of_a_turn(turn: HeldTurn, wait: Wait) -> None:
    asked = replace(turn, wait=replace(wait, approval=True))
    channel = replace(TRIO.channels[REVIEWS], turn=asked, drain=None)
    assert channel_state(TRIO, channel).timeout_at is None
    paused = replace(turn, wait=replace(wait, approval=False))
    channel = replace(channel, turn=paused)
    assert channel_state(TRIO, channel).timeout_at == wait.until


@given(turn=TURNS, drain=DRAINS)
def test_work_that_is_being_stopped_is_waited_for_before_any_turn(
    turn: HeldTurn, drain: Drain
) -> None:
    channel = replace(TRIO.channels[REVIEWS], turn=turn, drain=drain)
    seen = channel_state(TRIO, channel)
    assert (seen.timeout_at, seen.state) == (drain.until, "stopping")
