"""SUMMON, WAKE, start and sleep, as commands of a person.

For agents that a lead runs, the lead gets all that it needs: appearances of the agents to create,
souls and transcripts of the agents to wake. Agents that muster runs need no message: their sessions
start, and the prompt tells them. If the status of an agent is unknown, the lead is asked first: it
has a few seconds to report, and only unconfirmed agents are woken.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final
from xml.sax.saxutils import quoteattr

from msgspec.structs import replace

from muster import limits
from muster.engine.dispatcher import Commit, Receipt
from muster.errors import NobodyToSummon
from muster.machines.commands import SendMessage, SetDesired, SummonAgents, WakeAgents
from muster.machines.documents import WakeText
from muster.machines.events import AgentStatus
from muster.machines.identity.palette import appearance
from muster.machines.identity.places import in_free_seat, occupant
from muster.machines.identity.wake_orders import WAKE
from muster.machines.ids import MUSTER, SeatId
from muster.machines.state import Agent, Status, Team
from muster.machines.vocabulary import Authority, Placeholder, RunMode
from muster.team import Muster
from muster.views.memory.wake_payload import wake_text

SUMMON: Final = "[SUMMON AGENTS]"
WHO_IS_THERE: Final = (
    "[AGENT_STATUS?] Who of your team is there? Answer with one [AGENT_STATUS] line."
)

DIRECTIONS: Final = (
    *(SUMMON, WAKE, "[AGENT_STATUS?]"),
    *("[START AGENT:", "[STOP AGENT:", "[AGENT ENDED:", "[AGENT RENAMED:"),
)
"""Prefixes of muster's own messages to a lead; any other message comes from a person."""

ANSWER_SECONDS: Final = 5.0
"""Timeout of the lead's status report; afterwards unconfirmed agents are woken."""


# ── summon ────────────────────────────────────────────────────────────────────────────────────────


async def summon(
    muster: Muster, actor: str, key: str | None = None, seats: Sequence[SeatId] = ()
) -> Receipt:
    """Reserve a seat for each agent and start their births: by the lead, or each on its own.

    Named seats are filled beside the agents that are there; each must be free.
    """
    led = muster.team.lead is not None
    if not muster.can_summon:
        raise NobodyToSummon()
    places = _places(muster, seats)
    command = SummonAgents(
        placeholders=places,
        authority=Authority.LEAD if led else Authority.MUSTER,
        long_lived=muster.births.live_on and not led,
        more=bool(seats),
        message=_birth_list(places) if led else "",
    )
    return await muster.dispatcher.send(command, actor=actor, key=key)


def _places(muster: Muster, seats: Sequence[SeatId]) -> tuple[Placeholder, ...]:
    """The named seats with their looks; or every place of the plan that no agent has."""
    team = muster.team
    plan = {place.grid_position: place for place in muster.births.places}
    free = (place for place in plan if occupant(team, place) is None)
    return tuple(_looks(team, plan, seat) for seat in (seats or free))


def _looks(team: Team, plan: Mapping[SeatId, Placeholder], seat: SeatId) -> Placeholder:
    """A seat as it is prepared. That of a successor has the looks of its place."""
    known = team.agents.get(seat)
    place = seat if known is None else known.place
    return in_free_seat(team, plan.get(place) or appearance(place))


def _birth_list(places: Sequence[Placeholder]) -> str:
    seats = "\n".join(f"<seat {_seat_attributes(place)}/>" for place in places)
    return f"{SUMMON}\n<seats>\n{seats}\n</seats>"


def _seat_attributes(place: Placeholder) -> str:
    known = (
        ("position", str(place.grid_position)),
        ("color", place.color),
        ("gender", place.gender),
        ("name", place.name),
        ("role", place.role),
    )
    return " ".join(f"{name}={quoteattr(value)}" for name, value in known if value)


# ── wake ──────────────────────────────────────────────────────────────────────────────────────────


async def wake(
    muster: Muster,
    actor: str,
    key: str | None = None,
    seats: Sequence[SeatId] = (),
    *,
    spares_stopped: bool = False,
) -> Receipt:
    """Wake the agents in these seats, or all sleeping ones; skip those found to be alive."""
    asked = await _ask_lead(muster, actor, seats)
    chosen = tuple(seat for seat in seats if not asked or not _is_here(muster.team, seat))
    if (seats and not chosen) or (asked and not _sleepers(muster.team, chosen)):
        return Receipt(seq=muster.team.seq, events=())
    led = [agent for agent in _sleepers(muster.team, chosen) if agent.authority is Authority.LEAD]
    hosted = muster.births.hosted
    payloads = () if hosted else await _payloads(muster, led)
    command = WakeAgents(
        seats=chosen, payloads=payloads, hosted=hosted, spares_stopped=spares_stopped
    )
    return await muster.dispatcher.send(command, actor=actor, key=key)


async def with_memory(muster: Muster, wish: SetDesired, actor: str) -> SetDesired:
    """A start or stop. A start of an agent that its lead runs has its memory, as with WAKE."""
    agent = muster.team.agent(wish.seat)
    led = agent.authority is Authority.LEAD and agent.status is Status.SLEEPING
    if not led or wish.desired is RunMode.PAUSE:
        return wish
    if muster.births.hosted:  # taken over into a session of its own, which the wish then starts
        takeover = WakeAgents(seats=(wish.seat,), hosted=True)
        await muster.dispatcher.send(takeover, actor=actor)
        return wish
    (payload,) = await _payloads(muster, [agent])
    return replace(wish, memory=payload.text, handed=payload.handed)


async def _payloads(muster: Muster, agents: Sequence[Agent]) -> tuple[WakeText, ...]:
    """The memories of agents that a lead wakes; all transcripts together have a limit."""
    share = limits.WAKE_BYTES_MAX // max(1, len(agents))
    room = min(limits.TRANSCRIPT_BYTES_MAX, share)
    store, team, handover = muster.store, muster.team, muster.prompter.handover
    return tuple([await wake_text(store, team, agent, room, handover(agent)) for agent in agents])


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
    ask = SendMessage(text=WHO_IS_THERE, speaker_name=MUSTER)
    await muster.dispatcher.send(ask, actor=actor)
    timer = muster.clock.call_later(ANSWER_SECONDS, reported.set)
    try:
        await reported.wait()
    finally:
        timer.cancel()
        muster.dispatcher.unwatch(note)
    return True
