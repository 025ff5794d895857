"""Merging: two versions of a team become one, whichever comes first and however often."""

from datetime import UTC, datetime
from itertools import permutations

import pytest
from hypothesis import given

from muster.errors import Refused
from muster.machines.documents import AgentDocument
from muster.machines.ids import name_key
from muster.machines.state import Status
from muster.machines.teams.merge import join, merge
from muster.machines.teams.papers import LooseDocument, check_document, parse_document
from tests.machines.teams.papers import NOON, at, hatching, paper, teams

Papers = list[AgentDocument]


@given(teams, teams)
def test_merging_is_commutative(one: Papers, other: Papers) -> None:
    assert merge(one, other) == merge(other, one)


@given(teams, teams, teams)
def test_merging_is_associative(one: Papers, other: Papers, third: Papers) -> None:
    assert merge(merge(one, other), third) == merge(one, merge(other, third))


@given(teams, teams)
def test_merging_is_idempotent(one: Papers, other: Papers) -> None:
    merged = merge(one, other)
    assert merge(merged, merged) == merged
    assert merge(merged, one) == merged
    assert merge(merged, other) == merged


@given(teams, teams)
def test_a_merged_team_has_one_document_a_seat_and_no_name_twice(
    one: Papers, other: Papers
) -> None:
    merged = merge(one, other)
    seats = [each.grid_position for each in merged]
    assert seats == sorted({each.grid_position for each in (*one, *other)})
    names = [name_key(each.name) for each in merged if each.name is not None]
    assert len(set(names)) == len(names)
    for each in merged:
        check_document(each)


@given(teams, teams)
def test_every_named_agent_keeps_a_name_and_every_first_soul_is_kept(
    one: Papers, other: Papers
) -> None:
    every = (*one, *other)
    for document in merge(one, other):
        here = [each for each in every if each.grid_position == document.grid_position]
        assert (document.name is not None) == any(each.name for each in here)
        assert (document.status in (Status.ALIVE, Status.SLEEPING)) == (document.name is not None)
        souls = [each for each in here if each.individuation_artifact]
        if souls:
            first = min(each.created_at or at(10**6) for each in souls)
            assert (document.created_at or at(10**6)) == first
            assert document.individuation_artifact in {
                each.individuation_artifact
                for each in souls
                if (each.created_at or at(10**6)) == first
            }


@given(teams, teams)
def test_the_latest_life_stays(one: Papers, other: Papers) -> None:
    for document in merge(one, other):
        moments = [
            each.last_alive_at
            for each in (*one, *other)
            if each.grid_position == document.grid_position and each.last_alive_at
        ]
        assert document.last_alive_at == max(moments, default=None)


# ── by example ────────────────────────────────────────────────────────────────────────────────────


def test_the_later_life_and_the_first_soul_stay_though_they_come_from_two_documents() -> None:
    early = paper(3, "Lyra", "the first soul", born=0, alive=1, session="s1")
    late = paper(3, "Nova", "another soul", born=5, alive=9, session="s2", status="alive")
    [merged] = merge([early], [late])
    assert (merged.name, merged.individuation_artifact) == ("Lyra", "the first soul")
    assert merged.created_at == NOON
    assert (merged.status, merged.last_session_id) == (Status.ALIVE, "s2")
    assert merged.last_alive_at == at(9)


def test_with_equal_times_sleeping_wins_over_alive() -> None:
    alive = paper(3, alive=1, session="s1", status="alive")
    asleep = paper(3, alive=1, session="s1")
    assert merge([alive], [asleep]) == [asleep]


def test_a_registered_agent_wins_over_a_seat_prepared_later() -> None:
    lyra = paper(3, born=0)
    assert merge([hatching(3, 60)], [lyra]) == [lyra]


def test_a_seat_prepared_again_wins_over_an_expired_one() -> None:
    again = hatching(3, 10)
    assert merge([hatching(3, 0, "expired")], [again]) == [again]
    assert merge([hatching(3, 10, "expired")], [again])[0].status is Status.EXPIRED


def test_of_two_agents_with_one_name_the_older_keeps_it_and_the_other_gets_a_suffix() -> None:
    older, younger = paper(0, "Lyra", born=0), paper(3, "LYRA", "I sing.", born=5)
    first, second = merge([younger], [older])
    assert (first.name, first.chosen_name) == ("Lyra", None)
    assert (second.name, second.chosen_name) == ("LYRA-3", "LYRA")
    assert second.individuation_artifact == "I sing."


def test_an_agent_with_a_suffix_gets_its_chosen_name_back_when_it_is_free() -> None:
    clash = merge([paper(0, "Lyra", born=5)], [paper(3, "Lyra", born=9)])
    assert [each.name for each in clash] == ["Lyra", "Lyra-3"]
    settled = merge(clash, [paper(0, "Kael", born=0)])
    assert [each.name for each in settled] == ["Kael", "Lyra"]


def test_a_suffix_fits_a_long_name_and_avoids_existing_names() -> None:
    team = [paper(seat, "x" * 64, born=seat) for seat in (0, 1)]
    names = [each.name or "" for each in merge(team, [paper(2, "x" * 62 + "-1", born=9)])]
    assert len({name_key(name) for name in names}) == 3
    assert max(map(len, names)) == 64


def test_many_machines_agree_in_any_order_of_merges() -> None:
    machines = (
        [paper(0, "Lyra", born=4, alive=4), hatching(1)],
        [paper(0, "Kael", born=2, alive=8), paper(1, "Lyra", born=3)],
        [paper(1, "Nova", "", born=None), paper(2, "kael", born=1)],
    )
    found = [merge(merge(*order[:2]), order[2]) for order in permutations(machines)]
    assert found == [found[0]] * 6


# ── old and broken documents ──────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("loose", "status"),
    [
        (LooseDocument(grid_position=3, hatching=True), Status.HATCHING),
        (LooseDocument(grid_position=3, name="Lyra"), Status.SLEEPING),
        (LooseDocument(id="agent-identity:3", name="Lyra", hatching=False), Status.SLEEPING),
        (LooseDocument(grid_position=3, name="Lyra", hatching=True), Status.SLEEPING),
        (LooseDocument(grid_position=3, name="Lyra", status="alive"), Status.ALIVE),
        (LooseDocument(grid_position=3, status="expired"), Status.EXPIRED),
    ],
)
def test_missing_fields_of_an_old_document_have_defaults(
    loose: LooseDocument, status: Status
) -> None:
    document = parse_document(loose)
    assert (document.id, document.status) == ("agent-identity:3", status)
    assert join([document])[document.grid_position] == document


@pytest.mark.parametrize(
    "loose",
    [
        LooseDocument(name="Lyra"),
        LooseDocument(id="agent-identity:x", name="Lyra"),
        LooseDocument(id="message:3", name="Lyra"),
        LooseDocument(id="agent-identity:4", grid_position=3, name="Lyra"),
        LooseDocument(grid_position=-1, name="Lyra"),
        LooseDocument(grid_position=10**9, name="Lyra"),
        LooseDocument(grid_position=3),
        LooseDocument(grid_position=3, status="alive"),
        LooseDocument(grid_position=3, name="Lyra", status="awake"),
        LooseDocument(grid_position=3, name="Lyra", type="message"),
        LooseDocument(grid_position=3, name="../Lyra"),
        LooseDocument(grid_position=3, name="x" * 65),
        LooseDocument(grid_position=3, name="Lyra", chosen_name="a/b"),
        LooseDocument(grid_position=3, name="Lyra", individuation_artifact="x" * 300_000),
        LooseDocument(grid_position=3, name="Lyra", color="x" * 1000),
        LooseDocument(grid_position=3, name="Lyra", created_at=datetime.max.replace(tzinfo=UTC)),
        LooseDocument(grid_position=3, name="Lyra", last_alive_at=datetime.min.replace(tzinfo=UTC)),
    ],
)
def test_an_invalid_document_is_refused(loose: LooseDocument) -> None:
    with pytest.raises(Refused):
        check_document(parse_document(loose))
