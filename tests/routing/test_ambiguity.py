"""Requests that are not clear: the router says so, with the agents to choose from."""

import pytest

from muster.routing.agent_files import MAIN, AgentFile
from muster.routing.router import CHOICES_MAX, Decision, Router, explained

BAKER = AgentFile("baker", "Bakes bread and cakes for breakfast.")
ROASTER = AgentFile("roaster", "Roasts coffee for breakfast.")
SMITH = AgentFile("smith", "Forges iron blades.")
BREAKFAST = "Please make breakfast for two"


def test_a_tie_is_ambiguous_and_both_agents_have_a_reason() -> None:
    decision = Router([BAKER, ROASTER, SMITH]).route(BREAKFAST)
    assert decision.ambiguous
    assert [(each.agent, each.reason) for each in decision.choices] == [
        ("baker", 'Matched: "breakfast"'),
        ("roaster", 'Matched: "breakfast"'),
    ]
    assert explained(decision) == (
        '[MAIN]  Ambiguous: baker (Matched: "breakfast") or roaster (Matched: "breakfast")'
    )


@pytest.mark.parametrize(
    "query", ["Forge me two iron blades", "thanks a lot!", "use the baker agent", "Knit a sweater"]
)
def test_a_clear_decision_is_not_ambiguous(query: str) -> None:
    assert not Router([BAKER, ROASTER, SMITH]).route(query).ambiguous


def test_a_single_candidate_is_asked_about_only_if_the_confidence_is_low() -> None:
    clear = Router([BAKER], sure=lambda request, ranked: 0.7).route(BREAKFAST)
    assert not clear.ambiguous
    doubtful = Router([BAKER], sure=lambda request, ranked: 0.4).route(BREAKFAST)
    assert doubtful.ambiguous
    assert [each.agent for each in doubtful.choices] == ["baker"]


def test_a_third_agent_is_offered_only_if_it_is_close() -> None:
    cook = AgentFile("cook", "Fries eggs for breakfast.")
    assert len(Router([BAKER, ROASTER, cook]).route(BREAKFAST).choices) == CHOICES_MAX
    far = Router([BAKER, ROASTER, AgentFile("inn", "Makes beds.")]).route(BREAKFAST)
    assert [each.agent for each in far.choices] == ["baker", "roaster"]


def test_choices_of_a_decision_by_a_rule_are_none() -> None:
    decided = Decision(agent=MAIN, confidence=1.0, rule="smalltalk", reason="", router="lexical")
    assert decided.choices == ()
