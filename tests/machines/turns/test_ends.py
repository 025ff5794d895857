"""The end of a conversation: each limit, the reason that the channel gives, and what goes on."""

import pytest

from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.state import TurnState
from muster.machines.vocabulary import Authority, Limit, RunMode, TurnConfig, Usage
from tests.machines.scene import REVIEWS, Scene, facts, moves
from tests.machines.turns.test_order import gives
from tests.machines.turns.test_turns import leave, trio

ACTIVE, QUEUED = TurnState.ACTIVE, TurnState.QUEUED


def plays(scene: Scene, turns: int, text: str | None = "word") -> list[e.Event]:
    """So many turns, each with words or without; the events of the last one."""
    events: list[e.Event] = []
    for _ in range(turns):
        holder = scene.holder()
        assert holder is not None
        events = scene.complete(holder) if text is None else scene.ends_with(holder, text)
    return events


def notice(events: list[e.Event]) -> str:
    [said] = facts(events, e.Announcement)
    return said.text


def spends(scene: Scene, name: str, usage: Usage) -> list[e.Event]:
    result = c.ReportResult(session=scene.session(name).id, usage=usage, channel=REVIEWS)
    return scene.do(result)


def configure(scene: Scene, config: TurnConfig) -> list[e.Event]:
    return scene.do(c.ConfigureChannel(channel=REVIEWS, config=config))


@pytest.mark.parametrize(
    ("config", "turns", "limit", "reason"),
    [
        (
            TurnConfig(turns_per_message=4),
            4,
            Limit.TURNS_PER_MESSAGE,
            "4 turns since the last message of a person",
        ),
        (
            TurnConfig(rounds_per_message=2),
            6,
            Limit.ROUNDS_PER_MESSAGE,
            "2 rounds since the last message of a person",
        ),
    ],
)
def test_a_conversation_ends_at_a_limit_per_message_and_a_message_lets_it_go_on(
    config: TurnConfig, turns: int, limit: Limit, reason: str
) -> None:
    scene = trio(config)
    for _ in range(2):
        events = plays(scene, turns)
        [rested] = facts(events, e.ChannelRested)
        assert (rested.limit, rested.reason) == (limit, reason)
        said = f"⏸️ The conversation rests: {reason} ({limit}). A message lets it go on."
        assert notice(events) == said
        assert (scene.holder(), scene.channel().rest_limit) == (None, limit)
        assert scene.later(3600) == []
        scene.posts("go on")
        assert scene.holder() is not None
        assert scene.channel().rest_limit is None


@pytest.mark.parametrize(
    ("config", "turns", "limit", "reason"),
    [
        (TurnConfig(max_turns=4), 4, Limit.TURNS, "4 turns in all"),
        (TurnConfig(max_rounds=2), 6, Limit.ROUNDS, "2 rounds in all"),
    ],
)
def test_at_a_limit_in_all_a_message_does_not_help_and_the_channel_says_so(
    config: TurnConfig, turns: int, limit: Limit, reason: str
) -> None:
    scene = trio(config)
    plays(scene, turns - 1)
    scene.posts("a message does not start the count again")
    plays(scene, 1)
    for _ in range(2):
        events = scene.posts("go on")
        assert facts(events, e.ChannelRoused)
        [rested] = facts(events, e.ChannelRested)
        assert (rested.limit, rested.reason) == (limit, reason)
        said = f"⏸️ The conversation rests: {reason} ({limit}). A higher limit lets it go on."
        assert notice(events) == said
        assert scene.holder() is None


@pytest.mark.parametrize(
    ("config", "limit", "reason"),
    [
        (
            TurnConfig(cost_usd_per_message=1),
            Limit.COST_PER_MESSAGE,
            "$1.5000 used since the last message of a person, and $1 are allowed",
        ),
        (
            TurnConfig(tokens_per_message=100),
            Limit.TOKENS_PER_MESSAGE,
            "120 tokens used since the last message of a person, and 100 are allowed",
        ),
        (TurnConfig(max_cost_usd=1), Limit.COST, "$1.5000 used in all, and $1 are allowed"),
        (TurnConfig(max_tokens=100), Limit.TOKENS, "120 tokens used in all, and 100 are allowed"),
    ],
)
def test_a_conversation_ends_when_it_has_cost_enough(
    config: TurnConfig, limit: Limit, reason: str
) -> None:
    scene = Scene()
    scene.running("Lyra", "Kael")
    scene.channel_of("Lyra", "Kael", config=config)
    spends(scene, "Lyra", Usage(cost_usd=1.5, output_tokens=120))
    assert scene.holder() == "Lyra"  # what it works on is not cut off
    events = scene.complete("Lyra")
    [rested] = facts(events, e.ChannelRested)
    assert (rested.limit, rested.reason) == (limit, reason)
    assert reason in notice(events)
    assert scene.agent("Lyra").run.desired is RunMode.CONTINUOUS
    scene.posts("go on")
    per_message = limit in (Limit.COST_PER_MESSAGE, Limit.TOKENS_PER_MESSAGE)
    assert scene.holder() == ("Kael" if per_message else None)


def test_usage_below_every_limit_ends_nothing() -> None:
    scene = Scene()
    scene.running("Lyra", "Kael")
    scene.channel_of("Lyra", "Kael")
    spends(scene, "Lyra", Usage(cost_usd=4.9, output_tokens=10**6))
    scene.complete("Lyra")
    assert scene.holder() == "Kael"


def test_the_defaults_protect_a_new_user() -> None:
    config = TurnConfig()
    assert (config.turns_per_message, config.cost_usd_per_message) == (100, 5.0)
    scene = trio(TurnConfig(alike_in_a_row=0))
    events = plays(scene, 100)
    assert "100 turns since the last message of a person (turnsPerMessage)" in notice(events)


def test_the_stop_phrase_of_an_agent_ends_the_conversation() -> None:
    scene = trio(TurnConfig(stop_phrase="ALL DONE"))
    scene.posts("say ALL DONE when you are ready")  # of a person it means nothing
    scene.says("pm", "So, ALL DONE.")
    assert scene.holder() == "pm"  # its turn is its own
    events = scene.complete("pm")
    assert scene.channel().rest_limit is Limit.STOP_PHRASE
    assert "'ALL DONE' was said (stopPhrase). A message lets it go on." in notice(events)
    scene.posts("not yet")
    assert scene.holder() == "dev"


def test_a_channel_without_a_stop_phrase_or_with_another_goes_on() -> None:
    for phrase in ("", "OVER"):
        scene = trio(TurnConfig(stop_phrase=phrase))
        scene.ends_with("pm", "ALL DONE")
        assert scene.holder() == "dev"


def test_taking_the_stop_phrase_away_lets_the_channel_go_on() -> None:
    scene = trio(TurnConfig(stop_phrase="ALL DONE"))
    scene.ends_with("pm", "ALL DONE")
    configure(scene, TurnConfig())
    assert scene.holder() == "dev"


@pytest.mark.parametrize(
    ("config", "higher", "turns"),
    [
        (TurnConfig(turns_per_message=2), TurnConfig(turns_per_message=3), 2),
        (TurnConfig(max_turns=2), TurnConfig(max_turns=0), 2),
        (TurnConfig(rounds_per_message=1), TurnConfig(rounds_per_message=2), 3),
        (TurnConfig(max_rounds=1), TurnConfig(max_rounds=2), 3),
    ],
)
def test_a_higher_limit_lets_a_channel_go_on(
    config: TurnConfig, higher: TurnConfig, turns: int
) -> None:
    scene = trio(config)
    plays(scene, turns)
    assert scene.channel().resting
    events = configure(scene, higher)
    assert facts(events, e.ChannelRoused)
    assert scene.holder() is not None


def test_a_change_of_the_rules_that_raises_no_limit_lets_a_channel_rest_on() -> None:
    scene = trio(TurnConfig(turns_per_message=2))
    plays(scene, 2)
    events = configure(scene, TurnConfig(turns_per_message=2, default_timeout_seconds=5))
    assert facts(events, e.ChannelRoused) == []
    assert scene.channel().resting


def test_a_lower_limit_lets_a_channel_rest_at_the_end_of_the_turn() -> None:
    scene = trio()
    plays(scene, 5)
    configure(scene, TurnConfig(turns_per_message=3))
    assert scene.holder() == "qa"
    scene.complete("qa")
    assert scene.channel().rest_limit is Limit.TURNS_PER_MESSAGE


def test_everybody_has_passed_after_whole_silent_rounds_and_no_notice_is_needed() -> None:
    scene = trio(TurnConfig(rest_after_idle_rounds=2))
    events = plays(scene, 6, None)
    [rested] = facts(events, e.ChannelRested)
    assert (rested.limit, rested.idle_rounds) == (Limit.IDLE_ROUNDS, 2)
    assert rested.reason == "2 rounds without a message"
    assert facts(events, e.Announcement) == []


def test_a_higher_limit_does_not_start_a_channel_in_which_everybody_has_passed() -> None:
    scene = trio(TurnConfig(rest_after_idle_rounds=1))
    plays(scene, 3, None)
    configure(scene, TurnConfig(rest_after_idle_rounds=9))
    assert scene.channel().resting


def test_a_member_that_joins_a_channel_at_its_limit_of_rounds_brings_its_own_turn() -> None:
    scene = trio(TurnConfig(rounds_per_message=1))
    plays(scene, 3)
    assert scene.channel().resting
    scene.connected("ops")
    scene.do(c.AddMember(channel=REVIEWS, seat=scene.seat("ops")))
    assert scene.holder() == "ops"
    plays(scene, 1)
    assert scene.channel().rest_limit is Limit.ROUNDS_PER_MESSAGE


def test_a_person_s_choice_is_granted_at_a_limit_and_then_the_channel_rests_again() -> None:
    scene = trio(TurnConfig(turns_per_message=1))
    gives(scene, "qa")
    scene.complete("pm")
    assert scene.holder() == "qa"
    gives(scene, "dev")
    scene.complete("qa")
    assert scene.holder() == "dev"
    scene.complete("dev")
    assert scene.channel().rest_limit is Limit.TURNS_PER_MESSAGE
    gives(scene, "pm")
    assert scene.holder() == "pm"
    scene.complete("pm")
    assert scene.channel().resting


def test_a_claim_of_an_agent_waits_at_a_limit() -> None:
    scene = trio(TurnConfig(turns_per_message=1))
    scene.ends_with("pm", to="qa")
    assert scene.channel().rest_limit is Limit.TURNS_PER_MESSAGE
    scene.posts("go on")
    assert scene.holder() == "qa"


def test_a_channel_whose_members_are_all_busy_does_not_rest_at_a_limit() -> None:
    scene = trio(TurnConfig(turns_per_message=1))
    leave(scene, "dev")
    leave(scene, "qa")
    scene.connected("ops")
    other = e.ChannelId("design")
    scene.channel_of("ops", "pm", channel=other)
    scene.complete("pm")
    assert scene.state("pm") is TurnState.IDLE
    assert not scene.channel().resting
    assert moves(scene.posts("hello")) == [
        ("pm", TurnState.IDLE, QUEUED, "message_posted"),
        ("pm", QUEUED, ACTIVE, "turn_granted"),
    ]


def test_a_message_in_the_middle_of_a_turn_starts_the_counts_again() -> None:
    scene = trio(TurnConfig(turns_per_message=2))
    plays(scene, 1)
    scene.posts("one more thing")
    plays(scene, 2)
    assert not scene.channel().resting
    plays(scene, 1)
    assert scene.channel().rest_limit is Limit.TURNS_PER_MESSAGE


def test_a_resting_channel_that_everybody_left_stops_resting() -> None:
    scene = trio(TurnConfig(rest_after_idle_rounds=1))
    plays(scene, 3, None)
    assert scene.channel().resting
    for name in ("pm", "dev", "qa"):
        leave(scene, name)
    assert not scene.channel().resting
    scene.do(c.ConnectAgent(seat=scene.seat("dev")))
    events = scene.do(c.AddMember(channel=REVIEWS, seat=scene.seat("dev")))
    assert moves(events)[-1] == ("dev", QUEUED, ACTIVE, "turn_granted")


def test_a_member_in_advance_does_not_keep_a_channel_resting_that_the_others_left() -> None:
    scene = trio(TurnConfig(rest_after_idle_rounds=1))
    scene.do(c.EnrollAgent(name="ops", authority=Authority.SELF))
    scene.do(c.AddMember(channel=REVIEWS, seat=scene.seat("ops")))
    plays(scene, 3, None)
    for name in ("pm", "dev", "qa"):
        scene.do(c.RemoveMember(channel=REVIEWS, seat=scene.seat(name)))
    scene.do(c.AddMember(channel=REVIEWS, seat=scene.seat("dev")))
    assert scene.holder() == "dev"


def test_a_member_that_is_left_in_a_resting_channel_waits_on() -> None:
    scene = trio(TurnConfig(rest_after_idle_rounds=1))
    plays(scene, 3, None)
    leave(scene, "pm")
    leave(scene, "dev")
    assert (scene.channel().resting, scene.state("qa")) == (True, QUEUED)


@pytest.mark.parametrize(
    "config",
    [
        TurnConfig(turns_per_message=-1),
        TurnConfig(rounds_per_message=10**10),
        TurnConfig(max_turns=-1),
        TurnConfig(max_rounds=-1),
        TurnConfig(cost_usd_per_message=-0.01),
        TurnConfig(cost_usd_per_message=float("nan")),
        TurnConfig(max_cost_usd=float("inf")),
        TurnConfig(tokens_per_message=-1),
        TurnConfig(max_tokens=2**60),
        TurnConfig(stop_phrase="x" * 201),
    ],
)
def test_limits_out_of_range_are_refused(config: TurnConfig) -> None:
    scene = trio()
    scene.refuse(c.ConfigureChannel(channel=REVIEWS, config=config), "invalid")


def test_turns_that_are_passed_because_nothing_is_new_do_not_count() -> None:
    scene = trio(TurnConfig(turns_per_message=3, rest_after_idle_rounds=2))
    for _ in range(5):
        holder = scene.holder()
        assert holder is not None
        passed = c.CompleteTurn(channel=REVIEWS, seat=scene.seat(holder), reason="nothing_new")
        scene.do(passed)
    assert (scene.channel().turns_since_message, scene.channel().resting) == (1, False)
    holder = scene.holder()
    assert holder is not None
    [rested] = facts(scene.complete(holder), e.ChannelRested)
    assert rested.limit is Limit.IDLE_ROUNDS
