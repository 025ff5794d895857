"""The selector: a member that is asked who speaks next; its answer is checked."""

import pytest

from muster.errors import Invalid
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.ids import ChannelId
from muster.machines.state import TurnState
from muster.machines.turns.order import upcoming
from muster.machines.vocabulary import (
    Authority,
    Claim,
    InterruptMode,
    Limit,
    RunMode,
    SpeakerOrder,
    TurnConfig,
)
from tests.machines.scene import REVIEWS, Scene, facts, moves
from tests.machines.turns.test_turns import leave

OFFLINE, IDLE, QUEUED, ACTIVE, WAITING = TurnState
BOSS = TurnConfig(speaker_order=SpeakerOrder.SELECTOR, selector="Boss")


def team(*names: str, config: TurnConfig = BOSS) -> Scene:
    """Members and their selector, boss, which was asked when a person had spoken."""
    scene = Scene()
    everybody = (*(names or ("pm", "dev", "qa")), "boss")
    scene.connected(*everybody)
    members = tuple(scene.seat(name) for name in everybody)
    scene.do(c.CreateChannel(channel=REVIEWS, config=config, members=members))
    scene.posts("begin")
    return scene


def answers(scene: Scene, text: str, to: str | None = None) -> list[e.Event]:
    seat = None if to is None else scene.seat(to)
    said = c.Speak(channel=REVIEWS, seat=scene.seat("boss"), text=text, to=seat)
    return scene.do(said, "agent:boss")


def choosing(scene: Scene) -> bool:
    turn = scene.channel().turn
    return turn is not None and turn.choosing


def test_the_selector_is_asked_before_every_turn_and_its_choice_speaks() -> None:
    scene = team()
    assert (scene.holder(), choosing(scene)) == ("boss", True)
    for name in ("qa", "pm", "qa"):
        events = answers(scene, name)
        [chosen] = facts(events, e.SpeakerChosen)
        assert (chosen.seat, chosen.chosen, chosen.text) == (
            scene.seat("boss"),
            scene.seat(name),
            name,
        )
        assert facts(events, e.AgentMessage) == []  # an answer is no message
        turn = scene.channel().turn
        assert turn is not None
        assert (scene.holder(), turn.reason) == (name, "chosen by the selector boss")
        events = scene.ends_with(name)
        assert moves(events)[-1] == ("boss", QUEUED, ACTIVE, "selector_asked")


def test_a_selector_that_ends_its_turn_with_a_blank_text_leaves_it_to_the_ring() -> None:
    scene = team()
    events = scene.ends_with("boss", " ")
    assert facts(events, e.SpeakerChosen) == []
    assert scene.holder() == "pm"


def test_the_turns_of_the_selector_do_not_count() -> None:
    scene = team()
    answers(scene, "pm")
    scene.complete("pm")
    assert (scene.channel().turns, scene.channel().turns_since_message) == (1, 1)
    assert scene.channel().silent_turns == 1
    assert scene.channel().epoch == 3  # but every turn has a number of its own


@pytest.mark.parametrize(
    ("text", "chosen"),
    [
        ("dev", "dev"),
        ("  DEV.\n", "dev"),
        ("@dev", "dev"),
        ("**dev**", "dev"),
        ("I think dev should go on.", "dev"),
        ("dev two", "dev two"),
        ("The next one is dev two, of course.", "dev two"),
        (".net", ".net"),
        ("use .net now", ".net"),
        ("dev, because pm has said enough", None),  # two names: not clear
        ("the developer", None),
        ("somebody else", None),
        ("boss", None),  # itself
        ("dev " * 2000, "dev"),
        ("x" * 1_000_000, None),
    ],
)
def test_an_answer_names_one_member_or_the_ring_decides(text: str, chosen: str | None) -> None:
    scene = team("pm", "dev", "dev two", ".net")
    events = answers(scene, text)
    [fact] = facts(events, e.SpeakerChosen)
    assert fact.chosen == (None if chosen is None else scene.seat(chosen))
    assert len(fact.text) <= 300
    assert scene.holder() == (chosen or "pm")
    assert not choosing(scene)


def test_the_answer_may_name_the_member_beside_the_text() -> None:
    scene = team()
    answers(scene, "because it asked", to="qa")
    assert scene.holder() == "qa"
    scene.complete("qa")
    scene.do(c.CompleteTurn(channel=REVIEWS, seat=scene.seat("boss"), to=scene.seat("dev")))
    assert scene.holder() == "dev"


def test_an_answer_that_names_somebody_who_has_just_left_leaves_the_choice_to_the_ring() -> None:
    scene = team()
    leave(scene, "qa")
    assert facts(answers(scene, "qa"), e.SpeakerChosen)[0].chosen is None
    assert scene.holder() == "pm"
    scene.complete("pm")
    gone = c.Speak(
        channel=REVIEWS, seat=scene.seat("boss"), text="it", to=scene.seat("qa"), complete=True
    )
    assert facts(scene.do(gone), e.SpeakerChosen)[0].chosen is None
    assert scene.holder() == "dev"


@pytest.mark.parametrize("how", ["pass", "timeout", "failure", "silence", "taken away"])
def test_the_silence_of_the_selector_falls_back_to_the_ring(how: str) -> None:
    scene = team()
    boss = scene.seat("boss")
    match how:
        case "pass":
            scene.do(c.CompleteTurn(channel=REVIEWS, seat=boss, reason="nothing for dev"))
        case "timeout":
            scene.later(60)
        case "failure":
            failed = c.EndForgottenTurn(channel=REVIEWS, seat=boss, ok=False, text="dev crashed")
            scene.do(failed)
        case "silence":
            scene.do(c.EndForgottenTurn(channel=REVIEWS, seat=boss))
        case _:
            scene.do(c.OverrideTurn(channel=REVIEWS, seat=boss, to=QUEUED))
    assert (scene.holder(), choosing(scene)) == ("pm", False)
    assert facts(scene.log, e.SpeakerChosen) == []
    scene.complete("pm")
    assert choosing(scene)  # and is asked again


def test_a_forgotten_answer_counts() -> None:
    scene = team()
    scene.do(c.EndForgottenTurn(channel=REVIEWS, seat=scene.seat("boss"), text="qa"))
    assert scene.holder() == "qa"


@pytest.mark.parametrize("text", ["nobody", "Nobody.", "none", "**No one**"])
def test_nobody_ends_the_conversation_until_a_person_speaks(text: str) -> None:
    scene = team()
    events = answers(scene, text)
    assert scene.channel().rest_limit is Limit.SELECTOR
    [notice] = facts(events, e.Announcement)
    assert notice.text == (
        "⏸️ The conversation rests: boss chose nobody (selector). A message lets it go on."
    )
    assert scene.later(3600) == []
    scene.posts("one more thing")
    assert (scene.holder(), choosing(scene)) == ("boss", True)


def test_a_member_whose_name_is_nobody_can_be_chosen() -> None:
    scene = team("Nobody", "pm")
    answers(scene, "nobody")
    assert scene.holder() == "Nobody"
    assert not scene.channel().resting


def test_the_selector_is_asked_again_after_a_person_has_spoken() -> None:
    scene = team()
    scene.do(c.OverrideTurn(channel=REVIEWS, seat=scene.seat("boss"), to=QUEUED))
    assert scene.holder() == "pm"
    scene.complete("pm")
    scene.posts("please take your time")  # while boss chooses
    scene.do(c.CompleteTurn(channel=REVIEWS, seat=scene.seat("boss")))
    assert choosing(scene)


def test_a_person_s_choice_goes_before_the_selector_s() -> None:
    scene = team()
    scene.do(c.OverrideTurn(channel=REVIEWS, seat=scene.seat("pm"), to=ACTIVE))
    answers(scene, "qa")
    assert scene.holder() == "pm"
    assert scene.channel().claims == ()  # the selector is asked again
    scene.complete("pm")
    assert choosing(scene)


def test_a_handoff_goes_before_the_selector() -> None:
    scene = team()
    answers(scene, "qa")
    scene.ends_with("qa", to="dev")
    assert scene.holder() == "dev"


def test_a_choice_of_somebody_busy_elsewhere_leaves_the_turn_to_the_ring() -> None:
    scene = team()
    other = ChannelId("design")
    scene.channel_of("qa", channel=other)
    answers(scene, "qa")
    assert scene.holder() == "pm"
    assert scene.channel().claims == ()


def test_the_selector_has_no_turns_of_its_own() -> None:
    scene = team("pm")
    answers(scene, "pm")
    hand = c.RaiseHand(channel=REVIEWS, seat=scene.seat("boss"))
    assert str(scene.refuse(hand, "cannot_speak")) == (
        "'boss' cannot be given the turn: it only chooses who speaks."
    )


def test_a_person_may_let_the_selector_speak() -> None:
    scene = team()
    answers(scene, "pm")
    scene.posts("@boss why pm?")
    scene.complete("pm")
    assert (scene.holder(), choosing(scene)) == ("boss", False)
    assert facts(scene.ends_with("boss", "it knows the plan"), e.AgentMessage)
    assert choosing(scene)


def test_mentions_by_agents_do_not_give_the_selector_the_turn() -> None:
    scene = team()
    answers(scene, "pm")
    scene.says("pm", "@boss, @qa")
    assert scene.channel().claims == ()  # the order is the selector's


@pytest.mark.parametrize("why", ["left", "paused", "never joined"])
def test_without_its_selector_a_channel_goes_by_the_ring(why: str) -> None:
    scene = team()
    answers(scene, "pm")
    match why:
        case "left":
            leave(scene, "boss")
        case "paused":
            scene.want("boss", RunMode.PAUSE)
        case _:
            scene.do(c.EnrollAgent(name="guest", authority=Authority.SELF))
            rules = TurnConfig(speaker_order=SpeakerOrder.SELECTOR, selector="Guest")
            scene.do(c.ConfigureChannel(channel=REVIEWS, config=rules))
    scene.complete("pm")
    assert scene.holder() == "dev"


def test_a_selector_that_is_no_agent_is_refused() -> None:
    scene = team()
    rules = TurnConfig(speaker_order=SpeakerOrder.SELECTOR, selector="ghost")
    for command in (
        c.ConfigureChannel(channel=REVIEWS, config=rules),
        c.CreateChannel(channel=ChannelId("other"), config=rules),
    ):
        with pytest.raises(Invalid, match="'ghost' is none"):
            scene.do(command)


def test_a_selector_that_crashes_while_it_chooses_leaves_the_choice_to_the_ring() -> None:
    scene = team()
    leave(scene, "boss", "heartbeat")
    assert (scene.holder(), choosing(scene)) == ("pm", False)


def test_a_busy_selector_is_not_waited_for() -> None:
    scene = team()
    answers(scene, "pm")
    scene.channel_of("boss", channel=ChannelId("design"))
    scene.complete("pm")
    assert scene.holder() == "dev"


def test_a_selector_is_not_asked_when_there_is_nobody_to_choose_or_nothing_new() -> None:
    scene = Scene()
    scene.connected("boss")
    scene.running("Lyra", unasked=False)
    members = (scene.seat("boss"), scene.seat("Lyra"))
    scene.do(c.CreateChannel(channel=REVIEWS, config=BOSS, members=members))
    assert scene.channel().rest_limit is Limit.NOTHING_NEW
    assert facts(scene.log, e.TurnsPassed)[0].seats == (scene.seat("Lyra"),)
    scene.posts("hello")
    assert choosing(scene)
    scene.do(c.RemoveMember(channel=REVIEWS, seat=scene.seat("Lyra")))
    answers(scene, "Lyra")
    assert scene.holder() is None
    assert scene.posts("hello?")
    assert scene.holder() is None


def test_a_channel_of_agents_that_connect_by_themselves_rests_until_there_is_something_new() -> (
    None
):
    scene = Scene()
    scene.connected("pm", "dev", "boss")
    members = tuple(map(scene.seat, ("pm", "dev", "boss")))
    scene.do(c.CreateChannel(channel=REVIEWS, config=BOSS, members=members))
    assert (scene.holder(), scene.channel().rest_limit) == (None, Limit.NOTHING_NEW)
    scene.connected("qa")
    scene.do(c.AddMember(channel=REVIEWS, seat=scene.seat("qa")))
    assert scene.channel().resting
    assert scene.later(20) == []
    scene.posts("hello")
    assert choosing(scene)
    for name in ("pm", "dev", "qa"):  # each reads it, and says nothing
        answers(scene, name)
        scene.handed(name)
        scene.complete(name)
    assert (scene.holder(), scene.channel().rest_limit) == (None, Limit.NOTHING_NEW)


def test_a_selector_is_not_asked_again_when_all_members_have_read_all() -> None:
    scene = team("pm", "dev")
    answers(scene, "pm")
    scene.handed("pm")
    scene.ends_with("pm", "for dev")
    answers(scene, "dev")
    scene.handed("dev")
    scene.complete("dev")
    assert (scene.holder(), scene.channel().rest_limit) == (None, Limit.NOTHING_NEW)
    assert upcoming(scene.team, scene.channel()) is None


def test_a_selector_is_asked_for_members_that_speak_unasked() -> None:
    scene = Scene()
    scene.connected("boss")
    scene.running("Lyra", unasked=True)
    members = (scene.seat("boss"), scene.seat("Lyra"))
    scene.do(c.CreateChannel(channel=REVIEWS, config=BOSS, members=members))
    assert choosing(scene)


def test_rounds_are_counted_without_the_selector() -> None:
    scene = team(
        "pm",
        "dev",
        config=TurnConfig(
            speaker_order=SpeakerOrder.SELECTOR, selector="boss", rest_after_idle_rounds=1
        ),
    )
    answers(scene, "pm")
    scene.complete("pm")
    answers(scene, "pm")
    scene.complete("pm")
    assert scene.channel().rest_limit is Limit.IDLE_ROUNDS


def test_an_interrupt_holds_the_selector_as_well() -> None:
    scene = team(
        config=TurnConfig(
            speaker_order=SpeakerOrder.SELECTOR,
            selector="boss",
            human_interrupt_mode=InterruptMode.INTERRUPT,
        )
    )
    scene.posts("wait")
    assert scene.state("boss") is WAITING
    scene.later(30)
    answers(scene, "dev")
    assert scene.holder() == "dev"


def test_nobody_is_expected_next_where_a_selector_decides() -> None:
    scene = team()
    answers(scene, "pm")
    assert upcoming(scene.team, scene.channel()) is None
    scene.do(c.OverrideTurn(channel=REVIEWS, seat=scene.seat("qa"), to=ACTIVE))
    assert upcoming(scene.team, scene.channel()) == scene.seat("qa")
    assert scene.channel().claims[0].claim is Claim.PERSON


def test_a_channel_with_the_order_selector_must_name_one() -> None:
    scene = Scene()
    config = TurnConfig(speaker_order=SpeakerOrder.SELECTOR)
    scene.refuse(c.CreateChannel(channel=REVIEWS, config=config), "invalid")
    config = TurnConfig(selector="a/b")
    scene.refuse(c.CreateChannel(channel=REVIEWS, config=config), "invalid")


def test_an_agent_that_takes_the_name_of_a_retired_selector_does_not_inherit_its_office() -> None:
    scene = team()
    scene.do(c.RetireAgent(seat=scene.seat("boss")))
    rules = scene.channel().config
    assert (rules.speaker_order, rules.selector) == (SpeakerOrder.RING, "")
    scene.connected("boss")
    scene.do(c.AddMember(channel=REVIEWS, seat=scene.seat("boss")))
    scene.posts("go on")
    assert not choosing(scene)
