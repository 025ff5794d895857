"""The orders that an event gives for processes. Pure: `reactor.py` carries them out.

Only a session that this muster process requested is started, stopped or interrupted. At boot, every
session of an earlier muster process is reclaimed, whether or not its program was ever started.
"""

from collections.abc import Sequence

import msgspec

from muster.machines.events import (
    Event,
    InterruptRequested,
    KillRequested,
    MusterStarted,
    SessionRequested,
    SilenceNoticed,
    StopRequested,
    WorkInterrupted,
)
from muster.machines.ids import ChannelId, ConversationId, SeatId, SessionId
from muster.machines.state import Phase, Session, Team
from muster.machines.vocabulary import OnSilence, RunMode, Urgency

TYPES = frozenset(
    str(fact.__struct_config__.tag)
    for fact in (
        MusterStarted,
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


class Reclaim(Order, frozen=True, kw_only=True):
    """Kill leftover processes of the session, and report it as lost."""

    pid: int | None
    started: str | None
    task: ConversationId | None = None


def orders(event: Event, team: Team) -> Sequence[Order]:
    """The orders of this event, given the current state of the team."""
    match event.fact:
        case MusterStarted():
            return _reclaims(team)
        case SessionRequested(session=session, seat=seat, mode=mode, task=task):
            live = _live(team, session)
            starting = live is not None and live.phase is Phase.STARTING
            return (Spawn(session=session, seat=seat, mode=mode, task=task),) if starting else ()
        case StopRequested(session=session, seat=seat, urgency=urgency):
            stop = Stop(session=session, seat=seat, urgency=urgency)
            return (stop,) if _live(team, session) else ()
        case (
            InterruptRequested(session=session, seat=seat, channel=channel)
            | WorkInterrupted(session=session, seat=seat, channel=channel)
        ) if channel is not None:
            interrupt = Interrupt(session=session, seat=seat, channel=channel)
            return (interrupt,) if _live(team, session) else ()
        case (
            SilenceNoticed(session=session, seat=seat, action=OnSilence.INTERRUPT)
            | WorkInterrupted(session=session, seat=seat, channel=None)
        ):
            interrupt = Interrupt(session=session, seat=seat, channel=None)
            return (interrupt,) if _live(team, session) else ()
        case KillRequested(session=session, seat=seat):
            return (Kill(session=session, seat=seat),) if _live(team, session) else ()
        case _:
            return ()


def _live(team: Team, session: SessionId) -> Session | None:
    """The session, if it has not ended and this muster process requested it."""
    found = team.sessions.get(session)
    return found if found is not None and found.boot == team.boot else None


def _reclaims(team: Team) -> Sequence[Reclaim]:
    left = (session for session in team.sessions.values() if session.boot != team.boot)
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
