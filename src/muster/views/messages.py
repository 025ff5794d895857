"""An agent's thread: what it said, and what was said to it alone, as the seed's message documents.

How far a message to an agent has come follows from the agent: up to where it was handed messages,
and up to where it has acted on them. Whether a person has read an agent's answer nobody knows.
"""

from datetime import datetime
from typing import Final, Literal

import msgspec

from muster.machines.events import AgentMessage, Event, MessageImported, UserMessage
from muster.machines.ids import ChannelId, SessionId
from muster.machines.state import Agent
from muster.views.channels import Delivery
from muster.views.wake_payload import WakePayload

THREAD_MESSAGES: Final = 100
THREAD_MESSAGES_MAX: Final = 256
"""How many messages a page of a thread has at most; a message may be a megabyte."""


class MessageDocument(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True
):
    """Something that was said by an agent, or to it alone."""

    seq: int
    """Where it stands in this log; what was said on another machine stands where it came in."""

    type: Literal["message"]
    speaker_name: str
    speaker_type: Literal["human", "agent"]
    target_agent: str | None
    """Whom it was said to; null for the lead, and for what an agent said."""

    text: str
    server_session_id: SessionId
    """The life of muster in which it was said."""

    created_at: datetime
    delivery: Delivery | None = None
    """How far a message to the agent has come. What the agent said itself has none, nor has what
    was said on another machine.
    """

    channel: ChannelId | None = None
    """Where it was said, if not to the human alone."""


class ThreadPage(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Some of a thread in order. `after` asks for the next page, if there is `more`."""

    messages: tuple[MessageDocument, ...]
    after: int
    more: bool


class WakePreview(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What an agent would be told if it woke now: in parts, and as the text."""

    payload: WakePayload
    text: str


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
        )
    if isinstance(fact, MessageImported):
        return _from_elsewhere(event.seq, fact)
    assert isinstance(fact, UserMessage)
    return MessageDocument(
        seq=event.seq,
        type="message",
        speaker_name=fact.speaker_name,
        speaker_type="human",
        target_agent=fact.target_agent,
        text=fact.text,
        server_session_id=event.session_id,
        created_at=event.ts,
        delivery=_delivery(event.seq, agent),
        channel=fact.channel,
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


def _delivery(seq: int, agent: Agent) -> Delivery:
    if seq <= agent.read:
        return Delivery.READ
    return Delivery.DELIVERED if seq <= agent.delivered else Delivery.ACCEPTED
