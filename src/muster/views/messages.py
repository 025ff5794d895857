"""An agent's thread: messages by the agent and to it alone, as message documents.

The delivery state of a message to an agent follows from the agent's cursors: how far messages were
delivered to it, and how far it has acted on them. Whether a person has read a message is not known.
"""

from typing import Final

from muster.machines.events import AgentMessage, Event, MessageImported, UserMessage
from muster.machines.state import Agent
from muster.machines.vocabulary import DeliveryWay
from muster.views.answers.messages import Delivery, MessageDocument

THREAD_MESSAGES: Final = 100
THREAD_MESSAGES_MAX: Final = 256
"""Messages in one page of a thread; a message can be a megabyte."""


def message_document(event: Event, agent: Agent) -> MessageDocument:
    """A message of an agent's thread."""
    fact = event.fact
    if isinstance(fact, AgentMessage):
        return MessageDocument(
            seq=event.seq,
            type="message",
            speaker_name=fact.agent_name,
            speaker_type="agent",
            target_agent=None,
            text="\n".join(block.text for block in fact.content),
            server_session_id=event.session_id,
            created_at=event.ts,
            channel=fact.channel,
            files=fact.files,
        )
    if isinstance(fact, MessageImported):
        return _from_elsewhere(event.seq, fact)
    assert isinstance(fact, UserMessage)
    return _to_agent(event, fact, agent)


def _to_agent(event: Event, fact: UserMessage, agent: Agent) -> MessageDocument:
    return MessageDocument(
        seq=event.seq,
        type="message",
        speaker_name=fact.speaker_name,
        speaker_type=fact.speaker_type,
        target_agent=fact.target_agent,
        text=fact.text,
        server_session_id=event.session_id,
        created_at=event.ts,
        delivery=_delivery(event.seq, agent),
        way=_way(event.seq, agent),
        channel=fact.channel,
        files=fact.files,
    )


def _from_elsewhere(seq: int, fact: MessageImported) -> MessageDocument:
    copy = fact.message
    return MessageDocument(
        seq=seq,
        type="message",
        speaker_name=copy.speaker_name,
        speaker_type=copy.speaker_type,
        target_agent=copy.target_agent,
        text=copy.text,
        server_session_id=copy.server_session_id,
        created_at=copy.created_at,
        channel=copy.channel,
    )


def _way(seq: int, agent: Agent) -> DeliveryWay | None:
    return next((each.way for each in agent.routed if each.message == seq), None)


def _delivery(seq: int, agent: Agent) -> Delivery:
    read, delivered, upto = agent.before
    if seq > upto:
        read, delivered = agent.read, agent.delivered
    if seq <= read:
        return Delivery.READ
    return Delivery.DELIVERED if seq <= delivered else Delivery.ACCEPTED
