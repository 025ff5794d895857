"""Direct messages between a human and one agent, and the delivery of all messages.

Posts in a channel belong to turns (`decide.py`); the same rule for texts applies.
"""

from collections.abc import Sequence
from datetime import datetime

from muster import limits
from muster.errors import (
    Invalid,
    NoLead,
    NotFound,
    NotTheAuthority,
    SeatOfAnother,
    TooManyPeerMessages,
)
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.attachments import check_files
from muster.machines.events import Fact
from muster.machines.ids import LEAD_SEAT, MUSTER, SeatId, SessionId
from muster.machines.state import Agent, Channel, Team
from muster.machines.turns.table import member
from muster.machines.vocabulary import Authority


def send_message(team: Team, command: c.SendMessage, now: datetime) -> Sequence[Fact]:
    check_text(command.text)
    check_files(command.files)
    if command.seat is None and team.lead is None:
        raise NoLead()
    agent = team.agent(LEAD_SEAT if command.seat is None else command.seat)
    if command.created_at not in (None, agent.created_at):
        raise SeatOfAnother(seat=agent.seat, name=agent.id)
    if command.sender is not None:
        _check_peer(team, command.sender, agent.seat)
    message = e.UserMessage(
        text=command.text,
        speaker_name=command.speaker_name,
        sender=command.sender,
        target_agent=None if command.seat is None else agent.id,
        seat=agent.seat,
        deliver_to=(agent.seat,),
        files=command.files,
    )
    return (message,)


def _check_peer(team: Team, sender: SeatId, receiver: SeatId) -> None:
    """Refuse a message to oneself, and more messages between agents than a person has set off."""
    name = team.agent(sender).id
    if sender == receiver:
        raise Invalid(what="the message", why=f"is for {name!r} itself")
    if team.peer_messages >= limits.PEER_MESSAGES_MAX:
        raise TooManyPeerMessages(limit=limits.PEER_MESSAGES_MAX, human=team.human)


def message_to_lead(team: Team, text: str) -> Fact:
    """An order or a notice of muster to the lead."""
    if team.lead is None:
        raise NoLead()
    check_text(text)
    return e.UserMessage(
        text=text,
        speaker_name=MUSTER,
        target_agent=None,
        seat=LEAD_SEAT,
        deliver_to=(LEAD_SEAT,),
    )


def tell_human(team: Team, command: c.TellHuman, now: datetime) -> Sequence[Fact]:
    agent = team.agent(command.seat)
    check_text(command.text)
    if command.session is not None:
        _check_speaks_for(team, agent, command.session)
    said = e.AgentMessage(
        agent_name=agent.id,
        content=(e.Text(text=command.text),),
        seat=agent.seat,
        answers_upto=command.answers_upto,
    )
    return (said,)


def _check_speaks_for(team: Team, agent: Agent, session: SessionId) -> None:
    """Refuse words that are passed on by another session than that of the agent's lead."""
    lead = team.lead
    if agent.authority is not Authority.LEAD or lead is None or lead.session != session:
        raise NotTheAuthority(claimant=session, name=agent.id, authority=agent.authority)


def deliver_messages(team: Team, command: c.DeliverMessages, now: datetime) -> Sequence[Fact]:
    """Record a delivery. The position only moves forward, and not past the newest message."""
    agent = team.agent(command.seat)
    if command.channel is None:
        before, newest = agent.delivered, agent.last_message
    else:
        channel = member(team, command.channel, command.seat, now).channel
        before, newest = channel.delivered.get(command.seat, 0), channel.last_message
    upto = min(command.upto, newest)
    if upto <= before:
        return ()
    return (e.MessagesDelivered(seat=agent.seat, upto=upto, channel=command.channel),)


def route_message(team: Team, command: c.RouteMessage, now: datetime) -> Sequence[Fact]:
    """Record the way of a message, once for each way."""
    agent = team.agent(command.seat)
    if not 0 < command.message <= agent.last_message:
        raise NotFound(kind="message", name=str(command.message))
    if any((each.message, each.way) == (command.message, command.way) for each in agent.routed):
        return ()
    return (e.MessageRouted(seat=agent.seat, message=command.message, way=command.way),)


def mark_read(team: Team, command: c.MarkRead, now: datetime) -> Sequence[Fact]:
    """Record messages as read."""
    return read_upto(team.agent(command.seat), command.upto)


def read_upto(agent: Agent, upto: int) -> Sequence[Fact]:
    """The fact that an agent has read its messages up to there. Only delivered messages can be."""
    upto = min(upto, agent.delivered)
    return () if upto <= agent.read else (e.MessagesRead(seat=agent.seat, upto=upto),)


def is_blank(text: str) -> bool:
    """Whether a text has nothing but white space."""
    return not text or text.isspace()


def check_text(text: str) -> None:
    """Refuse a message that is blank or too long."""
    if is_blank(text):
        raise Invalid(what="the message", why="is empty")
    if len(text) * 4 <= limits.MESSAGE_BYTES_MAX:
        return  # UTF-8 needs at most four bytes for a character
    if len(text.encode(errors="surrogatepass")) > limits.MESSAGE_BYTES_MAX:
        remedy = "shorten it, post it in parts, or attach it as a file"
        why = f"is over {limits.MESSAGE_BYTES_MAX:,} bytes: {remedy}"
        raise Invalid(what="the message", why=why)


def check_reply(channel: Channel, reply_to: int | None) -> None:
    """Refuse a reply to something that cannot be a message of the channel.

    The state does not have the messages; interfaces look the message up in the log.
    """
    if reply_to is not None and not 0 < reply_to <= channel.last_message:
        raise NotFound(kind="message", name=str(reply_to))
