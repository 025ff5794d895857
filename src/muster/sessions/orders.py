"""What an event calls for in the world of processes. Pure: `sessions.py` carries it out.

Only a session of this life of muster is started, stopped or interrupted. Whatever an earlier life
has left behind is reclaimed at boot, whether or not anybody ever started it.
"""

from collections.abc import Sequence

import msgspec

from muster.machines.events import (
    Event,
    InterruptRequested,
    KillRequested,
    MusterStarted,
    SessionRequested,
    StopRequested,
)
from muster.machines.ids import ChannelId, ConversationId, SeatId, SessionId
from muster.machines.state import Phase, Session, Team
from muster.machines.vocabulary import RunMode, Urgency

TYPES = frozenset(
    str(fact.__struct_config__.tag)
    for fact in (MusterStarted, SessionRequested, StopRequested, InterruptRequested, KillRequested)
)
"""The events that call for anything."""


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """Something to be done about a session. Doing it twice is the same as doing it once."""

    session: SessionId
    seat: SeatId


class Spawn(Order, frozen=True, kw_only=True):
    """Start it, unless that has been done."""

    mode: RunMode
    task: ConversationId | None = None


class Stop(Order, frozen=True, kw_only=True):
    """Have it end. One that was never started has ended."""

    urgency: Urgency


class Interrupt(Order, frozen=True, kw_only=True):
    """Stop its work on a turn, and say when it has stopped."""

    channel: ChannelId


class Kill(Order, frozen=True, kw_only=True):
    """End it without asking."""


class Reclaim(Order, frozen=True, kw_only=True):
    """Make sure that nothing is left of it, and say that it is lost."""

    pid: int | None
    started: str | None
    task: ConversationId | None = None


def orders(event: Event, team: Team) -> Sequence[Order]:
    """What this event calls for, as things stand by now."""
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
        case InterruptRequested(session=session, seat=seat, channel=channel):
            interrupt = Interrupt(session=session, seat=seat, channel=channel)
            return (interrupt,) if _live(team, session) else ()
        case KillRequested(session=session, seat=seat):
            return (Kill(session=session, seat=seat),) if _live(team, session) else ()
        case _:
            return ()


def _live(team: Team, session: SessionId) -> Session | None:
    """A session that has not ended and that this life of muster asked for."""
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
