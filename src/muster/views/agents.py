"""Views of agents and of the team, for HTTP and the command line.

A view names agents where the state has seats. The evidence for an agent's status, and how old it
is, is part of the answer.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta

import msgspec

from muster.machines.identity.crew import is_shown, is_summoned, sleepers
from muster.machines.identity.places import grid_place
from muster.machines.identity.wake_orders import is_being_woken
from muster.machines.ids import LEAD_SEAT, SessionId
from muster.machines.state import Agent, Channel, Status, Team
from muster.machines.teams.papers import document_of
from muster.views.answers.agents import (
    AgentList,
    AgentView,
    Button,
    EvidenceView,
    RunView,
    SessionView,
)
from muster.views.answers.channels import ChannelView, TeamView
from muster.views.channels import approvals_of, channel_state, usage_or_nothing
from muster.views.run.badges import badge_of
from muster.views.run.by_hand import by_hand
from muster.views.run.running import (
    last_failure,
    last_wake,
    limits_of_session,
    next_start,
    node_of,
    runs_for,
    unanswered,
    waits_for,
)
from muster.views.run.shutdown import view_shutdown


def button_of(team: Team, *, can_summon: bool | None = None) -> Button | None:
    """The button of a team: SUMMON while no agent is born, WAKE while one sleeps that can wake.

    `can_summon` tells whether a summon can be carried out; with a lead it can. Where it cannot,
    agents that are asleep come first.
    """
    summonable = team.lead is not None if can_summon is None else can_summon
    shown = [agent for agent in team.agents.values() if is_shown(agent) and agent.seat != LEAD_SEAT]
    if not any(map(is_summoned, shown)) and (summonable or not shown):
        return Button.SUMMON
    return Button.WAKE if next(sleepers(team), None) is not None else None


def view_team(team: Team, now: datetime, *, running: bool) -> TeamView:
    """The whole team in the order of its seats and of its channels' names.

    While no server runs, no status is confirmed, and agents that were alive are unknown.
    """
    team = team if running else _at_rest(team)
    return TeamView(
        seq=team.seq,
        human=team.human,
        agents=tuple(view_agent(team, agent, now) for agent in _in_order(team)),
        channels=tuple(_channel(team, team.channels[name], now) for name in sorted(team.channels)),
        sessions=len(team.sessions),
        conversations=len(team.delegation.conversations),
        shutdown=view_shutdown(team) if running else None,
    )


def view_agents(
    team: Team,
    now: datetime,
    *,
    running: bool,
    retired: bool = False,
    can_summon: bool | None = None,
) -> AgentList:
    """Every agent with its document, in the order of seats; with `retired`, also retired ones."""
    team = team if running else _at_rest(team)
    shown = _in_order(team, retired=retired)
    agents = tuple(view_agent(team, agent, now, whole=True) for agent in shown)
    return AgentList(agents=agents, button=button_of(team, can_summon=can_summon))


def _at_rest(team: Team) -> Team:
    """The team while no server runs here: no status has been confirmed since a start.

    A team on several machines goes on elsewhere; its log says which of them are away.
    """
    return team if len(team.nodes) > 1 else msgspec.structs.replace(team, nodes={})


def _in_order(team: Team, *, retired: bool = False) -> Iterator[Agent]:
    agents = (team.agents[seat] for seat in sorted(team.agents))
    known = (agent for agent in agents if agent.status is not Status.NONE)
    return (agent for agent in known if retired or not agent.retired)


def view_agent(team: Team, agent: Agent, now: datetime, *, whole: bool = False) -> AgentView:
    """An agent's state, and with `whole` also its document."""
    return AgentView(
        seat=agent.seat,
        place=grid_place(team, agent),
        name=agent.name,
        former_names=agent.earlier_names,
        status=team.shown_status(agent),
        authority=agent.authority,
        disabled=agent.disabled,
        session=agent.session,
        node=node_of(team, agent),
        desired=agent.run.desired,
        current=agent.run.current,
        badge=badge_of(team, agent),
        is_stopped=agent.run.is_stopped,
        state_file_problem=agent.run.file_problem,
        failures=agent.run.failures,
        retry_at=agent.run.retry_at,
        last_failure=last_failure(agent.run),
        unanswered=unanswered(agent),
        next_start=next_start(agent),
        waits_for=waits_for(team, agent),
        after=agent.run.policy.after,
        restart=agent.run.policy.restart,
        runs_for=runs_for(agent),
        schedule=agent.run.policy.schedule_text,
        groups=agent.run.policy.groups,
        limits=limits_of_session(team, agent),
        turn=team.turn_state(agent),
        channels={name: team.channels[name].state_of(agent.seat) for name in agent.channels},
        evidence=_evidence(team, agent, now),
        approvals=approvals_of(team, agent),
        on_call=agent.run.on_call,
        tasks=tuple(filter(None, (team.sessions[each].task for each in agent.tasks))),
        confinement=_confinement(team, agent),
        used=usage_or_nothing(agent.used),
        retired=agent.retired,
        role=agent.role,
        hatch_until=agent.hatch_until,
        waking_until=agent.waking_until if is_being_woken(agent, now) else None,
        last_wake=last_wake(agent),
        by_hand=by_hand(agent),
        document=document_of(agent) if whole else None,
    )


def view_run(team: Team, agent: Agent) -> RunView:
    """The desired and the current run state of an agent."""
    run = agent.run
    return RunView(
        agent=agent.id,
        authority=agent.authority,
        disabled=agent.disabled,
        desired=run.desired,
        generation=run.generation,
        set_by=run.set_by,
        set_because=run.set_because,
        set_at=run.set_at,
        note=run.note,
        current=run.current,
        answered=run.answered,
        differs_since=agent.differs_since,
        failures=run.failures,
        retry_at=run.retry_at,
        last_failure=last_failure(run),
        unanswered=unanswered(agent),
        next_start=next_start(agent),
        waits_for=waits_for(team, agent),
        after=run.policy.after,
        restart=run.policy.restart,
        runs_for=runs_for(agent),
        schedule=run.policy.schedule_text,
        groups=run.policy.groups,
        on_call=run.on_call,
        session=_session(team, agent.session),
        tasks=tuple(filter(None, (_session(team, each) for each in agent.tasks))),
        budget=run.budget,
        used=usage_or_nothing(run.used),
        badge=badge_of(team, agent),
        seq=team.seq,
    )


def _session(team: Team, session: SessionId | None) -> SessionView | None:
    found = team.sessions.get(session) if session else None
    if found is None:
        return None
    return SessionView(
        id=found.id,
        pid=found.pid,
        mode=found.mode,
        phase=found.phase,
        task=found.task,
        is_silent=found.is_silent,
        limits=found.limits,
        used=usage_or_nothing(found.used),
    )


def _confinement(team: Team, agent: Agent) -> str:
    """How the kernel confines the agent's newest session that says so."""
    ids = (*agent.tasks, *((agent.session,) if agent.session else ()))
    found = (team.sessions.get(each) for each in ids)
    return next((each.confinement for each in found if each and each.confinement), "")


def _evidence(team: Team, agent: Agent, now: datetime) -> EvidenceView | None:
    found = agent.evidence
    if found is None:
        return None
    age = max(timedelta(), now - found.at)
    # A heartbeat is recorded once, when the agent connects; its end is recorded, too.
    ongoing = found.kind == "heartbeat" and team.shown_status(agent) is Status.ALIVE
    return EvidenceView(
        kind=found.kind,
        seq=found.seq,
        at=found.at,
        age_seconds=age.total_seconds(),
        is_ongoing=ongoing,
    )


def _channel(team: Team, channel: Channel, now: datetime) -> ChannelView:
    seen = channel_state(team, channel)
    due = seen.timeout_at
    return ChannelView(
        channel=seen.channel,
        state=seen.state,
        holder=seen.holder,
        epoch=seen.epoch,
        deadline=due,
        remaining_seconds=(due - now).total_seconds() if due else None,
        waits_for=seen.waiting.reason if seen.waiting else None,
        ring=seen.ring,
        because=seen.rest_reason or seen.granted_because,
        used=seen.used,
    )
