"""The fold of the facts about messages: what was said, and who was handed it."""

from msgspec.structs import replace

from muster.limits import ROUTED_MESSAGES_KEPT
from muster.machines import events as e
from muster.machines.breaker.burn import rested
from muster.machines.breaker.echo import heard
from muster.machines.events import Event
from muster.machines.folding import with_agent, with_channel
from muster.machines.ids import SeatId, is_person
from muster.machines.maps import put
from muster.machines.state import SILENCE, Agent, Channel, RoutedMessage, Spent, Team
from muster.machines.turns.table import seconds, timeout_of
from muster.machines.turns.to_person import told_directly, told_in_channel
from muster.machines.turns.unanswered_fold import answered


def announcement(team: Team, event: Event, fact: e.Announcement) -> Team:
    """A notice is a message in the channel, but no news: nobody has to answer it."""
    return with_channel(team, event, replace(team.channels[fact.channel], last_message=event.seq))


def user_message(team: Team, event: Event, fact: e.UserMessage) -> Team:
    """A message of a person, or of an agent to another. A person's word ends the count of those."""
    by_person = is_person(event.actor)
    peers = 0 if by_person else team.peer_messages + (fact.sender is not None)
    if peers != team.peer_messages:
        team = replace(team, peer_messages=peers)
    if fact.sender is not None:
        sender = replace(_speaking(team.agents[fact.sender]), sent=event.seq)
        team = replace(team, agents=put(team.agents, sender.seat, sender))
    if fact.channel is not None:
        channel = team.channels[fact.channel]
        turn = channel.turn
        if turn is not None and turn.holder in fact.deliver_to:
            turn = replace(turn, told=event.seq)
        changed = replace(
            channel,
            turn=turn,
            seen=event.seq if by_person else channel.seen,
            silent_turns=0,
            since_message=Spent(turns_before=channel.turns),
            echo=SILENCE,
            burn=rested(channel.burn),
            selector_asked=False,
            last_message=event.seq,
            newest=event.seq,
            newest_by=None,
            newest_other=_newest_other(channel, None),
        )
        return with_channel(team, event, changed)
    if fact.seat is not None:
        agent = team.agents[fact.seat]
        first = agent.delivered >= agent.last_message
        agent = replace(
            agent,
            seen=event.seq if by_person else agent.seen,
            last_message=event.seq,
            pending_from=event.seq - 1 if first else agent.pending_from,
        )
        return with_agent(team, event, agent)
    return team


def _newest_other(channel: Channel, by: SeatId | None) -> int:
    """The newest message of somebody else, after one more of an agent, or of a person."""
    return channel.newest_other if channel.newest_by == by else channel.newest


def messages_read(team: Team, event: Event, fact: e.MessagesRead) -> Team:
    agent = answered(team.agents[fact.seat], fact.upto)
    return with_agent(team, event, agent)


def message_routed(team: Team, event: Event, fact: e.MessageRouted) -> Team:
    agent = team.agents[fact.seat]
    others = tuple(each for each in agent.routed if each.message != fact.message)
    new = RoutedMessage(message=fact.message, way=fact.way)
    agent = replace(agent, routed=(*others, new)[-ROUTED_MESSAGES_KEPT:])
    return with_agent(team, event, agent)


def messages_delivered(team: Team, event: Event, fact: e.MessagesDelivered) -> Team:
    if fact.channel is None:
        agent = team.agents[fact.seat]
        agent = replace(agent, delivered=fact.upto, transcript_from=agent.alive_from)
        return with_agent(team, event, agent)
    channel = team.channels[fact.channel]
    delivered = put(channel.delivered, fact.seat, fact.upto)
    return with_channel(team, event, replace(channel, delivered=delivered))


def agent_message(team: Team, event: Event, fact: e.AgentMessage) -> Team:
    """A post is a sign of work: it restarts the turn's timeout and the silence detection."""
    agent = team.agents[fact.seat]
    if fact.channel is None:
        agent = told_directly(team, agent, event, fact)
        return with_agent(team, event, _speaking(_answering(agent, fact)))
    if agent.answered_from != agent.alive_from:
        team = replace(team, agents=put(team.agents, agent.seat, _speaking(agent)))
    channel = told_in_channel(team, team.channels[fact.channel], event, fact)
    turn = channel.turn
    assert turn is not None
    until = min(event.ts + timeout_of(channel, fact.seat), turn.cap)
    silent_at = None
    if channel.config.auto_detect_turn_end:
        silent_at = event.ts + seconds(channel.config.auto_detect_silence_seconds)
    handed = channel.delivered.get(fact.seat, 0)
    turn = replace(turn, posted=True, answered=handed, until=until, silent_at=silent_at)
    phrase, since = channel.config.stop_phrase, channel.since_message
    if phrase and any(phrase in block.text for block in fact.content):
        since = replace(since, stopped=True)
    echo = channel.echo
    if channel.config.alike_in_a_row:
        echo = heard(echo, fact.content[0].text if fact.content else "", event.ts)
    changed = replace(
        channel,
        turn=turn,
        since_message=since,
        echo=echo,
        last_message=event.seq,
        newest=event.seq,
        newest_by=fact.seat,
        newest_other=_newest_other(channel, fact.seat),
    )
    return with_channel(team, event, changed)


def _speaking(agent: Agent) -> Agent:
    """An agent with words of its own in this period of its life."""
    return replace(agent, transcript_from=agent.alive_from, answered_from=agent.alive_from)


def _answering(agent: Agent, fact: e.AgentMessage) -> Agent:
    """Words answer the direct messages that its program had taken up."""
    upto = agent.delivered if fact.answers_upto is None else min(fact.answers_upto, agent.delivered)
    return answered(agent, upto) if agent.read < upto else agent
