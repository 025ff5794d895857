"""Channels and their members: created whole, joined in advance, ordered, archived, restored."""

from collections.abc import Callable

import pytest

from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.ids import ChannelId, SeatId
from muster.machines.state import TurnState
from muster.machines.vocabulary import Authority, JoinRule, RunMode, TurnConfig
from tests.machines.scene import REVIEWS, Scene, facts, moves
from tests.machines.turns.test_order import gives, raises
from tests.machines.turns.test_turns import leave, trio

OFFLINE, IDLE, QUEUED, ACTIVE, WAITING = TurnState
DESIGN = ChannelId("design")


def enrolled(*names: str) -> Scene:
    """Agents that are known, and have not connected yet."""
    scene = Scene()
    for name in names:
        scene.do(c.EnrollAgent(name=name, authority=Authority.SELF))
    return scene


def seats(scene: Scene, *names: str) -> tuple[SeatId, ...]:
    return tuple(scene.seat(name) for name in names)


def add(scene: Scene, name: str) -> c.AddMember:
    return c.AddMember(channel=REVIEWS, seat=scene.seat(name))


def remove(scene: Scene, name: str) -> c.RemoveMember:
    return c.RemoveMember(channel=REVIEWS, seat=scene.seat(name))


def archive(scene: Scene, *, archived: bool = True) -> list[e.Event]:
    return scene.do(c.ArchiveChannel(channel=REVIEWS, archived=archived))


# ── creating and joining ──────────────────────────────────────────────────────────────────────────


def test_a_channel_is_created_with_its_members_in_the_order_of_their_turns() -> None:
    scene = Scene()
    scene.connected("pm", "dev", "qa")
    members = seats(scene, "qa", "pm", "dev")
    events = scene.do(c.CreateChannel(channel=REVIEWS, members=members))
    assert scene.channel().ring == members
    assert scene.holder() == "qa"
    assert sum(move[3] == "turn_granted" for move in moves(events)) == 1


def test_a_channel_that_one_member_cannot_join_is_not_created() -> None:
    scene = Scene()
    scene.connected("pm", "dev")
    scene.do(c.DisableAgent(seat=scene.seat("dev")))
    both = seats(scene, "pm", "dev")
    scene.refuse(c.CreateChannel(channel=REVIEWS, members=both), "disabled")
    ghost = (scene.seat("pm"), SeatId(99))
    scene.refuse(c.CreateChannel(channel=REVIEWS, members=ghost), "not_found")
    twice = seats(scene, "pm", "pm")
    scene.refuse(c.CreateChannel(channel=REVIEWS, members=twice), "invalid")
    crowd = tuple(SeatId(number) for number in range(257))
    scene.refuse(c.CreateChannel(channel=REVIEWS, members=crowd), "channel_full")
    assert scene.team.channels == {}


def test_agents_can_be_put_into_a_channel_before_they_connect() -> None:
    scene = enrolled("pm", "dev")
    scene.do(c.CreateChannel(channel=REVIEWS, members=seats(scene, "pm", "dev")))
    assert scene.holder() is None
    scene.posts("hello")
    events = scene.do(c.ConnectAgent(seat=scene.seat("dev")))
    assert moves(events) == [
        ("dev", OFFLINE, IDLE, "agent_starts"),
        ("dev", IDLE, QUEUED, "place_kept"),
        ("dev", QUEUED, ACTIVE, "turn_granted"),
    ]
    scene.do(c.ConnectAgent(seat=scene.seat("pm")))
    scene.complete("dev")
    assert scene.holder() == "pm"
    assert scene.channel().ring == seats(scene, "pm", "dev")


def test_a_member_in_advance_is_offline_and_is_not_waited_for() -> None:
    scene = enrolled("pm", "dev")
    scene.connected("qa")
    scene.channel_of("pm", "dev", "qa")
    assert (scene.own_state("pm"), scene.holder()) == (OFFLINE, "qa")
    scene.complete("qa")
    assert scene.state("qa") is IDLE  # as if it were alone


def test_an_agent_that_connected_in_time_and_went_away_loses_its_place() -> None:
    scene = enrolled("pm")
    scene.channel_of("pm")
    scene.do(c.ConnectAgent(seat=scene.seat("pm")))
    leave(scene, "pm")
    assert scene.channel().ring == ()


# ── who may join ──────────────────────────────────────────────────────────────────────────────────


def test_a_person_s_removal_lasts_until_a_person_adds_the_agent_again() -> None:
    scene = trio()
    scene.do(remove(scene, "pm"))
    assert scene.channel().barred == seats(scene, "pm")
    refused = scene.refuse(add(scene, "pm"), "removed_by_person", "agent:pm")
    assert str(refused) == (
        "A person removed 'pm' from channel 'reviews', and only a person can add it again."
    )
    scene.refuse(add(scene, "pm"), "removed_by_person", "agent:dev")
    scene.do(add(scene, "pm"))
    assert scene.channel().barred == ()
    scene.do(remove(scene, "pm"), "agent:pm")
    scene.do(add(scene, "pm"), "agent:pm")


def test_an_agent_that_leaves_by_itself_may_come_back_by_itself() -> None:
    scene = trio()
    scene.do(remove(scene, "pm"), "agent:pm")
    leave(scene, "dev")
    scene.do(c.ConnectAgent(seat=scene.seat("dev")))
    for name in ("pm", "dev"):
        scene.do(add(scene, name), f"agent:{name}")


def test_where_only_people_invite_no_agent_joins_by_itself() -> None:
    scene = trio(TurnConfig(join_rule=JoinRule.INVITED))
    scene.connected("ops")
    refused = scene.refuse(add(scene, "ops"), "invited_only", "agent:ops")
    assert str(refused) == "Only a person adds members to channel 'reviews'."
    scene.refuse(add(scene, "pm"), "already_a_member", "agent:pm")
    scene.do(add(scene, "ops"))
    assert scene.channel().ring[-1] == scene.seat("ops")


# ── the ring's order and timeouts ─────────────────────────────────────────────────────────────────


def order(scene: Scene, *names: str) -> c.OrderRing:
    return c.OrderRing(channel=REVIEWS, seats=seats(scene, *names))


def test_the_order_of_the_ring_changes_and_goes_on_after_the_speaker() -> None:
    scene = trio()
    scene.complete("pm")
    assert scene.holder() == "dev"
    scene.do(order(scene, "qa", "dev", "pm"))
    assert scene.holder() == "dev"
    for name in ("dev", "pm", "qa", "dev"):
        assert scene.holder() == name
        scene.complete(name)


def test_the_order_of_a_ring_that_nobody_has_used_begins_with_its_first() -> None:
    scene = enrolled("pm", "dev")
    scene.channel_of("pm", "dev")
    scene.do(order(scene, "dev", "pm"))
    for name in ("pm", "dev"):
        scene.do(c.ConnectAgent(seat=scene.seat(name)))
    assert scene.holder() == "pm"  # it was the first to connect
    scene.complete("pm")
    assert scene.holder() == "dev"


def test_an_order_must_have_every_member_once() -> None:
    scene = trio()
    for names in (("pm", "dev"), ("pm", "dev", "dev"), ("pm", "dev", "qa", "qa")):
        refused = scene.refuse(order(scene, *names), "invalid")
        assert "must have every member once: pm, dev, qa" in str(refused)
    assert scene.do(order(scene, "pm", "dev", "qa")) == []
    scene.do(c.CreateChannel(channel=DESIGN))
    empty = c.OrderRing(channel=DESIGN, seats=seats(scene, "pm"))
    assert "once: none" in str(scene.refuse(empty, "invalid"))


def test_the_timeout_of_a_member_is_changed_later_and_a_running_turn_keeps_its_own() -> None:
    scene = trio()
    pm = scene.seat("pm")
    shorter = c.ConfigureMember(channel=REVIEWS, seat=pm, timeout_seconds=5)
    scene.do(shorter)
    assert scene.do(shorter) == []
    scene.later(59)
    assert scene.holder() == "pm"
    scene.complete("pm")
    scene.complete("dev")
    scene.complete("qa")
    scene.later(5)
    assert scene.holder() == "dev"
    scene.do(c.ConfigureMember(channel=REVIEWS, seat=pm, timeout_seconds=None))
    assert scene.channel().timeouts == {}
    scene.refuse(c.ConfigureMember(channel=REVIEWS, seat=pm, timeout_seconds=0), "invalid")
    scene.connected("ops")
    stranger = c.ConfigureMember(channel=REVIEWS, seat=scene.seat("ops"), timeout_seconds=5)
    scene.refuse(stranger, "not_a_member")


# ── archived channels ─────────────────────────────────────────────────────────────────────────────


def test_an_archived_channel_takes_no_message_no_member_and_grants_no_turn() -> None:
    scene = trio()
    scene.connected("ops")
    events = archive(scene)
    assert moves(events) == [("pm", ACTIVE, QUEUED, "human_override")]
    assert archive(scene) == []
    post = c.PostMessage(channel=REVIEWS, text="hello", speaker_name="Marcus")
    refused = scene.refuse(post, "channel_is_archived")
    assert str(refused) == (
        "Channel 'reviews' is archived. `muster channel restore reviews` brings it back."
    )
    scene.refuse(add(scene, "ops"), "channel_is_archived")
    give = c.OverrideTurn(channel=REVIEWS, seat=scene.seat("qa"), to=ACTIVE)
    scene.refuse(give, "channel_is_archived")
    scene.refuse(c.Speak(channel=REVIEWS, seat=scene.seat("pm"), text="x"), "not_your_turn")
    assert scene.later(3600) == []
    assert scene.holder() is None


def test_a_restored_channel_goes_on_where_it_was() -> None:
    scene = trio()
    scene.complete("pm")
    archive(scene)
    assert moves(archive(scene, archived=False)) == [("qa", QUEUED, ACTIVE, "turn_granted")]
    assert archive(scene, archived=False) == []


def _idle(scene: Scene) -> None:
    leave(scene, "dev")
    leave(scene, "qa")
    scene.complete("pm")


def _resting(scene: Scene) -> None:
    for name in ("pm", "dev", "qa"):
        scene.complete(name)


def _waiting(scene: Scene) -> None:
    scene.do(c.WaitTurn(channel=REVIEWS, seat=scene.seat("pm"), reason="tea"))


def _claimed(scene: Scene) -> None:
    gives(scene, "qa")


def _empty(scene: Scene) -> None:
    for name in ("pm", "dev", "qa"):
        leave(scene, name)


def _draining(scene: Scene) -> None:
    scene.running("Lyra")
    scene.do(add(scene, "Lyra"))
    gives(scene, "Lyra")
    scene.complete("pm")
    scene.later(60)
    assert scene.channel().drain is not None


@pytest.mark.parametrize(
    ("prepare", "holder"),
    [
        (_idle, None),
        (_resting, None),
        (_waiting, "dev"),
        (_claimed, "dev"),
        (_empty, None),
        (_draining, "dev"),
    ],
)
def test_a_channel_is_archived_and_restored_in_every_state(
    prepare: Callable[[Scene], None], holder: str | None
) -> None:
    scene = trio(TurnConfig(rest_after_idle_rounds=1))
    prepare(scene)
    resting, ring = scene.channel().resting, scene.channel().ring
    archive(scene)
    assert scene.channel().claims == ()
    if scene.channel().drain is not None:
        scene.later(60)  # the work is stopped all the same
        assert scene.channel().drain is None
    archive(scene, archived=False)
    assert (scene.holder(), scene.channel().resting) == (holder, resting)
    assert scene.channel().ring == ring
    if ring:
        scene.posts("hello")
        assert scene.holder() is not None


def test_a_session_that_works_for_an_archived_channel_is_interrupted() -> None:
    scene = Scene()
    scene.running("Lyra")
    scene.channel_of("Lyra")
    events = archive(scene)
    assert facts(events, e.InterruptRequested)
    scene.do(c.ReportWorkStopped(channel=REVIEWS, seat=scene.seat("Lyra")))
    assert scene.holder() is None
    archive(scene, archived=False)
    assert scene.holder() == "Lyra"


def test_members_leave_and_return_while_a_channel_is_archived() -> None:
    scene = trio()
    scene.running("Lyra", mode=RunMode.RUN_ONCE)
    scene.do(add(scene, "Lyra"))
    archive(scene)
    leave(scene, "pm")
    events = scene.ends("Lyra")
    assert moves(events) == [("Lyra", QUEUED, OFFLINE, "agent_stops")]
    scene.do(remove(scene, "dev"))
    scene.want("Lyra", RunMode.CONTINUOUS)
    scene.up("Lyra")
    archive(scene, archived=False)
    assert scene.channel().ring == seats(scene, "qa", "Lyra")
    assert scene.holder() == "qa"


def test_only_a_person_archives_a_channel() -> None:
    scene = trio()
    scene.refuse(c.ArchiveChannel(channel=REVIEWS), "forbidden", "agent:pm")
    scene.refuse(c.ArchiveChannel(channel=DESIGN), "not_found")


def test_the_rules_and_the_order_of_an_archived_channel_can_be_changed() -> None:
    scene = trio()
    raises(scene, "qa")
    archive(scene)
    scene.do(order(scene, "qa", "pm", "dev"))
    scene.do(c.ConfigureChannel(channel=REVIEWS, config=TurnConfig(turns_per_message=7)))
    assert scene.holder() is None
    archive(scene, archived=False)
    assert scene.holder() == "dev"
