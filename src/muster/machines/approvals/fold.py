"""The fold of requests for approval: they stand in the state until they are answered."""

from msgspec.structs import replace

from muster.machines import events as e
from muster.machines.events import Event
from muster.machines.maps import put
from muster.machines.state import Agent, Approval, Team


def approval_requested(team: Team, event: Event, fact: e.ApprovalRequested) -> Team:
    agent = team.agents[fact.seat]
    approval = Approval(
        id=fact.approval,
        session=fact.session,
        tool=fact.tool,
        detail=fact.detail,
        since=event.ts,
        until=fact.until,
        by=fact.by,
        default=fact.default,
        rules=fact.rules,
        folder=fact.folder,
        effects=fact.effects,
        change=fact.change,
    )
    return _with(team, replace(agent, approvals=(*agent.approvals, approval)))


def approval_answered(team: Team, event: Event, fact: e.ApprovalAnswered) -> Team:
    agent = team.agents[fact.seat]
    left = tuple(each for each in agent.approvals if each.id != fact.approval)
    return _with(team, replace(agent, approvals=left))


def _with(team: Team, agent: Agent) -> Team:
    return replace(team, agents=put(team.agents, agent.seat, agent))
