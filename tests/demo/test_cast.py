"""The characters of the demo, by their seats."""

from muster.demo.cast import ALL, in_seat


def test_every_seat_has_its_character_and_that_of_a_successor_an_understudy() -> None:
    assert [in_seat(each.seat) for each in ALL] == list(ALL)
    stand_in = in_seat(1003)
    assert (stand_in.seat, stand_in.name) == (1003, "Robin 1003")
    assert stand_in.soul
