"""Events of a team as log records of OpenTelemetry."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Final

import msgspec

from muster.machines import events as e
from muster.machines.events import Event
from muster.machines.kernel.sentences import sentence
from muster.machines.state import Team
from muster.machines.vocabulary import FAILURES
from muster.telemetry.spans import TEXT_CHARS_MAX, Value, agent_attributes

LEFT_OUT: Final = (e.AgentOutput, e.TurnRenewed)
"""Facts that come with every line of a program, and say nothing of the team."""

NAMED: Final = ("channel", "conversation", "session", "outcome", "trigger", "code")
"""Fields of facts that become attributes: names and numbers, no words of people or agents."""


class Severity(StrEnum):
    """The severity of a record."""

    INFO = "INFO"
    WARN = "WARN"
    ERROR = "ERROR"


class EventRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A log record for an event."""

    at: datetime
    name: str
    severity: Severity
    body: str
    attributes: Mapping[str, Value]


def event_record(event: Event, team: Team, *, content: bool) -> EventRecord | None:
    """The record of an event, with its sentence if `content`; none for one that is left out."""
    if isinstance(event.fact, LEFT_OUT):
        return None
    return EventRecord(
        at=event.ts,
        name=f"muster.{event.type}",
        severity=_severity(event.fact),
        body=sentence(event, team)[:TEXT_CHARS_MAX] if content else event.type,
        attributes={"muster.seq": event.seq, "muster.actor": event.actor}
        | _about(event.fact, team),
    )


def _about(fact: e.Fact, team: Team) -> dict[str, Value]:
    found = {name: getattr(fact, name, None) for name in NAMED}
    about: dict[str, Value] = {f"muster.{name}": value for name, value in found.items() if value}
    return about | agent_attributes(team, getattr(fact, "seat", None))


def _severity(fact: e.Fact) -> Severity:
    match fact:
        case e.SessionEnd(outcome=outcome) if outcome in FAILURES:
            return Severity.ERROR
        case e.WarningLogged() | e.CommandRefused() | e.Conflict() | e.PermissionDenied():
            return Severity.WARN
        case _:
            return Severity.INFO
