"""Idempotency keys: a command that is sent again with its key is carried out once."""

from collections.abc import Iterator

import pytest

from muster import limits
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.commands import Command
from muster.machines.kernel.fold import fold
from muster.machines.kernel.snapshots import decode, encode
from muster.machines.kernel.team import refusal
from muster.machines.keys import is_same_request, with_digest
from muster.machines.state import Team
from muster.machines.vocabulary import Authority, Role, RunMode
from tests.machines.scene import REVIEWS, Scene
from tests.machines.turns.test_turns import trio

AGENT = "agent:pm"


def post(text: str = "hello") -> c.PostMessage:
    return c.PostMessage(channel=REVIEWS, text=text, speaker_name="Marcus")


def acts(scene: Scene) -> Iterator[Command]:
    """One command of each kind that people and agents retry, each possible after the one before."""
    pm = scene.seat("pm")
    yield c.WaitTurn(channel=REVIEWS, seat=pm, reason="dinner", epoch=1)
    yield c.ResumeTurn(channel=REVIEWS, seat=pm, epoch=1)
    yield c.Speak(channel=REVIEWS, seat=pm, text="yes", epoch=1)
    yield c.CompleteTurn(channel=REVIEWS, seat=pm, epoch=1)
    yield post()
    yield c.SendMessage(text="hello", speaker_name="Marcus", seat=pm)
    yield c.TellHuman(seat=pm, text="hello")
    yield c.SetDesired(seat=pm, desired=RunMode.PAUSE, set_by="Marcus")
    yield c.EnrollAgent(name="new", authority=Authority.SELF)
    yield c.RemoveMember(channel=REVIEWS, seat=pm)
    yield c.AddMember(channel=REVIEWS, seat=pm)
    yield c.IssueToken(token_id="t", role=Role.VIEWER, digest="d")
    yield c.RevokeToken(token_id="t")


def test_an_act_is_carried_out_once_under_its_key_whatever_it_is() -> None:
    scene = trio()
    for number, command in enumerate(acts(scene)):
        key = f"k{number}"
        events = scene.do(command, key=key)
        [first] = [event for event in events if event.key is not None]
        assert first.key == key
        for _ in range(2):
            repeated = scene.refuse(command, "repeated", key=key)
            assert repeated.found == {"seq": first.seq}


def test_a_digest_does_not_tell_keys_apart_but_says_whether_the_request_is_the_same() -> None:
    scene = trio()
    mine, other = with_digest("k", "1f"), with_digest("k", "2e")
    first = scene.do(post(), key=mine)[0]
    assert scene.refuse(post("again"), "repeated", key=other).found == {"seq": first.seq}
    assert first.key is not None
    assert is_same_request(mine, first.key)
    assert not is_same_request(other, first.key)
    assert is_same_request(mine, "k")


def test_a_retry_after_the_end_of_the_turn_is_a_repeat_and_not_stale() -> None:
    scene = trio()
    done = c.CompleteTurn(channel=REVIEWS, seat=scene.seat("pm"), epoch=1)
    scene.do(done, AGENT, "a")
    scene.refuse(done, "stale_epoch", AGENT)
    scene.refuse(done, "repeated", AGENT, "a")


def test_a_key_belongs_to_its_actor() -> None:
    scene = trio()
    scene.do(post("one"), key="a")
    scene.do(post("two"), "person:Ann", "a")
    scene.refuse(post("two"), "repeated", "person:Ann", "a")


def test_the_key_is_on_the_first_event_which_is_the_message_where_there_is_one() -> None:
    scene = trio()
    pm = scene.seat("pm")
    speak = c.Speak(channel=REVIEWS, seat=pm, text="yes", complete=True)
    events = scene.do(speak, key="a")
    assert [type(event.fact) for event in events if event.key] == [e.AgentMessage]
    events = scene.do(c.RemoveMember(channel=REVIEWS, seat=pm), key="b")
    assert [event.key for event in events] == ["b", *[None] * (len(events) - 1)]


def test_a_command_that_changes_nothing_or_is_refused_leaves_no_key() -> None:
    scene = trio()
    dev = scene.seat("dev")
    nothing = c.DeliverMessages(seat=dev, upto=5)
    assert scene.do(nothing, key="a") == []
    assert scene.do(nothing, key="a") == []
    early = c.Speak(channel=REVIEWS, seat=dev, text="me!")
    refused = scene.refuse(early, "not_your_turn", key="b")
    recorded = refusal(
        scene.team, early, refused, scene.now, actor="person:Marcus", life=scene.life
    )
    assert [event.key for event in recorded.events] == [None]
    assert scene.team.keys.count == 0


@pytest.mark.parametrize("key", ["", "x" * (limits.KEY_CHARS_MAX + 1)])
def test_a_key_of_no_or_of_too_many_characters_is_invalid(key: str) -> None:
    trio().refuse(post(), "invalid", key=key)


def test_a_full_generation_of_keys_is_kept_and_the_one_before_it_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limits, "KEYS_MAX", 10)
    scene = trio()
    for number in range(25):
        scene.do(post(), key=f"k{number}")
    assert len(scene.team.keys.newer) + len(scene.team.keys.older) <= 20
    for number in range(10, 25):
        scene.refuse(post(), "repeated", key=f"k{number}")
    scene.do(post(), key="k0")  # long forgotten


def test_keys_survive_a_restart_from_the_log_and_from_a_snapshot() -> None:
    scene = trio()
    scene.do(post(), key="a")
    for team in (fold(Team(), scene.log), decode(encode(scene.team))):
        scene.team = team
        scene.refuse(post(), "repeated", key="a")
