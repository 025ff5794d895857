"""Choices of people: the same request again, similar ones, and the accuracy with them."""

import random

import pytest

from bench.routing import DATA, Answered, read_set, tally
from muster.routing.agent_files import MAIN, AgentFile, read_folders
from muster.routing.choices import PastChoice
from muster.routing.router import REMEMBERED, Router, explained

BAKER = AgentFile("baker", "Bakes bread and cakes for breakfast.")
ROASTER = AgentFile("roaster", "Roasts coffee for breakfast.")
SMITH = AgentFile("smith", "Forges iron blades.")
TEAM = (BAKER, ROASTER, SMITH)
BREAKFAST = "Please make breakfast for two"
SIMILAR = "Make breakfast for three"


def choosing(*choices: tuple[str, str]) -> Router:
    return Router(TEAM, choices=[PastChoice(text, agent) for text, agent in choices])


def test_the_same_request_goes_to_the_agent_that_was_chosen_for_it() -> None:
    decision = choosing((BREAKFAST, "smith")).route("  please make BREAKFAST for two! ")
    assert (decision.agent, decision.rule, decision.ambiguous) == ("smith", REMEMBERED, False)
    assert explained(decision) == (
        '[MAIN -> SMITH]  Remembered: chosen for "Please make breakfast for two"'
    )


def test_a_similar_request_weighs_the_choice_in_and_says_so() -> None:
    assert Router(TEAM).route(SIMILAR).ambiguous
    decision = choosing((BREAKFAST, "roaster")).route(SIMILAR)
    assert (decision.agent, decision.rule, decision.ambiguous) == ("roaster", "score", False)
    assert 'chosen for "Please make breakfast for two"' in decision.reason


def test_a_correction_counts_for_an_agent_that_shares_no_word() -> None:
    decision = choosing((BREAKFAST, "smith")).route(SIMILAR)
    assert "smith" in [each.agent for each in decision.choices]


def test_a_request_that_shares_only_a_verb_is_not_touched_by_a_choice() -> None:
    query = "please make two blades of iron"
    assert choosing((BREAKFAST, "roaster")).route(query) == Router(TEAM).route(query)


def test_the_later_choice_for_the_same_request_counts() -> None:
    assert choosing((BREAKFAST, "smith"), (BREAKFAST, "baker")).route(BREAKFAST).agent == "baker"


def test_main_is_a_choice_for_the_same_request_only() -> None:
    made = choosing((BREAKFAST, MAIN))
    assert (made.route(BREAKFAST).agent, made.route(BREAKFAST).rule) == (MAIN, REMEMBERED)
    assert made.route(SIMILAR) == Router(TEAM).route(SIMILAR)


def test_a_choice_of_an_agent_that_is_gone_is_ignored() -> None:
    assert choosing((BREAKFAST, "cook")).route(BREAKFAST) == Router(TEAM).route(BREAKFAST)


def test_a_named_agent_comes_before_a_choice() -> None:
    query = "use the smith agent"
    assert choosing((query, "baker")).route(query).agent == "smith"


def test_a_long_request_is_quoted_by_its_start() -> None:
    long = f"{BREAKFAST} {'and more ' * 20}"
    assert choosing((long, "baker")).route(long).reason.endswith('…"')


@pytest.mark.parametrize("name", ["", "shop", "clinic"])
def test_accuracy_does_not_fall_when_the_right_answers_to_other_requests_are_remembered(
    name: str,
) -> None:
    """Half of a set is remembered, and the other half is routed, in twenty ways."""
    folder = DATA / name
    agents = read_folders([folder / "agents"]).agents
    asked = read_set(folder / "queries.jsonl")
    without: Answered = []
    taught: Answered = []
    plain = Router(agents)
    for way in range(20):
        mixed = random.Random(way).sample(asked, len(asked))
        known, new = mixed[: len(mixed) // 2], mixed[len(mixed) // 2 :]
        choices = [PastChoice(each.query, each.acceptable[0]) for each in known]
        made = Router(agents, choices=choices)
        without = [*without, *((each, plain.route(each.query)) for each in new)]
        taught = [*taught, *((each, made.route(each.query)) for each in new)]
    before, after = tally(without), tally(taught)
    print(f"{folder.name}: right {before.right:.3f}, with choices {after.right:.3f}")
    assert after.right >= before.right
    assert after.wrong_agent <= before.wrong_agent
    assert after.left_main <= before.left_main
