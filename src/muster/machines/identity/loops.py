"""Agents with a loop of their own, which follows a state file: the evidence that they live.

muster does not see the process of such a loop. All that it sees is the file: a write of the loop
confirms it, and a loop that has not written for `LOOP_SILENT_SECONDS` is unknown until it writes
again. It is not put to sleep: a long session writes nothing either.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from msgspec.structs import replace

from muster.limits import LOOP_EVIDENCE_SECONDS, LOOP_SILENT_SECONDS
from muster.machines import events as e
from muster.machines.events import Event, Fact
from muster.machines.state import Agent, Evidence, Status, Team
from muster.machines.vocabulary import Authority

WRITTEN: Final = "file"
"""The kind of evidence of a loop."""


def unknown_at(team: Team, agent: Agent) -> datetime | None:
    """The time at which a confirmed loop is unknown, unless it writes its file before."""
    confirmed = team.shown_status(agent) is Status.ALIVE
    if agent.authority is not Authority.FILE or not confirmed or agent.evidence is None:
        return None
    return agent.evidence.at + timedelta(seconds=LOOP_SILENT_SECONDS)


def renew_evidence(team: Team, agent: Agent, now: datetime) -> Iterator[Fact]:
    """Note a write of a loop that is confirmed, unless one was noted a moment ago."""
    until = unknown_at(team, agent)
    if until is None:
        return
    age = LOOP_SILENT_SECONDS - (until - now).total_seconds()
    if age >= LOOP_EVIDENCE_SECONDS:
        yield e.AgentConfirmed(seat=agent.seat, evidence=WRITTEN)


def expire_evidence(team: Team, agent: Agent, now: datetime) -> Iterator[Fact]:
    """Count a loop as unknown whose last write is too old."""
    until = unknown_at(team, agent)
    if until is not None and until <= now:
        yield e.EvidenceExpired(seat=agent.seat, seconds=LOOP_SILENT_SECONDS)


def reported(team: Team, agent: Agent, event: Event) -> Agent:
    """A loop that reports another run state has written its file."""
    if unknown_at(team, agent) is None:
        return agent
    seen = Evidence(kind=WRITTEN, at=event.ts, seq=event.seq)
    return replace(agent, evidence=seen, last_alive_at=event.ts)
