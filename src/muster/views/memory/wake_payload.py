"""The memory of an agent that wakes: soul, notes, a digest of earlier sessions, last transcript.

A transcript has the agent's messages and the messages to it alone (`transcripts.py`). Undelivered
messages are not part of it; they are delivered as new messages. A soul is always whole; the
transcript shrinks until everything fits.

The payload as text is XML, so that no soul can fake its own end. One line break is added after the
opening and before the closing tag of the soul and of the transcript.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from muster.limits import TRANSCRIPT_BYTES_MAX, WAKE_TEXT_BYTES_MAX
from muster.machines.documents import HandedOver, Handover, WakeText
from muster.machines.state import Agent, Team
from muster.machines.turns.speech import indented
from muster.store.base import EventStore
from muster.views.access import ShowEvent, show_all
from muster.views.answers.messages import EarlierSession, MessageView, WakePayload
from muster.views.memory.digest import Digest, digest_of
from muster.views.memory.lives import lives_elsewhere
from muster.views.memory.transcripts import Transcript, fit, last_life_here
from muster.views.memory.xml_text import xml_attributes, xml_text, xml_words

_TRANSCRIPT: Final = (Handover.ALL, Handover.LAST)
_DIGEST: Final = (Handover.ALL, Handover.DIGEST)


async def wake_payload(
    store: EventStore,
    team: Team,
    agent: Agent,
    show: ShowEvent = show_all,
    room: int = TRANSCRIPT_BYTES_MAX,
    handover: Handover = Handover.ALL,
) -> WakePayload:
    """The memory that an agent would be given if it woke now, as far as a reader may see it."""
    messages, digest = await _remembered(store, team, agent, show, handover)
    while True:
        payload = _payload(agent, fit(messages, team.human, room), digest, handover)
        is_small = len(as_xml(payload).encode(errors="surrogatepass")) <= WAKE_TEXT_BYTES_MAX
        if is_small or room == 0:
            return payload
        room //= 2  # the transcript is mostly markup


async def _remembered(
    store: EventStore, team: Team, agent: Agent, show: ShowEvent, handover: Handover
) -> tuple[Sequence[MessageView], Digest]:
    """The last session, and the digest of all others, wherever each of them was."""
    if handover is Handover.NONE:
        return (), Digest()
    elsewhere = await lives_elsewhere(store, agent, show)
    messages: Sequence[MessageView] = ()
    upto = team.seq
    if handover in _TRANSCRIPT:
        here = await last_life_here(store, team, agent, show)
        if elsewhere and (not here or (here[-1].ts, here[-1].seq) < elsewhere[-1].last):
            messages = elsewhere.pop().messages
        else:
            messages, upto = here, agent.transcript_from
    if handover not in _DIGEST:
        return messages, Digest()
    return messages, await digest_of(store, team, agent, show, upto, elsewhere)


def _payload(
    agent: Agent, transcript: Transcript, digest: Digest, handover: Handover
) -> WakePayload:
    return WakePayload(
        name=agent.id,
        former_names=agent.earlier_names,
        color=agent.color,
        color_name=agent.color_name,
        gender=agent.gender,
        grid_position=agent.seat,
        face_variant=agent.face_variant,
        role=agent.role,
        created_at=agent.created_at,
        last_alive_at=agent.last_alive_at,
        last_session_id=agent.last_session_id,
        has_soul=bool(agent.soul),
        has_transcript=bool(transcript.lines),
        soul=agent.soul,
        notes=tuple(note.text for note in agent.notes),
        transcript=transcript.text,
        omitted=transcript.omitted,
        cut=transcript.cut,
        messages=len(transcript.lines),
        omitted_chars=transcript.omitted_chars,
        handover=handover,
        earlier=digest.sessions,
        earlier_omitted=digest.omitted,
    )


async def wake_text(
    store: EventStore, team: Team, agent: Agent, room: int, handover: Handover
) -> WakeText:
    """The memory of an agent as XML, with so many bytes of transcript at most."""
    payload = await wake_payload(store, team, agent, room=room, handover=handover)
    return WakeText(agent.seat, as_xml(payload), handed_over(payload))


def has_memory(payload: WakePayload) -> bool:
    """Whether there is anything to give."""
    parts = (payload.has_soul, payload.has_transcript, payload.notes, payload.earlier)
    return any(map(bool, parts))


def handed_over(payload: WakePayload) -> HandedOver:
    """The sizes of a memory, for the record of the wake."""
    return HandedOver(
        soul_chars=len(payload.soul),
        notes=len(payload.notes),
        note_chars=sum(map(len, payload.notes)),
        messages=payload.messages,
        message_chars=len(payload.transcript),
        omitted=payload.omitted,
        omitted_chars=payload.omitted_chars,
        sessions=len(payload.earlier),
        sessions_omitted=payload.earlier_omitted,
    )


def as_xml(payload: WakePayload) -> str:
    """One agent's payload as text that no soul can break out of."""
    attributes = xml_attributes(
        (
            ("name", payload.name),
            *((("formerly", ", ".join(payload.former_names)),) if payload.former_names else ()),
            ("color", payload.color),
            ("colorName", payload.color_name),
            ("gender", payload.gender),
            ("position", str(payload.grid_position)),
            ("eyes", payload.face_variant.eyes),
            ("mouth", payload.face_variant.mouth),
            *((("role", payload.role),) if payload.role else ()),
            ("createdAt", _moment(payload.created_at)),
            ("lastAliveAt", _moment(payload.last_alive_at)),
            ("lastSessionId", payload.last_session_id or ""),
            ("hasSoul", str(payload.has_soul).lower()),
            ("hasTranscript", str(payload.has_transcript).lower()),
        )
    )
    noted = "".join(f"<note>{xml_text(indented(text))}</note>\n" for text in payload.notes)
    notes = f"<notes>\n{noted}</notes>\n" if noted else ""
    return (
        f"<agent {attributes}>\n<soul>\n{xml_words(payload.soul)}\n</soul>\n"
        f"{notes}{_earlier(payload)}"
        f"<transcript>\n{xml_text(payload.transcript)}\n</transcript>\n</agent>"
    )


def _earlier(payload: WakePayload) -> str:
    """The digest of earlier sessions, one element for each."""
    if not payload.earlier:
        return ""
    sessions = "".join(map(_session, payload.earlier))
    return f'<earlier omitted="{payload.earlier_omitted}">\n{sessions}</earlier>\n'


def _session(session: EarlierSession) -> str:
    parts = (
        ("first", (session.first,)),
        ("last", (session.last,) if session.last else ()),
        ("decision", session.decisions),
        ("file", session.files),
    )
    lines = "".join(f"<{tag}>{xml_text(text)}</{tag}>\n" for tag, texts in parts for text in texts)
    attributes = xml_attributes(
        (
            ("began", _moment(session.began)),
            ("ended", _moment(session.ended)),
            ("messages", str(session.messages)),
        )
    )
    return f"<session {attributes}>\n{lines}</session>\n"


def _moment(moment: datetime | None) -> str:
    return "" if moment is None else moment.isoformat()
