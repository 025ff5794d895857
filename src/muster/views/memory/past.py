"""The conversations of an agent with its program, as a person chooses one of them to resume."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from muster import limits
from muster.engine.programs import KeptConversation
from muster.machines.events import SessionEnd, SessionStart
from muster.machines.ids import SessionId
from muster.machines.state import Agent, Team
from muster.machines.vocabulary import NOTHING_USED
from muster.store.base import EventStore, LogFilter
from muster.store.codec import decode
from muster.views.access import ShowEvent
from muster.views.answers.agents import PastConversation
from muster.views.answers.messages import MessageView
from muster.views.channels import usage_fields
from muster.views.conversation_costs import Tally
from muster.views.memory.transcripts import own_messages
from muster.views.quotes import shortened

WORDS_CHARS: Final = 120
_LIVES: Final = frozenset({"session_start", "session_end"})


class _Life(NamedTuple):
    """The times of a session, and the place of its end; none while it lives."""

    began: datetime
    ended: datetime | None = None
    end: int | None = None


async def past_conversations(
    store: EventStore,
    team: Team,
    agent: Agent,
    kept: Sequence[KeptConversation],
    tally: Tally,
    show: ShowEvent,
) -> tuple[PastConversation, ...]:
    """The conversations that the log still knows a session of, the newest first."""
    lives = await _lives(store, agent)
    said = await own_messages(store, agent, team, show, team.seq)
    ends = sorted(life.end for life in lives.values() if life.end is not None)
    return tuple(
        _shown(each, lives, tally, _first_words(each, lives, ends, said))
        for each in kept
        if any(session in lives for session in each.sessions)
    )


async def _lives(store: EventStore, agent: Agent) -> Mapping[SessionId, _Life]:
    where = LogFilter(types=_LIVES, seat=agent.seat)
    found: dict[SessionId, _Life] = {}
    newest = await store.read(
        after=0, limit=limits.DIGEST_MESSAGES_MAX, where=where, backwards=True
    )
    for stored in reversed(newest):
        event = decode(stored.data)
        if isinstance(event.fact, SessionStart):
            found[event.fact.session] = _Life(event.ts)
        elif isinstance(event.fact, SessionEnd) and event.fact.session in found:
            began = found[event.fact.session].began
            found[event.fact.session] = _Life(began, event.ts, event.seq)
    return found


def _first_words(
    kept: KeptConversation,
    lives: Mapping[SessionId, _Life],
    ends: Sequence[int],
    said: Sequence[MessageView],
) -> str:
    """The first message in its sessions. A message before a session is part of it, if the session
    before has ended by then."""
    for session in kept.sessions:
        life = lives.get(session)
        if life is None:
            continue
        at = len(ends) if life.end is None else bisect_left(ends, life.end)
        first = next((each for each in said if bisect_left(ends, each.seq) == at), None)
        if first is not None:
            return shortened(first.text, WORDS_CHARS)
    return ""


def _shown(
    kept: KeptConversation, lives: Mapping[SessionId, _Life], tally: Tally, words: str
) -> PastConversation:
    known = [lives[session] for session in kept.sessions if session in lives]
    spent = (tally.sessions[each].usage for each in kept.sessions if each in tally.sessions)
    return PastConversation(
        id=kept.id,
        began=known[0].began,
        ended=known[-1].ended,
        sessions=len(kept.sessions),
        first_words=words,
        **usage_fields(sum(spent, start=NOTHING_USED)),
    )
