"""Invariants of every state, which the tests, the simulation and `muster doctor` check.

Some invariants need no check because the records cannot break them: a channel has one turn, a seat
has one soul.
"""

from collections.abc import Iterator

from muster.machines.state import Agent, Channel, Conversation, Drain, Status, Team
from muster.machines.turns.table import has_news
from muster.machines.vocabulary import Authority, Claim, RunMode


def violations(team: Team) -> Iterator[str]:
    """The violated invariants of a state, one sentence each."""
    for agent in team.agents.values():
        yield from _of_agent(team, agent)
        yield from _of_run(team, agent)
    for channel in team.channels.values():
        yield from _of_channel(team, channel)
    yield from _of_sessions(team)
    rules = {name for name, each in team.channels.items() if each.config.read_rule == "members"}
    if sorted(team.private) != sorted(rules):
        yield f"the private channels are {sorted(rules)}, but {sorted(team.private)} are listed"
    for conversation in team.delegation.conversations.values():
        yield from _of_conversation(team, conversation)


def _of_conversation(team: Team, conversation: Conversation) -> Iterator[str]:
    """A conversation that muster leads is with an agent exactly while a session works on it."""
    where, session = f"conversation {conversation.id!r}", conversation.session
    if session is not None and session not in team.sessions:
        yield f"{where} is worked on in session {session!r}, which is over"
    at_home = conversation.state == team.delegation.home_state
    if not conversation.keeper and at_home is not (session is None):
        yield f"{where} is {conversation.state} in session {session!r}"


def _of_agent(team: Team, agent: Agent) -> Iterator[str]:
    who = f"agent {agent.id!r}"
    turns = len(team.busy_in(agent))
    if turns > agent.max_turns:
        yield f"{who} holds {turns} turns, more than {agent.max_turns}"
    if agent.retired:
        yield from _of_retired(team, agent)
    yield from _of_place(team, agent)
    if len(set(agent.channels)) < len(agent.channels):
        yield f"{who} is in the same channel twice"
    if agent.status is Status.HATCHING and agent.name is not None:
        yield f"{who} is hatching, but has a name"
    if agent.status is Status.UNKNOWN:
        yield f"{who} is stored as unknown"
    for channel in agent.draining:
        drain = team.channels[channel].drain
        if drain is None or drain.seat != agent.seat:
            yield f"{who} has no work to stop in {channel!r}"


def _of_place(team: Team, agent: Agent) -> Iterator[str]:
    """A successor is known at its place, and no agent that enrols gets a seat that is taken."""
    place = agent.successor_at
    if place is not None and team.newest_at.get(place, place) < agent.seat:
        yield f"agent {agent.id!r} is a successor at place {place}, which does not know it"
    if agent.seat >= team.next_seat and place is None:
        yield f"the next agent that enrols would get the seat of {agent.id!r}"


def _of_retired(team: Team, agent: Agent) -> Iterator[str]:
    who = f"agent {agent.id!r}"
    if agent.status is Status.ALIVE or agent.channels or agent.draining:
        yield f"{who} is retired, but alive or in a channel"
    if any(token.seat == agent.seat for token in team.tokens.values()):
        yield f"{who} is retired, but has a token"
    if agent.seat in team.names.values():
        yield f"{who} is retired, but its name is not free"
    if agent.session is not None or agent.tasks or agent.dismissed_until is not None:
        yield f"{who} is retired, but has a session or is being dismissed"


def _of_run(team: Team, agent: Agent) -> Iterator[str]:
    """An agent that muster runs is alive only while its process is up."""
    run, who = agent.run, f"agent {agent.id!r}"
    if run.answered > run.generation:
        yield f"{who} has answered generation {run.answered}, which is beyond {run.generation}"
    if agent.session is not None and agent.session not in team.sessions:
        yield f"{who} is in session {agent.session!r}, which is over"
    owners = (agent.session, *agent.tasks, *([None] if agent.present else []))
    if any(each.session not in owners for each in agent.approvals):
        yield f"{who} has an open approval that belongs to none of its sessions"
    if any(each not in team.sessions for each in agent.tasks):
        yield f"{who} has a task session that is over"
    working = agent.session is not None or (run.on_call and agent.tasks)
    if agent.authority is not Authority.MUSTER or working:
        return
    if agent.status is Status.ALIVE:
        yield f"{who} is alive without a process"
    if run.current is not RunMode.PAUSE and (run.retry_at is None or run.failures):
        yield f"{who} has the current mode {run.current} without a session"


def _of_channel(team: Team, channel: Channel) -> Iterator[str]:
    where, turn, drain = f"channel {channel.id!r}", channel.turn, channel.drain
    if len(set(channel.ring)) < len(channel.ring):
        yield f"{where} has a seat twice in its ring"
    for seat in channel.ring:
        if channel.id not in team.agents[seat].channels:
            yield f"{where} has seat {seat} in its ring, but the agent does not list the channel"
    if turn is not None:
        yield from _of_turn(team, channel)
    if drain is not None:
        yield from _of_drain(team, channel, drain)
    yield from _of_claims(channel)
    if any(seat in channel.ring for seat in channel.barred):
        yield f"{where} has an agent that is barred, but a member"
    if any(
        seat not in channel.ring and seat not in channel.lost_places for seat in channel.stopped
    ):
        yield f"{where} has a stopped agent that is no member and has no place to come back to"
    yield from _of_lost_places(team, channel)
    yield from _of_rest(channel)


def _of_drain(team: Team, channel: Channel, drain: Drain) -> Iterator[str]:
    where = f"channel {channel.id!r}"
    if channel.turn is not None:
        yield f"{where} has a turn while work is being stopped"
    if channel.id not in team.agents[drain.seat].draining:
        yield f"{where} stops work of seat {drain.seat}, which does not list the channel"


def _of_claims(channel: Channel) -> Iterator[str]:
    """A member has one claim; a person's choice stays for an agent that may come back."""
    where, claims = f"channel {channel.id!r}", channel.claims
    for each in claims:
        waits = each.claim is Claim.PERSON and each.seat in channel.lost_places
        if each.seat not in channel.ring and not waits:
            yield f"{where} has a claim of an agent that is not in its ring"
    if len({each.seat for each in claims}) < len(claims):
        yield f"{where} has two claims of one agent"


def _of_lost_places(team: Team, channel: Channel) -> Iterator[str]:
    """A place is kept for an agent that is not in the ring and may come back."""
    for agent in (team.agents[seat] for seat in channel.lost_places):
        is_out = agent.seat in channel.barred or agent.disabled or agent.retired
        if is_out or agent.seat in channel.ring:
            where = f"channel {channel.id!r}"
            yield f"{where} keeps a place for {agent.id!r}, which is a member or must not return"


def _of_rest(channel: Channel) -> Iterator[str]:
    """A channel rests for a reason; a lone member is idle until somebody writes."""
    where, turn, idle = f"channel {channel.id!r}", channel.turn, channel.idle
    if channel.resting and turn is not None:
        yield f"{where} rests, but its turn is held"
    if channel.resting and channel.rest_limit is None:
        yield f"{where} rests without a limit"
    if channel.rest_limit is not None and not channel.resting:
        yield f"{where} has a limit, but does not rest"
    if idle is None:
        return
    if turn is not None or idle not in channel.ring:
        yield f"{where} has an idle member, but a turn, or the member is not in its ring"
    if has_news(channel, idle, channel.delivered, channel.vacant_since):
        yield f"{where} has a member that is idle, although there is news for it"


def _of_turn(team: Team, channel: Channel) -> Iterator[str]:
    where, turn = f"channel {channel.id!r}", channel.turn
    assert turn is not None
    holder = team.agents[turn.holder]
    if turn.holder not in channel.ring:
        yield f"{where} is held by {holder.id!r}, which is not in its ring"
    if channel.archived:
        yield f"{where} is archived, but its turn is held"
    if holder.disabled:
        yield f"{where} is held by {holder.id!r}, which is disabled"
    if holder.approvals and turn.wait is None:
        yield f"{where} has a running timeout while {holder.id!r} waits for approval"
    if turn.wait is not None and turn.wait.approval and not holder.approvals:
        yield f"{where} waits for approval, but {holder.id!r} has no open request"
    if not holder.present and holder.session is None:
        yield f"{where} is held by {holder.id!r}, which is neither present nor being started"


def _of_sessions(team: Team) -> Iterator[str]:
    for session in team.sessions.values():
        owner = team.agents[session.seats[0]]
        if session.id not in (owner.session, *owner.tasks):
            yield f"session {session.id!r} is not listed by its agent {owner.id!r}"
        if owner.authority is not Authority.MUSTER:
            yield f"session {session.id!r} runs {owner.id!r}, which muster does not run"
