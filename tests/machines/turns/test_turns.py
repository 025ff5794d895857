"""Turns: the basic rows of the table one by one, six edge cases, and the rest of the rules."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.ids import GRID_SEATS, ChannelId, SeatId
from muster.machines.state import TurnState
from muster.machines.turns.table import TABLE
from muster.machines.vocabulary import (
    Authority,
    Awaits,
    InterruptMode,
    Outcome,
    ReadRule,
    RunMode,
    TurnConfig,
)
from tests.machines.identity import test_identity
from tests.machines.scene import REVIEWS, START, Scene, facts, moves

OFFLINE, IDLE, QUEUED, ACTIVE, WAITING = TurnState
DESIGN = ChannelId("design")

BASIC_ROWS = [
    ("OFFLINE", "IDLE", "agent_starts"),
    ("IDLE", "QUEUED", "assigned_to_channel"),
    ("IDLE", "OFFLINE", "agent_stops"),
    ("QUEUED", "ACTIVE", "turn_granted"),
    ("QUEUED", "IDLE", "removed_from_channel"),
    ("QUEUED", "OFFLINE", "agent_disconnects"),
    ("ACTIVE", "QUEUED", "TURN_COMPLETE"),
    ("ACTIVE", "QUEUED", "timeout"),
    ("ACTIVE", "WAITING", "wait_requested"),
    ("ACTIVE", "OFFLINE", "agent_crashes"),
    ("WAITING", "ACTIVE", "wait_resolved"),
    ("WAITING", "QUEUED", "wait_timeout"),
    ("WAITING", "OFFLINE", "agent_disconnects"),
]
"""The basic rows of the transition table: source, target, trigger."""


def trio(config: TurnConfig | None = None) -> Scene:
    """pm, dev and qa in one channel; pm holds the turn."""
    scene = Scene()
    scene.connected("pm", "dev", "qa")
    scene.channel_of("pm", "dev", "qa", config=config)
    return scene


def leave(scene: Scene, name: str, reason: str = "left") -> list[e.Event]:
    return scene.do(c.DisconnectAgent(seat=scene.seat(name), reason=reason))


# ── the table ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("row", BASIC_ROWS, ids=" ".join)
def test_the_table_has_every_basic_row(row: tuple[str, str, str]) -> None:
    assert row in {(each.source, each.target, each.trigger) for each in TABLE}


def _starts(scene: Scene) -> list[e.Event]:
    scene.do(c.EnrollAgent(name="new", authority=Authority.SELF))
    return scene.do(c.ConnectAgent(seat=scene.seat("new")))


def _assigned(scene: Scene) -> list[e.Event]:
    scene.connected("new")
    return scene.do(c.AddMember(channel=REVIEWS, seat=scene.seat("new")))


def _stops(scene: Scene) -> list[e.Event]:
    scene.connected("new")
    return leave(scene, "new")


def _waits(scene: Scene) -> list[e.Event]:
    return scene.do(c.WaitTurn(channel=REVIEWS, seat=scene.seat("pm"), reason="a build"))


def _resumes(scene: Scene) -> list[e.Event]:
    _waits(scene)
    return scene.do(c.ResumeTurn(channel=REVIEWS, seat=scene.seat("pm")))


def _waits_too_long(scene: Scene) -> list[e.Event]:
    _waits(scene)
    return scene.later(300)


def _disconnects_while_waiting(scene: Scene) -> list[e.Event]:
    _waits(scene)
    return leave(scene, "pm")


ROWS_IN_LIFE: list[tuple[str, Callable[[Scene], list[e.Event]]]] = [
    ("new OFFLINE IDLE agent_starts", _starts),
    ("new IDLE QUEUED assigned_to_channel", _assigned),
    ("new IDLE OFFLINE agent_stops", _stops),
    ("dev QUEUED ACTIVE turn_granted", lambda scene: scene.complete("pm")),
    (
        "qa QUEUED IDLE removed_from_channel",
        lambda scene: scene.do(c.RemoveMember(channel=REVIEWS, seat=scene.seat("qa"))),
    ),
    ("qa QUEUED OFFLINE agent_disconnects", lambda scene: leave(scene, "qa")),
    ("pm ACTIVE QUEUED TURN_COMPLETE", lambda scene: scene.complete("pm")),
    ("pm ACTIVE QUEUED timeout", lambda scene: scene.later(60)),
    ("pm ACTIVE WAITING wait_requested", _waits),
    ("pm ACTIVE OFFLINE agent_crashes", lambda scene: leave(scene, "pm", "heartbeat")),
    ("pm WAITING ACTIVE wait_resolved", _resumes),
    ("pm WAITING QUEUED wait_timeout", _waits_too_long),
    ("pm WAITING OFFLINE agent_disconnects", _disconnects_while_waiting),
]


@pytest.mark.parametrize(("row", "happen"), ROWS_IN_LIFE, ids=[row for row, _ in ROWS_IN_LIFE])
def test_every_basic_row_happens(row: str, happen: Callable[[Scene], list[e.Event]]) -> None:
    assert tuple(row.split()) in moves(happen(trio()))


def test_the_rows_that_happen_are_all_the_basic_rows() -> None:
    assert [tuple(row.split()[1:]) for row, _ in ROWS_IN_LIFE] == BASIC_ROWS


# ── the six edge cases ────────────────────────────────────────────────────────────────────────────


def test_an_agent_that_crashes_mid_turn_forfeits_it_and_the_next_is_granted() -> None:
    scene = trio()
    events = leave(scene, "pm", "heartbeat")
    assert moves(events) == [
        ("pm", ACTIVE, OFFLINE, "agent_crashes"),
        ("dev", QUEUED, ACTIVE, "turn_granted"),
    ]
    assert [fact.text for fact in facts(events, e.Announcement)] == [
        "⚠️ pm disconnected, skipping turn"
    ]


def test_an_agent_that_comes_back_after_a_crash_is_idle_and_not_queued_again() -> None:
    scene = trio()
    leave(scene, "pm", "heartbeat")
    scene.do(c.ConnectAgent(seat=scene.seat("pm")))
    assert scene.own_state("pm") is IDLE
    assert scene.agent("pm").channels == ()


def test_a_timeout_is_announced_and_keeps_the_place_in_the_queue() -> None:
    scene = trio()
    events = scene.later(60)
    assert [fact.text for fact in facts(events, e.Announcement)] == ["⏱️ pm turn timed out"]
    assert scene.holder() == "dev"
    scene.complete("dev")
    scene.complete("qa")
    assert scene.holder() == "pm"


def test_a_member_may_have_a_timeout_of_its_own() -> None:
    scene = Scene()
    scene.connected("pm", "dev")
    scene.do(c.CreateChannel(channel=REVIEWS))
    scene.do(c.AddMember(channel=REVIEWS, seat=scene.seat("pm"), timeout_seconds=5))
    scene.do(c.AddMember(channel=REVIEWS, seat=scene.seat("dev")))
    scene.later(5)
    assert scene.holder() == "dev"
    scene.later(59)
    assert scene.holder() == "dev"


@pytest.mark.parametrize(
    ("mode", "handed", "state"),
    [
        (InterruptMode.QUEUE, (), ACTIVE),
        (InterruptMode.INTERRUPT, ("pm",), WAITING),
        (InterruptMode.INJECT, ("pm",), ACTIVE),
        (InterruptMode.PARALLEL, ("pm", "dev", "qa"), ACTIVE),
    ],
)
def test_a_human_message_in_mid_turn_goes_where_its_mode_says(
    mode: InterruptMode, handed: tuple[str, ...], state: TurnState
) -> None:
    scene = trio(TurnConfig(human_interrupt_mode=mode))
    [message] = facts(scene.posts(), e.UserMessage)
    assert message.deliver_to == tuple(scene.seat(name) for name in handed)
    assert message.mode is mode
    assert scene.state("pm") is state
    assert scene.holder() == "pm"


def test_a_message_may_have_a_mode_of_its_own_and_the_rule_of_the_channel_stays() -> None:
    scene = trio(TurnConfig(human_interrupt_mode=InterruptMode.QUEUE))
    mode = InterruptMode.INTERRUPT
    events = scene.do(c.PostMessage(channel=REVIEWS, text="stop", speaker_name="Marcus", mode=mode))
    assert [message.mode for message in facts(events, e.UserMessage)] == [mode]
    assert scene.state("pm") is TurnState.WAITING
    assert scene.channel().config.human_interrupt_mode is InterruptMode.QUEUE


def test_inject_is_the_default_mode() -> None:
    assert TurnConfig().human_interrupt_mode is InterruptMode.INJECT


def test_an_agent_that_forgets_turn_complete_causes_a_warning_at_the_timeout() -> None:
    scene = trio()
    scene.says("pm")
    [warning] = facts(scene.later(60), e.WarningLogged)
    assert warning.text == "Agent completed response without TURN_COMPLETE"
    assert scene.holder() == "dev"


def test_silence_after_a_post_ends_the_turn_where_the_channel_detects_it() -> None:
    scene = trio(TurnConfig(auto_detect_turn_end=True))
    scene.later(9)
    scene.says("pm")
    assert scene.later(9) == []
    events = scene.later(1)
    assert moves(events)[0] == ("pm", ACTIVE, QUEUED, "silence")
    assert len(facts(events, e.WarningLogged)) == 1


def test_silence_without_a_post_does_not_end_a_turn() -> None:
    scene = trio(TurnConfig(auto_detect_turn_end=True))
    assert scene.later(59) == []
    assert scene.holder() == "pm"


def test_when_all_agents_are_gone_messages_are_kept_and_the_first_to_return_is_active() -> None:
    scene = trio()
    leave(scene, "pm")
    leave(scene, "dev")
    events = leave(scene, "qa")
    assert facts(events, e.Announcement)[-1].text == "⚠️ No agents available in this channel"
    scene.posts("anybody?")
    scene.do(c.ConnectAgent(seat=scene.seat("dev")))
    events = scene.do(c.AddMember(channel=REVIEWS, seat=scene.seat("dev")))
    assert moves(events) == [
        ("dev", IDLE, QUEUED, "assigned_to_channel"),
        ("dev", QUEUED, ACTIVE, "turn_granted"),
    ]


def test_nothing_is_announced_where_the_channel_does_not_want_it() -> None:
    scene = trio(TurnConfig(announce_timeouts=False, announce_disconnects=False))
    events = scene.later(60) + leave(scene, "dev") + leave(scene, "qa") + leave(scene, "pm")
    assert facts(events, e.Announcement) == []


def test_a_new_member_is_added_at_the_end_of_the_ring() -> None:
    scene = trio()
    scene.complete("pm")
    scene.connected("ops")
    scene.do(c.AddMember(channel=REVIEWS, seat=scene.seat("ops")))
    order = ["dev", "qa", "ops", "pm", "dev"]
    for name in order:
        assert scene.holder() == name
        scene.complete(name)


def test_removing_a_queued_member_leaves_the_turn_where_it_is() -> None:
    scene = trio()
    scene.complete("pm")
    scene.do(c.RemoveMember(channel=REVIEWS, seat=scene.seat("pm")))
    assert scene.holder() == "dev"
    scene.complete("dev")
    assert scene.holder() == "qa"


def test_removing_the_holder_passes_the_turn_to_the_next() -> None:
    scene = trio()
    scene.complete("pm")
    scene.do(c.RemoveMember(channel=REVIEWS, seat=scene.seat("dev")))
    assert scene.holder() == "qa"
    scene.complete("qa")
    assert scene.holder() == "pm"


# ── the rest of the rules ─────────────────────────────────────────────────────────────────────────


def test_a_lone_member_that_completes_is_idle_until_somebody_posts() -> None:
    scene = Scene()
    scene.connected("pm")
    scene.channel_of("pm")
    assert moves(scene.complete("pm")) == [("pm", ACTIVE, IDLE, "TURN_COMPLETE")]
    assert moves(scene.posts()) == [
        ("pm", IDLE, QUEUED, "message_posted"),
        ("pm", QUEUED, ACTIVE, "turn_granted"),
    ]


def test_a_second_member_makes_a_lone_idle_one_queued() -> None:
    scene = Scene()
    scene.connected("pm", "dev")
    scene.channel_of("pm")
    scene.complete("pm")
    scene.do(c.AddMember(channel=REVIEWS, seat=scene.seat("dev")))
    assert (scene.state("pm"), scene.state("dev")) == (QUEUED, ACTIVE)


def test_every_grant_has_a_number_that_grows_and_an_old_one_is_refused() -> None:
    scene = trio()
    old = scene.channel().epoch
    scene.complete("pm")
    scene.complete("dev")
    scene.complete("qa")
    assert scene.channel().epoch == old + 3
    pm = scene.seat("pm")
    scene.refuse(c.CompleteTurn(channel=REVIEWS, seat=pm, epoch=old), "stale_epoch")
    scene.refuse(c.Speak(channel=REVIEWS, seat=pm, text="late", epoch=old), "stale_epoch")
    scene.do(c.Speak(channel=REVIEWS, seat=pm, text="on time", epoch=old + 3, complete=True))
    assert scene.holder() == "dev"


def test_a_late_post_with_a_stale_epoch_is_refused_and_recorded() -> None:
    scene = trio()
    leave(scene, "pm", "heartbeat")
    late = c.Speak(channel=REVIEWS, seat=scene.seat("pm"), text="I was only asleep", epoch=1)
    assert scene.refuse(late, "stale_epoch").recorded


def test_only_the_holder_may_speak_and_the_refusal_says_who_holds_the_turn() -> None:
    scene = trio()
    refused = scene.refuse(
        c.Speak(channel=REVIEWS, seat=scene.seat("dev"), text="me too"), "not_your_turn"
    )
    assert "'dev' is QUEUED, and 'pm' holds the turn" in str(refused)
    assert refused.recorded
    scene.refuse(c.CompleteTurn(channel=REVIEWS, seat=scene.seat("dev")), "not_your_turn")


def test_a_waiting_agent_holds_the_turn_and_resumes_with_the_time_that_was_left() -> None:
    scene = trio()
    scene.later(20)
    _waits(scene)
    scene.later(299)
    assert scene.holder() == "pm"
    assert scene.state("dev") is QUEUED
    scene.refuse(c.Speak(channel=REVIEWS, seat=scene.seat("pm"), text="x"), "not_your_turn")
    scene.do(c.ResumeTurn(channel=REVIEWS, seat=scene.seat("pm")))
    turn = scene.channel().turn
    assert turn is not None
    assert turn.until == scene.now + timedelta(seconds=40)
    assert turn.cap == START + timedelta(seconds=1800 + 299)


def test_a_wait_may_have_a_timeout_of_its_own() -> None:
    scene = trio()
    scene.do(c.WaitTurn(channel=REVIEWS, seat=scene.seat("pm"), reason="tea", timeout_seconds=7))
    scene.later(7)
    assert scene.holder() == "dev"
    never = c.WaitTurn(channel=REVIEWS, seat=scene.seat("dev"), reason="tea", timeout_seconds=0)
    scene.refuse(never, "invalid")


@pytest.mark.parametrize("to", [ACTIVE, QUEUED])
def test_a_human_can_override_a_wait(to: TurnState) -> None:
    scene = trio()
    _waits(scene)
    scene.do(c.OverrideTurn(channel=REVIEWS, seat=scene.seat("pm"), to=to))
    assert scene.state("pm") is to
    assert scene.holder() == ("pm" if to is ACTIVE else "dev")


def test_a_human_can_take_the_turn_away_and_give_a_vacant_one() -> None:
    scene = trio(TurnConfig(rest_after_idle_rounds=1))
    scene.do(c.OverrideTurn(channel=REVIEWS, seat=scene.seat("pm"), to=QUEUED))
    assert scene.holder() == "dev"
    give = c.OverrideTurn(channel=REVIEWS, seat=scene.seat("pm"), to=ACTIVE)
    scene.complete("dev")
    scene.complete("qa")
    assert scene.channel().resting
    scene.do(give)
    assert scene.holder() == "pm"
    assert scene.do(give) == []
    offline = c.OverrideTurn(channel=REVIEWS, seat=scene.seat("pm"), to=OFFLINE)
    scene.refuse(offline, "invalid")


def test_a_human_can_give_the_turn_to_a_lone_member_that_is_idle() -> None:
    scene = Scene()
    scene.connected("pm")
    scene.channel_of("pm")
    for to in (ACTIVE, QUEUED):  # a lone queued member is next at once
        scene.complete("pm")
        scene.do(c.OverrideTurn(channel=REVIEWS, seat=scene.seat("pm"), to=to))
        assert scene.holder() == "pm"


def test_a_turn_that_is_given_to_a_busy_agent_waits_until_it_is_free() -> None:
    scene = trio()
    scene.connected("ops")
    scene.channel_of("ops", "pm", channel=DESIGN)
    give = c.OverrideTurn(channel=DESIGN, seat=scene.seat("pm"), to=ACTIVE)
    scene.do(give)
    scene.do(c.CompleteTurn(channel=DESIGN, seat=scene.seat("ops")))
    assert scene.holder(DESIGN) == "ops"  # the others do not wait for it
    scene.complete("pm")
    scene.do(c.CompleteTurn(channel=DESIGN, seat=scene.seat("ops")))
    assert scene.holder(DESIGN) == "pm"


def test_ending_one_of_several_turns_keeps_the_others() -> None:
    scene = Scene()
    scene.connected("pm", max_turns=3)
    for name in ("a", "b", "c"):
        scene.channel_of("pm", channel=ChannelId(name))
    scene.do(c.CompleteTurn(channel=ChannelId("b"), seat=scene.seat("pm")))
    assert scene.team.busy_in(scene.agent("pm")) == ("a", "c")


def test_a_sleeping_agent_that_comes_back_has_its_old_place() -> None:
    scene = Scene()
    scene.connected("pm")
    scene.running("Lyra", mode=RunMode.RUN_ONCE)
    scene.channel_of("pm", "Lyra")
    scene.ends("Lyra")
    scene.want("Lyra", RunMode.CONTINUOUS)
    assert moves(scene.up("Lyra")) == [
        ("Lyra", OFFLINE, IDLE, "agent_starts"),
        ("Lyra", IDLE, QUEUED, "place_kept"),
    ]


def test_a_disabled_sleeper_is_passed_over_until_it_is_enabled() -> None:
    scene = Scene()
    scene.connected("pm")
    scene.do(c.EnrollAgent(name="Lyra", authority=Authority.MUSTER, unasked=True))
    scene.channel_of("pm", "Lyra")
    scene.do(c.DisableAgent(seat=scene.seat("Lyra")))
    scene.want("Lyra", RunMode.CONTINUOUS)
    scene.complete("pm")
    assert scene.state("pm") is IDLE
    scene.do(c.EnableAgent(seat=scene.seat("Lyra")))
    assert scene.holder() == "Lyra"


def test_signs_of_work_renew_a_turn_up_to_its_cap_and_small_ones_are_not_logged() -> None:
    scene = trio(TurnConfig(max_turn_seconds=150))
    renew = c.RenewTurn(channel=REVIEWS, seat=scene.seat("pm"))
    scene.later(1)
    assert scene.do(renew) == []
    scene.later(49)
    assert len(facts(scene.do(renew), e.TurnRenewed)) == 1
    scene.later(50)
    scene.says("pm")
    scene.later(49)
    assert scene.holder() == "pm"
    events = scene.later(1)
    assert [fact.reason for fact in facts(events, e.StateTransition)][:1] == ["cap"]


def test_a_human_who_interrupts_holds_the_turn_until_released_or_silent() -> None:
    scene = trio(TurnConfig(human_interrupt_mode=InterruptMode.INTERRUPT))
    scene.later(10)
    scene.posts("wait")
    scene.later(20)
    scene.posts("one more thing")
    scene.later(29)
    assert scene.state("pm") is WAITING
    assert moves(scene.later(1)) == [("pm", WAITING, ACTIVE, "human_release")]
    scene.posts("again")
    scene.do(c.ResumeTurn(channel=REVIEWS, seat=scene.seat("pm")))
    turn = scene.channel().turn
    assert turn is not None
    assert turn.until == scene.now + timedelta(seconds=50)


def test_only_a_human_lifts_the_hold_of_a_human() -> None:
    scene = trio(TurnConfig(human_interrupt_mode=InterruptMode.INTERRUPT))
    scene.posts("wait")
    resume = c.ResumeTurn(channel=REVIEWS, seat=scene.seat("pm"))
    refused = scene.refuse(resume, "forbidden", "agent:pm")
    assert str(refused) == (
        "'pm' may not resume what a human interrupted. It goes on when the human has finished."
    )
    own = c.ResumeTurn(channel=REVIEWS, seat=scene.seat("pm"), if_own=True)
    assert scene.do(own, "agent:pm") == []
    assert moves(scene.do(resume)) == [("pm", WAITING, ACTIVE, "human_release")]


def test_an_agent_resumes_a_wait_that_it_asked_for_itself() -> None:
    scene = trio()
    own = c.ResumeTurn(channel=REVIEWS, seat=scene.seat("pm"), if_own=True)
    assert scene.do(own, "agent:pm") == []  # it does not wait
    for resume in (own, c.ResumeTurn(channel=REVIEWS, seat=scene.seat("pm"))):
        _waits(scene)
        assert moves(scene.do(resume, "agent:pm")) == [("pm", WAITING, ACTIVE, "wait_resolved")]


def test_only_a_person_overrides_a_turn() -> None:
    scene = trio()
    take = c.OverrideTurn(channel=REVIEWS, seat=scene.seat("pm"), to=QUEUED)
    refused = scene.refuse(take, "forbidden", "agent:dev")
    assert str(refused) == "'dev' may not override a turn. Ask a person to do it."


def test_muster_ends_a_forgotten_turn_with_a_warning() -> None:
    scene = trio()
    ends = c.EndForgottenTurn(channel=REVIEWS, seat=scene.seat("pm"), text="it is blue")
    events = scene.do(ends, "agent:pm")
    warning, message = facts(events, e.WarningLogged)[0], facts(events, e.AgentMessage)[0]
    assert (warning.text, warning.channel) == (
        "Agent completed response without TURN_COMPLETE",
        REVIEWS,
    )
    assert message.content == (e.Text(text="it is blue"),)
    assert moves(events)[0] == ("pm", ACTIVE, QUEUED, "TURN_COMPLETE")
    scene.refuse(ends, "not_your_turn")


@pytest.mark.parametrize(
    ("ok", "text", "reason"),
    [(True, "", None), (False, "", "its work failed"), (False, "x" * 500, "x" * 300)],
)
def test_a_forgotten_turn_without_text_or_with_a_failure_posts_nothing(
    ok: bool, text: str, reason: str | None
) -> None:
    scene = trio()
    ends = c.EndForgottenTurn(channel=REVIEWS, seat=scene.seat("pm"), ok=ok, text=text)
    events = scene.do(ends, "agent:pm")
    assert facts(events, e.AgentMessage) == []
    assert facts(events, e.StateTransition)[0].reason == reason
    assert scene.holder() == "dev"


@pytest.mark.parametrize(
    ("rule", "reason"), [("everybody", "a plan"), ("members", "its work failed")]
)
def test_the_words_of_failed_work_do_not_leave_a_private_channel(rule: str, reason: str) -> None:
    scene = trio()
    private = TurnConfig(read_rule=ReadRule(rule))
    scene.channel_of("pm", channel=ChannelId("secret"), config=private)
    ends = c.EndForgottenTurn(channel=REVIEWS, seat=scene.seat("pm"), ok=False, text="a plan")
    assert facts(scene.do(ends, "agent:pm"), e.StateTransition)[0].reason == reason
    own = c.EndForgottenTurn(
        channel=ChannelId("secret"), seat=scene.seat("pm"), ok=False, text="a plan"
    )
    assert facts(scene.do(own, "agent:pm"), e.StateTransition)[0].reason == "a plan"


def test_an_interrupt_does_not_change_the_reason_of_a_wait() -> None:
    scene = trio(TurnConfig(human_interrupt_mode=InterruptMode.INTERRUPT))
    pm = scene.seat("pm")
    scene.do(c.WaitTurn(channel=REVIEWS, seat=pm, reason="a build", awaits=Awaits.RESUME))
    [message] = facts(scene.posts(), e.UserMessage)
    assert message.deliver_to == ()
    assert scene.later(299) == []


def test_a_channel_rests_after_silent_rounds_until_somebody_posts() -> None:
    scene = trio()
    for _ in range(3):
        for name in ("pm", "dev", "qa"):
            scene.complete(name)
    assert scene.channel().resting
    assert scene.holder() is None
    assert {scene.state(name) for name in ("pm", "dev", "qa")} == {QUEUED}
    assert scene.later(3600) == []
    scene.posts()
    assert scene.holder() == "pm"


def test_a_post_in_a_round_keeps_a_channel_awake() -> None:
    scene = trio()
    for _ in range(4):
        scene.says("pm")
        for name in ("pm", "dev", "qa"):
            scene.complete(name)
    assert not scene.channel().resting


def test_an_agent_holds_one_turn_at_a_time_and_the_channel_that_passed_it_over_waits() -> None:
    scene = trio()
    scene.channel_of("pm", channel=DESIGN)
    assert scene.holder(DESIGN) is None
    assert scene.state("pm", DESIGN) is QUEUED
    scene.complete("pm")
    assert scene.holder(DESIGN) == "pm"
    assert scene.own_state("pm") is ACTIVE


def test_a_busy_agent_is_passed_over_and_keeps_its_place() -> None:
    scene = trio()
    scene.channel_of("qa", "pm", "dev", channel=DESIGN)
    assert scene.holder(DESIGN) == "qa"
    scene.do(c.CompleteTurn(channel=DESIGN, seat=scene.seat("qa")))
    assert scene.holder(DESIGN) == "dev"
    scene.complete("pm")
    assert scene.holder() == "qa"
    scene.do(c.CompleteTurn(channel=DESIGN, seat=scene.seat("dev")))
    assert scene.holder(DESIGN) == "pm"


def test_an_agent_may_hold_several_turns_if_it_says_so() -> None:
    scene = Scene()
    scene.connected("pm", max_turns=2)
    for name in ("a", "b", "c"):
        scene.channel_of("pm", channel=ChannelId(name))
    assert scene.team.busy_in(scene.agent("pm")) == ("a", "b")


def test_the_channel_that_has_waited_longest_for_an_agent_is_served_first() -> None:
    scene = Scene()
    scene.connected("pm")
    for name in ("a", "b", "c"):
        scene.channel_of("pm", channel=ChannelId(name))
    scene.posts(channel=ChannelId("c"))
    scene.do(c.CompleteTurn(channel=ChannelId("a"), seat=scene.seat("pm")))
    assert scene.team.busy_in(scene.agent("pm")) == ("b",)
    scene.do(c.CompleteTurn(channel=ChannelId("b"), seat=scene.seat("pm")))
    assert scene.team.busy_in(scene.agent("pm")) == ("c",)


def test_a_turn_taken_from_a_session_is_granted_again_only_when_its_work_has_stopped() -> None:
    scene = Scene()
    scene.running("Lyra", "Kael")
    scene.channel_of("Lyra", "Kael")
    events = scene.later(60)
    [interrupt] = facts(events, e.InterruptRequested)
    assert interrupt.session == scene.session("Lyra").id
    assert scene.holder() is None
    assert scene.state("Kael") is QUEUED
    scene.do(c.ReportWorkStopped(channel=REVIEWS, seat=scene.seat("Lyra")))
    assert scene.holder() == "Kael"
    assert scene.do(c.ReportWorkStopped(channel=REVIEWS, seat=scene.seat("Lyra"))) == []


def test_work_that_does_not_stop_is_killed_and_then_the_next_is_granted() -> None:
    scene = Scene()
    scene.running("Lyra", "Kael")
    scene.channel_of("Lyra", "Kael")
    scene.later(60)
    [kill] = facts(scene.later(10), e.KillRequested)
    assert kill.session == scene.session("Lyra").id
    assert scene.holder() is None
    scene.ends("Lyra", Outcome.CRASHED)
    assert scene.holder() == "Kael"


def test_after_an_unconfirmed_kill_the_channel_goes_on_with_a_warning() -> None:
    scene = Scene()
    scene.running("Lyra", "Kael")
    scene.channel_of("Lyra", "Kael")
    events = scene.later(60 + 10 + 10)
    assert "did not stop in time" in facts(events, e.WarningLogged)[0].text
    assert scene.holder() == "Kael"


def test_a_vacant_turn_cannot_be_given_away_while_work_is_being_stopped() -> None:
    scene = Scene()
    scene.running("Lyra", "Kael")
    scene.channel_of("Lyra", "Kael")
    scene.later(60)
    give = c.OverrideTurn(channel=REVIEWS, seat=scene.seat("Kael"), to=ACTIVE)
    scene.do(give)
    assert scene.holder() is None
    scene.do(c.ReportWorkStopped(channel=REVIEWS, seat=scene.seat("Lyra")))
    assert scene.holder() == "Kael"


def test_the_end_of_a_session_completes_its_turn_and_keeps_its_place() -> None:
    scene = Scene()
    scene.connected("pm")
    scene.running("Lyra")
    scene.channel_of("Lyra", "pm")
    scene.told("Lyra")
    scene.want("Lyra", RunMode.PAUSE)
    events = scene.ends("Lyra")
    assert moves(events)[:2] == [
        ("Lyra", ACTIVE, QUEUED, "TURN_COMPLETE"),
        ("Lyra", QUEUED, OFFLINE, "agent_stops"),
    ]
    assert scene.channel().ring == (scene.seat("Lyra"), scene.seat("pm"))
    assert scene.holder() == "pm"
    scene.complete("pm")
    assert scene.state("pm") is IDLE  # a paused sleeper is passed over


def test_a_granted_turn_wakes_a_sleeper_that_may_run() -> None:
    scene = Scene()
    scene.connected("pm")
    scene.running("Lyra", mode=RunMode.RUN_ONCE)
    scene.channel_of("Lyra", "pm")
    scene.ends("Lyra")
    assert scene.holder() == "pm"
    events = scene.want("Lyra", RunMode.CONTINUOUS)
    assert facts(events, e.SessionRequested)
    scene.complete("pm")
    assert scene.holder() == "Lyra"
    scene.up("Lyra")
    assert scene.own_state("Lyra") is ACTIVE


def test_a_session_that_never_comes_up_for_its_turn_forfeits_it() -> None:
    scene = Scene()
    scene.connected("pm")
    scene.running("Lyra", mode=RunMode.RUN_ONCE)
    scene.channel_of("pm", "Lyra")
    scene.ends("Lyra")
    scene.want("Lyra", RunMode.CONTINUOUS)
    scene.complete("pm")
    assert scene.holder() == "Lyra"
    scene.ends("Lyra", Outcome.CRASHED)
    assert scene.holder() == "pm"
    assert scene.channel().ring == (scene.seat("pm"),)


def test_a_session_that_ends_while_its_turn_waits_forfeits_the_turn() -> None:
    scene = Scene()
    scene.connected("pm")
    scene.running("Lyra")
    scene.channel_of("Lyra", "pm")
    scene.do(c.WaitTurn(channel=REVIEWS, seat=scene.seat("Lyra"), reason="tea"))
    scene.want("Lyra", RunMode.PAUSE)
    assert moves(scene.ends("Lyra"))[0] == ("Lyra", WAITING, QUEUED, "session_ended")
    assert scene.holder() == "pm"


def test_a_disabled_agent_leaves_its_channels_and_its_work_is_stopped() -> None:
    scene = Scene()
    scene.connected("pm")
    scene.running("Lyra")
    scene.channel_of("Lyra", "pm")
    scene.do(c.DisableAgent(seat=scene.seat("Lyra")))
    assert scene.own_state("Lyra") is OFFLINE
    assert scene.holder() is None
    scene.ends("Lyra")
    assert scene.holder() == "pm"
    scene.refuse(c.AddMember(channel=REVIEWS, seat=scene.seat("Lyra")), "disabled")


# ── bad input ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "config",
    [
        TurnConfig(default_timeout_seconds=-1),
        TurnConfig(wait_timeout_seconds=0),
        TurnConfig(max_turn_seconds=float("inf")),
        TurnConfig(interrupt_hold_seconds=float("nan")),
        TurnConfig(auto_detect_silence_seconds=1e-300),
        TurnConfig(rest_after_idle_rounds=0),
        TurnConfig(rest_after_idle_rounds=10**30),
    ],
)
def test_channel_rules_out_of_range_are_refused(config: TurnConfig) -> None:
    scene = trio()
    scene.refuse(c.CreateChannel(channel=DESIGN, config=config), "invalid")
    scene.refuse(c.ConfigureChannel(channel=REVIEWS, config=config), "invalid")


def test_a_channel_can_be_configured_while_a_turn_runs() -> None:
    scene = trio()
    new = TurnConfig(default_timeout_seconds=5)
    scene.do(c.ConfigureChannel(channel=REVIEWS, config=new))
    assert scene.do(c.ConfigureChannel(channel=REVIEWS, config=new)) == []
    scene.later(59)
    assert scene.holder() == "pm"
    scene.later(1)
    assert scene.holder() == "dev"
    scene.later(5)
    assert scene.holder() == "qa"


def test_commands_for_unknown_seats_and_nonmembers_are_refused() -> None:
    scene = trio()
    nobody, nowhere = SeatId(99), ChannelId("nowhere")
    scene.refuse(c.AddMember(channel=nowhere, seat=scene.seat("pm")), "not_found")
    scene.refuse(c.AddMember(channel=REVIEWS, seat=nobody), "not_found")
    scene.refuse(c.AddMember(channel=REVIEWS, seat=scene.seat("pm")), "already_a_member")
    scene.connected("ops")
    for command in (
        c.CompleteTurn(channel=REVIEWS, seat=scene.seat("ops")),
        c.RemoveMember(channel=REVIEWS, seat=scene.seat("ops")),
        c.ResumeTurn(channel=REVIEWS, seat=scene.seat("ops")),
    ):
        scene.refuse(command, "not_a_member")
    scene.refuse(c.ResumeTurn(channel=REVIEWS, seat=scene.seat("dev")), "not_your_turn")
    scene.refuse(c.CreateChannel(channel=REVIEWS), "channel_exists")


def test_a_seat_without_a_name_cannot_join_a_channel() -> None:
    scene = Scene()
    scene.do(test_identity.summon())
    scene.do(c.CreateChannel(channel=REVIEWS))
    scene.refuse(c.AddMember(channel=REVIEWS, seat=GRID_SEATS[0]), "not_present")


@pytest.mark.parametrize("name", ["", "a/b", "..", " a", "a" * 65, "a\x1b[31m", "\u202ea"])
def test_a_channel_name_that_could_escape_its_folder_is_refused(name: str) -> None:
    code = "name_reserved" if name == ".." else "invalid"
    Scene().refuse(c.CreateChannel(channel=ChannelId(name)), code)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "is empty"),
        (" \n\t\u00a0", "is empty"),
        ("x" * (1024 * 1024 + 1), "is over 1,048,576 bytes: shorten it, post it in parts"),
    ],
)
def test_an_empty_or_oversized_message_is_refused(text: str, why: str) -> None:
    scene = trio()
    post = c.PostMessage(channel=REVIEWS, text=text, speaker_name="Marcus")
    assert why in str(scene.refuse(post, "invalid"))
    speak = c.Speak(channel=REVIEWS, seat=scene.seat("pm"), text=text)
    assert why in str(scene.refuse(speak, "invalid"))


@pytest.mark.parametrize("text", ["", " \n"])
def test_a_blank_text_ends_the_turn_without_a_message(text: str) -> None:
    scene = trio()
    events = scene.ends_with("pm", text)
    assert facts(events, e.AgentMessage) == []
    assert moves(events)[0] == ("pm", ACTIVE, QUEUED, "TURN_COMPLETE")
    assert scene.holder() == "dev"
    scene.ends_with("dev", text, to="pm")
    assert scene.holder() == "pm"
    forgotten = c.EndForgottenTurn(channel=REVIEWS, seat=scene.seat("pm"), text=text, ok=True)
    assert facts(scene.do(forgotten), e.AgentMessage) == []


def test_a_channel_has_a_limited_number_of_members() -> None:
    scene = Scene()
    scene.do(c.CreateChannel(channel=REVIEWS))
    for number in range(256):
        scene.do(c.EnrollAgent(name=f"a{number}", authority=Authority.MUSTER))
        scene.do(c.AddMember(channel=REVIEWS, seat=scene.seat(f"a{number}")))
    scene.do(c.EnrollAgent(name="one more", authority=Authority.MUSTER))
    scene.refuse(c.AddMember(channel=REVIEWS, seat=scene.seat("one more")), "channel_full")


def test_an_agent_cannot_end_a_person_s_hold_by_leaving() -> None:
    scene = trio(TurnConfig(human_interrupt_mode=InterruptMode.INTERRUPT))
    scene.do(c.PostMessage(channel=REVIEWS, text="wait", speaker_name="Marcus"))
    assert scene.channel().state_of(scene.seat("pm")) is WAITING
    gone = c.RemoveMember(channel=REVIEWS, seat=scene.seat("pm"))
    scene.refuse(gone, "forbidden", actor="agent:pm")
    scene.do(c.RemoveMember(channel=REVIEWS, seat=scene.seat("dev")), actor="agent:dev")
    scene.do(gone)
    assert scene.holder() == "qa"


def test_an_agent_waits_no_longer_than_the_channel_lets_it() -> None:
    scene = trio(TurnConfig(wait_timeout_seconds=1, max_turn_seconds=2))
    week = c.WaitTurn(channel=REVIEWS, seat=scene.seat("pm"), reason="hog", timeout_seconds=604_800)
    scene.do(week)
    scene.later(2)
    assert scene.holder() == "dev"
