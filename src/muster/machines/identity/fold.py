"""The fold of the identity facts: how each one changes the state."""

from datetime import datetime, timedelta
from typing import Final

from msgspec.structs import replace

from muster.limits import FORMER_NAMES_MAX
from muster.machines import events as e
from muster.machines.bounds import CLOCKS_APART
from muster.machines.documents import WakeCheck
from muster.machines.events import Event
from muster.machines.identity.loops import WRITTEN
from muster.machines.identity.places import note_seat
from muster.machines.ids import SeatId, SessionId, is_person, name_key
from muster.machines.maps import drop, put
from muster.machines.names import without_names, without_running_name
from muster.machines.run_control.fold import initial_run
from muster.machines.state import Agent, Evidence, MemoryNote, Status, Team, Wake
from muster.machines.vocabulary import NAMED_BY_SETTINGS, Authority

_EVIDENCE = {
    "woken": "process",
    "session_end": "process",
    "reported_alive": "report",
    "not_reported": "report",
    "registered": "report",
    "heartbeat_lost": "heartbeat",
    "hatching_timeout": "deadline",
    "birth_failed": "process",
    "summoned": "person",
    "born": "report",
}
"""The kind of evidence for each trigger, where its author makes no difference."""

_TICK: Final = timedelta(microseconds=1)


def agents_summoned(team: Team, event: Event, fact: e.AgentsSummoned) -> Team:
    agents = team.agents
    for placeholder in fact.placeholders:
        seat = placeholder.grid_position
        before = agents.get(seat)
        agents = put(
            agents,
            seat,
            Agent(
                seat=seat,
                successor_at=placeholder.place,
                status=before.status if before else Status.NONE,
                authority=fact.authority,
                color=placeholder.color,
                gender=placeholder.gender,
                role=placeholder.role,
                asked_name=placeholder.name,
                created_at=event.ts,
                run=before.run
                if before
                else initial_run(fact.authority, long_lived=fact.long_lived),
                session=before.session if before else None,
                disabled=before is not None and before.disabled,
            ),
        )
        team = note_seat(team, seat, placeholder.place)
    return replace(team, agents=agents)


def agent_enrolled(team: Team, event: Event, fact: e.AgentEnrolled) -> Team:
    seat, name = fact.agent.grid_position, fact.agent.name
    agent = Agent(
        seat=seat,
        authority=fact.authority,
        name=name,
        color=fact.agent.color,
        created_at=fact.agent.created_at,
        max_turns=fact.max_turns,
        unasked=fact.unasked,
        enrolled=True,
        run=initial_run(fact.authority, long_lived=fact.long_lived, on_call=fact.on_call),
        is_listed=fact.authority in NAMED_BY_SETTINGS and not fact.on_call,
        noted=fact.formerly,
        folder=_free_folder(team, name, seat),
    )
    names = put(team.names, name_key(name), seat)
    return _with(note_seat(replace(team, names=names), seat, None), agent)


def _free_folder(team: Team, name: str, seat: SeatId) -> str:
    """The folder of a new agent, if an earlier agent has the folder of that name."""
    taken = team.kept_folders.get(name_key(name), seat) != seat
    return f"{name}~{seat}" if taken else ""


def _keep_folder(team: Team, agent: Agent) -> Team:
    kept = put(team.kept_folders, name_key(agent.folder_name), agent.seat)
    return replace(team, kept_folders=kept)


def agent_registered(team: Team, event: Event, fact: e.AgentRegistered) -> Team:
    """A seat keeps its first soul and its first `created_at`; its looks may change."""
    profile, seat = fact.agent, fact.agent.grid_position
    agent = team.agents.get(seat) or Agent(
        seat=seat, authority=Authority.LEAD, run=initial_run(Authority.LEAD)
    )
    folder = _free_folder(team, profile.name, seat)
    agent = replace(
        agent,
        name=profile.name,
        folder=fact.folder or agent.folder or ("" if agent.name else folder),
        color=profile.color or agent.color,
        color_name=profile.color_name or agent.color_name,
        gender=profile.gender or agent.gender,
        face_variant=profile.face_variant,
        soul=agent.soul or profile.individuation_artifact,
        created_at=agent.created_at or event.ts,
        hatch_until=None,
    )
    names = put(team.names, name_key(profile.name), seat)
    team = note_seat(replace(team, names=names), seat, agent.successor_at)
    return _join_lead_session(_with(team, agent), seat, fact.session)


def agent_hosted(team: Team, event: Event, fact: e.AgentHosted) -> Team:
    """Muster runs the agent from now on, with the budget of its lead."""
    agent = team.agents.get(fact.seat) or Agent(seat=fact.seat)
    run = initial_run(Authority.MUSTER, long_lived=True)
    if team.lead is not None:
        run = replace(run, budget=team.lead.run.budget)
    agent = replace(agent, authority=Authority.MUSTER, hosted=True, session=None, run=run)
    return _with(team, agent)


def note_remembered(team: Team, event: Event, fact: e.NoteRemembered) -> Team:
    agent = team.agents[fact.seat]
    note = MemoryNote(id=fact.note, text=fact.text, at=event.ts, by=event.actor)
    return _with(team, replace(agent, notes=(*agent.notes, note), next_note=fact.note + 1))


def note_edited(team: Team, event: Event, fact: e.NoteEdited) -> Team:
    agent = team.agents[fact.seat]
    new = MemoryNote(id=fact.note, text=fact.text, at=event.ts, by=event.actor)
    notes = tuple(new if each.id == fact.note else each for each in agent.notes)
    return _with(team, replace(agent, notes=notes))


def note_forgotten(team: Team, event: Event, fact: e.NoteForgotten) -> Team:
    agent = team.agents[fact.seat]
    notes = tuple(each for each in agent.notes if each.id != fact.note)
    return _with(team, replace(agent, notes=notes))


def soul_edited(team: Team, event: Event, fact: e.SoulEdited) -> Team:
    agent = team.agents[fact.seat]
    edited_at = _later_than(agent.soul_edited_at, event.ts)
    return _with(team, replace(agent, soul=fact.soul, soul_edited_at=edited_at))


def _later_than(before: datetime | None, now: datetime) -> datetime:
    """Now, or right after an act that a faster clock of another machine has dated later.

    An act further ahead than imports allow is of a wrong clock here, and no other machine has it.
    """
    if before is None or before - now > CLOCKS_APART:
        return now
    return max(now, before + _TICK)


def wake_recorded(team: Team, event: Event, fact: e.WakeRecorded) -> Team:
    wake = Wake(
        at=event.ts,
        seq=event.seq,
        handed=fact.handed,
        session=fact.session,
        check=WakeCheck.ASKED if fact.asked else None,
    )
    return _with(team, replace(team.agents[fact.seat], last_wake=wake))


def wake_checked(team: Team, event: Event, fact: e.WakeChecked) -> Team:
    agent = team.agents[fact.seat]
    assert agent.last_wake is not None
    said = ": ".join(filter(None, (fact.name, fact.soul)))
    differs = fact.outcome is WakeCheck.DIFFERED
    wake = replace(agent.last_wake, check=fact.outcome, said=said if differs else "")
    return _with(team, replace(agent, last_wake=wake))


def agent_status(team: Team, event: Event, fact: e.AgentStatus) -> Team:
    for seat in fact.confirmed:
        team = _with(team, _confirmed(team.agents[seat], event, "report"))
        team = _join_lead_session(team, seat, fact.session)
    return team


def agent_confirmed(team: Team, event: Event, fact: e.AgentConfirmed) -> Team:
    agent = team.agents[fact.seat]
    return _with(team, _confirmed(agent, event, fact.evidence))


def evidence_expired(team: Team, event: Event, fact: e.EvidenceExpired) -> Team:
    return _with(team, replace(team.agents[fact.seat], confirmed_in=None))


def wake_requested(team: Team, event: Event, fact: e.WakeRequested) -> Team:
    for seat in fact.seats:
        agent = team.agents[seat]
        if agent.authority is Authority.LEAD:
            team = _with(team, replace(agent, waking_until=fact.until))
    return team


def agent_disabled(team: Team, event: Event, fact: e.AgentDisabled) -> Team:
    return _with(team, replace(team.agents[fact.seat], disabled=True))


def agent_enabled(team: Team, event: Event, fact: e.AgentEnabled) -> Team:
    return _with(team, replace(team.agents[fact.seat], disabled=False))


def agent_retired(team: Team, event: Event, fact: e.AgentRetired) -> Team:
    """The seat keeps its name for the history; another agent may take the name."""
    team = without_running_name(team, team.agents[fact.seat])
    agent = team.agents[fact.seat]
    team = replace(_keep_folder(team, agent), names=drop(team.names, name_key(agent.id)))
    return _with(team, replace(agent, retired=True, dismissed_until=None))


def agent_dismissed(team: Team, event: Event, fact: e.AgentDismissed) -> Team:
    return _with(team, replace(team.agents[fact.seat], dismissed_until=fact.until))


def agent_restored(team: Team, event: Event, fact: e.AgentRestored) -> Team:
    """An agent that is back is as one that was never started: its last failure is history."""
    agent = team.agents[fact.seat]
    run = replace(
        agent.run,
        set_at=None,
        set_by="",
        set_because="",
        note="",
        failures=0,
        last_failure=None,
        retry_at=None,
        is_held=False,
    )
    agent = replace(agent, retired=False, dismissed_until=None, run=run)
    team = replace(team, names=put(team.names, name_key(agent.id), agent.seat))
    return _with(team, agent)


def agent_renamed(team: Team, event: Event, fact: e.AgentRenamed) -> Team:
    """The folder keeps its name, so that paths of running programs hold."""
    agent = team.agents[fact.seat]
    running_as = _running_as(agent, fact)
    names = team.names if running_as else without_names(team.names, agent)
    names = put(names, name_key(fact.name), agent.seat)
    folder = "" if fact.name == agent.folder_name else agent.folder_name
    former = (*agent.former_names, fact.previous)[-FORMER_NAMES_MAX:]
    if not fact.regained:
        agent = replace(
            agent,
            born_as=agent.born_as or agent.chosen_name or fact.previous,
            renamed_at=_later_than(agent.renamed_at, event.ts),
        )
    agent = replace(
        agent,
        name=fact.name,
        chosen_name=agent.chosen_name and fact.name,
        running_as=running_as,
        folder=folder,
        former_names=former,
    )
    team = replace(
        _keep_folder(team, agent),
        names=names,
        renamed_in_merges=tuple(seat for seat in team.renamed_in_merges if seat != agent.seat),
    )
    return _with(team, agent)


def _running_as(agent: Agent, fact: e.AgentRenamed) -> str:
    """The name that a running program goes on with: it learns another one at its next start."""
    goes_on = agent.status is Status.ALIVE or agent.session is not None
    return (agent.running_as or fact.previous) if goes_on else ""


def transition(team: Team, event: Event, fact: e.StateTransition) -> Team:
    assert fact.seat is not None
    if fact.target != Status.ALIVE:  # a program that starts goes on with the name it was given
        team = without_running_name(team, team.agents[fact.seat])
    agent = replace(
        team.agents[fact.seat],
        status=Status(fact.target),
        hatch_until=fact.until,
        waking_until=None,
    )
    evidence = _evidence_of(agent, event, fact.trigger)
    if agent.status is Status.ALIVE:
        pending = agent.last_message > agent.delivered  # delivered in this life
        agent = replace(agent, alive_from=agent.pending_from if pending else event.seq)
        return _with(team, _confirmed(agent, event, evidence))
    seen = Evidence(kind=evidence, at=event.ts, seq=event.seq)
    # The lead's report ends the membership in its session; other sessions end with their process.
    session = None if agent.authority is Authority.LEAD else agent.session
    return _with(
        team, replace(agent, confirmed_in=event.session_id, evidence=seen, session=session)
    )


def _evidence_of(agent: Agent, event: Event, trigger: str) -> str:
    """The kind of evidence for a transition."""
    match trigger:
        case "connected":
            return WRITTEN if agent.authority is Authority.FILE else "heartbeat"
        case "enrolled" if agent.authority in NAMED_BY_SETTINGS:
            return "settings"
        case "enrolled" | "disconnected":
            return "person" if is_person(event.actor) else "report"
        case _:
            return _EVIDENCE[trigger]


def _confirmed(agent: Agent, event: Event, evidence: str) -> Agent:
    """An agent that was just seen alive.

    `last_session_id` is the server session, which messages name as their `serverSessionId`.
    """
    return replace(
        agent,
        last_alive_at=event.ts,
        last_session_id=event.session_id,
        confirmed_in=event.session_id,
        evidence=Evidence(kind=evidence, at=event.ts, seq=event.seq),
    )


def _join_lead_session(team: Team, seat: SeatId, session_id: SessionId | None) -> Team:
    """Put an agent that a lead runs into its lead's session, so that it ends with it."""
    session = team.sessions.get(session_id) if session_id else None
    agent = team.agents[seat]
    if session is None or agent.authority is not Authority.LEAD:
        return team
    if seat not in session.seats:
        session = replace(session, seats=(*session.seats, seat))
    team = replace(team, sessions=put(team.sessions, session.id, session))
    return _with(team, replace(agent, session=session.id))


def _with(team: Team, agent: Agent) -> Team:
    return replace(team, agents=put(team.agents, agent.seat, agent))
