"""Reading, writing and validating the documents that machines exchange: agents and messages.

A document has the stored status, so never `unknown`. Fields that a seat does not have yet are
absent. Older and hand-written documents are read as `LooseDocument`; `parse_document` validates one
and fills in the defaults, or refuses it.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Final, Literal

import msgspec

from muster import limits
from muster.errors import Invalid
from muster.machines.bounds import as_moment, check_looks, check_soul
from muster.machines.documents import AgentDocument, MessageCopy
from muster.machines.ids import GRID_SEATS, SEATS_APART, ChannelId, SeatId, SessionId, document_id
from muster.machines.names import check_plain, check_seat
from muster.machines.state import Agent, Status, Team
from muster.machines.vocabulary import FaceVariant, SpeakerType

STORED: Final = (Status.HATCHING, Status.ALIVE, Status.SLEEPING, Status.EXPIRED)
BORN: Final = (Status.ALIVE, Status.SLEEPING)
_ID_PREFIX: Final = document_id(SeatId(0))[:-1]


class LooseDocument(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An agent's document before validation. Every field is optional."""

    id: str | None = msgspec.field(name="_id", default=None)
    type: str = "agent-identity"
    category: str | None = None
    status: str | None = None
    hatching: bool | None = None
    """The field with which old documents marked a hatching seat."""

    name: str | None = None
    chosen_name: str | None = None
    born_as: str | None = None
    renamed_at: datetime | None = None
    color_name: str | None = None
    individuation_artifact: str | None = None
    soul_edited_at: datetime | None = None
    color: str | None = None
    gender: str | None = None
    grid_position: int | None = None
    place: int | None = None
    face_variant: FaceVariant | None = None
    last_alive_at: datetime | None = None
    last_session_id: str | None = None
    created_at: datetime | None = None


class LooseMessage(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A message before validation. Other programs write messages without an id."""

    id: str | None = None
    type: Literal["message"] = "message"
    speaker_name: str
    speaker_type: SpeakerType
    target_agent: str | None = None
    text: str
    server_session_id: str
    created_at: datetime
    grid_position: int | None = None
    agent_created_at: datetime | None = None
    sender_position: int | None = None
    sender_created_at: datetime | None = None
    channel: str | None = None


def document_of(agent: Agent) -> AgentDocument:
    """The document of a seat."""
    named = agent.name is not None
    return AgentDocument(
        id=document_id(agent.seat),
        type="agent-identity",
        category="identity",
        status=agent.status,
        name=agent.name,
        chosen_name=agent.chosen_name if agent.chosen_name != agent.name else None,
        born_as=_born_as(agent.born_as, agent.chosen_name or agent.name),
        renamed_at=agent.renamed_at,
        color_name=agent.color_name if named else None,
        individuation_artifact=agent.soul if named else None,
        soul_edited_at=agent.soul_edited_at,
        color=agent.color,
        gender=agent.gender,
        grid_position=agent.seat,
        place=agent.successor_at,
        face_variant=agent.face_variant if named else None,
        last_alive_at=agent.last_alive_at,
        last_session_id=agent.last_session_id,
        created_at=agent.created_at,
    )


def documents_of(team: Team) -> list[AgentDocument]:
    """The documents of a team for another machine, in order of their seats."""
    agents = (team.agents[seat] for seat in sorted(team.agents))
    return [document_of(each) for each in agents if each.status in STORED and not each.retired]


def _born_as(name: str | None, now: str | None) -> str | None:
    """The name at birth as a document has it: only where it differs from the name now."""
    return name if name and name != now else None


# ── validation ────────────────────────────────────────────────────────────────────────────────────


def parse_document(loose: LooseDocument) -> AgentDocument:
    """A validated document. An agent with a name is alive or sleeping; one without is neither."""
    seat = _seat(loose)
    what = f"the document {document_id(seat)!r}"
    if loose.type != "agent-identity":
        raise Invalid(what=what, why=f"is of the type {loose.type!r}, not 'agent-identity'")
    status, name = _status(loose, what), loose.name or None
    if name is None and status in BORN:
        raise Invalid(what=what, why=f"is {status}, but has no name")
    if name is not None and status not in BORN:
        status = Status.SLEEPING
    born = name is not None
    chosen = loose.chosen_name if born and loose.chosen_name != name else None
    return AgentDocument(
        id=document_id(seat),
        type="agent-identity",
        category="identity",
        status=status,
        name=name,
        chosen_name=chosen,
        born_as=_born_as(loose.born_as, chosen or name) if born else None,
        renamed_at=as_moment(loose.renamed_at, what) if born else None,
        color_name=(loose.color_name or "") if born else None,
        individuation_artifact=(loose.individuation_artifact or "") if born else None,
        soul_edited_at=as_moment(loose.soul_edited_at, what) if born else None,
        color=loose.color or "",
        gender=loose.gender or "",
        grid_position=seat,
        place=_place(loose, seat, what),
        face_variant=(loose.face_variant or FaceVariant()) if born else None,
        last_alive_at=as_moment(loose.last_alive_at, what) if born else None,
        last_session_id=SessionId(loose.last_session_id)
        if born and loose.last_session_id
        else None,
        created_at=as_moment(loose.created_at, what),
    )


def _seat(loose: LooseDocument) -> SeatId:
    seat = loose.grid_position
    if seat is None:
        digits = (loose.id or "").removeprefix(_ID_PREFIX)
        if not (digits.isascii() and digits.isdecimal() and len(digits) < 10):
            raise Invalid(what=f"the document {loose.id!r}", why="does not say its gridPosition")
        seat = int(digits)
    check_seat(seat)
    other = (loose.id or "").startswith(_ID_PREFIX) and loose.id != document_id(SeatId(seat))
    if other:  # an id of another form is that of an older version, and is replaced
        raise Invalid(what=f"the document {loose.id!r}", why=f"is not that of seat {seat}")
    return SeatId(seat)


def _place(loose: LooseDocument, seat: SeatId, what: str) -> SeatId | None:
    """The place in the grid of a seat beyond it, where the document names one."""
    place = None if loose.place is None or loose.place == seat else SeatId(loose.place)
    if place is not None and not (
        place in GRID_SEATS and seat > place and seat % SEATS_APART == place
    ):
        raise Invalid(
            what=what, why=f"has the place {loose.place}, which is not one of seat {seat}"
        )
    return place


def _status(loose: LooseDocument, what: str) -> Status:
    """The status, or its default for documents from before the field existed."""
    if loose.status is None:
        return Status.HATCHING if loose.hatching else Status.SLEEPING
    if loose.status == Status.UNKNOWN:  # stored by older versions, and shown as sleeping
        return Status.SLEEPING if loose.name else Status.EXPIRED
    if loose.status not in STORED:
        known = ", ".join(STORED)
        raise Invalid(what=what, why=f"has the status {loose.status!r}; it must be one of {known}")
    return Status(loose.status)


def check_document(document: AgentDocument) -> None:
    """Refuse a document with an invalid name or an oversized field."""
    for name in (document.name, document.chosen_name, document.born_as):
        if name is not None:
            check_plain("the name", name)
    check_soul(f"the soul in {document.id!r}", document.individuation_artifact or "")
    looks = (document.color, document.gender, document.color_name, document.last_session_id)
    check_looks(f"the document {document.id!r}", *looks, face=document.face_variant)


def parse_message(loose: LooseMessage) -> MessageCopy:
    """A message with an id and its time in UTC. Without an id, the content determines one."""
    what = f"the message of {loose.created_at.isoformat()}"
    created_at = as_moment(loose.created_at, what)
    assert created_at is not None
    return MessageCopy(
        id=loose.id or f"{loose.server_session_id}:{_content_number(loose)}",
        type="message",
        speaker_name=loose.speaker_name,
        speaker_type=loose.speaker_type,
        target_agent=loose.target_agent,
        text=loose.text,
        server_session_id=SessionId(loose.server_session_id),
        created_at=created_at,
        grid_position=None if loose.grid_position is None else SeatId(loose.grid_position),
        agent_created_at=as_moment(loose.agent_created_at, what),
        sender_position=None if loose.sender_position is None else SeatId(loose.sender_position),
        sender_created_at=as_moment(loose.sender_created_at, what),
        channel=None if loose.channel is None else ChannelId(loose.channel),
    )


def _content_number(loose: LooseMessage) -> int:
    """A number from the content, beyond every place in a log: the same file gives the same ids."""
    from hashlib import sha256  # imported late: `muster status` needs no digest

    digest = sha256(msgspec.json.encode(loose)).digest()
    return (1 << 62) + (int.from_bytes(digest[:7]) >> 1)


def check_messages(messages: Iterable[MessageCopy]) -> None:
    """Refuse invalid messages, and two different ones with the same id."""
    found: dict[str, MessageCopy] = {}
    for each in messages:
        check_message(each)
        if found.setdefault(each.id, each) != each:
            why = "is there twice, with different contents; keep one of them"
            raise Invalid(what=f"the message {each.id!r}", why=why)


def check_message(message: MessageCopy) -> None:
    """Refuse a message with an invalid id, time, size or seat."""
    what = f"the message {message.id[: limits.KEY_CHARS_MAX]!r}"
    server_session, _, seq = message.id.rpartition(":")
    is_number = seq.isascii() and seq.isdecimal() and not seq.startswith("0")
    is_valid = is_number and server_session != "" and server_session == message.server_session_id
    if not is_valid or len(message.id) > limits.KEY_CHARS_MAX:
        raise Invalid(what=what, why="has no id of the form 'serverSessionId:seq'")
    as_moment(message.created_at, what)
    if len(message.text.encode(errors="surrogatepass")) > limits.MESSAGE_BYTES_MAX:
        raise Invalid(what=what, why=f"is over {limits.MESSAGE_BYTES_MAX} bytes")
    names = (message.speaker_name, message.target_agent or "", message.channel or "")
    if any(len(name) > limits.NOTE_CHARS_MAX for name in names):
        raise Invalid(what=what, why=f"has a name with over {limits.NOTE_CHARS_MAX} characters")
    for field in ("grid_position", "sender_position"):
        seat: int | None = getattr(message, field)
        if seat is not None and not 0 <= seat <= limits.SEAT_MAX:
            name = "gridPosition" if field == "grid_position" else "senderPosition"
            raise Invalid(what=what, why=f"has a {name} that is not 0 to {limits.SEAT_MAX}")
