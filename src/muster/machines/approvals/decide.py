"""Approvals: actions of an agent that a person must allow.

A request is settled once: by a person, by its default at the deadline, or by the end of the session
that made it. An agent that connects by itself has no session: its requests end when it leaves.
While a request is open its agent is WAITING, and the timeouts of its turns are suspended.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime

from msgspec.structs import replace

from muster.errors import (
    Invalid,
    NoSession,
    NotFound,
    TooManyApprovals,
    UnknownSession,
    WrongState,
)
from muster.limits import APPROVALS_OPEN_MAX
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.actors import refuse_agent
from muster.machines.events import Fact
from muster.machines.state import Agent, Approval, Team
from muster.machines.turns.messages import check_text
from muster.machines.turns.table import check_seconds, seconds
from muster.machines.vocabulary import Answered, ApprovalScope, Authority

# ── deciding ──────────────────────────────────────────────────────────────────────────────────────


def request_approval(team: Team, command: c.RequestApproval, now: datetime) -> Sequence[Fact]:
    agent = _asking(team, command)
    check_seconds("seconds", command.seconds)
    check_text(command.detail)
    requested = e.ApprovalRequested(
        approval=str(team.seq + 1),
        seat=agent.seat,
        session=command.session,
        tool=command.tool,
        detail=command.detail,
        by=command.by,
        until=now + seconds(command.seconds),
        default=command.default,
        rules=command.rules,
        folder=command.folder,
        effects=command.effects,
        change=command.change,
    )
    return (requested,)


def _asking(team: Team, command: c.RequestApproval) -> Agent:
    """The agent that asks: that of the session, or one that is here without any."""
    if command.session is not None:
        session = team.sessions.get(command.session)
        if session is None:
            raise UnknownSession(session=command.session)
        agent = team.agents[session.seats[0]]
    else:
        if command.seat is None:
            raise Invalid(what="seat", why="must be given where no session asks")
        agent = team.agent(command.seat)
        if agent.authority is not Authority.SELF:
            raise NoSession(name=agent.id, human=team.human)
        if not agent.present:
            raise WrongState(act="request an approval for", name=agent.id, state="not connected")
    if len(agent.approvals) >= APPROVALS_OPEN_MAX:
        raise TooManyApprovals(name=agent.id, limit=APPROVALS_OPEN_MAX)
    return agent


def answer_approval(team: Team, command: c.AnswerApproval, now: datetime) -> Sequence[Fact]:
    agent, approval = open_approval(team, command.approval)
    if command.scope is not ApprovalScope.ONCE:
        _check_scope(agent, approval, allow=command.allow)
    answered = _answered(agent, approval, Answered.PERSON, allow=command.allow, note=command.note)
    return (replace(answered, scope=command.scope),)


def _check_scope(agent: Agent, approval: Approval, *, allow: bool) -> None:
    """Only a permission reaches further than once, and only if it has rules for that."""
    if not allow:
        raise Invalid(what="scope", why="is for permissions: a request is denied once")
    if not approval.rules:
        why = f"must be once: the program of {agent.id} offers no rule for {approval.tool}"
        raise Invalid(what="scope", why=why)


def check_answer(team: Team, command: c.AnswerApproval, actor: str) -> None:
    """Only people answer approvals."""
    refuse_agent(actor, "answer an approval")


def withdraw_approvals(team: Team, command: c.WithdrawApprovals, now: datetime) -> Iterator[Fact]:
    agent = team.agent(command.seat)
    for approval in agent.approvals:
        if approval.session == command.session:
            yield _answered(agent, approval, Answered.SESSION_END, allow=False)


def check_approvals(team: Team, command: c.CheckApprovals, now: datetime) -> Iterator[Fact]:
    agent = team.agent(command.seat)
    for approval in agent.approvals:
        if approval.until <= now:
            yield _answered(agent, approval, Answered.DEADLINE, allow=approval.default)


def open_approval(team: Team, approval: str) -> tuple[Agent, Approval]:
    """An open request for approval and the agent that made it."""
    for agent in team.agents.values():
        for each in agent.approvals:
            if each.id == approval:
                return agent, each
    raise NotFound(kind="open request for approval", name=approval)


def _answered(
    agent: Agent, approval: Approval, how: Answered, *, allow: bool, note: str = ""
) -> e.ApprovalAnswered:
    return e.ApprovalAnswered(
        approval=approval.id, seat=agent.seat, allow=allow, how=how, note=note
    )
