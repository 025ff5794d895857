"""The answers of MAIN where muster itself is MAIN, and its denials."""

import pytest
from msgspec.structs import replace

from muster.delegation.replies import about_the_past, closest, denial, reply, slug, suggested
from muster.machines.events import Routed
from muster.machines.ids import ConversationId
from muster.machines.vocabulary import Ranked
from muster.permissions.policy import DEFAULT, parse

AGENTS = tuple(f"agent-{number}" for number in range(12))
LAST = "conv_002, a script was written"


def routed(rule: str) -> Routed:
    return Routed(
        conversation=ConversationId("conv_003"),
        to="MAIN",
        confidence=0.9,
        rule=rule,
        reason="Small talk",
        router="lexical",
    )


def said(rule: str, text: str = "hm", agents: tuple[str, ...] = AGENTS, last: str = "") -> str:
    return reply(routed(rule), text, agents, last)


def test_thanks_are_answered_and_a_greeting_lists_the_agents() -> None:
    assert said("smalltalk", "Thanks a lot!") == "You're welcome!"
    assert said("smalltalk", "Hello").startswith("Hello. I route each request")
    assert "and 4 more" in said("smalltalk", "Hello")
    assert "There are no agents yet" in said("agents", "who is there?", ())


def test_a_question_about_the_last_conversation_is_answered_with_its_summary() -> None:
    assert said("session", "what did you just do?", last=LAST) == f"The last conversation: {LAST}"
    assert "no model is MAIN here" in said("session", "what did you just do?")


def test_muster_says_that_it_has_no_answer_of_its_own() -> None:
    answer = said("general", "What is the capital of France?")
    assert "has no answer of its own" in answer
    assert "Paris" not in answer
    assert said("no-match").startswith("No agent matched, so nothing was done.")


@pytest.mark.parametrize(
    ("text", "past"),
    [
        ("Can you explain what you just did?", True),
        ("What happened in the last conversation?", True),
        ("Did you write it?", True),
        ("Hello", False),
    ],
)
def test_questions_about_earlier_work_are_recognized(text: str, past: bool) -> None:
    assert about_the_past(text) is past


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("Put the parser into src/parse.rs", "main.write"),
        ("write a little script for me", "main.write"),
        ("implement the login function", "main.write"),
        ("run the migration", "main.execute"),
        ("please install numpy", "main.execute"),
    ],
)
def test_a_request_that_main_may_not_do_is_denied_with_an_agent_to_create(
    text: str, rule: str
) -> None:
    found = denial(text, DEFAULT)
    assert found is not None
    assert found.rule.startswith(rule)
    assert found.reason.startswith("This requires")
    assert f".claude/agents/{found.suggestion}.md" in suggested(found, routed("no-match"), AGENTS)


def test_where_no_agent_matches_the_closest_three_are_named_with_their_reasons() -> None:
    near = tuple(
        Ranked(agent=f"agent-{number}", score=number, reason=f'Matched: "word{number}"')
        for number in (9, 7, 5, 3)
    )
    answer = reply(replace(routed("no-match"), candidates=near), "hm", AGENTS, "")
    assert answer.startswith("No agent matched, so nothing was done. The closest: ")
    assert 'agent-9 (Matched: "word9"), agent-7 (Matched: "word7"), agent-5 (Matched: ' in answer
    assert answer.endswith("`--to AGENT` gives it to an agent all the same.")
    assert "agent-3" not in answer
    assert "agent-0" not in answer


def test_where_no_agent_shares_a_word_none_is_named() -> None:
    told = closest(routed("no-match"), AGENTS)
    assert told.startswith("None of the 12 agents has a word of it. `--to AGENT`")
    assert "There are no agents yet" in closest(routed("no-match"), ())


@pytest.mark.parametrize("text", ["Tell me about whales", "note it in notes.md", "e.g. a poem"])
def test_a_request_that_main_may_do_is_not_denied(text: str) -> None:
    assert denial(text, DEFAULT) is None


def test_the_policy_says_which_files_main_may_write() -> None:
    strict = parse('{"MAIN_PERMISSIONS": {"cannot_write": ["*.md"]}}')
    assert denial("note it in notes.md", strict) is not None


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Write a parser for the YAML files", "parser-yaml-files-agent"),
        ("!!!", "agent"),
        ("do it for me", "agent"),
    ],
)
def test_a_suggested_agent_has_a_name_that_tells_its_task(text: str, name: str) -> None:
    assert slug(text) == name
