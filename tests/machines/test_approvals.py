"""Approvals: the agent is WAITING, and the timeout of its turn is suspended."""

import pytest
from msgspec.structs import replace

from muster.limits import APPROVALS_OPEN_MAX
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.kernel.sentences import sentence
from muster.machines.state import TurnState
from muster.machines.vocabulary import (
    Answered,
    ApprovalScope,
    InterruptMode,
    Outcome,
    TurnConfig,
    Urgency,
)
from tests.machines.scene import REVIEWS, Scene, facts, moves

ACTIVE, WAITING, QUEUED, IDLE = (
    TurnState.ACTIVE,
    TurnState.WAITING,
    TurnState.QUEUED,
    TurnState.IDLE,
)


def pair(config: TurnConfig | None = None) -> Scene:
    """Two agents that muster runs, in a channel; the first has the turn."""
    scene = Scene()
    scene.running("Lyra", "Kael")
    scene.channel_of("Lyra", "Kael", config=config)
    return scene


def ask(
    scene: Scene,
    name: str = "Lyra",
    *,
    seconds: float = 600,
    default: bool = False,
    rules: tuple[str, ...] = (),
) -> str:
    request = c.RequestApproval(
        session=scene.session(name).id,
        tool="Bash",
        detail="rm -r build",
        seconds=seconds,
        default=default,
        rules=rules,
    )
    return facts(scene.do(request), e.ApprovalRequested)[0].approval


def answer(scene: Scene, approval: str, *, allow: bool = True) -> list[e.Event]:
    return scene.do(c.AnswerApproval(approval=approval, allow=allow, note="fine"))


def test_an_agent_with_an_open_approval_is_waiting_and_keeps_its_turn() -> None:
    scene = pair()
    ask(scene)
    assert (scene.state("Lyra"), scene.state("Kael")) == (WAITING, QUEUED)
    assert scene.own_state("Lyra") is WAITING
    turn = scene.channel().turn
    assert turn is not None
    assert turn.wait is not None
    assert "Bash" in turn.wait.reason


def test_the_timeout_of_the_turn_is_suspended_until_the_answer() -> None:
    scene = pair()
    scene.later(50)
    approval = ask(scene, seconds=5000)
    scene.later(4000)
    assert scene.state("Lyra") is WAITING
    events = answer(scene, approval)
    assert moves(events) == [("Lyra", "WAITING", "ACTIVE", "approval_answered")]
    scene.later(9)
    assert scene.state("Lyra") is ACTIVE
    scene.later(1)
    assert scene.state("Lyra") is QUEUED  # the ten seconds that were left


def test_an_approval_is_answered_once() -> None:
    scene = pair()
    approval = ask(scene)
    settled = facts(answer(scene, approval, allow=False), e.ApprovalAnswered)[0]
    assert (settled.allow, settled.how, settled.note) == (False, Answered.PERSON, "fine")
    refused = scene.refuse(c.AnswerApproval(approval=approval, allow=True), "not_found")
    assert "approval" in str(refused)


def test_only_a_person_answers_and_an_agent_cannot_end_its_wait() -> None:
    scene = pair()
    approval = ask(scene)
    allow = c.AnswerApproval(approval=approval, allow=True)
    refused = scene.refuse(allow, "forbidden", "agent:Lyra")
    assert str(refused) == "'Lyra' may not answer an approval. Ask a person to do it."
    resume = c.ResumeTurn(channel=REVIEWS, seat=scene.seat("Lyra"))
    refused = scene.refuse(resume, "forbidden", "agent:Lyra")
    assert "waits for approval" in str(refused)
    assert scene.state("Lyra") is WAITING


@pytest.mark.parametrize("default", [True, False])
def test_the_declared_default_applies_at_the_deadline(default: bool) -> None:
    scene = pair()
    ask(scene, seconds=30, default=default)
    scene.later(29)
    assert scene.state("Lyra") is WAITING
    settled = facts(scene.later(1), e.ApprovalAnswered)
    assert [(each.allow, each.how) for each in settled] == [(default, Answered.DEADLINE)]
    assert scene.state("Lyra") is ACTIVE


def test_the_turn_resumes_when_the_last_of_several_approvals_is_answered() -> None:
    scene = pair()
    first, second = ask(scene), ask(scene, seconds=900)
    answer(scene, first)
    assert scene.state("Lyra") is WAITING
    answer(scene, second)
    assert scene.state("Lyra") is ACTIVE


@pytest.mark.parametrize("outcome", [Outcome.COMPLETED, Outcome.CRASHED])
def test_the_end_of_the_session_withdraws_its_approvals(outcome: Outcome) -> None:
    scene = pair()
    ask(scene)
    settled = facts(scene.ends("Lyra", outcome), e.ApprovalAnswered)
    assert [(each.allow, each.how) for each in settled] == [(False, Answered.SESSION_END)]
    assert scene.holder() == "Kael"


def test_an_open_approval_of_an_agent_without_a_turn_does_not_block_its_channels() -> None:
    scene = pair()
    approval = ask(scene, "Kael")
    assert scene.own_state("Kael") is WAITING
    assert (scene.state("Lyra"), scene.state("Kael")) == (ACTIVE, QUEUED)
    scene.complete("Lyra")  # the next holder has an open approval: suspended at once
    assert scene.state("Kael") is WAITING
    answer(scene, approval)
    assert scene.state("Kael") is ACTIVE


def test_releasing_a_held_turn_does_not_restart_its_timeout_while_an_approval_is_open() -> None:
    scene = pair(TurnConfig(human_interrupt_mode=InterruptMode.INTERRUPT))
    scene.posts("wait")
    approval = ask(scene)
    events = scene.do(c.ResumeTurn(channel=REVIEWS, seat=scene.seat("Lyra")))
    assert [move[2:] for move in moves(events)] == [
        ("ACTIVE", "human_release"),
        ("WAITING", "approval_requested"),
    ]
    answer(scene, approval)
    assert scene.state("Lyra") is ACTIVE


def test_a_person_can_take_the_turn_from_an_agent_that_waits_for_approval() -> None:
    scene = pair()
    approval = ask(scene)
    scene.do(c.OverrideTurn(channel=REVIEWS, seat=scene.seat("Lyra"), to=QUEUED))
    scene.do(c.ReportWorkStopped(channel=REVIEWS, seat=scene.seat("Lyra")))
    assert scene.holder() == "Kael"
    answer(scene, approval)
    assert (scene.state("Lyra"), scene.state("Kael")) == (QUEUED, ACTIVE)


def test_a_session_that_has_ended_cannot_request_approval() -> None:
    scene = pair()
    session = scene.session("Lyra").id
    scene.ends("Lyra")
    scene.refuse(
        c.RequestApproval(session=session, tool="Bash", detail="ls", seconds=60), "unknown_session"
    )


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), 10**12])
def test_the_timeout_of_an_approval_must_be_in_range(seconds: float) -> None:
    scene = pair()
    session = scene.session("Lyra").id
    scene.refuse(
        c.RequestApproval(session=session, tool="Bash", detail="ls", seconds=seconds), "invalid"
    )


def test_the_deadlines_of_a_session_and_of_an_approval_are_both_kept() -> None:
    scene = pair()
    lyra = scene.agent("Lyra")
    budget = e.Budget(session_seconds=100)
    scene.do(
        c.ConfigureAgent(seat=lyra.seat, authority=lyra.authority, long_lived=True, budget=budget)
    )
    ask(scene, seconds=50)
    assert facts(scene.later(50), e.ApprovalAnswered)
    ask(scene, seconds=500)
    assert facts(scene.later(50), e.StopRequested)[0].urgency is Urgency.NOW


def test_an_unknown_request_has_a_clear_refusal() -> None:
    assert "no open request for approval '7'" in str(
        Scene().refuse(c.AnswerApproval(approval="7", allow=True), "not_found")
    )


def test_a_permission_reaches_further_than_once_only_with_rules_for_that() -> None:
    scene = pair()
    approval = ask(scene, rules=("Bash(rm:*)",))
    assert scene.agent("Lyra").approvals[0].rules == ("Bash(rm:*)",)
    always = c.AnswerApproval(approval=approval, allow=True, scope=ApprovalScope.ALWAYS)
    denied = scene.refuse(replace(always, allow=False), "invalid")
    assert "a request is denied once" in str(denied)
    [settled] = facts(scene.do(always), e.ApprovalAnswered)
    assert settled.scope is ApprovalScope.ALWAYS
    for_session = replace(always, approval=ask(scene), scope=ApprovalScope.SESSION)
    refused = scene.refuse(for_session, "invalid")
    assert "the program of Lyra offers no rule for Bash" in str(refused)


# ── agents that connect by themselves ─────────────────────────────────────────────────────────────


def visitors() -> Scene:
    """Two agents that connect by themselves, in a channel; the first has the turn."""
    scene = Scene()
    scene.connected("Lyra", "Kael")
    scene.channel_of("Lyra", "Kael")
    return scene


def request_of(scene: Scene, name: str = "Lyra") -> c.RequestApproval:
    return c.RequestApproval(seat=scene.seat(name), tool="deploy", detail="to prod", seconds=600)


def test_an_agent_that_connects_by_itself_asks_and_its_turn_waits_for_the_answer() -> None:
    scene = visitors()
    asked = facts(scene.do(request_of(scene)), e.ApprovalRequested)[0]
    assert (asked.seat, asked.session) == (scene.seat("Lyra"), None)
    assert (scene.state("Lyra"), scene.state("Kael")) == (WAITING, QUEUED)
    events = answer(scene, asked.approval)
    assert moves(events) == [("Lyra", "WAITING", "ACTIVE", "approval_answered")]


@pytest.mark.parametrize("leave", ["disconnected", "heartbeat", "disabled", "retired"])
def test_its_request_ends_when_it_leaves(leave: str) -> None:
    scene = visitors()
    seat = scene.seat("Lyra")
    scene.do(request_of(scene))
    leaving = {
        "disabled": c.DisableAgent(seat=seat),
        "retired": c.RetireAgent(seat=seat),
    }.get(leave, c.DisconnectAgent(seat=seat, reason=leave))
    events = scene.do(leaving)
    [settled] = facts(events, e.ApprovalAnswered)
    assert (settled.allow, settled.how) == (False, Answered.SESSION_END)
    told = next(each for each in events if each.fact is settled)
    assert sentence(told, scene.team).endswith("of Lyra was withdrawn: it has left")
    assert not scene.team.agents[seat].approvals
    assert scene.state("Kael") is ACTIVE


def test_only_an_agent_that_is_here_by_itself_asks_without_a_session() -> None:
    scene = visitors()
    scene.running("Mira")
    scene.refuse(request_of(scene, "Mira"), "no_session")
    scene.do(c.DisconnectAgent(seat=scene.seat("Kael"), reason="left"))
    scene.refuse(request_of(scene, "Kael"), "wrong_state")
    scene.refuse(c.RequestApproval(tool="deploy", detail="x", seconds=60), "invalid")


def test_one_agent_cannot_flood_a_person_with_requests() -> None:
    scene = visitors()
    scene.do_all([request_of(scene)] * APPROVALS_OPEN_MAX)
    scene.refuse(request_of(scene), "too_many_approvals")
    answer(scene, scene.team.agents[scene.seat("Lyra")].approvals[0].id)
    scene.do(request_of(scene))


def test_its_request_is_still_open_after_a_restart_of_muster() -> None:
    scene = visitors()
    asked = facts(scene.do(request_of(scene)), e.ApprovalRequested)[0]
    scene.boot()
    assert scene.state("Lyra") is WAITING
    answer(scene, asked.approval)
    assert scene.state("Lyra") is ACTIVE
