"""Usage that agents report themselves: charged to the agent and to the channel of its turn."""

import math

import pytest

from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.vocabulary import TurnConfig, Usage
from tests.machines.scene import REVIEWS, Scene, facts
from tests.machines.turns.test_turns import trio


def report(scene: Scene, name: str, cost_usd: float = 0.0, output_tokens: int = 0) -> c.ReportUsage:
    usage = Usage(cost_usd=cost_usd, output_tokens=output_tokens)
    return c.ReportUsage(seat=scene.seat(name), usage=usage, channel=REVIEWS)


def test_usage_counts_for_the_agent_and_for_the_channel_of_its_turn() -> None:
    scene = trio()
    scene.do(report(scene, "pm", cost_usd=0.5, output_tokens=10))
    scene.do(c.ReportUsage(seat=scene.seat("pm"), usage=Usage(cost_usd=0.25)))
    assert scene.agent("pm").used == Usage(cost_usd=0.75, output_tokens=10)
    assert scene.channel().used == Usage(cost_usd=0.5, output_tokens=10)
    assert scene.channel().since_message.used == Usage(cost_usd=0.5, output_tokens=10)


def test_the_holder_of_the_last_turn_may_still_report_and_the_one_before_it_may_not() -> None:
    scene = trio()
    scene.complete("pm")
    scene.do(report(scene, "pm", cost_usd=0.5))
    scene.complete("dev")
    scene.refuse(report(scene, "pm", cost_usd=0.5), "not_your_turn")
    scene.connected("ops")
    scene.refuse(report(scene, "ops", cost_usd=0.5), "not_a_member")


def test_reported_usage_ends_a_conversation_at_the_limit_of_its_channel() -> None:
    scene = trio(TurnConfig(max_cost_usd=1.0))
    scene.do(report(scene, "pm", cost_usd=2.0))
    events = scene.complete("pm")
    assert facts(events, e.ChannelRested) != []
    assert scene.holder() is None


@pytest.mark.parametrize("cost", [-1.0, math.nan, math.inf, 1e9])
def test_an_implausible_usage_is_refused(cost: float) -> None:
    scene = trio()
    scene.refuse(report(scene, "pm", cost_usd=cost), "invalid")


def test_a_usage_of_nothing_is_not_recorded() -> None:
    scene = trio()
    assert scene.do(report(scene, "pm")) == []


def test_the_usage_of_an_agent_that_muster_runs_comes_from_its_sessions() -> None:
    scene = trio()
    scene.running("Lyra")
    used = c.ReportUsage(seat=scene.seat("Lyra"), usage=Usage(cost_usd=1.0))
    scene.refuse(used, "usage_counted")
