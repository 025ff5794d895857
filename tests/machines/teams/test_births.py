"""Which birth a message is of, where several agents had its seat."""

from datetime import datetime, timedelta

import pytest

from muster.machines.documents import MessageCopy
from muster.machines.ids import LEAD_SEAT, SeatId, SessionId
from muster.machines.state import Agent, FormerBirth
from muster.machines.teams.births import birth_at, is_of, is_sent_by
from muster.testing.clock import ManualClock

NOW = ManualClock().now()
EARLIER = NOW - timedelta(days=1)
SEAT, OTHER = SeatId(0), SeatId(1)
LYRA = Agent(
    seat=SEAT,
    name="Lyra",
    created_at=NOW,
    births_before=(FormerBirth(until=20, created_at=EARLIER),),
)


def copied(
    *, of: datetime | None = None, sender: SeatId | None = None, born: datetime | None = None
) -> MessageCopy:
    return MessageCopy(
        id="a:1",
        type="message",
        speaker_name="Lyra",
        speaker_type="agent",
        target_agent=None,
        text="hello",
        server_session_id=SessionId("a"),
        created_at=NOW,
        grid_position=OTHER,
        agent_created_at=of,
        sender_position=sender,
        sender_created_at=born,
    )


@pytest.mark.parametrize(("of", "is_hers"), [(None, True), (NOW, True), (EARLIER, False)])
def test_a_message_is_of_the_birth_that_it_names(of: datetime | None, is_hers: bool) -> None:
    assert is_of(LYRA, copied(of=of)) is is_hers


def test_a_lead_is_one_agent_whenever_it_was_enrolled() -> None:
    lead = Agent(seat=LEAD_SEAT, name="Grace", created_at=NOW)
    assert is_of(lead, copied(of=EARLIER))
    assert is_sent_by(lead, copied(sender=LEAD_SEAT, born=EARLIER))


def test_a_message_to_another_agent_is_of_the_birth_that_sent_it() -> None:
    assert is_sent_by(LYRA, copied(sender=SEAT, born=NOW))
    assert not is_sent_by(LYRA, copied(sender=SEAT, born=EARLIER))
    assert not is_sent_by(LYRA, copied(sender=None, born=NOW))


def test_a_seat_had_another_agent_until_the_merge_that_gave_it_away() -> None:
    assert (birth_at(LYRA, 20), birth_at(LYRA, 21)) == (EARLIER, NOW)
    assert LYRA.seated_from == 20
    assert Agent(seat=SEAT).seated_from == 0
