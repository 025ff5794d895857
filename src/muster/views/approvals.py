"""Approvals: tool calls that wait for a person's permission, and who allowed which."""

from collections.abc import Mapping, Sequence

from muster.machines.events import ApprovalAnswered, ApprovalRequested, Event
from muster.machines.ids import is_person
from muster.machines.state import Team
from muster.machines.vocabulary import Answered
from muster.views.answers.agents import ApprovalList
from muster.views.answers.approvals import ApprovalDecision
from muster.views.channels import approvals_of


def view_approvals(team: Team) -> ApprovalList:
    """Every open request of a team."""
    found = (each for agent in team.agents.values() for each in approvals_of(team, agent))
    return ApprovalList(approvals=tuple(sorted(found, key=lambda each: (each.until, each.id))))


def view_decisions(
    team: Team, answers: Sequence[Event], requests: Mapping[str, ApprovalRequested]
) -> tuple[ApprovalDecision, ...]:
    """Answers in this order, each with its request."""
    return tuple(
        _decision(team, each, each.fact, requests[each.fact.approval])
        for each in answers
        if isinstance(each.fact, ApprovalAnswered) and each.fact.approval in requests
    )


def _decision(
    team: Team, event: Event, answer: ApprovalAnswered, asked: ApprovalRequested
) -> ApprovalDecision:
    by = event.actor.partition(":")[2] if is_person(event.actor) else ""
    return ApprovalDecision(
        id=answer.approval,
        agent=team.agent(answer.seat).id,
        tool=asked.tool,
        detail=asked.detail,
        at=event.ts,
        seq=event.seq,
        allow=answer.allow,
        how=answer.how,
        by=by if answer.how is Answered.PERSON else "",
        note=answer.note,
        scope=answer.scope,
    )
