"""Waking and sleep. A person asks; the authority of each agent carries it out.

The lead gets the payloads of the agents that it runs (soul and transcript), as many in one message
as fit. An agent that is being woken is not asked for again until its lead had time to report it,
so that six presses of WAKE start one process. What cannot be started (disabled agents, agents that
connect by themselves) is passed over, and refused where it is named.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime

from muster.errors import NobodyIs, WrongState
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.events import Fact
from muster.machines.identity.crew import cannot_wake, sleepers
from muster.machines.identity.decide import move
from muster.machines.identity.retiring import check_not_retired
from muster.machines.identity.wake_orders import is_being_woken, packed, wake_requested
from muster.machines.ids import LEAD_SEAT
from muster.machines.run_control.modes import desire
from muster.machines.state import Agent, Status, Team
from muster.machines.turns.messages import message_to_lead
from muster.machines.vocabulary import Authority, RunMode


def wake_agents(team: Team, command: c.WakeAgents, now: datetime) -> Iterator[Fact]:
    chosen = _to_wake(team, command)
    due = [agent for agent in chosen if not is_being_woken(agent, now)]
    if not due:
        return
    led = [agent for agent in due if agent.authority is Authority.LEAD]
    if command.hosted:
        yield from _hosted(led)
        led = []
    yield wake_requested(due, now)
    for agent in led:
        if agent.run.desired is RunMode.PAUSE:
            yield desire(agent, RunMode.CONTINUOUS, "person", team.human, "woken")
    seats = {agent.seat for agent in led}
    payloads = [each for each in command.payloads if each.seat in seats]
    for each in payloads:
        yield e.WakeRecorded(seat=each.seat, handed=each.handed)
    for message in packed(each.text for each in payloads):
        yield message_to_lead(team, message)


def _hosted(agents: Sequence[Agent]) -> Iterator[Fact]:
    """Take agents of a lead over into sessions of their own; none is reported any more."""
    for agent in agents:
        if agent.status is Status.ALIVE:
            yield move(agent, "not_reported")
        yield e.AgentHosted(seat=agent.seat)


def _to_wake(team: Team, command: c.WakeAgents) -> Sequence[Agent]:
    """The named agents, which must be able to wake; or all that can, at least one."""
    if not command.seats:
        spares = command.spares_stopped
        found = [agent for agent in sleepers(team) if not (spares and agent.run.is_stopped)]
        if not found:
            raise NobodyIs(status=Status.SLEEPING, act="wake")
        return found
    chosen = [team.agent(seat) for seat in command.seats]
    for agent in chosen:
        check_not_retired(team, agent.seat)
        if team.shown_status(agent) not in (Status.SLEEPING, Status.UNKNOWN):
            raise WrongState(act="wake", name=agent.id, state=agent.status)
        if refused := cannot_wake(agent):
            raise refused
    return chosen


# ── sleep ─────────────────────────────────────────────────────────────────────────────────────────


def sleep_agents(team: Team, command: c.SleepAgents, now: datetime) -> Sequence[Fact]:
    awake = {
        agent.seat
        for agent in team.agents.values()
        if (agent.status is Status.ALIVE or _is_to_run(agent)) and not agent.retired
    }
    for seat in command.seats:
        check_not_retired(team, seat)
        if seat not in awake:
            agent = team.agent(seat)
            raise WrongState(act="put to sleep", name=agent.id, state=agent.status)
    chosen = command.seats or tuple(sorted(awake - {LEAD_SEAT}))
    if not chosen:
        raise NobodyIs(status=Status.ALIVE, act="put to sleep")
    return (e.SleepRequested(seats=chosen),)


def _is_to_run(agent: Agent) -> bool:
    """Whether sessions of an agent start by themselves, or its own loop is to run them.

    Such an agent can be put to sleep between two sessions, too.
    """
    by_muster = agent.authority in (Authority.MUSTER, Authority.FILE)
    return by_muster and agent.run.desired is not RunMode.PAUSE and not agent.run.on_call
