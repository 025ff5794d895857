"""Identity: who is it, and is it here. The process ends, the seat and the soul stay.

Two paths lead to alive: birth (a hatching seat registers a name and a soul, once) and waking (the
process of a sleeping agent is up, or its authority reports it). The authority depends on the agent:
the lead for an agent that the lead runs, the process for one that muster runs, the connection for
one that connects on its own. A report from any other source is logged and changes nothing.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta

from msgspec.structs import replace

from muster import limits
from muster.errors import (
    AgentElsewhere,
    AlreadySummoned,
    Disabled,
    Invalid,
    NoFreeSeat,
    NotTheAuthority,
    SeatTaken,
    WrongState,
)
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.bounds import check_looks, check_placeholder, check_profile
from muster.machines.events import Fact
from muster.machines.identity.crew import is_shown, is_summoned
from muster.machines.identity.loops import WRITTEN, expire_evidence, renew_evidence
from muster.machines.identity.membership import stop_dismissed
from muster.machines.identity.places import free_seat, in_free_seat, occupant
from muster.machines.identity.retiring import check_not_retired
from muster.machines.ids import (
    LEAD_SEAT,
    SeatId,
    SessionId,
    document_id,
    name_key,
)
from muster.machines.names import check_agent_name, check_looks_new, check_seat
from muster.machines.state import Agent, Status, Team
from muster.machines.tables import Row, Table
from muster.machines.turns.messages import message_to_lead, read_upto
from muster.machines.vocabulary import Authority, Machine, Placeholder, Profile, RunMode

NONE, HATCHING, ALIVE, SLEEPING, EXPIRED, _ = Status

TABLE: Table[None] = Table(
    Row(NONE, HATCHING, "summoned", "prepare a seat: colour and gender, no name"),
    Row(EXPIRED, HATCHING, "summoned", "prepare the seat again"),
    Row(HATCHING, ALIVE, "registered", "a name is chosen, the soul is created"),
    Row(NONE, ALIVE, "registered", "registered in a seat that was not prepared"),
    Row(EXPIRED, ALIVE, "registered", "a late registration counts"),
    Row(HATCHING, EXPIRED, "hatching_timeout", "no name in five minutes: hide it, keep the record"),
    Row(HATCHING, EXPIRED, "birth_failed", "its session has ended without a name"),
    Row(HATCHING, SLEEPING, "born", "registered by its lead; muster starts a session of its own"),
    Row(NONE, SLEEPING, "born", "registered by its lead in a seat that was not prepared"),
    Row(EXPIRED, SLEEPING, "born", "a late registration by its lead counts"),
    Row(NONE, SLEEPING, "enrolled", "a seat for an agent with a known name"),
    Row(SLEEPING, ALIVE, "woken", "its process is up: soul and transcript are inherited"),
    Row(SLEEPING, ALIVE, "reported_alive", "its lead reports it in the team"),
    Row(SLEEPING, ALIVE, "connected", "it connected on its own"),
    Row(SLEEPING, ALIVE, "registered", "registered again by its lead; the first soul stays"),
    Row(ALIVE, SLEEPING, "session_end", "the process has exited, the soul stays"),
    Row(ALIVE, SLEEPING, "not_reported", "its lead no longer reports it in the team"),
    Row(ALIVE, SLEEPING, "disconnected", "it disconnected"),
    Row(ALIVE, SLEEPING, "heartbeat_lost", "its heartbeat timed out"),
)


# ── deciding ──────────────────────────────────────────────────────────────────────────────────────


def summon_agents(team: Team, command: c.SummonAgents, now: datetime) -> Iterator[Fact]:
    crew = [agent.id for agent in _without_lead(team) if is_summoned(agent) and is_shown(agent)]
    if crew and not command.more:
        raise AlreadySummoned(names=", ".join(crew))
    seats = [placeholder.grid_position for placeholder in command.placeholders]
    if not seats:
        raise NoFreeSeat()
    if len(set(seats)) < len(seats) or LEAD_SEAT in seats:
        raise Invalid(what="placeholders", why="must name different seats, not the lead's")
    for placeholder in command.placeholders:
        _check_free(team, placeholder, command.authority)
    yield e.AgentsSummoned(
        authority=command.authority,
        placeholders=command.placeholders,
        long_lived=command.long_lived,
    )
    until = now + timedelta(seconds=limits.HATCHING_SECONDS)
    for seat in seats:
        yield move(team.agents.get(seat) or Agent(seat=seat), "summoned", until=until)
    yield from _tell_lead(team, command.message)


def _check_free(team: Team, place: Placeholder, authority: Authority) -> None:
    """Refuse to prepare a seat that has an agent, or with looks and a name out of bounds.

    A birth that failed may have left a session, which only the authority that runs it can end.
    """
    seat = place.grid_position
    check_seat(seat)
    check_not_retired(team, seat)
    check_placeholder(place)
    if place.name:
        check_agent_name(team, place.name, seat)
    agent = team.agents.get(seat)
    there = occupant(team, seat if place.place is None else place.place)
    if there is not None:
        raise SeatTaken(seat=there.seat, name=there.id, status=there.status)
    if in_free_seat(team, place) != place:
        raise Invalid(what=f"seat {seat}", why="is not the next one at its place; summon again")
    if agent is not None and agent.session and agent.authority is not authority:
        raise WrongState(act="summon", name=agent.id, state="still in a session; stop it first")


def _tell_lead(team: Team, text: str) -> Iterator[Fact]:
    """A message to the lead, unless the text is empty."""
    if text:
        yield message_to_lead(team, text)


def enroll_agent(team: Team, command: c.EnrollAgent, now: datetime) -> Iterator[Fact]:
    check_agent_name(team, command.name)
    if command.authority is Authority.SELF:
        check_looks_new(team, command.name)
    seat = free_seat(team) if command.seat is None else command.seat
    check_seat(seat)
    found = team.agents.get(seat)
    if found is not None:
        status = "retired" if found.retired else found.status
        raise SeatTaken(seat=seat, name=found.id, status=status)
    if not 1 <= command.max_turns <= limits.MAX_TURNS_MAX:
        raise Invalid(what="max_turns", why=f"must be 1 to {limits.MAX_TURNS_MAX}")
    check_looks(f"the agent {command.name!r}", command.color)
    profile = e.Profile(name=command.name, grid_position=seat, color=command.color, created_at=now)
    yield e.AgentEnrolled(
        agent=profile,
        authority=command.authority,
        long_lived=command.long_lived,
        max_turns=command.max_turns,
        on_call=command.on_call,
        unasked=command.unasked,
        formerly=command.formerly,
    )
    yield move(Agent(seat=seat, name=command.name), "enrolled")


def configure_agent(team: Team, command: c.ConfigureAgent, now: datetime) -> Iterator[Fact]:
    agent = team.agent(command.seat)
    run = agent.run
    if agent.node is not None and command.node not in (None, agent.node):
        if run.policy.moves and command.policy.moves:
            return  # the node that it belongs to says how it is run
        raise AgentElsewhere(name=agent.id, node=agent.node, other=command.node or "")
    now_so = (
        agent.authority,
        run.long_lived,
        agent.max_turns,
        run.budget,
        agent.unasked,
        run.policy,
        agent.noted,
        agent.node,
    )
    formerly = agent.noted if command.formerly is None else command.formerly
    asked = (
        command.authority,
        command.long_lived,
        command.max_turns,
        command.budget,
        command.unasked,
        command.policy,
        formerly,
        command.node or agent.node,
    )
    if asked == now_so and not run.on_call:
        return
    here = agent.status is ALIVE or agent.session is not None or agent.tasks
    if command.authority is not agent.authority and here:
        raise WrongState(act="hand over", name=agent.id, state=agent.status)
    fewest = max(1, len(team.busy_in(agent)))
    if not fewest <= command.max_turns <= limits.MAX_TURNS_MAX:
        raise Invalid(what="max_turns", why=f"must be {fewest} to {limits.MAX_TURNS_MAX}")
    yield e.AgentConfigured(
        seat=agent.seat,
        authority=command.authority,
        long_lived=command.long_lived,
        max_turns=command.max_turns,
        budget=command.budget,
        unasked=command.unasked,
        policy=command.policy,
        formerly=formerly,
        node=command.node,
        is_listed=command.is_listed,
    )


def register_agent(team: Team, command: c.RegisterAgent, now: datetime) -> Iterator[Fact]:
    profile = command.profile
    check_profile(profile)
    seat = profile.grid_position
    if seat == LEAD_SEAT:
        raise Invalid(what=f"seat {seat}", why="is the lead's; agents cannot register there")
    check_seat(seat)
    check_not_retired(team, seat)
    agent = team.agents.get(seat) or Agent(seat=seat, authority=Authority.LEAD)
    _require_authority(team, agent, command.session)
    check_agent_name(team, profile.name, seat)
    if agent.name != profile.name:
        check_looks_new(team, profile.name, seat)
    if agent.status in (ALIVE, SLEEPING) and not _may_register_again(agent, profile):
        raise SeatTaken(seat=seat, name=agent.id, status=agent.status)
    hosted = command.hosted and agent.authority is Authority.LEAD
    is_new = agent.status not in (ALIVE, SLEEPING)
    if hosted and is_new:
        yield e.AgentHosted(seat=seat)
    yield e.AgentRegistered(
        agent=_completed(agent, profile, now),
        session=command.session,
        folder=_birth_folder(agent),
    )
    if hosted and is_new:
        yield move(agent, "born", agent_id=profile.name)
    elif agent.status is not ALIVE:
        yield move(agent, "registered", agent_id=profile.name, session=command.session)


def _may_register_again(agent: Agent, profile: Profile) -> bool:
    """Whether an agent may register a second time: to wake, or to write the soul it lacks."""
    lacks_soul = not agent.soul and bool(profile.individuation_artifact)
    return agent.name == profile.name and (agent.status is SLEEPING or lacks_soul)


def _birth_folder(agent: Agent) -> str:
    """The folder in which an unnamed agent already works: its conversation and output are there."""
    is_working = agent.authority is Authority.MUSTER and agent.session is not None
    return agent.folder_name if is_working and not agent.name else ""


def _completed(agent: Agent, profile: Profile, now: datetime) -> Profile:
    """A registration with what the seat was prepared with, so that readers need nothing else.

    Its date is muster's, whatever the agent wrote: the older agent wins a merge.
    """
    return replace(
        profile,
        color=profile.color or agent.color,
        color_name=profile.color_name or agent.color_name,
        gender=profile.gender or agent.gender,
        created_at=agent.created_at or now,
    )


def _require_authority(team: Team, agent: Agent, session: SessionId | None) -> None:
    """A session may report on the agents that it runs. Without a session, a person reports.

    Neither can report an agent alive whose process muster does not run.
    """
    if session is None and (agent.authority is not Authority.MUSTER or agent.session is not None):
        return
    own = agent.authority is Authority.MUSTER and session is not None and agent.session == session
    lead = team.lead
    by_lead = agent.authority is Authority.LEAD and lead is not None and lead.session == session
    if not own and not by_lead:
        claimant = session or "a person"
        raise NotTheAuthority(claimant=claimant, name=agent.id, authority=agent.authority)


def report_status(team: Team, command: c.ReportStatus, now: datetime) -> Iterator[Fact]:
    lead = team.lead
    if command.session is not None and (lead is None or lead.session != command.session):
        raise NotTheAuthority(claimant=command.session, name="the team", authority="the lead")
    listed = {entry.grid_position for entry in command.agents if entry.status == ALIVE}
    strange = {entry.grid_position for entry in command.agents if not _is_about(team, entry)}
    ours = [agent for agent in _without_lead(team) if _is_led(agent) and agent.seat not in strange]
    here = [agent for agent in ours if agent.seat in listed and agent.status in (ALIVE, SLEEPING)]
    confirmed = tuple(agent.seat for agent in here)
    yield e.AgentStatus(agents=command.agents, session=command.session, confirmed=confirmed)
    for agent in here:
        if agent.status is SLEEPING:
            yield move(agent, "reported_alive", session=command.session)
    for agent in ours:
        if agent.status is ALIVE and agent.seat not in listed:
            yield move(agent, "not_reported", session=command.session)
    yield from _foreign_reports(team, command.agents)
    if lead is not None and command.answers_upto:
        yield from read_upto(lead, command.answers_upto)


def _is_led(agent: Agent) -> bool:
    """Whether the lead's reports are the truth about an agent."""
    return agent.authority is Authority.LEAD and not agent.retired


def _is_about(team: Team, entry: e.StatusEntry) -> bool:
    """Whether a report names the agent in its seat, by a name that it has or that nobody else has
    since. One about somebody else changes nothing."""
    seat = entry.grid_position
    if not entry.name or seat not in team.agents:
        return seat in team.agents
    key = name_key(entry.name)
    earlier = map(name_key, team.agents[seat].earlier_names)
    return team.names.get(key, seat if key in earlier else None) == seat


def _foreign_reports(team: Team, entries: Iterable[e.StatusEntry]) -> Iterator[Fact]:
    """Warnings and conflicts for reported agents that the lead does not run."""
    for entry in entries:
        agent = team.agents.get(entry.grid_position)
        if agent is None or not _is_about(team, entry):
            known = document_id(entry.grid_position)
            text = f"the lead reported {entry.name!r} in {known}, which has no agent of that name"
            yield e.WarningLogged(text=text)
            continue
        theirs = agent.authority is not Authority.LEAD and agent.seat != LEAD_SEAT
        if theirs and (entry.status == ALIVE) != (agent.status is ALIVE):
            evidence = f"{agent.authority} has authority and says {agent.status}"
            yield e.Conflict(seat=agent.seat, reported=entry.status, evidence=evidence)


def reject_marker(team: Team, command: c.RejectMarker, now: datetime) -> Sequence[Fact]:
    return (e.MarkerRejected(seat=command.seat, marker=command.marker, reason=command.reason),)


def connect_agent(team: Team, command: c.ConnectAgent, now: datetime) -> Iterator[Fact]:
    agent = _self_run(team, command.seat)
    if agent.disabled:
        raise Disabled(name=agent.id)
    if agent.status is SLEEPING:
        yield move(agent, "connected")
    elif _is_news(team, agent, command.life):
        by_file = agent.authority is Authority.FILE
        yield e.AgentConfirmed(seat=agent.seat, evidence=WRITTEN if by_file else "heartbeat")
    else:
        yield from renew_evidence(team, agent, now)


def _is_news(team: Team, agent: Agent, life: SessionId | None) -> bool:
    """Whether a heartbeat confirms an agent anew. An agent belongs to the life that heard it last:
    that one notices when its heartbeat stops."""
    if life is not None and agent.confirmed_in != life:
        return True
    return not team.is_here(agent.confirmed_in)


def disconnect_agent(team: Team, command: c.DisconnectAgent, now: datetime) -> Iterator[Fact]:
    agent = _self_run(team, command.seat)
    if agent.status is ALIVE:
        trigger = "heartbeat_lost" if command.reason == "heartbeat" else "disconnected"
        yield move(agent, trigger, reason=command.reason)


def _self_run(team: Team, seat: SeatId) -> Agent:
    agent = team.agent(seat)
    if agent.authority not in (Authority.SELF, Authority.FILE):
        raise NotTheAuthority(claimant=agent.id, name=agent.id, authority=agent.authority)
    return agent


def disable_agent(team: Team, command: c.DisableAgent, now: datetime) -> Iterator[Fact]:
    agent = team.agent(command.seat)
    if agent.disabled:
        return
    yield e.AgentDisabled(seat=agent.seat, reason=command.reason)
    led = agent.authority is Authority.LEAD and agent.status is ALIVE
    if led and team.lead is not None:  # its process is the lead's to end
        why = f": {command.reason}" if command.reason else ""
        yield message_to_lead(team, f"[STOP AGENT: {agent.id}] it was disabled{why}")


def enable_agent(team: Team, command: c.EnableAgent, now: datetime) -> Sequence[Fact]:
    agent = team.agent(command.seat)
    return (e.AgentEnabled(seat=agent.seat),) if agent.disabled else ()


def awaken(team: Team, command: c.Awaken, now: datetime) -> Sequence[Fact]:
    agent = team.agents[command.seat]
    if agent.status is SLEEPING:
        return (move(agent, "woken", session=agent.session),)
    if agent.status is ALIVE:
        return (e.AgentConfirmed(seat=agent.seat, evidence="process"),)
    return ()


def doze(team: Team, command: c.Doze, now: datetime) -> Sequence[Fact]:
    agent = team.agents[command.seat]
    if agent.status is HATCHING and _cannot_be_born(agent):
        return (move(agent, "birth_failed"),)
    return (move(agent, "session_end"),) if agent.status is ALIVE else ()


def _cannot_be_born(agent: Agent) -> bool:
    """Whether no session of an agent that muster runs will register its name any more."""
    ours = agent.authority is Authority.MUSTER
    return ours and agent.session is None and agent.run.desired is RunMode.PAUSE


def check_agent(team: Team, command: c.CheckAgent, now: datetime) -> Iterator[Fact]:
    agent = team.agent(command.seat)
    yield from stop_dismissed(team, agent, now)
    yield from expire_evidence(team, agent, now)
    due = agent.hatch_until is not None and agent.hatch_until <= now
    if agent.status is HATCHING and due:
        yield move(agent, "hatching_timeout")


def _without_lead(team: Team) -> list[Agent]:
    """All agents but the lead, in order of their seats."""
    return [team.agents[seat] for seat in sorted(team.agents) if seat != LEAD_SEAT]


def move(
    agent: Agent,
    trigger: str,
    *,
    agent_id: str | None = None,
    until: datetime | None = None,
    session: SessionId | None = None,
    reason: str | None = None,
) -> e.StateTransition:
    """The transition of a seat, as the table defines it."""
    return e.StateTransition(
        machine=Machine.IDENTITY,
        agent_id=agent_id or agent.id,
        source=agent.status,
        target=TABLE.target(agent.status, trigger, None),
        trigger=trigger,
        seat=agent.seat,
        until=until,
        session=session,
        reason=reason,
    )
