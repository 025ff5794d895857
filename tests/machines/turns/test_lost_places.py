"""Lost places: a member that left by a crash or a disconnect gets its place in the ring back."""

import pytest

from muster import limits
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.ids import ChannelId
from muster.machines.kernel import snapshots
from muster.machines.state import TurnState
from muster.machines.vocabulary import Authority, InterruptMode, JoinRule, TurnConfig
from tests.machines.scene import REVIEWS, Scene, facts, moves
from tests.machines.turns.test_channels import add, archive, order, remove, seats
from tests.machines.turns.test_turns import leave, trio

DESIGN = ChannelId("design")
CRASHED, LOST = e.Outcome.CRASHED, e.Outcome.LOST


def run_trio() -> Scene:
    """pm, dev and qa, which muster runs, in one channel; pm holds the turn."""
    scene = Scene()
    scene.running("pm", "dev", "qa")
    scene.channel_of("pm", "dev", "qa")
    return scene


def again(scene: Scene, name: str) -> list[e.Event]:
    """muster starts an agent again, when the delay after its crash is over."""
    scene.later(60)
    return scene.up(name)


def back(scene: Scene, name: str) -> None:
    """An agent that connects by itself comes back, and joins again."""
    scene.do(c.ConnectAgent(seat=scene.seat(name)))
    scene.do(add(scene, name), f"agent:{name}")


def ring(scene: Scene) -> list[str]:
    return [scene.team.agents[seat].id for seat in scene.channel().ring]


def at_cursor(scene: Scene) -> str:
    channel = scene.channel()
    return scene.team.agents[channel.ring[channel.cursor]].id


# ── agents that muster runs ───────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", ["pm", "dev", "qa"])
def test_an_agent_that_muster_starts_again_has_its_place_again(name: str) -> None:
    scene = run_trio()
    [left] = facts(scene.ends(name, CRASHED), e.MemberLeft)
    assert left.keeps_place
    assert ring(scene) == [each for each in ("pm", "dev", "qa") if each != name]
    assert scene.holder() == ("dev" if name == "pm" else "pm")
    before = at_cursor(scene)
    events = again(scene, name)
    assert ring(scene) == ["pm", "dev", "qa"]
    assert at_cursor(scene) == before
    [joined] = facts(events, e.MemberJoined)
    assert joined.place == ["pm", "dev", "qa"].index(name)
    assert (name, "IDLE", "QUEUED", "assigned_to_channel") in moves(events)
    assert not scene.channel().lost_places


@pytest.mark.parametrize("names", [("pm", "dev", "qa"), ("qa", "pm", "dev"), ("dev", "qa", "pm")])
def test_after_a_kill_of_muster_all_members_are_back_in_their_order(names: tuple[str, ...]) -> None:
    scene = run_trio()
    scene.boot()
    for name in ("pm", "dev", "qa"):
        scene.ends(name, LOST)
    assert scene.channel().ring == ()
    scene.team = snapshots.decode(snapshots.encode(scene.team))
    for name in names:
        again(scene, name)
    assert ring(scene) == ["pm", "dev", "qa"]
    scene.posts()
    assert scene.holder() is not None


def test_a_lost_place_stays_where_it_was_when_others_come_and_go() -> None:
    scene = run_trio()
    scene.ends("dev", CRASHED)
    scene.running("ops")
    scene.do(add(scene, "ops"))
    scene.do(remove(scene, "pm"))
    again(scene, "dev")
    assert ring(scene) == ["dev", "qa", "ops"]


def test_a_lost_place_in_a_ring_that_was_ordered_anew_is_the_nearest() -> None:
    scene = run_trio()
    scene.ends("qa", CRASHED)
    scene.do(order(scene, "dev", "pm"))
    scene.do(remove(scene, "dev"))
    again(scene, "qa")
    assert ring(scene) == ["pm", "qa"]


def test_an_agent_has_its_timeout_and_all_of_its_channels_again() -> None:
    scene = run_trio()
    scene.channel_of("dev", channel=DESIGN)
    configure = c.ConfigureMember(channel=REVIEWS, seat=scene.seat("dev"), timeout_seconds=7)
    scene.do(configure)
    archive(scene)
    scene.ends("dev", CRASHED)
    scene.refuse(configure, "not_a_member")
    again(scene, "dev")
    assert scene.agent("dev").channels == (DESIGN, REVIEWS)
    assert scene.channel().timeouts == {scene.seat("dev"): 7}


def test_a_lone_member_that_waited_has_a_turn_when_another_one_is_back() -> None:
    scene = Scene()
    scene.running("pm", "dev")
    scene.connected("ops")
    scene.channel_of("ops", "pm")
    scene.ends("pm", CRASHED)
    scene.complete("ops")
    assert scene.state("ops") is TurnState.IDLE
    again(scene, "pm")
    assert scene.state("ops") is not TurnState.IDLE


def test_a_full_channel_has_no_room_for_an_agent_that_comes_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scene = run_trio()
    scene.ends("dev", CRASHED)
    monkeypatch.setattr(limits, "CHANNEL_MEMBERS_MAX", 2)
    again(scene, "dev")
    assert ring(scene) == ["pm", "qa"]
    scene.do(remove(scene, "pm"))
    scene.do(add(scene, "dev"))
    assert ring(scene) == ["dev", "qa"]


# ── agents that connect by themselves ─────────────────────────────────────────────────────────────


def test_an_agent_that_connects_again_joins_again_at_its_old_place() -> None:
    scene = trio(TurnConfig(join_rule=JoinRule.INVITED))
    leave(scene, "dev")
    scene.do(c.ConnectAgent(seat=scene.seat("dev")))
    assert ring(scene) == ["pm", "qa"]
    scene.do(add(scene, "dev"), "agent:dev")
    assert ring(scene) == ["pm", "dev", "qa"]
    assert scene.holder() == at_cursor(scene) == "pm"
    scene.complete("pm")
    assert scene.holder() == "dev"


def test_a_member_that_leaves_by_itself_is_not_invited_again() -> None:
    scene = trio(TurnConfig(join_rule=JoinRule.INVITED))
    scene.do(remove(scene, "dev"), "agent:dev")
    scene.refuse(add(scene, "dev"), "invited_only", "agent:dev")
    leave(scene, "qa")
    scene.do(remove(scene, "qa"), "agent:qa")
    assert scene.channel().barred == ()
    scene.do(c.ConnectAgent(seat=scene.seat("qa")))
    scene.refuse(add(scene, "qa"), "invited_only", "agent:qa")


# ── people decide ─────────────────────────────────────────────────────────────────────────────────


def test_a_person_s_removal_forgets_a_lost_place() -> None:
    scene = run_trio()
    scene.ends("dev", CRASHED)
    scene.do(remove(scene, "dev"))
    assert scene.channel().barred == seats(scene, "dev")
    again(scene, "dev")
    assert ring(scene) == ["pm", "qa"]
    scene.refuse(add(scene, "dev"), "removed_by_person", "agent:dev")
    scene.refuse(remove(scene, "dev"), "not_a_member")


@pytest.mark.parametrize("first", [True, False], ids=["disabled after it left", "while a member"])
def test_a_disabled_agent_does_not_come_back_to_its_places(*, first: bool) -> None:
    scene = trio()
    if first:
        leave(scene, "dev")
    scene.do(c.DisableAgent(seat=scene.seat("dev")))
    assert not scene.channel().lost_places
    scene.do(c.EnableAgent(seat=scene.seat("dev")))
    back(scene, "dev")
    assert ring(scene) == ["pm", "qa", "dev"]


@pytest.mark.parametrize("first", [True, False], ids=["retired after it left", "while a member"])
def test_a_retired_agent_has_no_lost_place(*, first: bool) -> None:
    scene = trio()
    if first:
        leave(scene, "dev")
    scene.do(c.RetireAgent(seat=scene.seat("dev")))
    assert not scene.channel().lost_places


def test_a_person_can_add_an_agent_again_before_muster_starts_it() -> None:
    scene = run_trio()
    scene.ends("pm", CRASHED)
    scene.do(add(scene, "pm"))
    assert ring(scene) == ["pm", "dev", "qa"]
    assert scene.agent("pm").authority is Authority.MUSTER
    assert facts(again(scene, "pm"), e.MemberJoined) == []


# ── a person's choice, and a person's hold ────────────────────────────────────────────────────────


def killing(scene: Scene) -> None:
    """The turn of pm times out, its work does not stop, and its session is killed."""
    [_] = facts(scene.later(60 + 10), e.KillRequested)


def test_a_member_that_a_person_chooses_while_its_work_is_killed_speaks_when_it_is_back() -> None:
    scene = run_trio()
    killing(scene)
    scene.do(c.OverrideTurn(channel=REVIEWS, seat=scene.seat("pm"), to=TurnState.ACTIVE))
    granted = moves(scene.ends("pm", CRASHED))
    assert ("pm", "QUEUED", "ACTIVE", "turn_claimed") not in granted  # to a session that has ended
    assert (scene.holder(), ring(scene)) == ("dev", ["dev", "qa"])
    scene.later(1)
    scene.up("pm")
    scene.complete("dev")
    turn = scene.channel().turn
    assert turn is not None
    assert (scene.holder(), turn.reason) == ("pm", "chosen by Marcus")
    assert scene.channel().claims == ()


def test_a_member_that_a_person_chooses_while_its_work_is_stopped_in_order_is_started_for_it() -> (
    None
):
    scene = run_trio()
    scene.later(60)
    scene.do(c.OverrideTurn(channel=REVIEWS, seat=scene.seat("pm"), to=TurnState.ACTIVE))
    scene.ends("pm")
    assert scene.holder() == "pm"
    assert scene.session("pm").pid is None  # a new session, and not the one that has ended


@pytest.mark.parametrize("act", ["disabled", "removed"])
def test_a_person_s_choice_is_dropped_with_the_place(act: str) -> None:
    scene = trio()
    scene.do(c.OverrideTurn(channel=REVIEWS, seat=scene.seat("qa"), to=TurnState.ACTIVE))
    leave(scene, "qa")
    [kept] = scene.channel().claims
    assert kept.seat == scene.seat("qa")
    seat = scene.seat("qa")
    scene.do(c.DisableAgent(seat=seat) if act == "disabled" else remove(scene, "qa"))
    assert scene.channel().claims == ()


def held(scene: Scene) -> bool:
    turn = scene.channel().turn
    return turn is not None and turn.wait is not None and turn.wait.by_human


def interrupted() -> Scene:
    """A lone agent that connects by itself, whose turn a person holds."""
    scene = Scene()
    scene.connected("pm")
    scene.channel_of("pm", config=TurnConfig(human_interrupt_mode=InterruptMode.INTERRUPT))
    scene.posts("begin")
    scene.posts("wait, I am not done")
    assert held(scene)
    return scene


def test_an_agent_does_not_end_a_person_s_hold_by_leaving_and_joining_again() -> None:
    scene = interrupted()
    scene.later(10)
    leave(scene, "pm")
    back(scene, "pm")
    assert held(scene)
    scene.later(19)
    assert held(scene)
    scene.later(1)
    assert (scene.holder(), held(scene)) == ("pm", False)


def test_a_hold_that_ended_while_its_agent_was_away_holds_nothing() -> None:
    scene = interrupted()
    leave(scene, "pm")
    scene.later(30)
    back(scene, "pm")
    assert (scene.holder(), held(scene)) == ("pm", False)


def test_a_hold_on_a_member_that_left_is_for_that_member_only() -> None:
    scene = interrupted()
    scene.connected("dev")
    scene.do(add(scene, "dev"))
    leave(scene, "pm")
    assert (scene.holder(), held(scene)) == ("dev", False)
    back(scene, "pm")
    scene.complete("dev")
    assert (scene.holder(), held(scene)) == ("pm", True)


def test_a_person_who_gives_the_turn_lifts_the_hold() -> None:
    scene = interrupted()
    leave(scene, "pm")
    scene.connected("dev")
    scene.do(add(scene, "dev"))
    back(scene, "pm")
    scene.do(c.OverrideTurn(channel=REVIEWS, seat=scene.seat("pm"), to=TurnState.ACTIVE))
    scene.complete("dev")
    assert (scene.holder(), held(scene)) == ("pm", False)


def test_a_hold_moves_with_the_clock() -> None:
    scene = interrupted()
    leave(scene, "pm")
    hold = scene.channel().hold
    assert hold is not None
    scene.do(c.ReportClockJump(seconds=3600, shift_seconds=3600), "muster")
    moved = scene.channel().hold
    assert moved is not None
    assert (moved.until - hold.until).total_seconds() == 3600
