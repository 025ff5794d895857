"""Two machines agree on what a person did last: a rename and an edit of a soul win by their order,
never by their letters."""

from datetime import timedelta

import pytest

from muster.limits import HATCHING_SECONDS
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.documents import AgentDocument
from muster.machines.ids import LEAD_SEAT, SeatId
from muster.machines.teams.merge import merge
from muster.machines.teams.papers import document_of
from muster.machines.vocabulary import Authority, Status
from tests.machines.identity import test_identity
from tests.machines.scene import Scene, facts
from tests.machines.teams.papers import LATER, at, hatching, paper

MIRA = SeatId(0)
BORN = paper(0, "Mira", "MMM soul of Mira")


def two_machines() -> tuple[Scene, Scene]:
    one, other = test_identity.led(), test_identity.led()
    one.do(c.ImportTeam(documents=(BORN,)))
    other.do(c.ImportTeam(documents=(BORN,)))
    return one, other


def document(scene: Scene, seat: SeatId = MIRA) -> AgentDocument:
    return document_of(scene.team.agents[seat])


def exchange(one: Scene, other: Scene, seat: SeatId = MIRA) -> AgentDocument:
    """The document on which both machines agree after two rounds of exports and imports."""
    for _ in range(2):
        other.do(c.ImportTeam(documents=(document(one, seat),)))
        one.do(c.ImportTeam(documents=(document(other, seat),)))
    assert document(one, seat) == document(other, seat)
    return document(one, seat)


@pytest.mark.parametrize("soul", ["AAA earlier in the alphabet", "ZZZ later in the alphabet"])
def test_an_edited_soul_travels_whatever_its_first_letter(soul: str) -> None:
    one, other = two_machines()
    one.do(c.EditSoul(seat=MIRA, soul=soul))
    assert exchange(one, other).individuation_artifact == soul


@pytest.mark.parametrize("name", ["Ada", "Zoe"])
def test_a_rename_travels_whatever_its_first_letter(name: str) -> None:
    one, other = two_machines()
    one.do(c.RenameAgent(seat=MIRA, name=name))
    agreed = exchange(one, other)
    assert (agreed.name, agreed.born_as) == (name, "Mira")
    assert other.seat(name) == MIRA
    assert "mira" not in other.team.names
    assert other.agent(name).former_names == ("Mira",)


def test_an_export_from_before_a_rename_does_not_undo_it() -> None:
    one, _ = two_machines()
    before = document(one)
    one.do(c.RenameAgent(seat=MIRA, name="Zoe"))
    one.do(c.EditSoul(seat=MIRA, soul="ZZZ"))
    one.do(c.ImportTeam(documents=(before,)))
    assert (one.agent("Zoe").seat, one.agent("Zoe").soul) == (MIRA, "ZZZ")


def test_a_rename_here_and_an_edit_there_are_both_kept() -> None:
    one, other = two_machines()
    one.do(c.RenameAgent(seat=MIRA, name="Zoe"))
    other.do(c.EditSoul(seat=MIRA, soul="ZZZ"))
    agreed = exchange(one, other)
    assert (agreed.name, agreed.individuation_artifact) == ("Zoe", "ZZZ")


def test_of_two_edits_at_once_the_later_one_wins_on_both_machines() -> None:
    one, other = two_machines()
    one.do_all([c.EditSoul(seat=MIRA, soul="AAA"), c.RenameAgent(seat=MIRA, name="Ada")])
    other.now = one.now + timedelta(minutes=1)
    other.do_all([c.EditSoul(seat=MIRA, soul="ZZZ"), c.RenameAgent(seat=MIRA, name="Zoe")])
    agreed = exchange(one, other)
    assert (agreed.name, agreed.individuation_artifact) == ("Zoe", "ZZZ")


def test_who_knows_of_an_edit_overrules_it_though_the_clock_here_is_half_a_day_behind() -> None:
    one, other = two_machines()
    other.now = one.now + timedelta(hours=12)
    other.do_all(
        [c.EditSoul(seat=MIRA, soul="of the fast clock"), c.RenameAgent(seat=MIRA, name="Ada")]
    )
    exchange(one, other)
    one.do_all([c.EditSoul(seat=MIRA, soul="zzz"), c.RenameAgent(seat=MIRA, name="Zoe")])
    agreed = exchange(one, other)
    assert (agreed.name, agreed.individuation_artifact) == ("Zoe", "zzz")


def test_a_rename_back_to_the_first_name_is_a_later_rename() -> None:
    one, other = two_machines()
    one.do(c.RenameAgent(seat=MIRA, name="Zoe"))
    exchange(one, other)
    other.do(c.RenameAgent(seat=MIRA, name="Mira"))
    agreed = exchange(one, other)
    assert (agreed.name, agreed.born_as) == ("Mira", None)


def test_a_renamed_agent_with_a_suffix_keeps_the_name_that_the_person_gave_it() -> None:
    one, other = two_machines()
    one.do(c.ImportTeam(documents=(paper(3, "Mira", "of another", born=9),)))
    assert one.seat("Mira-3") == SeatId(3)
    one.do(c.RenameAgent(seat=SeatId(3), name="Zoe"))
    agreed = exchange(one, other, SeatId(3))
    assert (agreed.name, agreed.chosen_name, agreed.born_as) == ("Zoe", None, "Mira")


def test_an_edit_belongs_to_the_agent_that_was_edited_and_not_to_another_birth() -> None:
    lyra = paper(0, "Lyra", "I listen.", born=0)
    zora = paper(0, "Zed", "edited", born=5, edited=9, renamed=9, born_as="Zora")
    [merged] = merge([lyra], [zora])
    assert (merged.name, merged.individuation_artifact) == ("Lyra", "I listen.")
    assert (merged.renamed_at, merged.soul_edited_at) == (None, None)


def test_the_names_of_an_agent_that_lost_its_seat_are_not_those_of_the_winner() -> None:
    scene = test_identity.led()
    scene.do(c.ImportTeam(documents=(paper(0, "Zora", born=5),)))
    scene.do(c.ImportTeam(documents=(paper(0, "Lyra", born=0, renamed=3, born_as="Mira"),)))
    assert scene.agent("Lyra").former_names == ()


def test_two_births_in_one_prepared_seat_do_not_mix_their_name_and_soul() -> None:
    lyra, zora = paper(0, "Lyra", "zz of Lyra"), paper(0, "Zora", "aa of Zora")
    assert merge([zora], [lyra]) == [lyra]


def led_by(soul: str = "", days: int = 0) -> Scene:
    scene = Scene()
    scene.now += timedelta(days=days)
    scene.do(c.EnrollAgent(name="Julian", authority=Authority.MUSTER, seat=LEAD_SEAT))
    if soul:
        scene.do(c.EditSoul(seat=LEAD_SEAT, soul=soul))
    return scene


def test_the_later_edit_of_the_leads_soul_wins_though_each_machine_enrolled_its_lead() -> None:
    one, other = led_by("AAA of the first machine"), led_by("ZZZ of the second one", days=1)
    agreed = exchange(one, other, LEAD_SEAT)
    assert agreed.individuation_artifact == "ZZZ of the second one"
    one.do(c.EditSoul(seat=LEAD_SEAT, soul="the last word"))
    assert exchange(one, other, LEAD_SEAT).individuation_artifact == "the last word"


def test_a_lead_without_a_date_takes_a_soul_that_was_edited_elsewhere() -> None:
    one = led_by("mine")
    one.do(c.ImportTeam(documents=(paper(4, "Julian", "theirs", born=None, edited=LATER),)))
    assert one.agent("Julian").soul == "theirs"
    assert one.agent("Julian").soul_edited_at == at(LATER)


# ── agents with a table in the settings ───────────────────────────────────────────────────────────


def with_table(name: str = "Mira", soul: str = "") -> Scene:
    """A machine whose settings name an agent, as `muster up` enrols it."""
    scene = Scene()
    scene.do(c.EnrollAgent(name=name, authority=Authority.MUSTER, seat=MIRA), actor="muster")
    if soul:
        scene.do(c.EditSoul(seat=MIRA, soul=soul))
    return scene


def test_an_agent_with_a_table_keeps_the_name_of_the_table_and_takes_the_rest() -> None:
    """The next start dismissed it: the settings did not name it any more."""
    one, other = with_table(soul="first"), with_table()
    one.do(c.RenameAgent(seat=MIRA, name="Zoe"))
    one.do(c.EditSoul(seat=MIRA, soul="edited after the rename"))
    other.do(c.ImportTeam(documents=(document(one),)))
    mira = other.agent("Mira")
    assert (mira.seat, mira.soul, mira.is_listed) == (MIRA, "edited after the rename", True)
    other.later(60)
    other.do(c.EditSoul(seat=MIRA, soul="the last word"))
    one.do(c.ImportTeam(documents=(document(other),)))
    assert one.agent("Zoe").soul == "the last word"


def test_an_agent_with_a_table_is_not_replaced_by_an_older_birth_in_its_seat() -> None:
    scene = with_table()
    older = paper(0, "Kael", "an older soul", born=-(10**6))
    (fact,) = facts(scene.do(c.ImportTeam(documents=(older,))), e.DocumentsImported)
    assert (fact.documents, fact.lost) == ((), (older,))
    assert scene.agent("Mira").soul == ""


def test_a_lead_that_was_renamed_on_one_machine_is_the_same_lead_on_the_other() -> None:
    one, other = led_by("of both"), led_by()
    one.do(c.RenameAgent(seat=LEAD_SEAT, name="Nova"))
    other.do(c.ImportTeam(documents=(document(one, LEAD_SEAT),)))
    assert other.agent("Julian").soul == "of both"


def test_a_retired_agent_is_not_said_to_be_live() -> None:
    scene = with_table()
    scene.do(c.DismissAgent(seat=MIRA), actor="muster")
    assert scene.team.agents[MIRA].retired
    (fact,) = facts(scene.do(c.ImportTeam(documents=(BORN,))), e.DocumentsImported)
    assert (fact.held, fact.lost) == ((), (BORN,))


# ── acts of the future ────────────────────────────────────────────────────────────────────────────

AHEAD = 10**6
"""Minutes after noon: two years."""


@pytest.mark.parametrize(
    "future",
    [
        paper(0, "Zoe", renamed=AHEAD, born_as="Mira"),
        paper(0, "Mira", edited=AHEAD),
        paper(0, "Mira", alive=AHEAD),
    ],
)
def test_an_act_of_the_future_is_refused_because_nothing_could_overrule_it(
    future: AgentDocument,
) -> None:
    one, _ = two_machines()
    refused = one.refuse(c.ImportTeam(documents=(future,)), "invalid")
    assert "more than a day after the clock here" in str(refused)
    one.later(AHEAD * 60)
    one.do(c.ImportTeam(documents=(future,)))


def test_what_a_wrong_clock_dated_can_be_imported_here_and_is_mended_by_the_next_act() -> None:
    one, other = two_machines()
    right = one.now
    one.now += timedelta(days=365)
    one.do_all([c.EditSoul(seat=MIRA, soul="later"), c.RenameAgent(seat=MIRA, name="Zoe")])
    one.now = right
    assert one.do(c.ImportTeam(documents=(document(one),))) == []
    other.refuse(c.ImportTeam(documents=(document(one),)), "invalid")
    one.do_all([c.EditSoul(seat=MIRA, soul="again"), c.RenameAgent(seat=MIRA, name="Ada")])
    agreed = exchange(one, other)
    assert (agreed.name, agreed.individuation_artifact) == ("Ada", "again")


def test_an_egg_of_the_future_expires_in_time() -> None:
    scene = Scene()
    scene.do(c.ImportTeam(documents=(hatching(0, AHEAD),)))
    scene.later(HATCHING_SECONDS)
    assert scene.team.agents[MIRA].status is Status.EXPIRED


@pytest.mark.parametrize("name", ["Marcus", "muster", "Marcus in design", "MAIN"])
def test_a_name_at_birth_is_no_reserved_one_either(name: str) -> None:
    forged = paper(0, "Zed", renamed=1, born_as=name)
    Scene().refuse(c.ImportTeam(documents=(forged,)), "name_reserved")


def test_a_message_for_an_agent_that_lost_its_seat_reaches_nobody_else() -> None:
    scene = Scene()
    scene.do(c.ImportTeam(documents=(paper(0, "Zora", born=9),)))
    born = scene.agent("Zora").created_at
    words = c.SendMessage(text="for you", speaker_name="Marcus", seat=SeatId(0), created_at=born)
    scene.do(words)
    scene.do(c.ImportTeam(documents=(paper(0, "Lyra", born=0),)))
    refused = scene.refuse(words, "seat_of_another")
    assert "'Lyra'" in str(refused)


def test_an_agent_that_wins_a_seat_gets_nothing_that_was_for_the_one_before() -> None:
    """It was given the unread messages, the notes and the former names of the loser."""
    scene = Scene()
    scene.do(c.ImportTeam(documents=(paper(0, "Mira", born=9),)))
    scene.do(c.RenameAgent(seat=SeatId(0), name="Zora"))
    scene.do(c.Remember(seat=SeatId(0), text="I am Zora."))
    scene.do(c.SendMessage(text="for Zora", speaker_name="Marcus", seat=SeatId(0)))
    upto = scene.team.seq
    events = scene.do(c.ImportTeam(documents=(paper(0, "Lyra", born=0),)))
    (warning,) = facts(events, e.WarningLogged)
    assert "messages for 'Zora' reach nobody" in warning.text
    lyra = scene.agent("Lyra")
    assert (lyra.notes, lyra.former_names, lyra.has_unread) == ((), (), False)
    assert lyra.before == (0, 0, upto)
    scene.do(c.SendMessage(text="for Lyra", speaker_name="Marcus", seat=SeatId(0)))
    assert scene.agent("Lyra").has_unread
    scene.do(c.ImportTeam(documents=(paper(0, "Lyra", born=0, alive=5),)))
    assert scene.agent("Lyra").has_unread, "it is the same one still"
