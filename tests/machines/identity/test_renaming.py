"""A rename while the program of an agent inside its lead runs: it keeps the name that it knows."""

import pytest

from muster.errors import NameReserved
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.ids import LEAD_SEAT, MUSTER, SeatId
from muster.machines.kernel.snapshots import decode, encode
from muster.machines.names import check_human_name, seat_called, seat_known_as
from muster.machines.state import Status
from muster.machines.turns.speech import speaker_label
from muster.machines.vocabulary import Authority, RunMode
from tests.machines.identity import test_identity
from tests.machines.scene import Scene, facts
from tests.machines.teams.papers import LATER, paper

ILSE = SeatId(0)


def renamed(status: Status = Status.ALIVE, name: str = "Uma") -> tuple[Scene, list[e.Event]]:
    scene = test_identity.seated(status)
    return scene, scene.do(c.RenameAgent(seat=ILSE, name=name))


def asleep(scene: Scene) -> None:
    scene.do(test_identity.status(session=scene.session("Julian").id))


def test_the_running_program_keeps_its_name_until_it_sleeps() -> None:
    scene, _ = renamed()
    assert scene.agent("Uma").running_as == "Lyra"
    assert scene.seat("Lyra") == scene.seat("Uma") == ILSE
    said = c.TellHuman(seat=scene.seat("Lyra"), text="x", session=scene.session("Julian").id)
    assert facts(scene.do(said), e.AgentMessage)[0].agent_name == "Uma"
    asleep(scene)
    assert scene.agent("Uma").running_as == ""
    assert "lyra" not in scene.team.names
    assert decode(encode(scene.team)) == scene.team


def test_nobody_takes_the_name_under_which_the_program_still_speaks() -> None:
    scene, _ = renamed()
    born = c.RegisterAgent(profile=e.Profile(name="Lyra", grid_position=SeatId(1)))
    scene.refuse(born, "name_taken")
    asleep(scene)
    scene.do(born)
    assert scene.seat("Lyra") == SeatId(1)


def test_an_import_gives_nobody_the_name_under_which_the_program_still_speaks() -> None:
    scene, _ = renamed()
    scene.do(c.ImportTeam(documents=(paper(1, "Lyra", born=-(10**6)),)))
    assert (scene.seat("Lyra"), scene.seat("Uma")) == (ILSE, ILSE)
    assert scene.team.agents[SeatId(1)].name == "Lyra-1"


def test_a_former_name_is_answered_to_and_not_had() -> None:
    scene, _ = renamed()
    assert seat_called(scene.team, "uma") == ILSE
    assert seat_called(scene.team, "Lyra") is None
    assert seat_called(scene.team, "Nobody") is None


def test_a_second_rename_keeps_the_name_that_the_program_knows() -> None:
    scene, _ = renamed()
    scene.do(c.RenameAgent(seat=ILSE, name="Vera"))
    assert (scene.agent("Vera").running_as, scene.seat("Lyra")) == ("Lyra", ILSE)
    told = facts(scene.do(c.RenameAgent(seat=ILSE, name="Lyra")), e.UserMessage)[0].text
    assert told == "[AGENT RENAMED: Vera] it is called Lyra now"
    assert seat_called(scene.team, "Lyra") == ILSE


def test_an_agent_answers_to_every_name_that_its_lead_was_told_until_it_sleeps() -> None:
    """The lead knows it by the name between two renames as well."""
    scene, _ = renamed()
    scene.do(c.RenameAgent(seat=ILSE, name="Vera"))
    assert {scene.seat(name) for name in ("Lyra", "Uma", "Vera")} == {ILSE}
    scene.refuse(c.EnrollAgent(name="Uma", authority=Authority.SELF), "name_taken")
    scene.do(test_identity.status(ILSE, session=scene.session("Julian").id))
    report = e.StatusEntry(grid_position=ILSE, name="Uma")
    reported = c.ReportStatus(agents=(report,), session=scene.session("Julian").id)
    assert facts(scene.do(reported), e.WarningLogged) == []
    asleep(scene)
    assert set(scene.team.names) == {"julian", "vera"}
    assert facts(scene.do(reported), e.WarningLogged) == []
    assert scene.agent("Vera").status is Status.ALIVE


def test_a_report_under_a_name_that_another_agent_has_now_wakes_nobody() -> None:
    scene, _ = renamed(Status.SLEEPING)
    lead = scene.session("Julian").id
    scene.do(c.RegisterAgent(profile=e.Profile(name="Lyra", grid_position=SeatId(1)), session=lead))
    asleep(scene)
    report = e.StatusEntry(grid_position=ILSE, name="Lyra")
    events = scene.do(c.ReportStatus(agents=(report,), session=lead))
    assert len(facts(events, e.WarningLogged)) == 1
    assert scene.agent("Uma").status is scene.agent("Lyra").status is Status.SLEEPING


def test_a_report_under_a_strange_name_leaves_the_agent_of_the_seat_as_it_is() -> None:
    for before in (Status.SLEEPING, Status.ALIVE):
        scene = test_identity.seated(before)
        report = e.StatusEntry(grid_position=ILSE, name="Nova")
        scene.do(c.ReportStatus(agents=(report,), session=scene.session("Julian").id))
        assert scene.agent("Lyra").status is before


def starting(scene: Scene) -> None:
    scene.do(c.EnrollAgent(name="Lyra", authority=Authority.MUSTER))
    scene.want("Lyra", RunMode.CONTINUOUS)


def test_a_program_of_muster_or_one_that_connects_keeps_its_name_until_it_ends() -> None:
    """Others took the name, and its words were refused."""
    for names in (Scene.running, Scene.connected):
        scene = Scene()
        names(scene, "Lyra", "Kael")
        scene.do(c.RenameAgent(seat=scene.seat("Lyra"), name="Zoe"))
        assert scene.seat("Lyra") == scene.seat("Zoe")
        scene.refuse(c.EnrollAgent(name="Lyra", authority=Authority.SELF), "name_taken")
        scene.refuse(c.RenameAgent(seat=scene.seat("Kael"), name="Lyra"), "name_taken")
        scene.do(c.ImportTeam(documents=(paper(1, "Lyra", born=-(10**6)),)))
        assert scene.team.agents[SeatId(1)].name == "Lyra-1"


def test_the_name_of_a_program_is_free_when_its_session_has_ended() -> None:
    scene = Scene()
    scene.running("Lyra")
    scene.do(c.RenameAgent(seat=scene.seat("Lyra"), name="Zoe"))
    scene.want("Zoe", RunMode.PAUSE)
    scene.ends("Zoe")
    assert (scene.agent("Zoe").running_as, set(scene.team.names)) == ("", {"zoe"})


def test_a_program_that_was_renamed_while_it_started_has_the_name_that_it_was_given() -> None:
    scene = Scene()
    starting(scene)
    scene.do(c.RenameAgent(seat=scene.seat("Lyra"), name="Zoe"))
    scene.up("Zoe")
    assert (scene.agent("Zoe").running_as, scene.seat("Lyra")) == ("Lyra", scene.seat("Zoe"))


def test_a_program_that_did_not_come_up_keeps_no_name() -> None:
    scene = Scene()
    starting(scene)
    scene.do(c.RenameAgent(seat=scene.seat("Lyra"), name="Zoe"))
    scene.ends("Zoe", e.Outcome.FAILED)
    assert (scene.agent("Zoe").running_as, set(scene.team.names)) == ("", {"zoe"})


def test_a_rename_in_case_only_keeps_the_agent_findable_when_it_sleeps() -> None:
    scene, _ = renamed(name="LYRA")
    assert scene.agent("LYRA").running_as == "Lyra"
    asleep(scene)
    assert scene.seat("lyra") == ILSE


def test_a_sleeping_agent_has_its_new_name_at_once() -> None:
    scene, _ = renamed(Status.SLEEPING)
    assert scene.agent("Uma").running_as == ""
    assert "lyra" not in scene.team.names


def test_an_import_ends_the_name_of_a_program_that_nobody_has_confirmed() -> None:
    scene, _ = renamed()
    scene.boot()
    scene.do(c.ImportTeam(documents=(paper(0, "Nova", born=-(10**6), alive=LATER),)))
    assert scene.agent("Nova").running_as == ""
    assert set(scene.team.names) == {"julian", "nova"}


def test_the_lead_is_told_of_the_new_name_by_muster() -> None:
    _, events = renamed()
    (told,) = facts(events, e.UserMessage)
    assert told.text == (
        "[AGENT RENAMED: Lyra] it is called Uma now; Lyra counts for it too, as long as no other "
        "agent has that name"
    )
    assert (told.speaker_name, told.speaker_type, told.seat) == (MUSTER, "muster", LEAD_SEAT)
    _, events = renamed(Status.SLEEPING)
    assert [each.text for each in facts(events, e.UserMessage)] == [
        "[AGENT RENAMED: Lyra] it is called Uma now"
    ]


def test_an_agent_is_known_by_a_former_name_that_no_other_agent_has_or_had() -> None:
    """The next lead was told the former name, and its words under it were rejected."""
    scene, _ = renamed()
    asleep(scene)
    assert seat_known_as(scene.team, "lyra") == seat_known_as(scene.team, "Uma") == ILSE
    assert seat_known_as(scene.team, "Nobody") is None
    other = scene.do(c.EnrollAgent(name="Lyra", authority=Authority.MUSTER))
    seat = facts(other, e.AgentEnrolled)[0].agent.grid_position
    assert seat_known_as(scene.team, "Lyra") == seat
    scene.do(c.RenameAgent(seat=seat, name="Zoe"))
    assert seat_known_as(scene.team, "Lyra") is None


def test_nobody_is_told_without_a_lead_or_of_the_lead_itself() -> None:
    scene = Scene()
    scene.do(c.EnrollAgent(name="Julian", authority=Authority.MUSTER, seat=LEAD_SEAT))
    events = scene.do(c.RenameAgent(seat=LEAD_SEAT, name="Jules"))
    assert facts(events, e.UserMessage) == []


def test_the_seat_of_a_retired_lead_has_no_successor_but_the_lead_comes_back_and_is_renamed() -> (
    None
):
    scene = Scene()
    julian = c.EnrollAgent(name="Julian", authority=Authority.MUSTER, seat=LEAD_SEAT)
    scene.do(julian)
    scene.do(c.DismissAgent(seat=LEAD_SEAT))
    assert scene.team.lead is None
    nova = c.EnrollAgent(name="Nova", authority=Authority.MUSTER, seat=LEAD_SEAT)
    scene.refuse(nova, "seat_taken")
    scene.do(c.RestoreAgent(seat=LEAD_SEAT), actor=MUSTER)
    scene.do(c.RenameAgent(seat=LEAD_SEAT, name="Nova"))
    assert scene.team.lead is scene.agent("Nova")


# ── names that could pass for a person ────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "name",
    [
        *("Marcus in design", "marcus aurelius", "Marcus.", "Marcus-", "Marcus_", "Mar-cus"),
        *("human", "Operator", "person", "system", "sys.tem", "muster."),
    ],
)
def test_a_name_that_reads_as_the_person_or_as_muster_is_reserved(name: str) -> None:
    scene = test_identity.seated(Status.SLEEPING)
    scene.refuse(c.RenameAgent(seat=ILSE, name=name), "name_reserved")
    scene.refuse(c.EnrollAgent(name=name, authority=Authority.SELF), "name_reserved")
    profile = e.Profile(name=name, grid_position=SeatId(1))
    scene.refuse(c.RegisterAgent(profile=profile), "name_reserved")
    scene.refuse(c.ImportTeam(documents=(paper(1, name),)), "name_reserved")


def test_a_name_that_only_begins_with_the_same_letters_is_free() -> None:
    scene = test_identity.seated(Status.SLEEPING)
    scene.do(c.RenameAgent(seat=ILSE, name="Marcusine"))
    assert scene.seat("Marcusine") == ILSE


@pytest.mark.parametrize("name", ["human", "Operator", "Marcus Aurelius"])
def test_a_person_may_have_a_name_that_an_agent_may_not(name: str) -> None:
    check_human_name(name)


@pytest.mark.parametrize("name", ["muster", "MAIN", "."])
def test_a_person_has_none_of_the_words_of_muster_for_a_name(name: str) -> None:
    with pytest.raises(NameReserved):
        check_human_name(name)


def test_the_speaker_of_a_message_is_a_person_an_agent_or_muster() -> None:
    scene = test_identity.seated(Status.ALIVE)
    said = c.SendMessage(text="hello", speaker_name="Julian", seat=ILSE, sender=LEAD_SEAT)
    by_person = c.SendMessage(text="hello", speaker_name="Marcus", seat=ILSE)
    kinds = [facts(scene.do(each), e.UserMessage)[0].speaker_type for each in (said, by_person)]
    assert kinds == ["agent", "human"]


def test_a_label_of_a_speaker_has_its_channel_after_a_character_that_no_name_has() -> None:
    assert speaker_label("Marcus", None) == "Marcus"
    assert speaker_label("Marcus", "design") == "Marcus #design"
    assert speaker_label("Marcus #design", None) == "Marcus design"


def test_the_earlier_names_of_an_agent_begin_with_the_first_and_leave_out_the_present_one() -> None:
    scene, _ = renamed()
    for name in ("Vera", "Lyra"):
        scene.do(c.RenameAgent(seat=ILSE, name=name))
    assert scene.agent("Lyra").earlier_names == ("Uma", "Vera")
