"""Words of agents to a person: answers, and messages that name the person with an @.

Outside of channels only the first message after a person's own is an answer: a program that prints
all day would need the person all day otherwise.
"""

from msgspec.structs import replace

from muster.limits import NEED_CHARS_MAX
from muster.machines import events as e
from muster.machines.events import Event
from muster.machines.state import Agent, Channel, Team, WordToPerson
from muster.machines.turns.order import names_person


def told_directly(team: Team, agent: Agent, event: Event, fact: e.AgentMessage) -> Agent:
    """An agent that said something outside of channels."""
    word = agent.to_person
    if agent.is_asked or _names_person(team, fact):
        word = _word(event, fact)
    return replace(agent, spoke=event.seq, is_asked=False, to_person=word)


def told_in_channel(team: Team, channel: Channel, event: Event, fact: e.AgentMessage) -> Channel:
    """A channel in which an agent said something."""
    if not _names_person(team, fact):
        return channel
    return replace(channel, to_person=_word(event, fact))


def _names_person(team: Team, fact: e.AgentMessage) -> bool:
    return any(names_person(block.text, team.human) for block in fact.content)


def _word(event: Event, fact: e.AgentMessage) -> WordToPerson:
    text = "\n".join(block.text for block in fact.content)[:NEED_CHARS_MAX]
    return WordToPerson(seat=fact.seat, at=event.ts, seq=event.seq, text=text)
