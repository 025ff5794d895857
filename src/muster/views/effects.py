"""The effect of a message, in a sentence: to whom it went, and what happened to the turn."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from muster.machines import events as e
from muster.machines.events import Event, Fact
from muster.machines.ids import ChannelId, SeatId
from muster.machines.state import Channel, Team
from muster.machines.turns.order import NO_HANDOFF
from muster.machines.vocabulary import InterruptMode, TurnState


class Effect(NamedTuple):
    """The agents that are handed a message now, and what it did to the turn."""

    delivered_to: tuple[str, ...] = ()
    sentence: str = ""


def effect_of(team: Team, events: Sequence[Event]) -> Effect:
    """The effect of the message among the events of one command, or of a handoff without words."""
    facts = [event.fact for event in events]
    for fact in facts:
        if isinstance(fact, e.UserMessage):
            return _by_person(team, fact, facts)
        if isinstance(fact, e.AgentMessage):
            effect = _by_agent(team, fact, facts)
            return effect._replace(sentence=_without_handoff(facts) + effect.sentence)
    return Effect(sentence=_without_handoff(facts).rstrip())


def _without_handoff(facts: Sequence[Fact]) -> str:
    """The reason why a handoff had no effect, as a sentence; empty if there is none."""
    for fact in facts:
        if isinstance(fact, e.WarningLogged) and fact.text.startswith(NO_HANDOFF):
            return f"{fact.text[0].upper()}{fact.text[1:]}. "
    return ""


# ── a person's message ────────────────────────────────────────────────────────────────────────────


def _by_person(team: Team, message: e.UserMessage, facts: Sequence[Fact]) -> Effect:
    if message.channel is None:
        return _direct(team, message)
    granted = _granted(facts, message.channel)
    channel = team.channel(message.channel)
    told = dict.fromkeys((*message.deliver_to, *granted))
    sentence = _moved(team, channel, facts) or _unmoved(team, channel, message)
    return Effect(_names(team, told), sentence)


def _direct(team: Team, message: e.UserMessage) -> Effect:
    names = _names(team, message.deliver_to)
    away = [agent for agent in map(team.agent, message.deliver_to) if not agent.present]
    when = "when it is awake" if away else "now"
    if any(agent.run.waits_for_work and agent.session for agent in away):
        when = "now: it is started for it"
    return Effect(names, f"{' and '.join(names)} gets it {when}.")


def _moved(team: Team, channel: Channel, facts: Sequence[Fact]) -> str:
    """The change of the turn that a message caused; empty where there is none."""
    for fact in facts:
        if isinstance(fact, e.TurnRenewed):
            hold = f"{channel.config.interrupt_hold_seconds:g} s"
            return f"{_holder(team, channel)} stays interrupted for {hold} from now."
        if isinstance(fact, e.StateTransition) and fact.channel == channel.id:
            if fact.trigger == "human_interrupt":
                hold = f"{channel.config.interrupt_hold_seconds:g} s"
                return f"{fact.agent_id} is interrupted for {hold}."
            if fact.source == TurnState.WAITING and fact.target == TurnState.ACTIVE:
                return f"{fact.agent_id} has its answer and goes on."
            if fact.target == TurnState.ACTIVE:
                roused = any(isinstance(each, e.ChannelRoused) for each in facts)
                start = "The channel no longer rests: " if roused else ""
                return f"{start}{fact.agent_id} has the turn."
    return ""


def _unmoved(team: Team, channel: Channel, message: e.UserMessage) -> str:
    turn = channel.turn
    if turn is None:
        return _nobody(team, channel)
    name = team.agent(turn.holder).id
    if message.mode is InterruptMode.PARALLEL:
        return f"All members get it now; {name} keeps the turn."
    if message.mode is InterruptMode.QUEUE:
        return f"{name} goes on; the message is delivered after this turn."
    if turn.holder in message.deliver_to:
        return f"{name} gets it now, in its turn."
    return f"{name} waits ({turn.wait.reason if turn.wait else 'paused'}) and gets it afterwards."


def _nobody(team: Team, channel: Channel) -> str:
    if channel.drain is not None:
        name = team.agent(channel.drain.seat).id
        return f"The work of {name} is being stopped; the next member gets it then."
    if channel.resting:
        return "The channel still rests: a limit of it is reached."
    if not channel.ring:
        return "No agent is in this channel; the first one that joins gets it."
    return "No member can take the turn now; the next one gets it with its turn."


# ── an agent's message ────────────────────────────────────────────────────────────────────────────


def _by_agent(team: Team, message: e.AgentMessage, facts: Sequence[Fact]) -> Effect:
    if message.channel is None:
        return Effect((), f"{team.human} gets it.")
    channel = team.channel(message.channel)
    granted = _granted(facts, message.channel)
    if granted:
        names = _names(team, granted)
        return Effect(names, f"{names[-1]} has the turn.")
    if channel.turn is not None and channel.turn.holder == message.seat:
        return Effect((), f"{message.agent_name} keeps the turn.")
    rested = [fact for fact in facts if isinstance(fact, e.ChannelRested)]
    if rested:
        why = f": {rested[-1].reason}" if rested[-1].reason else ""
        return Effect((), f"The channel rests{why}.")
    return Effect((), "Nobody has the turn.")


def _granted(facts: Sequence[Fact], channel: ChannelId) -> tuple[SeatId, ...]:
    """The members that were granted the turn: they are handed the message with it."""
    return tuple(_grants(facts, channel))


def _grants(facts: Sequence[Fact], channel: ChannelId) -> Iterator[SeatId]:
    for fact in facts:
        if (
            isinstance(fact, e.StateTransition)
            and fact.channel == channel
            and fact.target == TurnState.ACTIVE
            and fact.source != TurnState.WAITING
            and fact.seat is not None
        ):
            yield fact.seat


def _holder(team: Team, channel: Channel) -> str:
    return team.agent(channel.turn.holder).id if channel.turn else "the holder"


def _names(team: Team, seats: Sequence[SeatId] | dict[SeatId, None]) -> tuple[str, ...]:
    return tuple(team.agent(seat).id for seat in seats)
