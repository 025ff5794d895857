"""Approvals: tool calls that wait for a person's permission."""

from muster.machines.state import Team
from muster.views.answers.agents import ApprovalList
from muster.views.channels import approvals_of


def view_approvals(team: Team) -> ApprovalList:
    """Every open request of a team."""
    found = (each for agent in team.agents.values() for each in approvals_of(team, agent))
    return ApprovalList(approvals=tuple(sorted(found, key=lambda each: (each.until, each.id))))
