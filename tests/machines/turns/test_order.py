"""Who speaks next: a person's choice, a handoff, mentions and raised hands, before the ring."""

import time

import pytest
from msgspec.structs import replace

from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.ids import ChannelId, SeatId
from muster.machines.state import Channel, TurnState
from muster.machines.turns.order import upcoming
from muster.machines.turns.table import reachable, unreachable_because
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
from tests.machines.turns.test_turns import leave, trio

OFFLINE, IDLE, QUEUED, ACTIVE, WAITING = TurnState
DESIGN = ChannelId("design")
MENTIONS = TurnConfig(speaker_order=SpeakerOrder.MENTION)


def gives(scene: Scene, name: str, channel: ChannelId = REVIEWS) -> list[e.Event]:
    """A person says who speaks next."""
    return scene.do(c.OverrideTurn(channel=channel, seat=scene.seat(name), to=ACTIVE))


def raises(scene: Scene, name: str, *, hand: bool = True) -> list[e.Event]:
    command = c.RaiseHand(channel=REVIEWS, seat=scene.seat(name), raised=hand)
    return scene.do(command, f"agent:{name}")


def claims(channel: Channel) -> list[Claim]:
    return [each.claim for each in channel.claims]


def claimed(scene: Scene) -> list[str]:
    return [scene.team.agents[each.seat].id for each in scene.channel().claims]


def reason(scene: Scene) -> str:
    turn = scene.channel().turn
    assert turn is not None
    return turn.reason


def named(*names: str, config: TurnConfig = MENTIONS) -> Scene:
    scene = Scene()
    scene.connected(*names)
    scene.channel_of(*names, config=config)
    return scene


# ── a person's choice ─────────────────────────────────────────────────────────────────────────────


def test_a_person_says_in_a_running_channel_who_speaks_next() -> None:
    scene = trio()
    events = gives(scene, "qa")
    assert facts(events, e.TurnClaimed) == [
        e.TurnClaimed(
            channel=REVIEWS, seat=scene.seat("qa"), claim=Claim.PERSON, by=scene.team.human
        )
    ]
    assert scene.holder() == "pm"
    assert upcoming(scene.team, scene.channel()) == scene.seat("qa")
    assert moves(scene.complete("pm"))[-1] == ("qa", QUEUED, ACTIVE, "turn_claimed")
    assert reason(scene) == "chosen by Marcus"
    scene.complete("qa")
    assert scene.holder() == "dev"  # the ring goes on where it was


def test_the_ring_s_next_does_not_speak_twice_because_a_person_chose_it() -> None:
    scene = trio()
    gives(scene, "dev")
    scene.complete("pm")
    assert scene.holder() == "dev"
    scene.complete("dev")
    assert scene.holder() == "qa"


def test_a_person_takes_a_choice_back() -> None:
    scene = trio()
    gives(scene, "qa")
    take = c.OverrideTurn(channel=REVIEWS, seat=scene.seat("qa"), to=QUEUED)
    assert facts(scene.do(take), e.TurnClaimDropped)
    assert scene.do(take) == []
    scene.complete("pm")
    assert scene.holder() == "dev"


@pytest.mark.parametrize(
    ("because", "words"),
    [
        ("offline", "'qa' cannot be given the turn: it is OFFLINE."),
        ("paused", "'qa' cannot be given the turn: it is paused; `muster start qa` lets it run."),
        (
            "disabled",
            "'qa' cannot be given the turn: it is disabled; `muster agent enable qa` lets it run.",
        ),
    ],
)
def test_the_refusal_of_a_choice_says_why_the_agent_cannot_speak(because: str, words: str) -> None:
    scene = Scene()
    scene.connected("pm")
    scene.do(c.EnrollAgent(name="qa", authority=Authority.SELF))
    scene.channel_of("pm", "qa")
    qa = scene.seat("qa")
    if because == "paused":
        scene.want("qa", RunMode.PAUSE)
    if because == "disabled":
        scene.do(c.DisableAgent(seat=qa))
    refused = scene.refuse(c.OverrideTurn(channel=REVIEWS, seat=qa, to=ACTIVE), "cannot_speak")
    assert str(refused) == words


def test_the_refusal_of_a_choice_has_the_right_words_for_agents_that_muster_runs() -> None:
    scene = Scene()
    scene.connected("pm")
    scene.do(c.EnrollAgent(name="once", authority=Authority.MUSTER))
    scene.want("once", RunMode.CONTINUOUS)
    scene.up("once")
    scene.do(c.EnrollAgent(name="task", authority=Authority.MUSTER, on_call=True))
    scene.channel_of("pm", "once", "task")
    words = {
        "once": "it learns of a turn only at its next start.",
        "task": "it is on call for tasks, and not for turns.",
    }
    for name, why in words.items():
        give = c.OverrideTurn(channel=REVIEWS, seat=scene.seat(name), to=ACTIVE)
        assert str(scene.refuse(give, "cannot_speak")).endswith(why)
    scene.ends("once", e.Outcome.FAILED)
    scene.do(c.AddMember(channel=REVIEWS, seat=scene.seat("once")))
    give = c.OverrideTurn(channel=REVIEWS, seat=scene.seat("once"), to=ACTIVE)
    why = "it has failed, and is started again later."
    assert str(scene.refuse(give, "cannot_speak")).endswith(why)


def test_an_agent_busy_elsewhere_may_be_chosen_and_speaks_when_it_is_free() -> None:
    scene = trio()
    scene.channel_of("pm", channel=DESIGN)
    assert claims(scene.channel(DESIGN)) == []
    gives(scene, "pm", DESIGN)
    assert claims(scene.channel(DESIGN)) == [Claim.PERSON]
    events = scene.complete("pm")
    assert ("pm", QUEUED, ACTIVE, "turn_claimed") in moves(events)
    assert scene.holder(DESIGN) == "pm"


def test_a_choice_for_a_lone_idle_agent_that_is_busy_elsewhere_wakes_it_later() -> None:
    scene = Scene()
    scene.connected("pm", "dev")
    scene.channel_of("pm", channel=DESIGN)
    scene.do(c.CompleteTurn(channel=DESIGN, seat=scene.seat("pm")))
    scene.channel_of("pm", "dev")
    assert (scene.holder(), scene.state("pm", DESIGN)) == ("pm", IDLE)
    gives(scene, "pm", DESIGN)
    assert scene.state("pm", DESIGN) is IDLE
    events = scene.complete("pm")
    assert ("pm", IDLE, QUEUED, "turn_claimed") in moves(events)
    assert scene.holder(DESIGN) == "pm"


def test_a_mention_by_a_person_goes_before_the_ring_in_every_order() -> None:
    for order in SpeakerOrder:
        scene = trio(TurnConfig(speaker_order=order, selector="pm"))
        scene.posts("@qa what do you think?")
        [first, *_] = scene.channel().claims or [None]
        if scene.holder() == "qa":
            continue
        assert first is not None
        assert (first.seat, first.claim, first.by) == (
            scene.seat("qa"),
            Claim.PERSON,
            "Marcus",
        )


def test_a_mention_of_the_speaker_that_hears_it_now_gives_it_no_further_turn() -> None:
    scene = trio()
    scene.posts("@pm and @qa, please")
    assert claimed(scene) == ["qa"]


def test_a_mention_of_the_speaker_that_hears_it_later_gives_it_the_next_turn() -> None:
    scene = trio(TurnConfig(human_interrupt_mode=InterruptMode.QUEUE))
    scene.posts("@pm, please")
    scene.complete("pm")
    assert scene.holder() == "pm"
    assert reason(scene) == "chosen by Marcus"


def test_a_mention_by_a_person_starts_a_resting_channel_with_that_member() -> None:
    scene = trio(TurnConfig(rest_after_idle_rounds=1))
    for name in ("pm", "dev", "qa"):
        scene.complete(name)
    assert scene.channel().resting
    scene.posts("@qa hello")
    assert scene.holder() == "qa"


# ── handoff ───────────────────────────────────────────────────────────────────────────────────────


def test_the_speaker_hands_the_turn_to_a_named_member() -> None:
    scene = trio()
    events = scene.ends_with("pm", "please check", to="qa")
    assert [type(event.fact).__name__ for event in events] == [
        "AgentMessage",
        "TurnClaimed",
        "StateTransition",
        "StateTransition",
    ]
    assert (scene.holder(), reason(scene)) == ("qa", "handed over by pm")
    scene.complete("qa")
    assert scene.holder() == "dev"


def test_a_turn_is_handed_over_without_words() -> None:
    scene = trio()
    scene.do(c.CompleteTurn(channel=REVIEWS, seat=scene.seat("pm"), to=scene.seat("qa")))
    assert scene.holder() == "qa"


def test_a_handoff_is_checked() -> None:
    scene = trio()
    pm, qa = scene.seat("pm"), scene.seat("qa")
    unfinished = c.Speak(channel=REVIEWS, seat=pm, text="x", to=qa)
    assert "must complete the turn" in str(scene.refuse(unfinished, "invalid"))
    scene.refuse(c.CompleteTurn(channel=REVIEWS, seat=scene.seat("dev"), to=qa), "not_your_turn")
    scene.refuse(c.CompleteTurn(channel=REVIEWS, seat=pm, to=SeatId(99)), "not_found")


@pytest.mark.parametrize(
    ("to", "why"),
    [
        ("pm", "'pm' named itself"),
        ("stranger", "'stranger' is no member of 'reviews'"),
        ("guest", "'guest' is OFFLINE"),
        ("boss", "'boss' only chooses who speaks"),
    ],
)
def test_a_handoff_that_has_no_effect_loses_neither_the_words_nor_the_end(
    to: str, why: str
) -> None:
    scene = trio()
    scene.connected("boss")
    scene.do(c.EnrollAgent(name="stranger", authority=Authority.SELF))
    scene.do(c.EnrollAgent(name="guest", authority=Authority.SELF))
    for name in ("boss", "guest"):
        scene.do(c.AddMember(channel=REVIEWS, seat=scene.seat(name)))
    if to == "boss":
        rules = TurnConfig(speaker_order=SpeakerOrder.SELECTOR, selector="boss")
        scene.do(c.ConfigureChannel(channel=REVIEWS, config=rules))
    events = scene.ends_with("pm", "all is said", to=to)
    [warning] = facts(events, e.WarningLogged)
    assert warning.text == f"the turn ends without a handoff: {why}"
    assert len(facts(events, e.AgentMessage)) == 1
    assert facts(events, e.TurnClaimed) == []
    assert scene.holder() == ("boss" if to == "boss" else "dev")


def test_a_handoff_to_an_agent_that_is_busy_elsewhere_does_not_stop_the_others() -> None:
    scene = Scene()
    scene.connected("pm", "dev", "qa")
    scene.channel_of("qa", channel=DESIGN)
    scene.channel_of("pm", "dev", "qa")
    scene.ends_with("pm", to="qa")
    assert scene.holder() == "dev"
    scene.do(c.CompleteTurn(channel=DESIGN, seat=scene.seat("qa")))
    scene.complete("dev")
    assert (scene.holder(), reason(scene)) == ("qa", "handed over by pm")


def test_a_claim_ends_when_its_member_leaves() -> None:
    scene = trio()
    raises(scene, "qa")
    leave(scene, "qa")
    assert scene.channel().claims == ()
    scene.complete("pm")
    assert scene.holder() == "dev"


# ── mentions by agents ────────────────────────────────────────────────────────────────────────────


def test_members_that_the_speaker_mentions_speak_next_in_the_order_of_the_text() -> None:
    scene = named("pm", "dev", "qa", "ops")
    scene.ends_with("pm", "@ops, then @qa please")
    assert (scene.holder(), reason(scene)) == ("ops", "mentioned by pm")
    scene.complete("ops")
    assert scene.holder() == "qa"
    scene.complete("qa")
    assert scene.holder() == "dev"


def test_members_that_mention_each_other_do_not_keep_the_others_from_speaking() -> None:
    scene = named("pm", "dev", "qa")
    spoke = list[str | None]()
    for _ in range(13):
        spoke.append(scene.holder())
        scene.ends_with(scene.holder() or "", "and @pm and @dev")
    assert spoke[:6] == ["pm", "dev", "pm", "dev", "pm", "qa"]
    assert "qa" in spoke[6:]


def test_members_that_mention_each_other_do_not_wait_for_one_that_is_busy_elsewhere() -> None:
    scene = named("pm", "dev", "qa")
    scene.channel_of("qa", channel=DESIGN)
    for speaker in ("pm", "dev") * 4:
        assert scene.holder() == speaker
        scene.ends_with(speaker, "and @pm and @dev")


def test_mentions_by_agents_count_only_where_the_channel_says_so() -> None:
    scene = named("pm", "dev", "qa", config=TurnConfig())
    scene.ends_with("pm", "@qa please")
    assert scene.holder() == "dev"


def test_a_forgotten_turn_mentions_too() -> None:
    scene = named("pm", "dev", "qa")
    scene.do(c.EndForgottenTurn(channel=REVIEWS, seat=scene.seat("pm"), text="@qa your turn"))
    assert scene.holder() == "qa"


@pytest.mark.parametrize(
    ("text", "mentioned"),
    [
        ("@dev", ["dev"]),
        ("(@dev), @QA!", ["dev", "QA"]),
        ("@DEV and @qa", ["dev", "QA"]),
        ("@dev's plan", ["dev"]),
        ("ask @dev.", ["dev"]),
        ("@dev two is next", ["dev two"]),
        ("@dev twofold", ["dev"]),
        ("@v1.2 and @v1", ["v1.2", "v1"]),
        ("@v1.", ["v1"]),
        ("@v1.3", []),
        ("@dev-ops", []),
        ("@developer", []),
        ("mail joe@dev or dev@dev.com", []),
        ("@@dev", []),
        ("@ dev", []),
        ("@nobody @ghost", []),
        ("@dev @dev @dev", ["dev"]),
        ("@pm", []),  # the speaker itself
        ("＠dev @ＤＥＶ", ["dev"]),  # fullwidth letters are the same name
        ("@jürgen", ["Jürgen"]),
        ("@JÜRGEN.", ["Jürgen"]),
    ],
)
def test_mentions_are_found_by_name_whatever_surrounds_them(
    text: str, mentioned: list[str]
) -> None:
    scene = named("pm", "dev", "dev two", "QA", "v1", "v1.2", "Jürgen")
    scene.says("pm", text)
    assert claimed(scene) == mentioned


@pytest.mark.parametrize(
    "text",
    [
        "@" * 100_000,
        "@a" * 100_000,
        "@dev " * 100_000,
        " @" * 100_000,
        "@" + "d" * 100_000,
        "@dev-" * 100_000,
        "@\u0301" * 100_000,
    ],
    ids=["at", "a", "dev", "spaces", "long", "hyphens", "marks"],
)
def test_a_hostile_text_full_of_mentions_is_read_quickly(text: str) -> None:
    scene = named("pm", *(f"agent {number}" for number in range(60)), "dev")
    began = time.process_time()
    scene.says("pm", text)
    assert time.process_time() - began < 5
    assert set(claimed(scene)) <= {"dev"}


# ── raised hands ──────────────────────────────────────────────────────────────────────────────────


def test_a_member_that_raises_its_hand_speaks_before_the_ring_s_next() -> None:
    scene = trio()
    events = raises(scene, "qa")
    assert facts(events, e.TurnClaimed)
    assert raises(scene, "qa") == []
    scene.complete("pm")
    assert (scene.holder(), reason(scene)) == ("qa", "raised its hand")


def test_a_raised_hand_can_be_lowered_and_only_that() -> None:
    scene = trio()
    raises(scene, "qa")
    assert facts(raises(scene, "qa", hand=False), e.TurnClaimDropped)
    assert raises(scene, "qa", hand=False) == []
    gives(scene, "qa")
    assert raises(scene, "qa", hand=False) == []  # a person's choice stays
    assert claimed(scene) == ["qa"]


def test_the_speaker_needs_no_hand() -> None:
    scene = trio()
    assert raises(scene, "pm") == []


def test_a_raised_hand_wakes_a_channel_in_which_nobody_had_more_to_say() -> None:
    scene = trio(TurnConfig(rest_after_idle_rounds=1))
    for name in ("pm", "dev", "qa"):
        scene.complete(name)
    assert scene.channel().rest_limit is Limit.IDLE_ROUNDS
    raises(scene, "qa")
    assert (scene.holder(), reason(scene)) == ("qa", "raised its hand")


def test_a_raised_hand_does_not_wake_a_channel_at_a_limit() -> None:
    scene = trio(TurnConfig(turns_per_message=1))
    scene.complete("pm")
    assert scene.channel().rest_limit is Limit.TURNS_PER_MESSAGE
    raises(scene, "qa")
    assert scene.channel().resting
    scene.posts("go on")
    assert scene.holder() == "qa"


def test_a_lone_idle_member_that_raises_its_hand_is_granted_the_turn() -> None:
    scene = Scene()
    scene.connected("pm")
    scene.channel_of("pm")
    scene.complete("pm")
    assert moves(raises(scene, "pm")) == [
        ("pm", IDLE, QUEUED, "turn_claimed"),
        ("pm", QUEUED, ACTIVE, "turn_claimed"),
    ]


def test_a_hand_in_an_archived_channel_or_of_a_stranger_is_refused() -> None:
    scene = trio()
    scene.connected("ops")
    scene.refuse(c.RaiseHand(channel=REVIEWS, seat=scene.seat("ops")), "not_a_member")
    scene.do(c.ArchiveChannel(channel=REVIEWS))
    scene.refuse(c.RaiseHand(channel=REVIEWS, seat=scene.seat("qa")), "channel_is_archived")


# ── the order of claims ───────────────────────────────────────────────────────────────────────────


def test_claims_are_served_by_importance_and_of_equals_the_older_first() -> None:
    scene = named("pm", "a", "b", "d", "f", "g")
    raises(scene, "a")
    raises(scene, "b")
    scene.says("pm", "@d what do you think?")
    gives(scene, "f")
    scene.ends_with("pm", "over to you", to="g")
    order: list[str | None] = []
    for _ in range(5):
        holder = scene.holder()
        assert holder is not None
        order.append(holder)
        scene.complete(holder)
    assert order == ["f", "g", "d", "a", "b"]
    assert scene.holder() == "d"  # a and b were the ring's next anyway


def test_of_two_claims_of_a_member_the_more_important_one_stays() -> None:
    scene = trio()
    raises(scene, "qa")
    gives(scene, "qa")
    assert claims(scene.channel()) == [Claim.PERSON]
    raises(scene, "qa")
    assert claims(scene.channel()) == [Claim.PERSON]
    scene.ends_with("pm", to="qa")
    assert reason(scene) == "chosen by Marcus"


def test_a_retired_agent_cannot_take_a_turn() -> None:
    scene = trio()
    retired = replace(scene.agent("qa"), retired=True)
    assert not reachable(scene.team, retired)
    assert unreachable_because(scene.team, retired) == "is retired"


def test_a_claim_of_an_agent_that_is_gone_for_now_is_passed_over() -> None:
    scene = trio()
    gives(scene, "qa")
    scene.want("qa", RunMode.PAUSE)
    scene.complete("pm")
    assert scene.holder() == "dev"
    scene.want("qa", RunMode.CONTINUOUS)
    scene.complete("dev")
    assert (scene.holder(), reason(scene)) == ("qa", "chosen by Marcus")


def test_a_claim_gives_a_turn_to_a_member_that_muster_runs_without_news() -> None:
    scene = Scene()
    scene.running("Lyra", "Kael", unasked=False)
    scene.channel_of("Lyra", "Kael")
    assert scene.channel().resting
    gives(scene, "Kael")
    assert scene.holder() == "Kael"


def test_handoffs_without_words_come_to_rest_like_every_silence() -> None:
    scene = trio(TurnConfig(turns_per_message=0))
    for turn in range(9):
        holder = scene.holder()
        assert holder is not None, turn
        heir = scene.seat("dev" if holder == "pm" else "pm")
        scene.do(c.CompleteTurn(channel=REVIEWS, seat=scene.seat(holder), to=heir))
    assert scene.channel().rest_limit is Limit.IDLE_ROUNDS
    scene.posts("go on")
    assert scene.holder() == "dev"  # the handoff that was left


# ── the words of a refusal ────────────────────────────────────────────────────────────────────────


def test_a_turn_that_is_over_and_one_that_has_not_begun_are_told_apart() -> None:
    scene = trio()
    scene.complete("pm")
    dev = scene.seat("dev")
    old = c.CompleteTurn(channel=REVIEWS, seat=dev, epoch=1)
    new = c.CompleteTurn(channel=REVIEWS, seat=dev, epoch=7)
    assert str(scene.refuse(old, "stale_epoch")) == (
        "Turn 1 in 'reviews' is over: the turn is now number 2. Ask for a new turn."
    )
    assert str(scene.refuse(new, "stale_epoch")) == (
        "Turn 7 in 'reviews' has not begun: the turn is now number 2. Ask for a new turn."
    )


# ── what is expected next ─────────────────────────────────────────────────────────────────────────


def test_the_expected_speaker_is_the_ring_s_next_that_wants_a_turn() -> None:
    scene = Scene()
    scene.connected("pm")
    scene.running("Lyra", unasked=False)
    scene.connected("qa")
    scene.channel_of("pm", "Lyra", "qa")
    assert upcoming(scene.team, scene.channel()) == scene.seat("qa")
    leave(scene, "qa")
    leave(scene, "pm")
    assert upcoming(scene.team, scene.channel()) == scene.seat("Lyra")
    scene.do(c.RemoveMember(channel=REVIEWS, seat=scene.seat("Lyra")))
    assert upcoming(scene.team, scene.channel()) is None


def test_a_paused_agent_cannot_raise_its_hand() -> None:
    scene = trio()
    scene.want("qa", RunMode.PAUSE)
    hand = c.RaiseHand(channel=REVIEWS, seat=scene.seat("qa"))
    assert "is paused" in str(scene.refuse(hand, "cannot_speak"))


def test_an_agent_that_muster_runs_takes_no_turn_while_muster_stops() -> None:
    scene = Scene()
    scene.do(c.EnrollAgent(name="Lyra", authority=Authority.MUSTER))
    scene.want("Lyra", RunMode.CONTINUOUS)
    scene.up("Lyra")
    scene.do(c.StopMuster(reason="SIGTERM", drain_seconds=60))
    assert "muster is stopping" in unreachable_because(scene.team, scene.agent("Lyra"))
