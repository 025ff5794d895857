"""News: a member with something unread is granted again, and one without is not asked."""

import pytest

from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.ids import ChannelId
from muster.machines.state import TurnState
from muster.machines.vocabulary import (
    Authority,
    Awaits,
    InterruptMode,
    Limit,
    Outcome,
    RunMode,
    TurnConfig,
)
from tests.machines.identity import test_identity
from tests.machines.scene import REVIEWS, Scene, facts, moves
from tests.machines.turns.test_turns import leave, trio

OFFLINE, IDLE, QUEUED, ACTIVE, WAITING = TurnState
DESIGN = ChannelId("design")


def lone(mode: InterruptMode = InterruptMode.INJECT) -> Scene:
    """pm alone in a channel, with the turn."""
    scene = Scene()
    scene.connected("pm")
    scene.channel_of("pm", config=TurnConfig(human_interrupt_mode=mode))
    return scene


def programs(*names: str, unasked: bool = False, config: TurnConfig | None = None) -> Scene:
    """Members that muster runs."""
    scene = Scene()
    scene.running(*names, unasked=unasked)
    scene.channel_of(*names, config=config)
    return scene


# ── a lone member ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "mode", [InterruptMode.INJECT, InterruptMode.QUEUE, InterruptMode.INTERRUPT]
)
def test_a_lone_agent_is_granted_again_for_what_a_human_said_in_its_turn(
    mode: InterruptMode,
) -> None:
    scene = lone(mode)
    scene.posts("Is the plan ready?")
    if mode is InterruptMode.INTERRUPT:
        scene.do(c.ResumeTurn(channel=REVIEWS, seat=scene.seat("pm")))
    assert moves(scene.complete("pm")) == [
        ("pm", ACTIVE, QUEUED, "TURN_COMPLETE"),
        ("pm", QUEUED, ACTIVE, "turn_granted"),
    ]
    scene.handed("pm")
    assert moves(scene.complete("pm")) == [("pm", ACTIVE, IDLE, "TURN_COMPLETE")]


def test_a_lone_agent_that_was_handed_the_message_in_its_turn_is_idle_after_it() -> None:
    scene = lone()
    scene.posts("And the tests?")
    scene.handed("pm")
    assert moves(scene.complete("pm")) == [("pm", ACTIVE, IDLE, "TURN_COMPLETE")]


def test_a_lone_agent_that_falls_silent_is_granted_again_for_what_it_has_not_seen() -> None:
    scene = Scene()
    scene.connected("pm")
    scene.channel_of("pm", config=TurnConfig(auto_detect_turn_end=True))
    scene.says("pm")
    scene.posts("And the tests?")
    assert moves(scene.later(10))[:1] == [("pm", ACTIVE, QUEUED, "silence")]
    assert scene.holder() == "pm"


def test_a_lone_agent_that_was_handed_only_some_messages_is_granted_again_for_the_rest() -> None:
    scene = lone()
    scene.complete("pm")
    scene.posts("one")
    first = scene.channel().last_message
    scene.do(c.CompleteTurn(channel=REVIEWS, seat=scene.seat("pm")))
    scene.posts("two")
    scene.do(c.DeliverMessages(seat=scene.seat("pm"), upto=first, channel=REVIEWS))
    assert scene.complete("pm")
    assert scene.holder() == "pm"


def test_a_lone_agent_that_reads_in_its_own_way_is_not_granted_for_what_was_there_before() -> None:
    scene = lone()
    scene.complete("pm")
    scene.posts("Is the plan ready?")  # grants the turn; it is read over the API, not handed over
    assert moves(scene.complete("pm")) == [("pm", ACTIVE, IDLE, "TURN_COMPLETE")]


def test_its_own_words_are_no_news_for_an_agent() -> None:
    scene = lone()
    scene.says("pm", "one")
    scene.says("pm", "two")
    assert moves(scene.complete("pm")) == [("pm", ACTIVE, IDLE, "TURN_COMPLETE")]


# ── waiting for a person ──────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("mode", list(InterruptMode))
def test_a_person_s_message_ends_the_wait_for_a_person_and_the_agent_is_handed_it(
    mode: InterruptMode,
) -> None:
    scene = trio(TurnConfig(human_interrupt_mode=mode))
    scene.later(20)
    pm = scene.seat("pm")
    scene.do(c.WaitTurn(channel=REVIEWS, seat=pm, reason="which colour?"))
    events = scene.posts("blue")
    [message] = facts(events, e.UserMessage)
    assert pm in message.deliver_to
    assert moves(events) == [("pm", WAITING, ACTIVE, "wait_resolved")]
    assert scene.later(39) == []  # the time that was left
    assert moves(scene.later(1))[:1] == [("pm", ACTIVE, QUEUED, "timeout")]


def test_a_wait_for_something_else_ends_by_a_resume_only() -> None:
    scene = trio()
    pm = scene.seat("pm")
    wait = c.WaitTurn(channel=REVIEWS, seat=pm, reason="a build", awaits=Awaits.RESUME)
    assert moves(scene.do(wait)) == [("pm", ACTIVE, WAITING, "dependency_awaited")]
    [message] = facts(scene.posts("hello?"), e.UserMessage)
    assert message.deliver_to == ()
    assert scene.state("pm") is WAITING
    resume = c.ResumeTurn(channel=REVIEWS, seat=pm)
    assert moves(scene.do(resume, "agent:pm")) == [("pm", WAITING, ACTIVE, "wait_resolved")]


def test_a_message_does_not_end_the_wait_for_an_approval() -> None:
    scene = programs("Lyra", unasked=True)
    session = scene.session("Lyra").id
    scene.do(c.RequestApproval(session=session, tool="Bash", detail="rm -r build", seconds=60))
    assert moves(scene.posts("go on")) == []
    assert scene.state("Lyra") is WAITING


# ── notices ───────────────────────────────────────────────────────────────────────────────────────


def test_a_notice_is_a_message_in_the_channel_that_is_handed_over_with_the_next_turn() -> None:
    scene = trio()
    events = scene.later(60)
    [notice] = [event for event in events if isinstance(event.fact, e.Announcement)]
    assert scene.channel().last_message == notice.seq
    assert scene.holder() == "dev"
    [delivered] = facts(scene.handed("dev"), e.MessagesDelivered)
    assert delivered.upto == notice.seq


def test_a_notice_is_no_news_for_anybody() -> None:
    scene = programs("Lyra", "Kael")
    scene.posts("hello")
    for name in ("Lyra", "Kael"):
        scene.handed(name)
        scene.complete(name)
    assert scene.channel().rest_limit is Limit.NOTHING_NEW
    newest = scene.channel().newest
    scene.connected("pm")
    scene.do(c.AddMember(channel=REVIEWS, seat=scene.seat("pm")))
    events = scene.later(60)  # the turn of pm times out, and a notice says so
    assert facts(events, e.Announcement)
    assert scene.channel().newest == newest
    assert facts(events, e.TurnsPassed)[0].seats == (scene.seat("Lyra"), scene.seat("Kael"))


# ── nothing new ───────────────────────────────────────────────────────────────────────────────────


def test_members_that_muster_runs_are_not_asked_before_anybody_has_spoken() -> None:
    scene = programs("Lyra", "Kael")
    assert scene.holder() is None
    assert (scene.channel().resting, scene.channel().rest_limit) == (True, Limit.NOTHING_NEW)
    assert facts(scene.log, e.Announcement) == []
    assert scene.later(3600) == []


def test_a_silent_round_is_one_event_and_the_rest_of_the_channel() -> None:
    scene = programs("Lyra", "Kael", "Nova")
    scene.posts("hello")
    for name in ("Lyra", "Kael"):
        scene.handed(name)
        scene.complete(name)
    scene.handed("Nova")
    events = scene.complete("Nova")
    [passed] = facts(events, e.TurnsPassed)
    assert passed.seats == tuple(scene.seat(name) for name in ("Lyra", "Kael", "Nova"))
    assert passed.reason == "nothing_new"
    [rested] = facts(events, e.ChannelRested)
    assert (rested.limit, rested.reason) == (
        Limit.NOTHING_NEW,
        "there is nothing new for anybody",
    )
    assert scene.holder() is None


def test_a_member_with_nothing_new_is_passed_over_and_the_next_one_with_news_is_granted() -> None:
    scene = programs("Lyra", "Kael", "Nova")
    scene.posts("hello")
    for name in ("Lyra", "Kael", "Nova"):
        scene.handed(name)
    scene.ends_with("Lyra", "I have an idea")  # news for Kael and Nova
    scene.handed("Kael")
    scene.complete("Kael")
    scene.handed("Nova")
    events = scene.ends_with("Nova", "so have I")
    assert scene.holder() == "Lyra"
    assert facts(events, e.TurnsPassed) == []
    scene.handed("Lyra")
    events = scene.complete("Lyra")
    assert scene.holder() == "Kael"
    scene.handed("Kael")
    events = scene.complete("Kael")
    assert facts(events, e.TurnsPassed)[0].seats == tuple(
        scene.seat(name) for name in ("Nova", "Lyra", "Kael")
    )


def test_a_message_of_a_person_starts_a_channel_again_in_which_there_was_nothing_new() -> None:
    scene = programs("Lyra", "Kael")
    assert moves(scene.posts("hello")) == [("Lyra", QUEUED, ACTIVE, "turn_granted")]


def test_an_agent_that_has_turns_unasked_is_granted_without_news() -> None:
    scene = programs("Lyra", "Kael", unasked=True)
    assert scene.holder() == "Lyra"
    scene.complete("Lyra")
    assert scene.holder() == "Kael"


def test_a_setting_gives_an_agent_turns_without_news_and_takes_them_away() -> None:
    scene = programs("Lyra")
    lyra = scene.agent("Lyra")
    asks = c.ConfigureAgent(seat=lyra.seat, authority=lyra.authority, long_lived=True, unasked=True)
    scene.do(asks)
    assert scene.holder() == "Lyra"
    assert scene.do(asks) == []
    scene.do(c.ConfigureAgent(seat=lyra.seat, authority=lyra.authority, long_lived=True))
    scene.complete("Lyra")
    assert not scene.agent("Lyra").unasked


def test_agents_that_connect_by_themselves_are_granted_as_ever() -> None:
    scene = trio()
    for name in ("pm", "dev", "qa", "pm"):
        assert scene.holder() == name
        assert facts(scene.complete(name), e.TurnsPassed) == []


def test_an_agent_with_a_state_file_judges_for_itself() -> None:
    scene = Scene()
    scene.do(c.EnrollAgent(name="loop", authority=Authority.FILE))
    scene.want("loop", RunMode.CONTINUOUS)
    scene.do(c.ConnectAgent(seat=scene.seat("loop")))
    scene.channel_of("loop")
    assert scene.holder() == "loop"


def test_an_agent_of_the_lead_is_not_asked_without_news() -> None:
    scene = Scene()
    scene.do(test_identity.summon())
    scene.do(test_identity.register())
    name = scene.team.agents[test_identity.GRID_SEATS[0]].id
    scene.channel_of(name)
    assert scene.holder() is None
    scene.posts("hello")
    assert scene.holder() == name


def test_in_a_mixed_channel_the_rounds_of_passed_members_count_as_silent() -> None:
    scene = Scene()
    scene.connected("pm")
    scene.running("Lyra", unasked=False)
    scene.channel_of("pm", "Lyra")
    for _ in range(3):
        assert scene.holder() == "pm"
        scene.complete("pm")
    assert scene.channel().rest_limit is Limit.IDLE_ROUNDS


def test_a_member_that_is_busy_elsewhere_keeps_its_channel_awake_until_it_is_free() -> None:
    scene = trio()
    scene.running("Lyra", unasked=False)
    scene.channel_of("pm", "Lyra", channel=DESIGN)
    assert scene.holder(DESIGN) is None
    assert not scene.channel(DESIGN).resting
    assert moves(scene.posts("hello", channel=DESIGN)) == [("Lyra", QUEUED, ACTIVE, "turn_granted")]
    scene.handed("Lyra", DESIGN)
    scene.complete("Lyra", DESIGN)
    scene.complete("pm")
    assert scene.holder(DESIGN) == "pm"


def test_a_message_that_timed_out_unread_is_news_again() -> None:
    scene = programs("Lyra")
    scene.posts("hello")
    scene.handed("Lyra")
    scene.later(60)
    scene.do(c.ReportWorkStopped(channel=REVIEWS, seat=scene.seat("Lyra")))
    assert scene.holder() == "Lyra"


def test_a_new_member_has_everything_before_it_as_news() -> None:
    scene = programs("Lyra")
    scene.posts("hello")
    scene.handed("Lyra")
    scene.complete("Lyra")
    assert scene.state("Lyra") is IDLE
    scene.running("Kael", unasked=False)
    scene.do(c.AddMember(channel=REVIEWS, seat=scene.seat("Kael")))
    assert scene.holder() == "Kael"


# ── turns of which a program was not told ─────────────────────────────────────────────────────────


def test_a_session_that_ends_before_it_was_told_of_its_turn_does_not_complete_it() -> None:
    scene = programs("Lyra")
    scene.posts("hello")
    events = scene.ends("Lyra")
    assert moves(events)[:1] == [("Lyra", ACTIVE, QUEUED, "session_ended")]
    events = scene.later(60)  # the next session is started, after a pause
    assert scene.holder() == "Lyra"


def test_a_session_that_was_told_of_its_turn_completes_it_by_its_end() -> None:
    scene = programs("Lyra")
    scene.posts("hello")
    scene.told("Lyra")
    scene.handed("Lyra")
    assert moves(scene.ends("Lyra"))[:1] == [("Lyra", ACTIVE, IDLE, "TURN_COMPLETE")]


def test_a_program_that_ends_without_taking_its_turns_comes_to_rest() -> None:
    scene = programs("Lyra")
    scene.posts("hello")
    for _ in range(3):
        assert scene.holder() == "Lyra"
        scene.ends("Lyra")
        scene.later(60)
        if scene.agent("Lyra").session is not None:
            scene.up("Lyra")
    assert scene.channel().rest_limit is Limit.IDLE_ROUNDS


def test_an_agent_that_connects_by_itself_completes_its_turn_without_a_report() -> None:
    scene = trio()
    turn = scene.channel().turn
    assert turn is not None
    assert not turn.taken
    leave(scene, "pm")
    assert scene.holder() == "dev"


def test_a_crash_is_no_orderly_end() -> None:
    scene = programs("Lyra", "Kael", unasked=True)
    scene.told("Lyra")
    assert moves(scene.ends("Lyra", Outcome.CRASHED))[:1] == [
        ("Lyra", ACTIVE, OFFLINE, "agent_crashes")
    ]


# ── silence ───────────────────────────────────────────────────────────────────────────────────────


def test_a_heartbeat_does_not_end_the_silence_after_a_post() -> None:
    scene = trio(TurnConfig(auto_detect_turn_end=True, default_timeout_seconds=20))
    scene.says("pm")
    for _ in range(3):
        assert scene.later(3) == []
        scene.do(c.RenewTurn(channel=REVIEWS, seat=scene.seat("pm"), heartbeat=True))
    assert moves(scene.later(1))[:1] == [("pm", ACTIVE, QUEUED, "silence")]


def test_a_heartbeat_renews_the_timeout_of_a_turn() -> None:
    scene = trio()
    scene.later(50)
    beat = c.RenewTurn(channel=REVIEWS, seat=scene.seat("pm"), heartbeat=True)
    [renewed] = facts(scene.do(beat), e.TurnRenewed)
    assert renewed.heartbeat
    scene.later(59)
    assert scene.holder() == "pm"


def test_work_after_a_post_starts_the_silence_anew() -> None:
    scene = trio(TurnConfig(auto_detect_turn_end=True))
    scene.says("pm")
    scene.later(6)
    renewed = scene.do(c.RenewTurn(channel=REVIEWS, seat=scene.seat("pm")))
    assert facts(renewed, e.TurnRenewed)
    scene.later(9)
    assert scene.holder() == "pm"
    assert moves(scene.later(1))[:1] == [("pm", ACTIVE, QUEUED, "silence")]
