"""What a message did to the turn, in a sentence for the person that sent it."""

from datetime import timedelta

import pytest

from muster.machines import commands as c
from muster.machines.events import Event
from muster.machines.vocabulary import Authority, Awaits, InterruptMode, TurnConfig
from muster.views.effects import Effect, effect_of
from tests.machines.scene import REVIEWS, Scene
from tests.machines.turns.test_turns import trio


def posted(scene: Scene, text: str = "hello") -> Effect:
    return told(scene, scene.posts(text))


def told(scene: Scene, events: list[Event]) -> Effect:
    return effect_of(scene.team, events)


@pytest.mark.parametrize(
    ("mode", "handed", "sentence"),
    [
        (InterruptMode.INJECT, ("pm",), "pm gets it now, in its turn."),
        (InterruptMode.QUEUE, (), "pm goes on; the message is delivered after this turn."),
        (InterruptMode.INTERRUPT, ("pm",), "pm is interrupted for 30 s."),
        (
            InterruptMode.PARALLEL,
            ("pm", "dev", "qa"),
            "All members get it now; pm keeps the turn.",
        ),
    ],
)
def test_a_message_says_what_it_does_to_the_turn(
    mode: InterruptMode, handed: tuple[str, ...], sentence: str
) -> None:
    assert posted(trio(TurnConfig(human_interrupt_mode=mode))) == (handed, sentence)


def test_a_second_interruption_extends_the_first() -> None:
    scene = trio(TurnConfig(human_interrupt_mode=InterruptMode.INTERRUPT))
    scene.posts()
    scene.now += timedelta(seconds=5)
    assert posted(scene).sentence == "pm stays interrupted for 30 s from now."


def test_a_message_that_an_agent_waits_for_is_its_answer() -> None:
    scene = trio()
    scene.do(c.WaitTurn(channel=REVIEWS, seat=scene.seat("pm"), reason="which colour?"))
    assert posted(scene) == (("pm",), "pm has its answer and goes on.")


def test_an_agent_that_waits_for_something_else_gets_it_afterwards() -> None:
    scene = trio()
    build = c.WaitTurn(
        channel=REVIEWS, seat=scene.seat("pm"), reason="a build", awaits=Awaits.RESUME
    )
    scene.do(build)
    assert posted(scene) == ((), "pm waits (a build) and gets it afterwards.")


def test_a_message_to_a_lone_idle_agent_gives_it_the_turn() -> None:
    scene = Scene()
    scene.connected("pm")
    scene.channel_of("pm")
    scene.complete("pm")
    assert posted(scene) == (("pm",), "pm has the turn.")


def test_a_message_wakes_a_resting_channel() -> None:
    scene = trio(TurnConfig(rest_after_idle_rounds=1))
    for name in ("pm", "dev", "qa"):
        scene.complete(name)
    assert scene.channel().resting
    assert posted(scene) == (("pm",), "The channel no longer rests: pm has the turn.")


def test_a_message_to_nobody_says_so() -> None:
    scene = Scene()
    scene.channel_of()
    expected = "No agent is in this channel; the first one that joins gets it."
    assert posted(scene) == ((), expected)


def test_a_message_while_work_is_stopped_is_for_the_next_member() -> None:
    scene = Scene()
    scene.running("pm", "dev")
    scene.channel_of("pm", "dev")
    scene.posts()
    scene.later(60)
    assert scene.channel().drain is not None
    assert "is being stopped; the next member gets it then." in posted(scene).sentence


def test_a_direct_message_says_when_its_agent_gets_it() -> None:
    scene = trio()
    dev = scene.seat("dev")
    send = c.SendMessage(text="hello", speaker_name="Marcus", seat=dev)
    assert told(scene, scene.do(send)) == (("dev",), "dev gets it now.")
    scene.do(c.EnrollAgent(name="ops", authority=Authority.SELF))
    away = c.SendMessage(text="hello", speaker_name="Marcus", seat=scene.seat("ops"))
    assert told(scene, scene.do(away)) == (("ops",), "ops gets it when it is awake.")


def test_an_agents_message_says_who_has_the_turn_now() -> None:
    scene = trio()
    assert told(scene, scene.says("pm")) == ((), "pm keeps the turn.")
    last = c.Speak(channel=REVIEWS, seat=scene.seat("pm"), text="done", complete=True)
    assert told(scene, scene.do(last)) == (("dev",), "dev has the turn.")
    psst = c.TellHuman(seat=scene.seat("pm"), text="psst")
    assert told(scene, scene.do(psst)) == ((), "Marcus gets it.")


def test_a_last_message_at_a_limit_says_why_the_channel_rests() -> None:
    scene = trio(TurnConfig(stop_phrase="THE END"))
    last = c.Speak(channel=REVIEWS, seat=scene.seat("pm"), text="THE END", complete=True)
    assert told(scene, scene.do(last)).sentence == ("The channel rests: 'THE END' was said.")


def test_a_lone_agents_last_message_leaves_the_turn_free() -> None:
    scene = Scene()
    scene.connected("pm")
    scene.channel_of("pm")
    last = c.Speak(channel=REVIEWS, seat=scene.seat("pm"), text="done", complete=True)
    assert told(scene, scene.do(last)) == ((), "Nobody has the turn.")


def test_what_is_no_message_has_no_effect_to_tell() -> None:
    scene = trio()
    assert told(scene, scene.complete("pm")) == ((), "")
