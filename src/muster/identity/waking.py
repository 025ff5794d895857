"""SUMMON, WAKE and sleep, as commands of a person.

For agents that a lead runs, the lead gets one message with all that it needs: appearances of the
agents to create, souls and transcripts of the agents to wake. Agents that muster runs need no
message: their sessions start, and the prompt tells them. If the status of an agent is unknown, the
lead is asked first: it has a few seconds to report, and only unconfirmed agents are woken.
"""

import asyncio
from collections.abc import Sequence
from typing import Final
from xml.sax.saxutils import quoteattr

from muster.engine.dispatcher import Commit, Receipt
from muster.errors import NobodyToSummon
from muster.machines.commands import SendMessage, SummonAgents, WakeAgents
from muster.machines.events import AgentStatus
from muster.machines.ids import GRID_SEATS, SeatId
from muster.machines.state import Agent, Status, Team
from muster.machines.vocabulary import Authority, Placeholder
from muster.team import Muster
from muster.views.wake_payload import as_xml, wake_payload

SUMMON: Final = "[SUMMON AGENTS]"
WAKE: Final = "[WAKE AGENTS]"
WHO_IS_THERE: Final = (
    "[AGENT_STATUS?] Who of your team is there? Answer with one [AGENT_STATUS] line."
)

DIRECTIONS: Final = (SUMMON, WAKE, "[AGENT_STATUS?]", "[START AGENT:", "[STOP AGENT:")
"""Prefixes of muster's own messages to a lead; any other message comes from a person."""

ANSWER_SECONDS: Final = 5.0
"""Timeout of the lead's status report; afterwards unconfirmed agents are woken."""

PALETTE: Final = (
    Placeholder(grid_position=SeatId(0), color="#c9b1e8", gender="woman"),
    Placeholder(grid_position=SeatId(1), color="#f2a65a", gender="man"),
    Placeholder(grid_position=SeatId(2), color="#7cc6a4", gender="nonbinary"),
    Placeholder(grid_position=SeatId(3), color="#e58f9e", gender="woman"),
    Placeholder(grid_position=SeatId(5), color="#6fa8dc", gender="man"),
    Placeholder(grid_position=SeatId(6), color="#d9c36a", gender="woman"),
    Placeholder(grid_position=SeatId(7), color="#8fbf5f", gender="man"),
    Placeholder(grid_position=SeatId(8), color="#b58c6a", gender="nonbinary"),
)
"""The eight seats around the lead: appearance only, no identity."""

assert tuple(place.grid_position for place in PALETTE) == GRID_SEATS


async def summon(muster: Muster, actor: str, key: str | None = None) -> Receipt:
    """Reserve a seat for each agent and start their births: by the lead, or each on its own."""
    led = muster.team.lead is not None
    if not led and not muster.births.possible:
        raise NobodyToSummon()
    agents = muster.team.agents
    retired = {seat for seat in GRID_SEATS if seat in agents and agents[seat].retired}
    places = tuple(place for place in PALETTE if place.grid_position not in retired)
    command = SummonAgents(
        placeholders=places,
        authority=Authority.LEAD if led else Authority.MUSTER,
        long_lived=muster.births.live_on and not led,
        message=_birth_list(places) if led else "",
    )
    return await muster.dispatcher.send(command, actor=actor, key=key)


def _birth_list(places: Sequence[Placeholder]) -> str:
    seats = "\n".join(
        f"<seat position={quoteattr(str(place.grid_position))} color={quoteattr(place.color)} "
        f"gender={quoteattr(place.gender)}/>"
        for place in places
    )
    return f"{SUMMON}\n<seats>\n{seats}\n</seats>"


async def wake(
    muster: Muster, actor: str, key: str | None = None, seats: Sequence[SeatId] = ()
) -> Receipt:
    """Wake the agents in these seats, or all sleeping ones; skip those found to be alive."""
    asked = await _ask_lead(muster, actor, seats)
    chosen = tuple(seat for seat in seats if not asked or not _is_here(muster.team, seat))
    if (seats and not chosen) or (asked and not _sleepers(muster.team, chosen)):
        return Receipt(seq=muster.team.seq, events=())
    led = [agent for agent in _sleepers(muster.team, chosen) if agent.authority is Authority.LEAD]
    payloads = [as_xml(await wake_payload(muster.store, muster.team, agent)) for agent in led]
    message = "\n".join((WAKE, *payloads)) if payloads else ""
    command = WakeAgents(seats=chosen, message=message)
    return await muster.dispatcher.send(command, actor=actor, key=key)


def _is_here(team: Team, seat: SeatId) -> bool:
    agent = team.agents.get(seat)
    return agent is not None and team.shown_status(agent) is Status.ALIVE


def _sleepers(team: Team, seats: Sequence[SeatId]) -> list[Agent]:
    """The agents to wake, of these seats or of all: those not known to be alive."""
    agents = (team.agents[seat] for seat in sorted(team.agents))
    return [
        agent
        for agent in agents
        if (not seats or agent.seat in seats)
        and team.shown_status(agent) in (Status.SLEEPING, Status.UNKNOWN)
    ]


async def _ask_lead(muster: Muster, actor: str, seats: Sequence[SeatId]) -> bool:
    """Ask the lead for a status report if an agent's status is unknown; return whether asked."""
    unknown = [
        agent
        for agent in _sleepers(muster.team, seats)
        if agent.authority is Authority.LEAD and agent.status is Status.ALIVE
    ]
    lead = muster.team.lead
    if not unknown or lead is None or not lead.present:
        return False
    reported = asyncio.Event()

    def note(commit: Commit) -> None:
        if any(isinstance(event.fact, AgentStatus) for event in commit.events):
            reported.set()

    muster.dispatcher.watch(note)
    ask = SendMessage(text=WHO_IS_THERE, speaker_name=muster.team.human)
    await muster.dispatcher.send(ask, actor=actor)
    timer = muster.clock.call_later(ANSWER_SECONDS, reported.set)
    try:
        await reported.wait()
    finally:
        timer.cancel()
        muster.dispatcher.unwatch(note)
    return True
