"""A turn that a person takes away: the work stops, and begins again only for something new."""

import pytest

from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.events import Event
from muster.machines.state import TurnState
from muster.machines.vocabulary import Awaits, InterruptMode, Limit, SpeakerOrder, TurnConfig
from tests.machines.scene import REVIEWS, Scene, facts, moves
from tests.machines.turns.test_news import lone, programs
from tests.machines.turns.test_turns import leave, trio

OFFLINE, IDLE, QUEUED, ACTIVE, WAITING = TurnState


def take(scene: Scene, name: str) -> list[Event]:
    """A person takes the turn away; work that muster runs stops at once."""
    events = scene.do(c.OverrideTurn(channel=REVIEWS, seat=scene.seat(name), to=QUEUED))
    return events + scene.do(c.ReportWorkStopped(channel=REVIEWS, seat=scene.seat(name)))


def give(scene: Scene, name: str) -> list[Event]:
    return scene.do(c.OverrideTurn(channel=REVIEWS, seat=scene.seat(name), to=ACTIVE))


def rests(scene: Scene) -> bool:
    channel = scene.channel()
    return channel.turn is None and channel.rest_limit is Limit.NOTHING_NEW


def program(*, unasked: bool = False) -> Scene:
    """A lone agent that muster runs, with a turn for a message that it was handed."""
    scene = programs("pm", unasked=unasked)
    scene.posts("Count to a million")
    scene.handed("pm")
    scene.told("pm")
    return scene


@pytest.mark.parametrize("unasked", [False, True])
def test_a_lone_agent_whose_turn_is_taken_away_is_not_granted_again(unasked: bool) -> None:
    scene = program(unasked=unasked)
    assert moves(take(scene, "pm")) == [("pm", ACTIVE, QUEUED, "human_override")]
    assert rests(scene)
    assert scene.state("pm") is QUEUED


def test_a_lone_agent_that_connects_by_itself_is_not_granted_again_either() -> None:
    scene = lone()
    scene.handed("pm")
    assert moves(take(scene, "pm")) == [("pm", ACTIVE, QUEUED, "human_override")]
    assert rests(scene)


def test_a_turn_that_waits_can_be_taken_away_for_good() -> None:
    scene = lone()
    wait = c.WaitTurn(channel=REVIEWS, seat=scene.seat("pm"), reason="tea", awaits=Awaits.RESUME)
    scene.do(wait)
    assert moves(take(scene, "pm")) == [("pm", WAITING, QUEUED, "human_override")]
    assert rests(scene)


def test_a_new_message_lets_the_agent_speak_again_and_is_all_that_it_is_handed() -> None:
    scene = program()
    handed = scene.channel().delivered[scene.seat("pm")]
    take(scene, "pm")
    assert scene.channel().read[scene.seat("pm")] == handed
    assert ("pm", QUEUED, ACTIVE, "turn_granted") in moves(scene.posts("Only to ten"))
    assert scene.channel().stopped == {}


def test_messages_whose_answer_may_be_lost_come_again_with_the_next_turn() -> None:
    scene = lone()
    scene.posts("Count to a million")
    scene.handed("pm")
    take(scene, "pm")
    assert rests(scene)
    assert scene.channel().read.get(scene.seat("pm"), 0) == 0


def test_a_person_s_choice_lets_the_agent_speak_again() -> None:
    scene = program()
    take(scene, "pm")
    assert ("pm", QUEUED, ACTIVE, "human_override") in moves(give(scene, "pm"))


def test_a_message_that_the_agent_was_never_handed_comes_with_its_next_turn() -> None:
    scene = programs("pm")
    scene.posts("Count to a million")
    take(scene, "pm")
    assert rests(scene)
    assert scene.channel().read.get(scene.seat("pm"), 0) == 0  # its next turn starts there


@pytest.mark.parametrize(
    ("mode", "is_new"),
    [
        (InterruptMode.QUEUE, True),
        (InterruptMode.INJECT, False),
        (InterruptMode.INTERRUPT, False),
        (InterruptMode.PARALLEL, False),
    ],
)
def test_only_a_message_that_was_to_wait_for_the_end_of_the_turn_is_new_after_it(
    mode: InterruptMode, is_new: bool
) -> None:
    scene = lone(mode)
    scene.posts("Stop that")
    take(scene, "pm")
    assert scene.holder() == ("pm" if is_new else None)


def test_in_a_ring_the_next_member_goes_on_and_its_words_are_new() -> None:
    scene = programs("pm", "dev")
    scene.posts("Plan it")
    scene.handed("pm")
    take(scene, "pm")
    assert scene.holder() == "dev"
    scene.handed("dev")
    scene.says("dev", "a plan")
    scene.complete("dev")
    assert scene.holder() == "pm"


def test_in_a_ring_in_which_nobody_says_anything_the_stopped_member_is_passed_over() -> None:
    scene = trio()
    take(scene, "pm")
    scene.complete("dev")
    events = scene.complete("qa")
    assert facts(events, e.TurnsPassed)[0].seats == (scene.seat("pm"),)
    assert scene.holder() == "dev"


def test_a_member_with_nothing_new_does_not_give_the_turn_back_to_the_stopped_one() -> None:
    scene = Scene()
    scene.connected("pm")
    scene.running("dev", unasked=False)
    scene.channel_of("pm", "dev")
    assert scene.holder() == "pm"
    take(scene, "pm")
    assert rests(scene)


def test_where_a_selector_decides_it_is_not_asked_for_the_stopped_member_alone() -> None:
    config = TurnConfig(speaker_order=SpeakerOrder.SELECTOR, selector="boss")
    scene = Scene()
    scene.connected("boss", "pm")
    scene.channel_of("boss", "pm", config=config)
    scene.posts("Plan it")
    assert scene.holder() == "boss"
    scene.says("boss", "pm")
    assert scene.holder() == "pm"
    take(scene, "pm")
    assert rests(scene)


def test_a_selector_s_turn_that_is_taken_away_leaves_the_choice_to_the_ring() -> None:
    config = TurnConfig(speaker_order=SpeakerOrder.SELECTOR, selector="boss")
    scene = Scene()
    scene.connected("boss", "pm")
    scene.channel_of("boss", "pm", config=config)
    scene.posts("Plan it")
    take(scene, "boss")
    assert scene.holder() == "pm"
    assert scene.channel().stopped == {}


def test_a_choice_of_the_holder_as_the_next_speaker_goes_with_its_turn() -> None:
    scene = lone(InterruptMode.QUEUE)
    scene.posts("@pm next: the tests")
    assert scene.channel().claims
    take(scene, "pm")
    assert scene.channel().claims == ()
    assert scene.holder() == "pm"  # for the message itself


def test_a_stopped_member_that_loses_its_place_comes_back_stopped() -> None:
    scene = lone()
    take(scene, "pm")
    leave(scene, "pm")
    scene.do(c.ConnectAgent(seat=scene.seat("pm")))
    scene.do(c.AddMember(channel=REVIEWS, seat=scene.seat("pm")), "agent:pm")
    assert scene.holder() is None


def test_a_member_that_was_removed_and_added_again_begins_anew() -> None:
    scene = lone()
    take(scene, "pm")
    scene.do(c.RemoveMember(channel=REVIEWS, seat=scene.seat("pm")))
    scene.do(c.AddMember(channel=REVIEWS, seat=scene.seat("pm")))
    assert scene.holder() == "pm"


def test_a_channel_that_is_archived_and_brought_back_goes_on_where_it_was() -> None:
    scene = lone()
    scene.do(c.ArchiveChannel(channel=REVIEWS))
    scene.do(c.ArchiveChannel(channel=REVIEWS, archived=False))
    assert scene.holder() == "pm"


def test_a_turn_that_times_out_is_granted_again_as_ever() -> None:
    scene = lone()
    assert moves(scene.later(60))[-2:] == [
        ("pm", ACTIVE, QUEUED, "timeout"),
        ("pm", QUEUED, ACTIVE, "turn_granted"),
    ]
