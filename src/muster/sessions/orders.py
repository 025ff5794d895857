"""The orders that an event gives for processes. Pure: `reactor.py` carries them out.

Only a session that is placed on this machine in this life of muster is started, stopped or
interrupted. At boot, every session of an earlier life on this machine is reclaimed, whether or not
its program was ever started. A session that the log has ended without a report of this machine,
because the machine was given up as lost, is killed.
"""

from collections.abc import Sequence

import msgspec

from muster.machines.events import (
    Event,
    InterruptRequested,
    KillRequested,
    MusterStarted,
    SessionEnd,
    SessionRequested,
    SilenceNoticed,
    StopRequested,
    WorkInterrupted,
)
from muster.machines.ids import ChannelId, ConversationId, NodeId, SeatId, SessionId
from muster.machines.state import Phase, Session, Team
from muster.machines.vocabulary import OnSilence, RunMode, Urgency

TYPES = frozenset(
    str(fact.__struct_config__.tag)
    for fact in (
        MusterStarted,
        SessionEnd,
        SessionRequested,
        StopRequested,
        InterruptRequested,
        KillRequested,
        SilenceNoticed,
        WorkInterrupted,
    )
)
"""The types of events that give orders."""


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """An action on a session. Every order is idempotent."""

    session: SessionId
    seat: SeatId


class Spawn(Order, frozen=True, kw_only=True):
    """Start the session, unless it was started."""

    mode: RunMode
    task: ConversationId | None = None


class Stop(Order, frozen=True, kw_only=True):
    """Stop the session; one that was never started counts as ended."""

    urgency: Urgency


class Interrupt(Order, frozen=True, kw_only=True):
    """Interrupt the work, and report when the work on a lost or held turn has stopped."""

    channel: ChannelId | None
    """Where the work on a turn stops; none where silence or a person's Esc is the reason."""


class Kill(Order, frozen=True, kw_only=True):
    """Kill the session's processes."""


class Abandon(Order, frozen=True, kw_only=True):
    """Kill the processes of a session that has ended in the log, if there are any."""


class Reclaim(Order, frozen=True, kw_only=True):
    """Kill leftover processes of the session, and report it as lost."""

    pid: int | None
    started: str | None
    task: ConversationId | None = None


def orders(event: Event, team: Team, life: SessionId) -> Sequence[Order]:
    """The orders of this event for a life of muster, given the current state of the team."""
    match event.fact:
        case MusterStarted(server_session=started, node=node):
            return _reclaims(team, node, life) if started == life else ()
        case SessionEnd(session=session, seats=seats):
            is_ours = session.startswith(f"{life}-")
            return (Abandon(session=session, seat=seats[0]),) if is_ours else ()
        case SessionRequested(session=session, seat=seat, mode=mode, task=task):
            live = _live(team, session, life)
            starting = live is not None and live.phase is Phase.STARTING
            return (Spawn(session=session, seat=seat, mode=mode, task=task),) if starting else ()
        case StopRequested(session=session, seat=seat, urgency=urgency):
            stop = Stop(session=session, seat=seat, urgency=urgency)
            return (stop,) if _live(team, session, life) else ()
        case (
            InterruptRequested(session=session, seat=seat, channel=channel)
            | WorkInterrupted(session=session, seat=seat, channel=channel)
        ) if channel is not None:
            interrupt = Interrupt(session=session, seat=seat, channel=channel)
            return (interrupt,) if _live(team, session, life) else ()
        case (
            SilenceNoticed(session=session, seat=seat, action=OnSilence.INTERRUPT)
            | WorkInterrupted(session=session, seat=seat, channel=None)
        ):
            interrupt = Interrupt(session=session, seat=seat, channel=None)
            return (interrupt,) if _live(team, session, life) else ()
        case KillRequested(session=session, seat=seat):
            return (Kill(session=session, seat=seat),) if _live(team, session, life) else ()
        case _:
            return ()


def _live(team: Team, session: SessionId, life: SessionId) -> Session | None:
    """The session, if it has not ended and is placed in this life."""
    found = team.sessions.get(session)
    return found if found is not None and found.boot == life else None


def _reclaims(team: Team, node: NodeId, life: SessionId) -> Sequence[Reclaim]:
    here = (session for session in team.sessions.values() if session.node == node)
    left = (session for session in here if session.boot != life)
    return tuple(
        Reclaim(
            session=each.id,
            seat=each.seats[0],
            pid=each.pid,
            started=each.started,
            task=each.task,
        )
        for each in sorted(left, key=lambda session: session.id)
    )
