"""Places of the grid: a retired agent keeps its seat and history, and its place can be taken."""

import pytest
from msgspec.structs import replace

from muster import limits
from muster.errors import NoFreeSeat
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.identity.crew import retired_as
from muster.machines.identity.palette import appearance
from muster.machines.identity.places import free_seat, grid_place, in_free_seat, occupant
from muster.machines.ids import GRID_SEATS, LEAD_SEAT, SEATS_APART, SeatId, document_id, seat_in
from muster.machines.kernel import snapshots
from muster.machines.kernel.fold import fold
from muster.machines.state import Status, Team
from muster.machines.teams.papers import document_of
from muster.machines.vocabulary import Authority
from tests.machines.identity.test_identity import SEAT, at, register, seated, status
from tests.machines.scene import Scene

NEXT = SeatId(SEAT + SEATS_APART)


def left() -> Scene:
    """A team under a lead whose agent Lyra was retired."""
    scene = seated(Status.ALIVE)
    scene.do(c.TellHuman(seat=SEAT, text="I am Lyra."), actor="agent:Lyra")
    scene.do(status(session=at(scene, LEAD_SEAT).session))
    scene.do(c.RetireAgent(seat=SEAT))
    return scene


def summon(scene: Scene, place: SeatId = SEAT) -> list[e.Event]:
    asked = in_free_seat(scene.team, appearance(place))
    return scene.do(c.SummonAgents(placeholders=(asked,), authority=Authority.LEAD, more=True))


def succeeded() -> Scene:
    """The same with Nova born at Lyra's place."""
    scene = left()
    summon(scene)
    scene.do(register(NEXT, "Nova", at(scene, LEAD_SEAT).session, soul="I am Nova."))
    return scene


def test_a_successor_has_the_place_of_a_retired_agent_and_a_seat_of_its_own() -> None:
    scene = left()
    before = at(scene)
    summon(scene)
    assert at(scene, NEXT).status is Status.HATCHING
    scene.do(register(NEXT, "Nova", at(scene, LEAD_SEAT).session, soul="I am Nova."))
    nova = at(scene, NEXT)
    assert (nova.soul, nova.place, nova.transcript_from) == ("I am Nova.", SEAT, 0)
    assert occupant(scene.team, SEAT) == nova
    assert at(scene) == before  # its soul, its messages and its history stay where they were


def test_the_lead_cannot_register_anybody_in_the_seat_of_a_retired_agent() -> None:
    scene = left()
    scene.refuse(register(SEAT, "Nova", at(scene, LEAD_SEAT).session), "retired")


def test_a_place_is_summoned_once_and_only_while_it_is_free() -> None:
    scene = succeeded()
    place = in_free_seat(scene.team, appearance(SEAT))
    refused = scene.refuse(
        c.SummonAgents(placeholders=(place,), authority=Authority.LEAD, more=True), "seat_taken"
    )
    assert "'Nova'" in str(refused)
    raw = c.SummonAgents(placeholders=(appearance(SEAT),), authority=Authority.LEAD, more=True)
    scene.refuse(raw, "retired")  # the seat itself is Lyra's for ever


def test_a_seat_that_is_not_the_next_one_of_its_place_is_refused() -> None:
    scene = left()
    scene.later(limits.HATCHING_SECONDS)  # the other places are free, too
    for seat, place in ((NEXT + SEATS_APART, SEAT), (NEXT, SEAT + 1), (NEXT, 9)):
        asked = e.Placeholder(grid_position=SeatId(seat), color="", gender="", place=SeatId(place))
        summons = c.SummonAgents(placeholders=(asked,), authority=Authority.LEAD, more=True)
        scene.refuse(summons, "invalid")


def test_a_birth_that_failed_at_the_place_leaves_its_seat_to_the_next_one() -> None:
    scene = left()
    summon(scene)
    scene.later(limits.HATCHING_SECONDS)
    assert at(scene, NEXT).status is Status.EXPIRED
    assert grid_place(scene.team, at(scene, NEXT)) == SEAT  # it says there why nobody was born
    assert in_free_seat(scene.team, appearance(NEXT)).grid_position == NEXT
    summon(scene)
    assert at(scene, NEXT).status is Status.HATCHING


def test_a_retired_agent_comes_back_beside_the_grid_and_gets_its_place_when_that_is_free() -> None:
    scene = succeeded()
    scene.do(c.RestoreAgent(seat=SEAT))
    team = scene.team
    assert (grid_place(team, at(scene)), grid_place(team, at(scene, NEXT))) == (None, SEAT)
    scene.do(status(SEAT, NEXT, session=at(scene, LEAD_SEAT).session))
    assert (at(scene).status, at(scene, NEXT).status) == (Status.ALIVE, Status.ALIVE)
    scene.do(status(SEAT, session=at(scene, LEAD_SEAT).session))
    scene.do(c.RetireAgent(seat=NEXT))
    assert grid_place(scene.team, at(scene)) == SEAT


def test_the_third_agent_at_a_place_has_the_next_seat_again() -> None:
    scene = succeeded()
    scene.do(status(session=at(scene, LEAD_SEAT).session))
    scene.do(c.RetireAgent(seat=NEXT))
    summon(scene)
    assert at(scene, SeatId(SEAT + 2 * SEATS_APART)).status is Status.HATCHING


def test_the_seats_of_successors_do_not_count_for_agents_that_enrol() -> None:
    scene = succeeded()
    scene.connected("pm")
    assert scene.seat("pm") < NEXT
    assert free_seat(replace(scene.team, next_seat=NEXT)) == NEXT + 1


def test_an_imported_successor_in_the_last_seat_of_all_does_not_use_up_its_place() -> None:
    scene = succeeded()
    last = SeatId(SEAT + (limits.SEAT_MAX // SEATS_APART) * SEATS_APART)
    here = document_of(at(scene, NEXT))
    later = replace(here, id=f"agent-identity:{last}", grid_position=last, name="Last")
    scene.do(c.ImportTeam(documents=(later,)))
    scene.do(status(session=at(scene, LEAD_SEAT).session))
    for seat in (last, NEXT):
        scene.do(c.RetireAgent(seat=seat))
    third = SeatId(NEXT + SEATS_APART)
    assert in_free_seat(scene.team, appearance(SEAT)).grid_position == third
    summon(scene)
    scene.later(limits.HATCHING_SECONDS)
    assert in_free_seat(scene.team, appearance(SEAT)).grid_position == third  # nobody was born
    every = {SeatId(each): at(scene) for each in range(SEAT, limits.SEAT_MAX + 1, SEATS_APART)}
    with pytest.raises(NoFreeSeat):
        in_free_seat(replace(scene.team, agents=every), appearance(SEAT))


def test_a_retired_agent_is_neither_woken_nor_put_to_sleep_and_the_refusal_says_why() -> None:
    scene = left()
    scene.refuse(c.WakeAgents(seats=(SEAT,)), "retired")
    scene.refuse(c.SleepAgents(seats=(SEAT,)), "retired")


def test_the_fold_of_the_log_and_a_snapshot_have_the_same_places() -> None:
    scene = succeeded()
    assert fold(Team(), scene.log) == scene.team
    assert snapshots.decode(snapshots.encode(scene.team)) == scene.team


def test_a_seat_beside_the_grid_has_no_place_and_no_successor() -> None:
    scene = Scene()
    scene.connected("pm")
    assert grid_place(scene.team, scene.agent("pm")) is None
    scene.do(c.RetireAgent(seat=(seat := scene.seat("pm"))))
    assert in_free_seat(scene.team, appearance(seat)).grid_position == seat
    assert [occupant(scene.team, each) for each in GRID_SEATS] == [None] * len(GRID_SEATS)


def test_a_retired_agent_is_found_by_the_name_that_it_had() -> None:
    scene = succeeded()
    found = retired_as(scene.team, "LYRA")
    assert found == at(scene)
    assert retired_as(scene.team, "Nova") is None  # it is there
    assert retired_as(scene.team, "nobody") is None
    scene.connected("Lyra")
    assert retired_as(scene.team, "Lyra") == found


def test_a_namesake_that_is_born_has_a_folder_of_its_own() -> None:
    """The output of the retired agent is not the namesake's."""
    scene = left()
    summon(scene)
    scene.do(register(NEXT, "Lyra", at(scene, LEAD_SEAT).session, soul="another"))
    assert (at(scene).folder_name, at(scene, NEXT).folder_name) == ("Lyra", f"Lyra~{NEXT}")
    scene.do(status(session=at(scene, LEAD_SEAT).session))
    scene.do(register(NEXT, "Lyra", at(scene, LEAD_SEAT).session))  # it registers again to wake
    assert at(scene, NEXT).folder_name == f"Lyra~{NEXT}"


def test_a_seat_is_said_by_its_number_or_by_its_document() -> None:
    assert [seat_in(word) for word in ("3", document_id(SeatId(3)))] == [3, 3]
    assert not [word for word in ("", "x", "-3", "٣", "9" * 10, "agent-identity:") if seat_in(word)]
