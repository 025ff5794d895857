"""Routing: the right agent or MAIN, the reasons, and the accuracy."""

from collections.abc import Sequence

import pytest

from bench.routing import DATA, answer, is_in_first, read_set, tally
from muster.routing.agent_files import MAIN, AgentFile
from muster.routing.describing import take_apart
from muster.routing.embedding import EmbeddingIndex
from muster.routing.request import take_request
from muster.routing.router import Router, explained, route
from tests.routing.teams import asked, router, team

SMITH = AgentFile("smith", "Forges iron blades. Do NOT use for copper: that belongs to the tinker.")
TINKER = AgentFile("tinker", "Mends pots and pans of any metal.")
GHOST = AgentFile("ghost-writer", "")


def ask(query: str) -> str:
    return router().route(query).agent


# ── accuracy ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("bodies", [False, True])
def test_routing_of_the_development_set_meets_its_goals(bodies: bool) -> None:
    made = router(bodies=bodies)
    counted = tally([(each, made.route(each.query)) for each in asked()])
    assert counted.right >= 0.84
    assert counted.wrong_agent <= 0.1
    assert counted.left_main <= 0.025
    assert counted.right_when_sure >= 0.93


@pytest.mark.parametrize(
    ("team", "right", "paraphrases", "top", "left"),
    [
        ("shop", 0.88, 0.7, 0.95, 0.02),
        ("clinic", 0.83, 0.5, 0.91, 0.025),
        ("transit", 0.84, 0.55, 0.91, 0.025),
        ("hotel", 0.73, 0.54, 0.83, 0.025),
        ("farm", 0.86, 0.6, 0.93, 0.025),
        ("library", 0.82, 0.43, 0.9, 0.025),
    ],
)
def test_routing_of_other_teams_stays_above_its_floor(
    team: str, right: float, paraphrases: float, top: float, left: float
) -> None:
    """Nothing is tuned on any of these but the shop, whose requests the author of the thesaurus
    knew."""
    answered = answer(read_set(DATA / team / "queries.jsonl"), DATA / team / "agents", bodies=True)
    work = [(each, decision) for each, decision in answered if MAIN not in each.acceptable]
    found = [each.kind for each, decision in work if is_in_first(each, decision, 3)]
    hard = [pair for pair in answered if pair[0].kind == "paraphrase"]
    assert tally(answered).right >= right
    assert tally(hard).right >= paraphrases
    assert len(found) / len(work) >= top
    assert tally(answered).left_main <= left


def test_confidence_hardly_depends_on_the_number_of_agents() -> None:
    query = "my pods crashloop after the helm upgrade"
    few = [agent for agent in team() if agent.name in ("kubernetes-operator", "docs-writer")]
    whole, part = router().route(query), Router(few).route(query)
    assert whole.agent == part.agent == "kubernetes-operator"
    assert abs(whole.confidence - part.confidence) < 0.1


def test_talk_about_technology_that_no_rule_knows_mostly_stays_in_main() -> None:
    """Sentences that a rule does not match: the form of a request weighs in the gate."""
    talk = [
        "for context: the app is written in Kotlin",
        "some people say testing is a waste of time",
        "just so you know, we're on PostgreSQL 16",
        "so that was the whole refactoring? impressive",
        "which database does Wikipedia use?",
        "my flight is delayed by two hours",
        "is that all from the security side?",
    ]
    entered = [each for each in talk if ask(each) != MAIN]
    assert len(entered) <= 1, entered


# ── named ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "query",
    [
        "@agent-sql-tuner have a look",
        "@sql-tuner please",
        "use the sql-tuner agent on this",
        "Ask SQL tuner to look at the report",
        "hand this over to the sql-tuner",
        "sql-tuner: look at this",
    ],
)
def test_a_request_for_an_agent_by_name_enters_it(query: str) -> None:
    decision = router().route(query)
    assert (decision.agent, decision.rule) == ("sql-tuner", "named")


@pytest.mark.parametrize(
    "query",
    [
        "what does the sql-tuner agent do?",
        "Why did you pick sql-tuner?",
        "don't use the sql-tuner agent",
        "is sql-tuner any good?",
    ],
)
def test_a_question_about_an_agent_stays_in_main(query: str) -> None:
    assert ask(query) == MAIN


def test_an_agent_without_a_description_is_entered_by_name_only() -> None:
    made = Router([SMITH, GHOST])
    assert made.route("use ghost-writer for this").agent == "ghost-writer"
    assert made.route("ghost write my biography").agent == MAIN


# ── MAIN ──────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("query", "rule"),
    [
        ("thanks a lot!", "smalltalk"),
        ("Thanks, the build is green", "smalltalk"),
        ("ありがとう", "smalltalk"),
        ("wait a moment", "order"),
        ("what did you change?", "session"),
        ("which agents are there?", "agents"),
        ("cat pyproject.toml", "reading"),
        ("Please don't touch the tests", "not-now"),
        ("let's talk about the design first", "planning"),
        ("I love Rust", "opinion"),
        ("When was Python released?", "general"),
        ("ok, let's continue with that", "order"),
        ("you can stop working on the report", "order"),
        ("can I trust you with my code?", "session"),
        ("how long did the debugger take?", "agents"),
        ("which tests failed?", "reading"),
        ("what are the dependencies in package.json?", "reading"),
        ("the pull request has been merged", "not-now"),
        ("I need to think about the schema first", "planning"),
        ("I once broke production on a Friday", "opinion"),
        ("does Terraform work on Windows?", "opinion"),
        ("explain what a load balancer is", "general"),
        ("...", "empty"),
        ("", "empty"),
    ],
)
def test_small_talk_and_session_control_stay_in_main_by_a_rule(query: str, rule: str) -> None:
    decision = router().route(query)
    assert (decision.agent, decision.rule) == (MAIN, rule)


@pytest.mark.parametrize(
    "query",
    [
        "Thanks! Now write unit tests for the parser",
        "Can you use Redis to cache the SQL query?",
        "Fix the session handling in the Django app",
        "Make sure that the GitHub Actions workflow is working again",
        "Don't let the React form submit twice",
        "open src/app.py and refactor the long functions",
        "This bug drives me crazy: the test fails at random",
        "Do you know how to fix this stack trace?",
        "is anybody going to need this app for beekeepers?",
        "we used to deploy in a minute, now it takes an hour",
        "I bought a sensor but the firmware fails to read it",
        "I have to talk to investors on Monday and need slides",
    ],
)
def test_a_request_for_work_is_no_small_talk(query: str) -> None:
    assert router().route(query).rule in ("score", "no-match")


def test_a_request_without_a_match_stays_in_main_and_names_the_closest_agent() -> None:
    decision = router().route("Knit a warm sweater with a zipper and two pages of notes")
    assert (decision.agent, decision.rule) == (MAIN, "no-match")
    assert explained(decision).startswith("[MAIN]  No agent matched  (closest: ")


def test_without_agents_every_request_stays_in_main() -> None:
    assert route("Write a Python script", []).agent == MAIN


# ── evidence ──────────────────────────────────────────────────────────────────────────────────────


def test_negative_sentences_of_a_description_attract_no_requests() -> None:
    assert route("Repair my copper", [SMITH, TINKER]).agent != "smith"
    assert "copper" not in take_apart(SMITH.description).purpose
    assert "iron" in take_apart(SMITH.description).purpose


def test_texts_of_users_in_examples_count_and_those_of_assistants_do_not() -> None:
    told = take_apart(
        'Bakes. <example>Context: Breakfast. user: "Two loaves" assistant: "I call the mason" '
        "<commentary>For the plumber.</commentary></example>"
    )
    assert told.purpose.startswith("Bakes.")
    assert told.requests == "Two loaves"
    assert "mason" not in f"{told}"
    assert "plumber" not in f"{told}"


def test_bodies_count_only_if_enabled() -> None:
    agents = [AgentFile("smith", "Works.", body="Anvil, anvil, anvil and anvil."), TINKER]
    found = Router(agents).route("anvil anvil").candidates
    assert [each.agent for each in found] == ["smith"]
    assert not Router(agents, bodies=False).route("anvil anvil").candidates


def test_a_typo_is_corrected() -> None:
    assert ask("fix teh kuberentes cluster") == "kubernetes-operator"


@pytest.mark.parametrize(
    ("query", "agent"),
    [
        ("Übersetze die Anwendung ins Englische", "translator"),
        ("数据库查询太慢了", "sql-tuner"),
        ("Напиши документацию", "docs-writer"),
    ],
)
def test_words_of_other_languages_in_the_table_are_understood(query: str, agent: str) -> None:
    assert ask(query) == agent


def test_a_pasted_error_goes_to_the_agent_of_its_language() -> None:
    assert ask("error[E0499]: cannot borrow `x` as mutable more than once") == "rust-systems"


def test_a_very_long_request_is_routed_by_its_start() -> None:
    long = "Write a Terraform module for the bucket. " + "lorem ipsum " * 100_000
    assert ask(long) == "terraform-cloud"
    assert len(take_request(long).text) < 10_000


# ── explanations ──────────────────────────────────────────────────────────────────────────────────


def test_an_explanation_has_the_words_the_score_and_the_margin() -> None:
    decision = router().route("my pods crashloop, check helm")
    best, second = decision.candidates[:2]
    assert best.agent == decision.agent == "kubernetes-operator"
    assert best.score > second.score
    assert decision.margin == pytest.approx(1 - second.score / best.score, abs=1e-3)
    assert {"pods", "helm"} <= {each.typed for each in best.evidence}
    line = explained(decision)
    assert line.startswith('[MAIN -> KUBERNETES_OPERATOR]  Matched: "pods" + "helm"')
    assert '"crashloop" ~ kubernetes' in line


def test_the_explanations_of_small_talk_and_of_a_name_fit_on_a_line() -> None:
    assert explained(router().route("hi")) == '[MAIN]  Small talk: "hi"'
    named = explained(router().route("@code-reviewer go"))
    assert named == '[MAIN -> CODE_REVIEWER]  Named: "code-reviewer"'


def test_routing_is_deterministic() -> None:
    again = Router(team())
    for each in asked()[:40]:
        assert again.route(each.query) == router().route(each.query)


# ── vectors ───────────────────────────────────────────────────────────────────────────────────────


def sea_or_land(texts: Sequence[str]) -> list[list[float]]:
    """Vectors with two topics only."""
    sea, land = ("boat", "wave", "fish"), ("field", "corn", "cow")
    return [
        [
            sum(text.lower().count(word) for word in sea) + 0.01,
            sum(text.lower().count(word) for word in land),
        ]
        for text in texts
    ]


def test_vectors_find_an_agent_that_shares_no_word() -> None:
    agents = [AgentFile("sailor", "Steers a boat."), AgentFile("farmer", "Plants corn.")]
    words = Router(agents)
    near = Router(agents, scorer=EmbeddingIndex(agents, sea_or_land), name="embed")
    assert not words.route("high wave").candidates
    assert [each.agent for each in near.route("high wave").candidates] == ["sailor"]
    assert near.route("high wave").router == "embed"
