from collections.abc import Iterator
from datetime import timedelta, timezone

import msgspec
import pytest
from msgspec.structs import replace

from muster.errors import LogCorrupt, LogTooNew
from muster.machines.events import (
    FACTS,
    AgentEnabled,
    AgentStatus,
    Event,
    Fact,
)
from muster.machines.ids import SeatId
from muster.machines.keys import with_digest
from muster.store.codec import Envelope, decode, encode, stored
from muster.store.upcasts import UPCASTS, Shape, upcast
from tests.store.building import DESIGN, EXAMPLES, NOON, SEAT, SESSION, event

BY_KIND = {type(fact): fact for fact in EXAMPLES}


@pytest.fixture
def upcasts() -> Iterator[None]:
    """Restore the registry after the test."""
    before = dict(UPCASTS)
    yield
    UPCASTS.clear()
    UPCASTS.update(before)


def line(**fields: object) -> bytes:
    """An event on the wire with some fields changed."""
    shape = msgspec.json.decode(encode(event(1, AgentEnabled(seat=SEAT))), type=dict[str, object])
    return msgspec.json.encode(shape | fields)


def test_every_kind_of_fact_has_an_example() -> None:
    assert set(BY_KIND) == set(FACTS)


def test_a_fact_survives_encoding_and_decoding_unchanged() -> None:
    before = [event(7, BY_KIND[kind], cause=6) for kind in FACTS]

    assert [decode(encode(each)) for each in before] == before


def test_no_field_of_a_fact_hides_one_of_the_envelope() -> None:
    envelope = set(Envelope.__struct_encode_fields__)

    assert [kind for kind in FACTS if envelope & set(kind.__struct_encode_fields__)] == []


def test_the_wire_format_is_one_flat_object_with_the_envelope_first() -> None:
    assert encode(event(7, AgentEnabled(seat=SEAT), cause=6)) == (
        b'{"seq":7,"ts":"2026-05-09T12:00:00.250000Z","sessionId":"ses-1",'
        b'"actor":"person:Marcus","cause":6,"v":1,"type":"agent_enabled","seat":3}'
    )


def test_times_of_other_zones_are_written_in_utc() -> None:
    east = NOON.astimezone(timezone(timedelta(hours=2)))

    written = encode(Event(1, east, SESSION, "muster", None, AgentEnabled(seat=SEAT)))

    assert b'"ts":"2026-05-09T12:00:00.250000Z"' in written


@pytest.mark.parametrize("kind", FACTS, ids=lambda kind: kind.__name__)
def test_the_columns_for_filters_match_the_encoded_event(kind: type[Fact]) -> None:
    fact = BY_KIND[kind]
    found = stored(event(7, fact))

    assert found.data == encode(event(7, fact))
    assert found.type == event(7, fact).type
    of_one = hasattr(fact, "seat") or hasattr(fact, "agent") or hasattr(fact, "session")
    assert found.seat == (SEAT if of_one and not isinstance(fact, AgentStatus) else None)
    assert found.channel == (DESIGN if hasattr(fact, "channel") else None)


def test_an_event_of_an_unknown_type_is_from_a_newer_muster() -> None:
    with pytest.raises(LogTooNew, match="'seat_painted' version 1, this one knows no such event"):
        decode(line(type="seat_painted"))


def test_a_newer_version_of_a_known_event_is_from_a_newer_muster() -> None:
    with pytest.raises(LogTooNew, match=r"at /srv/team\.db .*version 2, this one knows version 1"):
        decode(line(v=2), path="/srv/team.db")


def test_a_version_that_never_existed_is_damage() -> None:
    with pytest.raises(LogCorrupt, match="'agent_enabled' never had a version 0"):
        decode(line(v=0))


@pytest.mark.parametrize(
    "damaged",
    [b"", b"\x00\x01", b"null", b"[]", line()[:-9], line(seat="three"), line(seq=None), b'"\xff"'],
)
def test_bytes_that_are_no_event_are_damage(damaged: bytes) -> None:
    with pytest.raises(LogCorrupt):
        decode(damaged)


@pytest.mark.usefixtures("upcasts")
def test_an_old_version_is_upcast_step_by_step() -> None:
    @upcast("agent_enabled", -1)
    def _seats_were_called_places(old: Shape) -> Shape:
        return old | {"position": old["place"]}

    @upcast("agent_enabled", 0)
    def _then_positions(old: Shape) -> Shape:
        return old | {"seat": old["position"]}

    lifted = decode(line(v=-1, seat=None, place=5))

    assert lifted == event(1, AgentEnabled(seat=SeatId(5)))
    assert {_seats_were_called_places, _then_positions} <= set(UPCASTS.values())


@pytest.mark.usefixtures("upcasts")
def test_a_renamed_event_is_upcast_to_its_new_name() -> None:
    @upcast("agent_allowed", 4)
    def _allowed_is_enabled(old: Shape) -> Shape:
        return old | {"type": "agent_enabled", "v": 1}

    assert decode(line(type="agent_allowed", v=4)) == event(1, AgentEnabled(seat=SEAT))
    assert _allowed_is_enabled in UPCASTS.values()


def test_a_key_and_the_digest_of_its_request_are_fields_of_their_own() -> None:
    keyed = replace(event(7), key=with_digest("k-1", "1f"))
    assert b'"key":"k-1","keyDigest":"1f"' in encode(keyed)
    assert decode(encode(keyed)) == keyed


def test_the_key_of_an_older_message_is_that_of_its_envelope() -> None:
    older = encode(event(7))[:-1] + b',"key":"k-1"}'

    assert decode(older).key == "k-1"
    assert b'"v":1,"key":"k-1","type":' in encode(decode(older))
