"""Selection: a selector's report names the agent that gets the conversation next."""

import pytest

from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.delegation.selection import chosen_agent
from muster.machines.ids import ConversationId, name_key
from muster.machines.state import MAIN, Selection
from muster.machines.vocabulary import Authority, DelegationMode, Machine, Ranked
from tests.machines.scene import Scene, facts, moves

ONE = ConversationId("conv_001")
CANDIDATES = (
    Ranked(agent="ada", score=2.0, words=("script",), reason='Matched: "script"'),
    Ranked(agent="bob-the-writer", score=1.9, words=()),
)


def asked(mode: DelegationMode = DelegationMode.ORCHESTRATOR) -> Scene:
    """A conversation that the selector "chooser" works on."""
    scene = Scene()
    agents = ("ada", "bob-the-writer", "cyd")
    scene.do(c.StartDelegation(mode=mode, path="here", agents=agents))
    scene.do(c.OpenConversation(text="write a script", speaker_name="Marcus"))
    scene.do(route())
    scene.do(c.Delegate(conversation=ONE, to="chooser", trigger="unsure", seconds=60))
    return scene


def route(selector: str = "chooser", candidates: tuple[Ranked, ...] = CANDIDATES) -> c.RecordRoute:
    return c.RecordRoute(
        conversation=ONE,
        to=MAIN,
        confidence=0.2,
        rule="no-match",
        reason="No agent matched",
        router="lexical",
        margin=0.05,
        candidates=candidates,
        ambiguous=True,
        selector=selector,
    )


def finish(report: str = "", *, failed: bool = False, why: str = "") -> c.FinishTask:
    return c.FinishTask(
        conversation=ONE, epoch=1, report=report, failed=failed, summary=why, seconds=60
    )


def test_the_chosen_agent_gets_the_conversation_in_the_same_transaction() -> None:
    scene = asked()
    events = scene.do(finish("A text is wanted.\nbob-the-writer"))
    assert [(source, target) for _, source, target, _ in moves(events, Machine.DELEGATION)] == [
        ("chooser", MAIN),
        (MAIN, "bob-the-writer"),
    ]
    [routed] = facts(events, e.Routed)
    assert (routed.to, routed.rule, routed.guess) == ("bob-the-writer", "selector", "ada")
    assert routed.candidates == CANDIDATES
    assert (routed.margin, routed.router) == (0.05, "lexical")
    conversation = scene.team.delegation.conversations[ONE]
    assert (conversation.state, conversation.epoch) == ("bob-the-writer", 3)
    assert conversation.selection is None
    assert facts(
        scene.do(c.FinishTask(conversation=ONE, epoch=3, report="Done.")), e.ConversationEnd
    )


def test_the_opinions_of_the_selector_and_of_the_router_are_in_the_reason() -> None:
    [routed] = facts(asked().do(finish(f"{'because ' * 50}\nada")), e.Routed)
    assert routed.reason.startswith("chooser chose it (because because")
    assert routed.reason.endswith('…); the router: ada (Matched: "script")')


def test_a_router_without_a_reason_is_named_alone() -> None:
    scene = asked()
    scene.do(route(candidates=CANDIDATES[1:]))
    [routed] = facts(scene.do(finish("bob-the-writer")), e.Routed)
    assert routed.reason == "chooser chose it (bob-the-writer); the router: bob-the-writer"


@pytest.mark.parametrize("report", ["NONE", "", "cyd", "ada or bob-the-writer"])
def test_no_choice_closes_the_conversation_with_the_closest_agents(report: str) -> None:
    scene = asked()
    events = scene.do(finish(report))
    [end] = facts(events, e.ConversationEnd)
    assert end.outcome == "failed"
    [said] = facts(events, e.DialogueRecorded)
    assert said.text.startswith(f"chooser chose no agent ({report})")
    assert 'The closest: ada (Matched: "script"), bob-the-writer.' in said.text
    assert not scene.team.delegation.conversations


def test_a_selector_that_fails_chooses_nobody() -> None:
    [said] = facts(asked().do(finish("ada", failed=True, why="it crashed")), e.DialogueRecorded)
    assert said.text.startswith("chooser chose no agent (it crashed)")


def test_a_chosen_agent_that_is_paused_closes_the_conversation_with_that_rule() -> None:
    scene = asked()
    scene.do(c.EnrollAgent(name="ada", authority=Authority.MUSTER))
    events = scene.do(finish("ada"))
    [said] = facts(events, e.DialogueRecorded)
    assert "paused" in said.text
    assert facts(events, e.ConversationEnd)[0].outcome == "failed"


def test_a_selector_needs_a_plain_name_and_candidates() -> None:
    scene = asked()
    scene.refuse(route(selector="../x"), "invalid")
    scene.refuse(route(candidates=()), "invalid")
    scene.refuse(c.Delegate(conversation=ONE, to="somebody", trigger="x"), "not_found")


@pytest.mark.parametrize(
    ("report", "chosen"),
    [
        ("ada", "ada"),
        ("`Ada`.", "ada"),
        ("I would take ada for this.", "ada"),
        ("bob-the-writer could, but:\n\nada\n", "ada"),
        ("not ada but bob-the-writer", None),
        ("adam", None),
        ("ada-x", None),
        ("", None),
    ],
)
def test_a_report_is_a_choice_if_its_last_line_or_all_of_it_names_one(
    report: str, chosen: str | None
) -> None:
    assert name_key("Ada") == "ada"
    selection = Selection(selector="chooser", candidates=CANDIDATES)
    assert chosen_agent(selection, report) == chosen
