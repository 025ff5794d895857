"""The benchmark of the selector: a scripted model chooses from the real prompt."""

from bench.routing import DATA, answer, read_set, tally
from bench.selecting import comparing, knowing, selected
from muster.routing.agent_files import read_folders

CLINIC = DATA / "clinic"


def test_a_model_that_is_asked_only_where_the_router_is_unsure_makes_more_right() -> None:
    asked = read_set(CLINIC / "queries.jsonl")
    agents = read_folders([CLINIC / "agents"]).agents
    answered = answer(asked, CLINIC / "agents", bodies=True)
    alone = tally(answered).right
    best = selected(answered, agents, knowing(asked))
    assert best.right >= 0.92 > alone
    assert best.left_main < 0.01
    assert best.asked <= 0.4


def test_a_poor_model_costs_little_since_it_is_seldom_asked() -> None:
    asked = read_set(CLINIC / "queries.jsonl")
    agents = read_folders([CLINIC / "agents"]).agents
    answered = answer(asked, CLINIC / "agents", bodies=True)
    assert selected(answered, agents, comparing).right >= 0.72


def test_the_comparing_model_reads_only_what_the_prompt_says() -> None:
    text = (
        "# The request\n\nbake two loaves\n\n# The agents\n\n- baker: Bakes loaves.\n"
        "- smith: Forges.\n\n# Your answer"
    )
    assert comparing(text).endswith("\nbaker")
    assert comparing(text.replace("bake two loaves", "sail home")).endswith("\nNONE")
