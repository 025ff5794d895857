"""Memory that outlasts a session: notes with limits, and souls that people edit."""

import pytest

from muster import limits
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.ids import SeatId, agent_actor
from muster.machines.vocabulary import Status
from tests.machines.identity.test_identity import SEAT, at, seated
from tests.machines.scene import Scene, facts

LYRA, KAEL = agent_actor("Lyra"), agent_actor("Kael")


def noted(*texts: str) -> Scene:
    scene = seated(Status.ALIVE)
    for text in texts:
        scene.do(c.Remember(seat=SEAT, text=text), actor=LYRA)
    return scene


def notes(scene: Scene) -> list[tuple[int, str]]:
    return [(note.id, note.text) for note in at(scene).notes]


def test_notes_are_kept_in_order_and_their_numbers_only_grow() -> None:
    scene = noted(" the plan ", "the budget")
    scene.do(c.ForgetNote(seat=SEAT, note=2), actor=LYRA)
    scene.do(c.Remember(seat=SEAT, text="the end"))
    assert notes(scene) == [(1, "the plan"), (3, "the end")]
    assert [note.by for note in at(scene).notes] == [LYRA, "person:Marcus"]


def test_a_person_edits_a_note_and_an_agent_does_not() -> None:
    scene = noted("the plan")
    scene.refuse(c.EditNote(seat=SEAT, note=1, text="mine"), "forbidden", actor=LYRA)
    scene.do(c.EditNote(seat=SEAT, note=1, text="the new plan"))
    assert notes(scene) == [(1, "the new plan")]
    assert scene.do(c.EditNote(seat=SEAT, note=1, text="the new plan")) == []


def test_an_agent_notes_and_forgets_for_itself_alone() -> None:
    scene = noted("the plan")
    for command in (c.Remember(seat=SEAT, text="x"), c.ForgetNote(seat=SEAT, note=1)):
        before = notes(scene)
        scene.refuse(command, "not_the_authority", actor=KAEL)
        assert notes(scene) == before


@pytest.mark.parametrize("text", ["", "  ", "x" * (limits.NOTE_BYTES_MAX + 1)])
def test_a_note_that_is_empty_or_too_long_is_refused(text: str) -> None:
    scene = noted("the plan")
    scene.refuse(c.Remember(seat=SEAT, text=text), "invalid")
    scene.refuse(c.EditNote(seat=SEAT, note=1, text=text), "invalid")


def test_a_full_memory_says_so_and_has_room_after_a_note_is_forgotten() -> None:
    scene = noted(
        *["x" * limits.NOTE_BYTES_MAX] * (limits.NOTES_BYTES_MAX // limits.NOTE_BYTES_MAX)
    )
    scene.refuse(c.Remember(seat=SEAT, text="y"), "memory_full")
    scene.do(c.EditNote(seat=SEAT, note=1, text="y" * limits.NOTE_BYTES_MAX))
    scene.do(c.ForgetNote(seat=SEAT, note=1))
    scene.do(c.Remember(seat=SEAT, text="y"))


def test_more_notes_than_a_person_reads_are_refused() -> None:
    scene = noted(*["x"] * limits.NOTES_MAX)
    scene.refuse(c.Remember(seat=SEAT, text="y"), "memory_full")


def test_a_note_that_is_not_there_is_not_found() -> None:
    scene = noted()
    scene.refuse(c.ForgetNote(seat=SEAT, note=1), "not_found")
    scene.refuse(c.EditNote(seat=SEAT, note=1, text="x"), "not_found")
    scene.refuse(c.Remember(seat=SeatId(77), text="x"), "not_found")


def test_a_seat_without_a_name_has_no_memory() -> None:
    scene = seated(Status.HATCHING)
    scene.refuse(c.Remember(seat=SEAT, text="x"), "wrong_state")
    scene.refuse(c.EditSoul(seat=SEAT, soul="x"), "wrong_state")


# ── souls ─────────────────────────────────────────────────────────────────────────────────────────


def test_only_people_edit_a_soul_and_each_edit_is_a_fact() -> None:
    scene = seated(Status.SLEEPING)
    scene.refuse(c.EditSoul(seat=SEAT, soul="mine"), "forbidden", actor=LYRA)
    (fact,) = facts(scene.do(c.EditSoul(seat=SEAT, soul="a soul", reason="typo")), e.SoulEdited)
    assert (at(scene).soul, fact.reason) == ("a soul", "typo")
    assert scene.do(c.EditSoul(seat=SEAT, soul="a soul")) == []


@pytest.mark.parametrize("soul", ["", " ", "x" * (limits.SOUL_BYTES_MAX + 1)])
def test_a_soul_that_is_empty_or_too_long_is_refused(soul: str) -> None:
    seated(Status.ALIVE).refuse(c.EditSoul(seat=SEAT, soul=soul), "invalid")
