"""Bounds of registrations and summons, and what else a trial found about births and reports."""

from datetime import UTC, datetime

import pytest

from muster import limits
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.ids import LEAD_SEAT, SeatId
from muster.machines.vocabulary import Authority, FaceVariant, RunMode, Status
from tests.machines.identity.test_identity import (
    SEAT,
    at,
    led,
    places,
    register,
    seated,
    status,
    summon,
)
from tests.machines.scene import facts

HATCHING, ALIVE, SLEEPING, EXPIRED = (
    Status.HATCHING,
    Status.ALIVE,
    Status.SLEEPING,
    Status.EXPIRED,
)

# ── bounds, the same as for documents ─────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "profile",
    [
        e.Profile(name="Lyra", grid_position=SEAT, color_name="x" * 501),
        e.Profile(name="Lyra", grid_position=SEAT, color="x" * 501),
        e.Profile(name="Lyra", grid_position=SEAT, gender="x" * 501),
        e.Profile(name="Lyra", grid_position=SEAT, face_variant=FaceVariant(eyes="x" * 501)),
        e.Profile(name="Lyra", grid_position=SEAT, individuation_artifact="x" * 300_000),
        e.Profile(name="Lyra", grid_position=SeatId(100_000)),
    ],
)
def test_a_registration_out_of_bounds_is_refused(profile: e.Profile) -> None:
    """Defect 8: what a document cannot hold, a registration must not bring."""
    led().refuse(c.RegisterAgent(profile=profile), "invalid")


def test_a_summon_or_an_enrolment_out_of_bounds_is_refused() -> None:
    long = e.Placeholder(grid_position=SEAT, color="x" * 501, gender="")
    led().refuse(c.SummonAgents(placeholders=(long,), authority=Authority.LEAD), "invalid")
    bad = e.Placeholder(grid_position=SEAT, color="", gender="", name="a/b")
    led().refuse(c.SummonAgents(placeholders=(bad,), authority=Authority.LEAD), "invalid")
    enrol = c.EnrollAgent(name="Ada", authority=Authority.SELF, color="x" * 501)
    led().refuse(enrol, "invalid")


def test_a_soul_within_the_limit_in_wide_letters_is_taken() -> None:
    scene = led()
    soul = "\u4e2d" * (limits.SOUL_BYTES_MAX // 3)
    scene.do(register(soul=soul))
    assert at(scene).soul == soul


@pytest.mark.parametrize("year", [1, 1970, 9999])
def test_the_age_of_an_agent_is_what_muster_recorded_and_not_what_the_agent_wrote(
    year: int,
) -> None:
    """An agent that dated its birth 1970 won every merge: the name, and the seat."""
    scene = led()
    claimed = datetime(year, 1, 2, tzinfo=UTC)
    profile = e.Profile(name="Lyra", grid_position=SEAT, created_at=claimed)
    (fact,) = facts(scene.do(c.RegisterAgent(profile=profile)), e.AgentRegistered)
    assert fact.agent.created_at == at(scene).created_at == scene.now


# ── what the trial found ──────────────────────────────────────────────────────────────────────────


def test_a_registration_says_everything_that_the_seat_was_prepared_with() -> None:
    scene = led()
    scene.do(summon())
    begun = scene.now
    scene.later(10)
    bare = c.RegisterAgent(profile=e.Profile(name="Lyra", grid_position=SEAT))
    (fact,) = facts(scene.do(bare), e.AgentRegistered)
    found = fact.agent
    assert (found.color, found.gender, found.created_at) == ("#c9b1e8", "woman", begun)
    assert found.face_variant == FaceVariant()


def test_an_agent_without_a_soul_may_write_it_while_it_is_alive() -> None:
    """A wake with hasSoul="false" asks for it."""
    scene = led()
    scene.do(register(soul=""))
    scene.refuse(register(soul=""), "seat_taken")
    scene.refuse(register(name="Other", soul="mine"), "seat_taken")
    scene.do(register(soul="late, and mine"))
    assert (at(scene).soul, at(scene).status) == ("late, and mine", ALIVE)
    scene.refuse(register(soul="another"), "seat_taken")


def test_enrolled_agents_do_not_stand_in_the_way_of_a_summon() -> None:
    scene = led()
    scene.do(c.EnrollAgent(name="builder", authority=Authority.MUSTER))
    scene.connected("pm")
    assert len(facts(scene.do(summon()), e.AgentsSummoned)) == 1


def test_a_single_seat_is_summoned_again_beside_the_others() -> None:
    scene = seated(ALIVE)
    scene.later(300)
    assert at(scene, SeatId(3)).status is EXPIRED
    again = c.SummonAgents(placeholders=places(SeatId(3)), authority=Authority.LEAD, more=True)
    scene.do(again)
    assert at(scene, SeatId(3)).status is HATCHING
    scene.refuse(again, "seat_taken")
    mine = c.SummonAgents(placeholders=places(SEAT), authority=Authority.LEAD, more=True)
    scene.refuse(mine, "seat_taken")


def test_a_summon_without_a_free_seat_is_refused() -> None:
    nobody = c.SummonAgents(placeholders=(), authority=Authority.LEAD)
    led().refuse(nobody, "no_free_seat")


def test_a_lead_that_reports_nobody_leaves_no_wish_unanswered() -> None:
    """Defect 5: eight alarms thirty seconds later."""
    scene = seated(SLEEPING)
    assert at(scene).run.desired is not at(scene).run.current
    assert at(scene).differs_since is None
    scene.want("Lyra", RunMode.PAUSE)
    scene.later(1)
    scene.want("Lyra", RunMode.CONTINUOUS)
    assert at(scene).differs_since == scene.now
    session = at(scene, LEAD_SEAT).session
    scene.later(1)
    scene.do(status(SEAT, session=session))
    scene.later(1)
    scene.do(status(session=session))
    assert at(scene).differs_since is None
