"""Words of agents to a person: messages outside of channels, and those that name the person with
an @. The unseen ones of an agent, or of a channel, are kept together, up to a number."""

from msgspec.structs import replace

from muster.limits import NEED_CHARS_MAX, WORDS_TO_PERSON_MAX
from muster.machines import events as e
from muster.machines.events import Event
from muster.machines.state import Agent, Channel, Team, WordToPerson
from muster.machines.turns.order import names_person


def told_directly(team: Team, agent: Agent, event: Event, fact: e.AgentMessage) -> Agent:
    """An agent that said something outside of channels."""
    words = _with_word(agent.to_person, agent.seen, event, fact)
    return replace(agent, spoke=event.seq, to_person=words)


def told_in_channel(team: Team, channel: Channel, event: Event, fact: e.AgentMessage) -> Channel:
    """A channel in which an agent said something."""
    if not _names_person(team, fact):
        return channel
    words = _with_word(channel.to_person, channel.seen, event, fact)
    return replace(channel, to_person=words)


def _names_person(team: Team, fact: e.AgentMessage) -> bool:
    return any(names_person(block.text, team.human) for block in fact.content)


def _with_word(
    words: tuple[WordToPerson, ...], seen: int, event: Event, fact: e.AgentMessage
) -> tuple[WordToPerson, ...]:
    text = "\n".join(block.text for block in fact.content)[:NEED_CHARS_MAX]
    word = WordToPerson(seat=fact.seat, at=event.ts, seq=event.seq, text=text)
    unseen = [each for each in words if each.seq > seen]
    return (*unseen, word)[-WORDS_TO_PERSON_MAX:]
