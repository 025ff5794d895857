"""Approvals as they are shown and answered: what agents may do only if a person allows it."""

from muster.machines.state import Team
from muster.views.channels import ApprovalView, View, approvals_of


class ApprovalList(View, frozen=True, kw_only=True):
    """Every request that nobody has answered yet, the one that is due first at the top."""

    approvals: tuple[ApprovalView, ...]


class Settled(View, frozen=True, kw_only=True):
    """A request that a person has answered."""

    seq: int
    """Where the answer stands in the log."""

    id: str
    agent: str
    tool: str
    allow: bool


def view_approvals(team: Team) -> ApprovalList:
    """Every open request of a team."""
    found = (each for agent in team.agents.values() for each in approvals_of(agent))
    return ApprovalList(approvals=tuple(sorted(found, key=lambda each: (each.until, each.id))))
