"""The breaker: what counts as a runaway, what stops it, and how a person lets it go on."""

from datetime import UTC, datetime, timedelta

import pytest

from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.breaker.burn import (
    burnt,
    over_day,
    over_rate,
    rested,
    spent_today_usd,
    usd_per_minute,
)
from muster.machines.breaker.echo import heard
from muster.machines.needs.needs import Need, open_needs
from muster.machines.state import Burn, Echo
from muster.machines.vocabulary import (
    Authority,
    Budget,
    Limit,
    NeedKind,
    Outcome,
    RunMode,
    TurnConfig,
    Usage,
)
from tests.machines.scene import REVIEWS, Scene, facts

NOON = datetime(2026, 5, 9, 12, 0, tzinfo=UTC)
FREE = TurnConfig(turns_per_message=0, cost_usd_per_message=0)


def dollars(cost: float) -> Usage:
    return Usage(cost_usd=cost)


def only(scene: Scene) -> Need:
    [need] = open_needs(scene.team, scene.now)
    return need


# ── rates ─────────────────────────────────────────────────────────────────────────────────────────


def burning(*pieces: tuple[float, float]) -> Burn:
    """Pieces of work: seconds after noon, and dollars."""
    burn = Burn()
    for seconds, cost in pieces:
        burn = burnt(burn, dollars(cost), NOON + timedelta(seconds=seconds))
    return burn


@pytest.mark.parametrize(
    ("pieces", "rate"),
    [
        ((), 0.0),
        (((0, 9.0),), 0.0),  # one piece of work is no rate
        (((0, 9.0), (60, 1.0)), 1.0),
        (((0, 1.0), (10, 1.0), (20, 1.0)), 2.0),  # over a minute at least
        (((0, 1.0), (120, 1.0), (240, 1.0)), 0.5),
        (((0, 1.0), (700, 1.0), (760, 1.0)), 1.0),  # the first one is too long ago
    ],
)
def test_a_rate_counts_what_was_spent_after_the_first_piece_of_work(
    pieces: tuple[tuple[float, float], ...], rate: float
) -> None:
    last = NOON + timedelta(seconds=pieces[-1][0] if pieces else 0)
    assert usd_per_minute(burning(*pieces), last) == pytest.approx(rate)


def test_a_rate_falls_while_nothing_is_spent_and_begins_anew_when_a_person_has_looked() -> None:
    burn = burning((0, 1), (60, 1))
    assert usd_per_minute(burn, NOON + timedelta(seconds=120)) == pytest.approx(0.5)
    assert usd_per_minute(burn, NOON + timedelta(seconds=3600)) == 0
    assert usd_per_minute(rested(burn), NOON + timedelta(seconds=60)) == 0
    assert rested(burn).today_usd == 2
    assert rested(Burn()) is not None


def test_free_work_changes_nothing_and_a_day_ends_at_midnight() -> None:
    assert burnt(Burn(), Usage(output_tokens=5), NOON) == Burn()
    burn = burning((0, 1.5), (1, 0.5))
    assert spent_today_usd(burn, NOON) == 2
    tomorrow = NOON + timedelta(hours=13)
    assert spent_today_usd(burn, tomorrow) == 0
    assert burnt(burn, dollars(1), tomorrow).today_usd == 1
    assert over_day(burn, 2, NOON, " here") == "$2.00 spent here today, and $2 a day are allowed"
    assert over_day(burn, 2.5, NOON) == over_day(burn, 0, NOON) == over_day(burn, 2, tomorrow) == ""


def test_few_pieces_of_work_are_no_runaway() -> None:
    assert over_rate(burning((0, 9), (1, 9)), 2) == ""
    assert over_rate(burning((0, 9), (1, 9), (2, 9)), 0) == ""
    assert over_rate(burning((0, 1), (60, 1), (120, 1)), 2) == ""
    assert over_rate(burning((0, 9), (1, 9), (2, 9)), 2) == "$18.00 a minute, and $2 are allowed"


# ── messages that say the same ────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("said", "alike"),
    [
        (["Thank you!"] * 4, 3),
        (["Ready, what is next?", "Sure, tell me.", "READY. What is next?", "Sure, tell me!"], 2),
        (["I did step 1 of the plan", "I did step 2 of the plan"], 1),
        (["Fixed the parser", "Wrote the tests for it", "Deployed to staging"], 0),
        (["yes", "yes", "But the build of main is red since noon"], 0),
        (["", ""], 1),
    ],
)
def test_messages_are_alike_if_most_of_their_words_are_the_same(
    said: list[str], alike: int
) -> None:
    echo = Echo()
    for text in said:
        echo = heard(echo, text, NOON)
    assert echo.alike == alike


def chat(config: TurnConfig = FREE) -> Scene:
    scene = Scene()
    scene.connected("Ada", "Cody")
    scene.channel_of("Ada", "Cody", config=config)
    scene.posts("talk")
    return scene


def talk(
    scene: Scene, turns: int, text: str = "I agree with you completely.", seconds: float = 2
) -> None:
    for _ in range(turns):
        holder = scene.holder()
        if holder is None:
            return
        scene.now += timedelta(seconds=seconds)
        scene.ends_with(holder, text)


def test_two_agents_that_agree_for_ever_are_paused_and_a_person_decides() -> None:
    scene = chat()
    talk(scene, 50)
    need = only(scene)
    assert (need.kind, need.channel) == (NeedKind.RUNAWAY, REVIEWS)
    assert need.why == "12 turns in 24 s, the last 12 alike"
    scene.do(c.AllowMore(key=need.key, turns=10))
    talk(scene, 50)
    assert scene.channel().turns == 23
    again = only(scene)
    assert again.kind is NeedKind.RUNAWAY
    assert again.key != need.key
    scene.do(c.SettleNeed(key=again.key))  # end it
    assert open_needs(scene.team, scene.now) == []
    assert scene.channel().resting
    scene.posts("something new")
    assert scene.holder() is not None


def test_a_conversation_with_something_new_in_it_goes_on() -> None:
    scene = chat()
    words = ["apple", "bear", "cloud", "door", "eagle", "fox", "gate", "house", "ink", "jar", "key"]
    for number in range(40):
        holder = scene.holder()
        assert holder is not None
        scene.ends_with(holder, f"{words[number % 11]} {words[number % 7]} {words[number % 5]}")
    assert scene.channel().rest_limit is None


def test_a_rule_of_nought_turns_the_comparison_off() -> None:
    scene = chat(TurnConfig(turns_per_message=0, alike_in_a_row=0))
    talk(scene, 30)
    assert scene.channel().turns == 31
    assert scene.channel().echo == Echo()


@pytest.mark.parametrize(("seconds", "lasted"), [(30, "6 min"), (3600, "12 h")])
def test_a_slow_runaway_is_told_in_minutes_or_hours(seconds: float, lasted: str) -> None:
    scene = chat()
    talk(scene, 50, seconds=seconds)
    assert only(scene).why == f"12 turns in {lasted}, the last 12 alike"


@pytest.mark.parametrize(("alike", "begins"), [(12, "2 turns in 20 s, "), (0, "2 turns, ")])
def test_a_conversation_that_burns_money_is_paused(alike: int, begins: str) -> None:
    scene = chat(TurnConfig(turns_per_message=0, cost_usd_per_message=0, alike_in_a_row=alike))
    for number in range(20):
        holder = scene.holder()
        if holder is None:
            break
        usage = c.ReportUsage(seat=scene.seat(holder), usage=dollars(1), channel=REVIEWS)
        scene.do(usage, f"agent:{holder}")
        scene.now += timedelta(seconds=10)
        scene.ends_with(holder, f"{'abcdefghijklmnopqrst'[number]} is new")
    need = only(scene)
    assert (need.kind, scene.channel().rest_limit) == (NeedKind.RUNAWAY, Limit.COST_RATE)
    assert need.why == f"{begins}$2.00 a minute, and $2 are allowed"


def test_a_channel_has_a_limit_for_a_day_which_the_next_day_lifts() -> None:
    scene = chat(TurnConfig(cost_usd_per_message=0, cost_usd_per_day=3))
    usage = c.ReportUsage(seat=scene.seat("Ada"), usage=dollars(3), channel=REVIEWS)
    scene.do(usage, "agent:Ada")
    scene.ends_with("Ada", "done")
    need = only(scene)
    assert need.kind is NeedKind.LIMIT
    assert need.why == "$3.00 spent in the channel today, and $3 a day are allowed"
    scene.posts("go on")
    assert scene.holder() is None  # a message does not change the day
    scene.now += timedelta(days=1)
    scene.posts("good morning")
    assert scene.holder() is not None


# ── agents ────────────────────────────────────────────────────────────────────────────────────────


def worker(budget: Budget, *names: str) -> Scene:
    scene = Scene()
    for name in names or ("Ada",):
        scene.running(name)
        seat = scene.seat(name)
        scene.do(
            c.ConfigureAgent(seat=seat, authority=Authority.MUSTER, long_lived=True, budget=budget)
        )
    return scene


def works(scene: Scene, cost: float, name: str = "Ada") -> list[e.Event]:
    return scene.do(c.ReportResult(session=scene.session(name).id, usage=dollars(cost)))


def test_an_agent_that_burns_money_is_paused_and_a_person_lets_it_go_on() -> None:
    scene = worker(Budget(cost_usd_per_minute=2))
    for _ in range(2):
        works(scene, 2)
        scene.now += timedelta(seconds=5)
    assert scene.agent("Ada").run.desired is RunMode.CONTINUOUS
    works(scene, 2)
    assert scene.agent("Ada").run.desired is RunMode.PAUSE
    need = only(scene)
    assert (need.kind, need.why) == (NeedKind.RUNAWAY, "$4.00 a minute, and $2 are allowed")
    scene.ends("Ada")
    scene.do(c.AllowMore(key=need.key, turns=2))
    scene.up("Ada")
    for _ in range(2):
        assert scene.agent("Ada").run.desired is RunMode.CONTINUOUS
        works(scene, 2)
    works(scene, 2)
    assert only(scene).kind is NeedKind.RUNAWAY


def test_what_an_agent_reports_itself_uses_up_no_day_of_the_team() -> None:
    scene = worker(Budget(team_cost_usd_per_day=6), "Ada")
    scene.connected("Mallory")
    reported = c.ReportUsage(seat=scene.seat("Mallory"), usage=Usage(cost_usd=900_000.0))
    scene.do(reported, "agent:Mallory")
    works(scene, 2)
    assert scene.agent("Ada").run.desired is RunMode.CONTINUOUS
    assert scene.agent("Mallory").used.cost_usd == 900_000.0


@pytest.mark.parametrize(
    ("budget", "why"),
    [
        (Budget(cost_usd_per_day=3), "$4.00 spent today, and $3 a day are allowed"),
        (
            Budget(team_cost_usd_per_day=6),
            "$6.00 spent by the team today, and $6 a day are allowed",
        ),
    ],
)
def test_an_agent_is_paused_at_the_limit_of_a_day(budget: Budget, why: str) -> None:
    scene = worker(budget, "Ada", "Bo")
    works(scene, 2, "Bo")
    scene.later(3600)
    for _ in range(2):
        works(scene, 2)
        scene.later(3600)
    need = only(scene)
    assert (need.kind, need.why) == (NeedKind.LIMIT, why)


def test_a_program_that_ends_by_itself_goes_on_with_one_session() -> None:
    scene = worker(Budget(cost_usd_per_day=1))
    agent = scene.agent("Ada")
    scene.do(c.ConfigureAgent(seat=agent.seat, authority=Authority.MUSTER, budget=agent.run.budget))
    works(scene, 2)
    scene.ends("Ada")
    scene.do(c.AllowMore(key=only(scene).key, turns=10))
    assert scene.agent("Ada").run.desired is RunMode.RUN_ONCE


@pytest.mark.parametrize(
    "budget", [Budget(failures=1), Budget(session_seconds=10), Budget(sessions_per_hour=1)]
)
def test_a_limit_of_sessions_is_no_matter_of_turns(budget: Budget) -> None:
    """The page offered ten more turns to an agent that had failed too often."""
    scene = worker(budget)
    scene.want("Ada", RunMode.CONTINUOUS)
    scene.ends("Ada")
    scene.later(5)  # the next session is the first in this hour that the budget counts
    scene.up("Ada")
    scene.later(11)
    scene.ends("Ada", Outcome.FAILED if budget.failures else Outcome.COMPLETED)
    scene.later(5)
    need = only(scene)
    assert (need.kind, need.can_go_on) == (NeedKind.LIMIT, False)
    scene.refuse(c.AllowMore(key=need.key, turns=10), "invalid")
    assert scene.agent("Ada").run.is_held  # autostart leaves it alone


def test_only_a_limit_can_go_on_for_a_bounded_number_of_turns_by_a_person() -> None:
    scene = chat()
    scene.do(c.TellHuman(seat=scene.seat("Ada"), text="hello"), "agent:Ada")
    message = only(scene)
    scene.refuse(c.AllowMore(key=message.key, turns=10), "invalid")
    scene.do(c.SettleNeed(key=message.key))
    talk(scene, 50)
    key = only(scene).key
    for turns in (0, 1001):
        scene.refuse(c.AllowMore(key=key, turns=turns), "invalid")
    scene.refuse(c.AllowMore(key=key, turns=10), "forbidden", "agent:Ada")
    scene.refuse(c.AllowMore(key="limit:nothing:1", turns=10), "not_found")
    [allowed] = facts(scene.do(c.AllowMore(key=key, turns=10)), e.MoreAllowed)
    assert (allowed.turns, allowed.channel) == (10, REVIEWS)
