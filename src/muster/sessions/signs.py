"""Signs that a session works, and the commands that record its tool calls and its plan."""

from muster.engine import ports
from muster.machines import commands as c
from muster.machines.ids import SessionId

SignOfWork = (
    ports.Working
    | ports.SessionActivity
    | ports.SessionPlan
    | ports.PromptAccepted
    | ports.Spending
)


def work_report(session: SessionId, said: ports.SessionActivity | ports.SessionPlan) -> c.Command:
    """The command that records what a session does, or plans to do."""
    if isinstance(said, ports.SessionPlan):
        return c.ReportPlan(session=session, steps=said.steps)
    return c.ReportActivity(
        session=session,
        kind=said.kind,
        name=said.name,
        text=said.text,
        ref=said.ref,
        by=said.by,
    )
