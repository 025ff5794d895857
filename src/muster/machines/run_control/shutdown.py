"""The shutdown of muster itself: first a drain, then a stop now, then the last event.

A drain closes the gate for every start and asks each session to finish; at its deadline, or when a
person asks for it, the sessions that still run are stopped now. What the end of such a session
means for a one-shot is decided where sessions end (`ending.report_session_ended`): it is not done,
and still wanted at the next start.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta

from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.events import Fact
from muster.machines.run_control.gate import require_not_stopping
from muster.machines.run_control.live import stop_one
from muster.machines.state import Node, Team
from muster.machines.vocabulary import Urgency


def stop_muster(team: Team, command: c.StopMuster, now: datetime) -> Iterator[Fact]:
    """Drain, or stop now. Repeating it is harmless, and a stop now overrides a drain."""
    drain = command.drain_seconds > 0
    urgency = Urgency.GRACEFUL if drain else Urgency.NOW
    node = _node(team, command)
    if node is None or (node.shutdown and node.shutdown.urgency in (urgency, Urgency.NOW)):
        return
    until = now + timedelta(seconds=command.drain_seconds) if drain else None
    yield from _stopping(team, node, command.reason, urgency, until)


def check_shutdown(team: Team, command: c.CheckShutdown, now: datetime) -> Iterator[Fact]:
    node = team.nodes.get(command.node)
    shutdown = None if node is None else node.shutdown
    if node and shutdown and shutdown.until is not None and shutdown.until <= now:
        seconds = (shutdown.until - shutdown.since).total_seconds()
        reason = f"sessions had {seconds:g} s to finish"
        yield from _stopping(team, node, reason, Urgency.NOW, None)


def end_muster(team: Team, command: c.EndMuster, now: datetime) -> Iterator[Fact]:
    if _node(team, command) is not None:
        yield e.MusterStopped(reason=command.reason, node=command.node)


def _node(team: Team, command: c.StopMuster | c.EndMuster) -> Node | None:
    """The node that is to stop; None if it has left, or if another life has its name now."""
    node = team.nodes.get(command.node)
    return None if node is None or command.life not in (None, node.life) else node


def check_may_start(team: Team, command: c.SummonAgents | c.WakeAgents, actor: str) -> None:
    """Refuse to summon and to wake while muster is shutting down."""
    require_not_stopping(team)


def _stopping(
    team: Team, node: Node, reason: str, urgency: Urgency, until: datetime | None
) -> Iterator[Fact]:
    yield e.MusterStopping(reason=reason, urgency=urgency, until=until, node=node.name)
    for name in sorted(team.sessions):
        session = team.sessions[name]
        if session.boot == node.life:  # others are being reclaimed, or run elsewhere
            yield from stop_one(session, urgency, "muster is stopping")
