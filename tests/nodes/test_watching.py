"""Watching leases: a beat is too old by this node's clock alone, and by no doubt."""

from muster.machines.ids import NodeId, SessionId
from muster.nodes.timing import LeaseTiming
from muster.nodes.watching import LeaseWatch
from muster.store.base import Lease, LeaseBoard

BOX = NodeId("box")
OWN = LeaseTiming(60.0)


def lease(beat: int, life: str = "life", seconds: float = 30.0) -> LeaseBoard:
    return LeaseBoard("server", {BOX: Lease(SessionId(life), beat, seconds)})


def looked(watch: LeaseWatch, board: LeaseBoard, at: float) -> bool:
    """Whether a look at this time finds the node silent."""
    return watch.silent(board, [BOX], asked_at=at, told_at=at) == [BOX]


def test_a_node_gives_its_sessions_up_before_others_take_them() -> None:
    for seconds in (3.0, 60.0, 600.0):
        timing = LeaseTiming(seconds)
        assert timing.held_s > timing.renew_s
        assert timing.held_s * 1.01 < timing.lost_s * 0.99


def test_a_beat_is_too_old_after_its_own_lease_and_not_before() -> None:
    watch = LeaseWatch(OWN)
    assert not looked(watch, lease(1), 100.0)
    assert not looked(watch, lease(1), 130.0)
    assert looked(watch, lease(1), 131.0)


def test_a_new_beat_or_another_life_begins_a_new_watch() -> None:
    watch = LeaseWatch(OWN)
    looked(watch, lease(1), 100.0)
    assert not looked(watch, lease(2), 140.0)
    assert not looked(watch, lease(2, life="next"), 180.0)


def test_a_beat_counts_from_the_answer_and_is_old_when_the_question_was_asked() -> None:
    watch = LeaseWatch(OWN)
    watch.silent(lease(1), [BOX], asked_at=90.0, told_at=100.0)
    assert not watch.silent(lease(1), [BOX], asked_at=130.0, told_at=140.0)


def test_a_node_that_could_not_look_or_finds_another_server_begins_anew() -> None:
    watch = LeaseWatch(OWN)
    looked(watch, lease(1), 100.0)
    watch.forget()
    assert not looked(watch, lease(1), 200.0)
    assert not looked(watch, lease(1)._replace(server="promoted"), 300.0)


def test_a_node_without_a_lease_is_waited_for_as_well() -> None:
    watch, empty = LeaseWatch(OWN), LeaseBoard("server", {})
    assert not looked(watch, empty, 0.0)
    assert not looked(watch, empty, 61.0)
    assert looked(watch, empty, 61.5)
