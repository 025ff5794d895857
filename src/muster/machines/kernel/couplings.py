"""Couplings: rules between the machines, which know nothing of each other otherwise.

A coupling turns a fact into commands, which are decided in the same transaction, in order, until
no command is left. A refusal of such a command (a start that the gate does not allow) is ignored:
it never fails the command that led to it.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, TypeVar

import msgspec

from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.commands import Command
from muster.machines.delegation.decide import in_order
from muster.machines.events import Event, Fact, StateTransition
from muster.machines.identity.membership import LEAVING, begin_again, end_birth
from muster.machines.identity.notices import tell_of_end, tell_of_name
from muster.machines.identity.places import free_seat
from muster.machines.identity.wakes import is_asked
from muster.machines.ids import LEAD_SEAT, ChannelId, SeatId, is_person, name_key
from muster.machines.policies import PUT_TO_SLEEP, RUN_NOW
from muster.machines.run_control.live import between_sessions, sessions_of
from muster.machines.run_control.placement import node_for
from muster.machines.state import MAIN, QUEUE, Agent, Conversation, Status, Team
from muster.machines.teams.regaining import names_to_regain
from muster.machines.turns.privacy import is_insider
from muster.machines.turns.table import ACTIVE, HELD, QUEUED
from muster.machines.vocabulary import (
    Authority,
    Machine,
    Outcome,
    RunMode,
)

F = TypeVar("F", bound=Fact)

LOST: Final = "muster ended while it was worked on"
"""The reason of a task that failed because its session belonged to an earlier server session."""


class Coupling(msgspec.Struct, frozen=True):
    """One rule between machines: on this kind of fact, these commands, for this reason."""

    on: type[Fact] | Machine
    why: str
    then: Callable[[Team, Event, Any], Iterable[Command]]
    """The third argument is a fact of the type `on`; hence Any."""


COUPLINGS: dict[type[Fact] | Machine, Coupling] = {}
"""One rule for each fact type; for `state_transition`, one for each machine."""


def coupling(
    on: type[F] | Machine, why: str
) -> Callable[[Callable[[Team, Event, F], Iterable[Command]]], None]:
    """Register a rule in the table."""

    def register(then: Callable[[Team, Event, F], Iterable[Command]]) -> None:
        assert on not in COUPLINGS
        COUPLINGS[on] = Coupling(on=on, why=why, then=then)

    return register


def follow(team: Team, event: Event) -> Iterable[Command]:
    """The commands that follow from an event, given the state after it."""
    fact = event.fact
    rule = COUPLINGS.get(fact.machine if type(fact) is StateTransition else type(fact))
    return rule.then(team, event, fact) if rule is not None else ()


# ── identity and presence ─────────────────────────────────────────────────────────────────────────


@coupling(Machine.IDENTITY, "Only an alive agent is present; a sleeping agent is OFFLINE.")
def _presence(team: Team, event: Event, fact: StateTransition) -> Iterator[Command]:
    assert fact.seat is not None
    agent = team.agents[fact.seat]
    if agent.authority in (Authority.SELF, Authority.LEAD):
        here = fact.target == Status.ALIVE
        current = RunMode.CONTINUOUS if here else RunMode.PAUSE
        yield c.ReportCurrent(seat=agent.seat, current=current, reason=fact.trigger)
    if fact.trigger == "born":
        yield from _set_running(agent, _person(event.actor), "born")
    yield from end_birth(agent) if fact.target == Status.EXPIRED else ()
    if fact.target == Status.ALIVE and agent.present:
        yield c.Arrive(seat=fact.seat)
        yield from _dependents(team, agent)
    elif fact.source == Status.ALIVE:
        yield from _own_requests(agent)
        # The coupling of `SessionEnd` sends its own Depart: it knows whether the end was orderly.
        if fact.trigger != "session_end":
            yield c.Depart(seat=fact.seat, orderly=False, reason=fact.trigger)
    yield from names_to_regain(team) if fact.target == Status.SLEEPING else ()


def _own_requests(agent: Agent) -> Iterator[Command]:
    """The end of the requests for approval of an agent that leaves and has no session."""
    if any(each.session is None for each in agent.approvals):
        yield c.WithdrawApprovals(seat=agent.seat, session=None)


@coupling(e.TokenRevoked, "An agent without a token is no longer alive.")
def _revoked(team: Team, event: Event, fact: e.TokenRevoked) -> Iterator[Command]:
    if fact.seat is None or any(token.seat == fact.seat for token in team.tokens.values()):
        return
    if team.agents[fact.seat].authority is Authority.SELF:
        yield c.DisconnectAgent(seat=fact.seat, reason="its last token was revoked")


@coupling(e.AgentRetired, "A retired agent is OFFLINE, in no channel, and has no token.")
def _retired(team: Team, event: Event, fact: e.AgentRetired) -> Iterator[Command]:
    yield c.DisconnectAgent(seat=fact.seat, reason="retired")
    for channel in team.agents[fact.seat].channels:  # one that is connected has left them by then
        yield c.RemoveMember(channel=channel, seat=fact.seat)
    for token in sorted(team.tokens.values(), key=lambda each: each.id):
        if token.seat == fact.seat:
            yield c.RevokeToken(token_id=token.id)
    yield from names_to_regain(team)
    for name in sorted(team.channels):  # it may have chosen the speakers there
        if team.channels[name].resting:
            yield c.OfferTurn(channel=name)


@coupling(e.AgentRenamed, "A lead is told of the new name; the former one may be another's choice.")
def _renamed(team: Team, event: Event, fact: e.AgentRenamed) -> Iterator[Command]:
    yield from tell_of_name(team, team.agents[fact.seat], fact)
    yield from names_to_regain(team)


@coupling(e.AgentDismissed, "An agent that the settings no longer name stops, and is retired.")
def _dismissed(team: Team, event: Event, fact: e.AgentDismissed) -> Iterator[Command]:
    if team.agents[fact.seat].run.desired is not RunMode.PAUSE:
        yield c.SetDesired(
            seat=fact.seat, desired=RunMode.PAUSE, set_by=event.actor, note=fact.reason
        )
    yield c.RetireAgent(seat=fact.seat, reason=fact.reason)  # refused while it has a session


@coupling(e.AgentRestored, "A session of an agent that was removed and added again ends now.")
def _added_again(team: Team, event: Event, fact: e.AgentRestored) -> Iterator[Command]:
    if team.agents[fact.seat].session is not None:
        yield c.StopSession(seat=fact.seat, reason="it was removed, and added again")
    yield from names_to_regain(team)  # the name that it chose may be free by now


@coupling(e.AgentDisabled, "A disabled agent is OFFLINE, and its session ends.")
def _disabled(team: Team, event: Event, fact: e.AgentDisabled) -> Iterator[Command]:
    agent = team.agents[fact.seat]
    yield from _own_requests(agent)
    if agent.status is Status.ALIVE or team.busy_in(agent):
        yield c.Depart(seat=fact.seat, orderly=False, reason="disabled")
    yield c.StopSession(seat=fact.seat, reason="it was disabled")


@coupling(e.AgentEnabled, "An enabled agent is present if alive, and starts if desired.")
def _enabled(team: Team, event: Event, fact: e.AgentEnabled) -> Iterator[Command]:
    if team.agents[fact.seat].present:
        yield c.Arrive(seat=fact.seat)
    yield c.StartSession(seat=fact.seat, trigger="enabled")
    yield from _offers(team, fact.seat)


# ── identity and run control ──────────────────────────────────────────────────────────────────────


@coupling(e.AgentConfirmed, "Agents that start after a confirmed one may start.")
def _confirmed(team: Team, event: Event, fact: e.AgentConfirmed) -> Iterator[Command]:
    yield from _dependents(team, team.agents[fact.seat])


def _dependents(team: Team, agent: Agent) -> Iterator[Command]:
    """Starts of the agents that wait for this one. The gate looks whether they wait for others."""
    name = name_key(agent.id)
    for seat in team.followers:
        if any(name_key(each) == name for each in team.agents[seat].run.policy.after):
            yield c.StartSession(seat=seat, trigger="after")
            if team.agents[seat].run.waits_for_work:
                yield from _offers(team, seat)


@coupling(e.AgentsSummoned, "SUMMON starts the agents that muster runs; for others, the lead.")
def _summoned(team: Team, event: Event, fact: e.AgentsSummoned) -> Iterator[Command]:
    seats = {placeholder.grid_position for placeholder in fact.placeholders}
    if fact.authority is Authority.LEAD and team.lead:
        seats.add(LEAD_SEAT)
    for seat in sorted(seats):
        agent, person = team.agents[seat], _person(event.actor)
        yield from begin_again(agent, person)
        yield from _set_running(agent, person, "summoned")  # unless it has a session


@coupling(e.WakeRequested, "WAKE starts sleeping agents; for the lead's agents, the lead.")
def _woken(team: Team, event: Event, fact: e.WakeRequested) -> Iterator[Command]:
    seats = set(fact.seats)
    if any(team.agents[seat].authority is Authority.LEAD for seat in seats) and team.lead:
        seats.add(LEAD_SEAT)
    for seat in sorted(seats):
        yield from _set_running(team.agents[seat], _person(event.actor), "woken")


def _person(actor: str) -> str:
    """The name of a person who acts, as people read it; of others, the id of the actor."""
    kind, _, name = actor.partition(":")
    return name if kind == "person" and name else actor


def _set_running(agent: Agent, set_by: str, note: str) -> Iterator[Command]:
    """An agent that is to run already keeps its mode: one in backoff is tried now."""
    run = agent.run
    ours = agent.authority in (Authority.MUSTER, Authority.FILE)
    if not ours or agent.session is not None:
        return
    if run.desired is RunMode.PAUSE:
        lives_on = run.long_lived or agent.authority is Authority.FILE
        mode = RunMode.CONTINUOUS if lives_on else RunMode.RUN_ONCE
        yield c.SetDesired(seat=agent.seat, desired=mode, set_by=set_by, note=note)
    elif run.failures:
        yield c.SetDesired(seat=agent.seat, desired=run.desired, set_by=set_by, note=note)


@coupling(e.SleepRequested, "Sleep is a pause: the process stops gracefully.")
def _put_to_sleep(team: Team, event: Event, fact: e.SleepRequested) -> Iterator[Command]:
    for seat in fact.seats:
        if team.agents[seat].authority is not Authority.SELF:
            yield c.SetDesired(
                seat=seat,
                desired=RunMode.PAUSE,
                set_by=_person(event.actor),
                note=PUT_TO_SLEEP,
            )


@coupling(
    e.MusterStarted,
    "After a restart, agents that should run are started, free turns are granted, and interrupted"
    " tasks have failed.",
)
def _restarted(team: Team, event: Event, fact: e.MusterStarted) -> Iterator[Command]:
    lives = {node.life for node in team.nodes.values()}
    for conversation in in_order(team.delegation):
        is_led = not conversation.keeper and conversation.session is None
        if is_led and conversation.life not in lives:
            yield from _abandoned(conversation)
    yield from _starts(team, "restart")
    for name in sorted(team.channels):  # turns that nobody was granted while muster stopped
        yield c.OfferTurn(channel=name)


def _starts(team: Team, trigger: str) -> Iterator[c.StartSession]:
    """Starts of all agents that are to run. The gate refuses those that run already."""
    for seat in sorted(team.agents):
        agent = team.agents[seat]
        if agent.authority is Authority.MUSTER and agent.run.desired is not RunMode.PAUSE:
            yield c.StartSession(seat=seat, trigger=trigger)


@coupling(
    e.MusterStopping,
    "An agent between two sessions is paused when muster stops, unless another machine may run it.",
)
def _stopped_between(team: Team, event: Event, fact: e.MusterStopping) -> Iterator[Command]:
    for agent in team.agents.values():
        if between_sessions(agent) and node_for(team, agent) is None:
            yield c.StopSession(seat=agent.seat)


@coupling(e.NodeLost, "Sessions of a lost machine that may move end, and start on other machines.")
def _lost(team: Team, event: Event, fact: e.NodeLost) -> Iterator[Command]:
    for name in sorted(team.sessions):
        session = team.sessions[name]
        if session.node == fact.node and session.moves:
            yield c.ReportSessionEnded(
                session=session.id, outcome=Outcome.LOST, reason=f"node {fact.node} is lost"
            )
    for agent in team.agents.values():
        if between_sessions(agent) and node_for(team, agent) is None:
            yield c.StopSession(seat=agent.seat)
    yield from _starts(team, "node")


@coupling(
    e.NodeReturned, "Agents that wait for a machine that is back are started, and may take turns."
)
def _is_back(team: Team, event: Event, fact: e.NodeReturned) -> Iterator[Command]:
    yield from _starts(team, "node")
    for name in sorted(team.channels):
        yield c.OfferTurn(channel=name)


@coupling(e.AgentMoved, "An agent that moved starts on its machine, once its session has ended.")
def _moved(team: Team, event: Event, fact: e.AgentMoved) -> Iterator[Command]:
    agent = team.agents[fact.seat]
    for session in sessions_of(team, agent) if fact.anyway else ():
        node = team.nodes.get(session.node)
        if node is None or node.away is not None:
            yield c.ReportSessionEnded(
                session=session.id, outcome=Outcome.LOST, reason="it was moved to another machine"
            )
    yield c.StartSession(seat=fact.seat, trigger="node")
    yield from _offers(team, fact.seat)


@coupling(e.DesiredSet, "An agent that should run is started, and may be granted a turn.")
def _desired(team: Team, event: Event, fact: e.DesiredSet) -> Iterator[Command]:
    if fact.desired is not RunMode.PAUSE:
        yield c.StartSession(seat=fact.seat, trigger=RUN_NOW if fact.now else "desired")
        yield from _offers(team, fact.seat)


@coupling(e.ScheduledRunDue, "A scheduled time starts a session, if the gate is open.")
def _due(team: Team, event: Event, fact: e.ScheduledRunDue) -> Iterator[Command]:
    yield c.StartSession(seat=fact.seat, trigger="schedule")


@coupling(e.AgentOutput, "Output is a sign of work: it restarts the timeouts of the agent's turns.")
def _printed(team: Team, event: Event, fact: e.AgentOutput) -> Iterator[Command]:
    yield from _renewals(team, fact)


@coupling(e.AgentActivity, "Any visible activity is a sign of work, too.")
def _acted(team: Team, event: Event, fact: e.AgentActivity) -> Iterator[Command]:
    yield from _renewals(team, fact)


def _renewals(team: Team, fact: e.AgentOutput | e.AgentActivity) -> Iterator[Command]:
    agent = team.agents[fact.seat]
    if fact.session == agent.session:  # a task session does not work on turns
        for channel in team.busy_in(agent):
            yield c.RenewTurn(channel=channel, seat=fact.seat)


@coupling(e.ApprovalRequested, "The timeout of a turn is suspended while an approval is open.")
def _asked(team: Team, event: Event, fact: e.ApprovalRequested) -> Iterator[Command]:
    for channel in team.busy_in(team.agents[fact.seat]):
        yield c.AwaitApproval(channel=channel, seat=fact.seat)


@coupling(e.ApprovalAnswered, "When no approval is open any more, the turn resumes.")
def _answered(team: Team, event: Event, fact: e.ApprovalAnswered) -> Iterator[Command]:
    for channel in team.busy_in(team.agents[fact.seat]):
        yield c.AwaitApproval(channel=channel, seat=fact.seat)


@coupling(e.SessionRequested, "An agent that is being started may be granted a turn.")
def _requested(team: Team, event: Event, fact: e.SessionRequested) -> Sequence[Command]:
    return _offers(team, fact.seat) if fact.task is None else ()


@coupling(e.SessionStart, "The start of a session wakes a sleeping agent.")
def _started(team: Team, event: Event, fact: e.SessionStart) -> Iterator[Command]:
    agent = team.agents[fact.seats[0]]
    if agent.run.on_call or fact.session == agent.session:
        yield c.Awaken(seat=agent.seat)


@coupling(e.SessionResult, "A result without an answer ends the check of a wake.")
def _result(team: Team, event: Event, fact: e.SessionResult) -> Sequence[Command]:
    asked = is_asked(team.agents[fact.seat], fact.session)
    return (c.EndWakeCheck(seat=fact.seat, session=fact.session),) if asked else ()


@coupling(e.SessionEnd, "A session's end puts its seats to sleep; an orderly end keeps places.")
def _ended(team: Team, event: Event, fact: e.SessionEnd) -> Iterator[Command]:
    for seat in fact.seats:
        if team.agents[seat].approvals:
            yield c.WithdrawApprovals(seat=seat, session=fact.session)
    if fact.task is not None:
        yield from _task_ended(team, fact)
        yield from _retirement(team, fact.seats[0])
        yield from _place_is_free(team)
        return
    orderly = fact.outcome in (Outcome.COMPLETED, Outcome.CUT_OFF)
    yield c.EndWakeCheck(seat=fact.seats[0], session=fact.session)
    for seat in fact.seats:
        agent = team.agents[seat]
        if agent.present or team.busy_in(agent):
            yield c.Depart(seat=seat, orderly=orderly, reason=f"session {fact.outcome}")
        yield c.Doze(seat=seat)
        # Last: the turn that becomes free must not go to the session that has just ended.
        yield from _work_has_stopped(team, agent)
    reason = fact.reason or f"its session {fact.outcome}"
    yield c.ReturnMessages(seat=fact.seats[0], reason=reason)
    yield from tell_of_end(team, team.agents[fact.seats[0]], fact.outcome, _last_words(team, fact))
    yield c.StartSession(seat=fact.seats[0], trigger="next")
    yield from _offered_again(team, team.agents[fact.seats[0]])
    yield from _place_is_free(team)
    yield from _retirement(team, fact.seats[0])


def _place_is_free(team: Team) -> Iterator[Command]:
    """Where machines have room for a number of sessions only, an end makes room for another."""
    if any(node.room is not None for node in team.nodes.values()):
        for start in _starts(team, "room"):
            yield start
            yield from _offers(team, start.seat)


def _offered_again(team: Team, agent: Agent) -> Iterator[Command]:
    """A program that waits for work is told of a turn when it starts: it may be woken for one now
    that it sleeps."""
    if agent.run.waits_for_work:
        for channel in agent.channels:
            yield c.OfferTurn(channel=channel)


def _retirement(team: Team, seat: SeatId) -> Iterator[Command]:
    """A dismissed agent is retired when its last session has ended."""
    if team.agents[seat].dismissed_until is not None:
        yield c.RetireAgent(seat=seat, reason=LEAVING)


def _work_has_stopped(team: Team, agent: Agent) -> Iterator[Command]:
    """Without a process, interrupted work has stopped."""
    for channel in team.busy_in(agent):
        yield c.ReportWorkStopped(channel=channel, seat=agent.seat)


@coupling(e.MessagesReturned, "A person who tries again starts an agent that failed or is paused.")
def _returned(team: Team, event: Event, fact: e.MessagesReturned) -> Iterator[Command]:
    if is_person(event.actor):
        yield from _set_running(team.agents[fact.seat], _person(event.actor), "tried again")


@coupling(e.MoreAllowed, "Work that a person lets go on beyond a limit goes on at once.")
def _more_allowed(team: Team, event: Event, fact: e.MoreAllowed) -> Iterator[Command]:
    if fact.channel is not None:
        yield c.OfferTurn(channel=fact.channel)
        return
    assert fact.seat is not None
    note, by = f"goes on for {fact.turns} turns", _person(event.actor)
    mode = RunMode.CONTINUOUS if team.agents[fact.seat].run.long_lived else RunMode.RUN_ONCE
    yield c.SetDesired(seat=fact.seat, desired=mode, set_by=by, note=note)


# ── delegation and run control ────────────────────────────────────────────────────────────────────


_TAKEN_AWAY: Final = {
    "session_closed": "the state machine session ended",
    "cancelled": "the task was cancelled",
}
"""Why a session is stopped whose conversation ends before its work does, by the trigger."""


@coupling(Machine.DELEGATION, "An agent works on a conversation in a session of its seat.")
def _handed(team: Team, event: Event, fact: StateTransition) -> Iterator[Command]:
    assert fact.conversation is not None
    conversation = team.delegation.conversations.get(fact.conversation)
    if fact.trigger in _TAKEN_AWAY:
        for session in team.sessions.values():
            if session.task == fact.conversation:
                reason = _TAKEN_AWAY[fact.trigger]
                yield c.StopSession(seat=session.seats[0], task=session.task, reason=reason)
    if conversation is None or conversation.keeper or fact.target in (MAIN, QUEUE):
        return
    seat = team.names.get(name_key(fact.target))
    if seat is None:
        seat = free_seat(team)
        yield c.EnrollAgent(name=fact.target, authority=Authority.MUSTER, seat=seat, on_call=True)
    yield c.StartSession(seat=seat, trigger="task", task=fact.conversation, until=fact.until)


def _task_ended(team: Team, fact: e.SessionEnd) -> Iterator[Command]:
    """A session that ends before its task is finished fails the task."""
    agent = team.agents[fact.seats[0]]
    if agent.run.on_call and not agent.tasks:
        yield c.Doze(seat=agent.seat)
    for conversation in team.delegation.conversations.values():
        if conversation.session == fact.session:
            yield c.FinishTask(
                conversation=conversation.id,
                epoch=conversation.epoch,
                summary=_why_it_failed(fact, _last_words(team, fact)),
                failed=True,
            )


def _last_words(team: Team, fact: e.SessionEnd) -> str:
    """The reason of an end, unless the program knows what was said in a private channel."""
    return "" if is_insider(team, fact.seats[0]) else fact.reason


def _why_it_failed(fact: e.SessionEnd, words: str) -> str:
    if fact.outcome in (Outcome.LOST, Outcome.CUT_OFF):
        return LOST
    if fact.outcome is Outcome.COMPLETED or fact.code is None:
        return words or f"it {fact.outcome}, without a result"
    return f"it {fact.outcome} with code {fact.code}{words and f': {words}'}"


def _abandoned(conversation: Conversation) -> Iterator[Command]:
    if conversation.state == MAIN:
        yield c.CloseConversation(conversation=conversation.id, summary=LOST, failed=True)
    elif conversation.state != QUEUE:
        yield c.FinishTask(
            conversation=conversation.id, epoch=conversation.epoch, summary=LOST, failed=True
        )


# ── turns ─────────────────────────────────────────────────────────────────────────────────────────


@coupling(Machine.TURNS, "A turn or member that becomes free leads to the next grant.")
def _turns(team: Team, event: Event, fact: StateTransition) -> Sequence[Command]:
    if fact.channel is None or fact.seat is None:
        return ()
    if fact.target == ACTIVE:
        agent = team.agents[fact.seat]
        if agent.approvals:
            return (c.AwaitApproval(channel=fact.channel, seat=fact.seat),)
        if agent.present:
            return ()
        return (c.StartSession(seat=fact.seat, trigger="turn"),)
    if fact.source in HELD and fact.target not in HELD:
        return (c.OfferTurn(channel=fact.channel), *_offers(team, fact.seat, fact.channel))
    return (c.OfferTurn(channel=fact.channel),) if fact.target == QUEUED else ()


@coupling(e.MemberLeft, "When an idle lone member leaves, a waiting member gets the turn.")
def _left(team: Team, event: Event, fact: e.MemberLeft) -> Sequence[Command]:
    return (c.OfferTurn(channel=fact.channel),)


@coupling(e.WorkStopped, "A turn taken away is granted again when the work on it stopped.")
def _stopped(team: Team, event: Event, fact: e.WorkStopped) -> Iterator[Command]:
    yield c.OfferTurn(channel=fact.channel)
    yield from _offers(team, fact.seat, fact.channel)


@coupling(
    e.UserMessage,
    "A message may be news for a member that was passed over, and is work for a program that waits"
    " for some.",
)
def _posted(team: Team, event: Event, fact: e.UserMessage) -> Sequence[Command]:
    if fact.seat is not None and team.agents[fact.seat].run.waits_for_work:
        return (c.StartSession(seat=fact.seat, trigger="message"),)
    channel = team.channels[fact.channel] if fact.channel is not None else None
    if channel is None or channel.turn is not None or channel.resting:
        return ()
    return (c.OfferTurn(channel=channel.id),)


@coupling(e.AgentConfigured, "New settings may let an agent start, or take a turn.")
def _reconfigured(team: Team, event: Event, fact: e.AgentConfigured) -> Sequence[Command]:
    start = c.StartSession(seat=fact.seat, trigger="settings")
    return (start, *_offers(team, fact.seat))


@coupling(e.ChannelConfigured, "New rules may let a channel rest, or go on.")
def _configured(team: Team, event: Event, fact: e.ChannelConfigured) -> Sequence[Command]:
    return (c.OfferTurn(channel=fact.channel),)


@coupling(e.ChannelRestored, "A channel that is brought back goes on where it was.")
def _restored(team: Team, event: Event, fact: e.ChannelRestored) -> Sequence[Command]:
    return (c.OfferTurn(channel=fact.channel),)


@coupling(e.TurnClaimed, "A claim may find the turn free: a person chose who speaks next.")
def _claimed(team: Team, event: Event, fact: e.TurnClaimed) -> Sequence[Command]:
    return (c.OfferTurn(channel=fact.channel),)


@coupling(e.ChannelRoused, "A post ends a channel's rest.")
def _roused(team: Team, event: Event, fact: e.ChannelRoused) -> Iterator[Command]:
    yield c.OfferTurn(channel=fact.channel)


def _offers(team: Team, seat: SeatId, but: ChannelId | None = None) -> Sequence[Command]:
    """Offers for channels that may have waited for this agent, the longest wait first."""
    channels = team.agents[seat].channels
    if channels == (but,):
        return ()
    waiting = [each for each in channels if each != but]
    waiting.sort(key=lambda each: team.channels[each].vacant_since)
    return [c.OfferTurn(channel=each) for each in waiting if team.channels[each].turn is None]
