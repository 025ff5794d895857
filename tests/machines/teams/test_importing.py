"""Importing: documents are merged into a team, and no live agent is affected."""

from datetime import UTC, datetime
from itertools import permutations

import pytest
from hypothesis import given
from msgspec.structs import replace

from muster.errors import Invalid
from muster.limits import HATCHING_SECONDS
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.documents import AgentDocument, MessageCopy
from muster.machines.identity.palette import appearance
from muster.machines.identity.places import in_free_seat
from muster.machines.ids import LEAD_SEAT, SeatId
from muster.machines.kernel import deadlines
from muster.machines.kernel.fold import evolve
from muster.machines.kernel.sentences import sentence
from muster.machines.kernel.snapshots import decode, encode
from muster.machines.state import Status, TurnState
from muster.machines.teams.importing import message_copy
from muster.machines.teams.merge import merge
from muster.machines.teams.papers import (
    LooseDocument,
    LooseMessage,
    check_message,
    document_of,
    parse_document,
    parse_message,
)
from muster.machines.vocabulary import Authority, RunMode
from tests.machines.identity import test_identity, test_places
from tests.machines.scene import REVIEWS, Scene, facts
from tests.machines.teams.papers import LATER, at, hatching, paper, said, teams

LYRA = SeatId(0)


def take_in(*documents: AgentDocument, messages: tuple[MessageCopy, ...] = ()) -> c.ImportTeam:
    return c.ImportTeam(documents=documents, messages=messages)


def documents(scene: Scene) -> list[AgentDocument]:
    """The documents of all agents but the lead."""
    seats = sorted(set(scene.team.agents) - {LEAD_SEAT})
    return [document_of(scene.team.agents[seat]) for seat in seats]


def imported(events: list[e.Event]) -> e.DocumentsImported:
    [fact] = facts(events, e.DocumentsImported)
    return fact


# ── merging ───────────────────────────────────────────────────────────────────────────────────────


@given(teams, teams)
def test_a_team_with_a_lead_imports_the_merged_documents(
    one: list[AgentDocument], other: list[AgentDocument]
) -> None:
    scene = test_identity.led()
    scene.do(take_in(*one))
    scene.do(take_in(*other))
    assert documents(scene) == merge(one, other)


@given(teams, teams, teams)
def test_the_order_of_imports_does_not_matter(
    one: list[AgentDocument], other: list[AgentDocument], third: list[AgentDocument]
) -> None:
    found: list[list[AgentDocument]] = []
    for order in permutations((one, other, third)):
        scene = Scene()
        for each in order:
            scene.do(take_in(*each))
        found.append(documents(scene))
        assert Status.ALIVE not in {each.status for each in found[-1]}
    assert found == [found[0]] * 6


@given(teams)
def test_an_import_is_idempotent_and_a_second_one_logs_nothing(
    one: list[AgentDocument],
) -> None:
    scene = test_identity.led()
    command = take_in(*one, messages=(said(1), said(2)))
    scene.do(command)
    before = scene.team
    assert scene.do(command) == []
    assert scene.team == before
    assert decode(encode(before)) == before


def test_two_machines_agree_after_importing_from_each_other() -> None:
    one, other = test_identity.led(), test_identity.led()
    one.do(take_in(paper(0, "Lyra", born=0, alive=2, session="s1"), hatching(2, 9)))
    other.do(take_in(paper(0, "Nova", born=5, alive=7), paper(1, "Lyra", born=3)))
    first, second = documents(one), documents(other)
    one.do(take_in(*second))
    other.do(take_in(*first))
    assert documents(one) == documents(other)
    assert [each.name for each in documents(one)] == ["Lyra", "Lyra-1", None]


def test_a_discarded_document_is_logged_once() -> None:
    scene = test_identity.led()
    scene.do(take_in(paper(0, "Lyra", "the first", born=0, alive=9)))
    loser = paper(0, "Nova", "the second", born=5, alive=1)
    fact = imported(scene.do(take_in(loser)))
    assert (fact.documents, fact.lost) == ((), (loser,))
    assert scene.do(take_in(loser)) == []
    assert scene.agent("Lyra").soul == "the first"


# ── live agents are kept ──────────────────────────────────────────────────────────────────────────


def test_an_imported_alive_agent_is_unknown_until_the_lead_reports_it() -> None:
    scene = test_identity.led()
    scene.do(take_in(paper(0, alive=5, status="alive"), paper(1, "Kael", alive=5, status="alive")))
    lyra = scene.agent("Lyra")
    assert (lyra.status, scene.team.shown_status(lyra)) == (Status.ALIVE, Status.UNKNOWN)
    scene.do(test_identity.status(LYRA, session=scene.session("Julian").id))
    assert scene.team.shown_status(scene.agent("Lyra")) is Status.ALIVE
    assert scene.agent("Kael").status is Status.SLEEPING


@pytest.mark.parametrize("seat", [0, 9])
def test_an_imported_alive_agent_sleeps_where_its_process_or_connection_is_the_authority(
    seat: int,
) -> None:
    scene = Scene()
    scene.do(take_in(paper(seat, alive=5, session="there", status="alive")))
    lyra = scene.agent("Lyra")
    assert (lyra.status, lyra.last_alive_at, lyra.last_session_id) == (
        Status.SLEEPING,
        at(5),
        "there",
    )
    assert scene.own_state("Lyra") is TurnState.OFFLINE


def test_an_import_starts_nothing() -> None:
    scene = Scene()
    events = scene.do(take_in(paper(0), paper(1, "Kael"), hatching(2), messages=(said(1),)))
    assert {event.type for event in events} == {"documents_imported", "message_imported"}
    assert not scene.team.sessions
    assert scene.agent("Lyra").run.desired is RunMode.PAUSE
    assert scene.agent("Lyra").authority is Authority.MUSTER


def test_an_import_does_not_change_a_live_agent_until_it_sleeps() -> None:
    scene = test_identity.seated(Status.ALIVE)
    before = test_identity.at(scene)
    older = paper(0, "Nova", "an older soul", born=-(10**6), alive=LATER)
    fact = imported(scene.do(take_in(older)))
    assert (fact.documents, fact.lost, fact.left, fact.held) == ((), (), (older,), (LYRA,))
    assert test_identity.at(scene) == before
    scene.do(test_identity.status(session=scene.session("Julian").id))
    scene.do(take_in(older))
    assert test_identity.at(scene).soul == "an older soul"
    assert scene.seat("Nova") == LYRA
    assert "lyra" not in scene.team.names


def test_a_live_agent_keeps_its_name_even_against_an_older_document() -> None:
    scene = test_identity.seated(Status.ALIVE)
    scene.do(take_in(paper(7, "Lyra", "far older", born=-(10**6))))
    assert scene.seat("Lyra") == LYRA
    assert scene.agent("Lyra-7").soul == "far older"


def test_an_import_does_not_make_a_channel_member_present() -> None:
    scene = test_identity.seated(Status.ALIVE)
    scene.do(c.CreateChannel(channel=REVIEWS))
    scene.do(c.AddMember(channel=REVIEWS, seat=LYRA))
    scene.ends("Julian")
    assert scene.agent("Lyra").channels == (REVIEWS,)
    scene.do(take_in(paper(0, alive=LATER, status="alive")))
    assert scene.agent("Lyra").status is Status.SLEEPING
    assert scene.agent("Lyra").last_alive_at == at(LATER)
    assert scene.holder() is None


def test_an_agent_that_enrolled_here_keeps_its_name_and_seat() -> None:
    scene = Scene()
    scene.do(c.EnrollAgent(name="pm", authority=Authority.SELF))
    other = paper(9, "dev", "a soul", born=-(10**6))
    assert imported(scene.do(take_in(other))).lost == (other,)
    assert scene.agent("pm").soul == ""
    scene.do(take_in(paper(9, "PM", "of pm", born=-(10**6))))
    assert (scene.agent("pm").name, scene.agent("pm").soul) == ("pm", "of pm")
    scene.do(take_in(paper(9, "dev", "older still", born=-(10**7))))
    assert scene.agent("pm").soul == "of pm"


def test_the_leads_document_is_for_a_team_with_a_lead() -> None:
    julian = paper(4, "Julian", "the lead", born=-(10**6))
    scene = Scene()
    assert imported(scene.do(take_in(julian))).lost == (julian,)
    assert scene.team.lead is None
    scene.do(c.EnrollAgent(name="Julian", authority=Authority.MUSTER, seat=LEAD_SEAT))
    scene.do(take_in(julian))
    assert scene.agent("Julian").soul == "the lead"


def test_an_imported_hatching_seat_expires() -> None:
    scene = Scene()
    scene.now = at(1)
    scene.do(take_in(hatching(3)))
    scene.later(300)
    assert scene.team.agents[SeatId(3)].status is Status.EXPIRED


def test_an_imported_agent_can_be_woken() -> None:
    scene = Scene()
    scene.do(take_in(paper(0)))
    scene.do(c.WakeAgents())
    scene.up("Lyra")
    assert scene.agent("Lyra").status is Status.ALIVE
    scene.do(c.EnrollAgent(name="pm", authority=Authority.SELF))
    assert scene.seat("pm") == 9


# ── messages ──────────────────────────────────────────────────────────────────────────────────────


def test_messages_are_imported_once_in_order_and_are_not_delivered() -> None:
    scene = test_identity.seated(Status.ALIVE)
    before = scene.agent("Lyra")
    events = scene.do(take_in(messages=(said(10), said(2), said(2), said(3, life="third"))))
    found = [fact.message.id for fact in facts(events, e.MessageImported)]
    assert found == ["elsewhere:2", "third:3", "elsewhere:10"]
    assert imported(events).messages == 3
    assert scene.agent("Lyra") == before
    assert scene.do(take_in(messages=(said(2), said(10)))) == []
    assert len(scene.do(take_in(messages=(said(2), said(11))))) == 2


def test_an_exported_message_has_a_stable_id_and_survives_a_round_trip() -> None:
    scene = test_identity.seated(Status.ALIVE)
    asked = scene.do(c.SendMessage(text="hello", speaker_name="Marcus", seat=LYRA))
    told = scene.do(c.TellHuman(seat=LYRA, text="good morning"))
    copies = tuple(copy for event in (*asked, *told) if (copy := message_copy(event, scene.team)))
    assert [each.id for each in copies] == [f"boot1:{each.seq}" for each in (*asked, *told)]
    assert [each.speaker_name for each in copies] == ["Marcus", "Lyra"]
    other = Scene()
    arrived = other.do(take_in(messages=copies))
    again = tuple(copy for event in arrived if (copy := message_copy(event, other.team)))
    assert again == copies


@pytest.mark.parametrize(
    "wrong",
    [
        said(1, life=""),
        said(1, life="x" * 200),
        said(0),
        replace(said(1), created_at=datetime.max.replace(tzinfo=UTC)),
        replace(said(1), grid_position=SeatId(-1)),
        replace(said(1), speaker_name="x" * 1000),
        said(1, seat=0, text="x" * (1024 * 1024 + 1)),
    ],
)
def test_an_invalid_message_refuses_the_whole_import(
    wrong: MessageCopy,
) -> None:
    Scene().refuse(take_in(paper(0), messages=(said(5), wrong)), "invalid")


def test_a_reserved_name_refuses_the_whole_import() -> None:
    Scene().refuse(take_in(paper(0, "Kael"), paper(1, "Marcus")), "name_reserved")


def test_an_import_becomes_sentences_of_the_log() -> None:
    scene = test_identity.seated(Status.ALIVE)
    command = take_in(paper(0, "Nova"), paper(1, "Kael"), messages=(said(1),))
    told = [sentence(event, scene.team) for event in scene.do(command)]
    assert told == [
        "imported 1 messages and the documents of Kael; Lyra unchanged, because live here"
        " (by Marcus)",
        "Grace said on another machine: hello (by Marcus)",
    ]


# ── defects of the trial ──────────────────────────────────────────────────────────────────────────


def test_imported_eggs_expire_by_themselves() -> None:
    """Defect 9: the scheduler did not know of them until a restart."""
    scene = Scene()
    events = scene.do(take_in(hatching(0)))
    keys = {key for event in events for key in deadlines.touched(event, scene.team)}
    assert LYRA in keys
    scene.later(10 * 365 * 86_400)
    assert scene.team.agents[LYRA].status is Status.EXPIRED


def test_the_birth_date_that_an_agent_wrote_in_an_old_log_does_not_count() -> None:
    """Defect 8b: one without a zone made every later import a server error."""
    scene = test_identity.led()
    scene.do(c.RegisterAgent(profile=e.Profile(name="Lyra", grid_position=LYRA)))
    (event,) = [each for each in scene.log if isinstance(each.fact, e.AgentRegistered)]
    naive = datetime(2026, 2, 16)  # noqa: DTZ001 - the subject
    claimed = e.Profile(name="Lyra", grid_position=LYRA, created_at=naive)
    old = replace(event, fact=e.AgentRegistered(agent=claimed))  # as earlier versions wrote it
    assert evolve(test_identity.led().team, old).agents[LYRA].created_at == event.ts


def test_documents_of_the_first_version_are_taken_in_as_they_are() -> None:
    """An own `_id`, the status unknown, times without a zone, and no status at all."""
    naive = datetime(2026, 1, 1)  # noqa: DTZ001 - the subject
    loose = LooseDocument(
        id="4f6c2d", grid_position=0, name="Lyra", status="unknown", created_at=naive
    )
    document = parse_document(loose)
    assert (document.id, document.status) == ("agent-identity:0", Status.SLEEPING)
    assert document.created_at == datetime(2026, 1, 1, tzinfo=UTC)
    egg = parse_document(LooseDocument(grid_position=1, status="unknown"))
    assert egg.status is Status.EXPIRED


def test_a_message_without_an_id_gets_one_from_its_content_and_its_thread_from_its_names() -> None:
    scene = test_identity.led()
    one = LooseMessage(
        speaker_name="Lyra",
        speaker_type="agent",
        text="hello",
        server_session_id="elsewhere",
        created_at=at(1),
    )
    to_it = replace(one, speaker_name="Marcus", speaker_type="human", target_agent="lyra")
    to_lead = replace(to_it, target_agent=None)
    copies = tuple(map(parse_message, (one, to_it, to_lead)))
    for copy in copies:
        check_message(copy)
    events = scene.do(take_in(paper(0), messages=copies))
    seats = [fact.seat for fact in facts(events, e.MessageImported)]
    assert sorted(seats, key=str) == [LYRA, LYRA, None]
    again = tuple(map(parse_message, (one, to_it, to_lead)))
    assert scene.do(take_in(paper(0), messages=again)) == []


# ── successors of retired agents ──────────────────────────────────────────────────────────────────


def test_two_machines_agree_about_a_successor_while_one_has_not_retired_its_predecessor() -> None:
    one, other = test_places.succeeded(), test_identity.led()
    other.do(take_in(paper(0, "Lyra", born=0)))
    for scene in (one, other):
        scene.later(HATCHING_SECONDS)
    shown = [each for each in documents(one) if each.name == "Nova"]
    other.do(take_in(*shown))
    nova = other.agent("Nova")
    assert (nova.seat, nova.place, nova.authority) == (test_places.NEXT, LYRA, Authority.LEAD)
    assert [each.name for each in documents(other) if each.name] == ["Lyra", "Nova"]
    before = one.team.agents
    one.do(take_in(*documents(other)))
    assert one.team.agents == before  # Lyra is retired there, Nova is the same
    assert in_free_seat(other.team, appearance(LYRA)).grid_position == test_places.NEXT


def test_an_imported_successor_is_one_of_the_crew_and_keeps_no_local_name() -> None:
    scene = Scene()
    nova = replace(paper(1000, "Nova", born=5), place=LYRA)
    scene.do(take_in(nova))
    assert scene.agent("Nova").authority is Authority.MUSTER
    assert scene.team.next_seat == 9  # agents that enrol are numbered as before
    scene.do(take_in(replace(nova, name="Mira", created_at=at(-1))))  # an older self of that seat
    assert scene.agent("Mira").place == LYRA


@pytest.mark.parametrize(
    ("seat", "place"), [(1003, 0), (1004, 4), (9, 0), (3, 0), (2009, 9), (0, -1000)]
)
def test_a_place_that_does_not_belong_to_the_seat_is_refused(seat: int, place: int) -> None:
    with pytest.raises(Invalid, match="place"):
        parse_document(LooseDocument(grid_position=seat, place=place, name="Nova"))


def test_the_place_of_a_seat_in_the_grid_is_the_seat() -> None:
    assert parse_document(LooseDocument(grid_position=3, place=3, name="Nova")).place is None
    assert parse_document(LooseDocument(grid_position=2003, place=3, name="Nova")).place == 3
