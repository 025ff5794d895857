"""The digest of earlier sessions that a waking agent is given, made without a model.

Of each session, here and on other machines, but for the one whose transcript is given: the first
and the last words, the decisions that the agent marked (a line of its messages that begins with
`Decision:`), and the files that it made. Everything is cut to a bound, and the newest sessions are
kept.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import groupby
from typing import Final

import msgspec

from muster import limits
from muster.machines.events import AgentActivity
from muster.machines.ids import LEAD_SEAT
from muster.machines.state import Agent, Team
from muster.machines.turns.speech import one_line
from muster.machines.vocabulary import Activity, Authority
from muster.store.base import EventStore, LogFilter
from muster.store.codec import decode
from muster.views.access import ShowEvent, shown_events
from muster.views.answers.messages import EarlierSession, MessageKind, MessageView
from muster.views.memory.lives import Life, lives_here
from muster.views.memory.transcripts import as_line, own_messages

_DECISION: Final = re.compile(r"(?im)^[ \t>*_#-]*decision[*_]*:[*_]*[ \t]*(\S.*)$")
"""Within one line: a class that matched line ends would take quadratic time for blank lines."""

_WRITERS: Final = frozenset({"Write", "Edit", "MultiEdit", "NotebookEdit"})
"""The tools of Claude Code that write a file."""

_PATH: Final = re.compile(r'"(?:file_path|notebook_path)":\s*("(?:[^"\\]|\\.)*")')


class Digest(msgspec.Struct, frozen=True):
    """The sessions beside the one in the transcript, the oldest first."""

    sessions: tuple[EarlierSession, ...] = ()
    omitted: int = 0
    """How many older sessions were left out."""


async def digest_of(
    store: EventStore,
    team: Team,
    agent: Agent,
    show: ShowEvent,
    upto: int,
    elsewhere: Sequence[Life] = (),
) -> Digest:
    """The digest of sessions with messages: here up to a place in the log, and elsewhere."""
    said = await own_messages(store, agent, team, show, upto)
    ends = await _ends(store, agent, upto)
    here = lives_here(list(each) for _, each in groupby(said, lambda each: _session(ends, each)))
    lives = sorted((*here, *elsewhere), key=lambda life: life.last)
    kept = lives[-limits.DIGEST_SESSIONS_MAX :]
    files = await _files(store, agent, show, ends, upto, kept)
    digests = [_digest(life, team.human, agent, _made_in(life, ends, files)) for life in kept]
    fitting = _fitting(digests)
    return Digest(fitting, len(lives) - len(fitting))


def _session(ends: Sequence[int], message: MessageView) -> int:
    """The number of the session here that a message belongs to."""
    return bisect_left(ends, message.seq)


async def _files(
    store: EventStore,
    agent: Agent,
    show: ShowEvent,
    ends: Sequence[int],
    upto: int,
    lives: Sequence[Life],
) -> Sequence[tuple[int, str]]:
    """The files that were written here since the first of these sessions began."""
    here = [_session(ends, life.messages[0]) for life in lives if life.is_here]
    if not here:
        return ()
    first = min(here)
    began = max(ends[first - 1] if first else 0, agent.seated_from)
    return await written_files(store, agent, began, upto, show)


def _made_in(life: Life, ends: Sequence[int], files: Sequence[tuple[int, str]]) -> list[str]:
    if not life.is_here:
        return []
    session = _session(ends, life.messages[0])
    return [path for seq, path in files if bisect_left(ends, seq) == session]


async def _ends(store: EventStore, agent: Agent, upto: int) -> list[int]:
    """The places of the ends of sessions, in order; an agent inside its lead ends with it."""
    seat = LEAD_SEAT if agent.authority is Authority.LEAD else agent.seat
    where = LogFilter(types=frozenset({"session_end"}), seat=seat)
    newest = await store.read(
        after=0, limit=limits.DIGEST_MESSAGES_MAX, where=where, backwards=True, before=upto + 1
    )
    return [each.seq for each in reversed(newest)]


async def written_files(
    store: EventStore, agent: Agent, after: int, upto: int, show: ShowEvent
) -> Sequence[tuple[int, str]]:
    """The files that tools of the agent's program wrote, with their places in the log."""
    where = LogFilter(types=frozenset({"agent_activity"}), seat=agent.seat)
    newest = await store.read(
        after=after, limit=limits.DIGEST_MESSAGES_MAX, where=where, backwards=True, before=upto + 1
    )
    done: set[str] = set()
    found: list[tuple[int, str]] = []
    # the newest first: a call comes after what became of it
    for stored in shown_events(newest, show):
        fact = decode(stored.data).fact
        if not isinstance(fact, AgentActivity) or fact.name not in _WRITERS:
            continue
        if fact.kind is Activity.TOOL_DONE:
            done.add(fact.ref)
        elif fact.kind is Activity.TOOL_CALL and fact.ref in done:
            found.extend((stored.seq, path) for path in _paths(fact.text))
    return found[::-1]


def _paths(given: str) -> Iterator[str]:
    for match in _PATH.finditer(given):
        with suppress(msgspec.DecodeError):  # a path that is no text, such as half a character
            yield msgspec.json.decode(match[1], type=str)


def _digest(life: Life, human: str, agent: Agent, made: Sequence[str]) -> EarlierSession:
    said = life.messages
    first, last = said[0], said[-1]
    own = [each for each in said if each.kind is MessageKind.AGENT and each.speaker == agent.id]
    marked = (match[1] for each in own for match in _DECISION.finditer(each.text))
    attached = [file.name for each in own for file in each.files]
    return EarlierSession(
        began=first.ts,
        ended=last.ts,
        messages=len(said),
        first=_clip(as_line(first, human)),
        last=_clip(as_line(last, human)) if last is not first else "",
        decisions=tuple(clipped_line(each) for each in _newest(marked)),
        files=tuple(clipped_line(each) for each in _newest([*made, *attached])),
    )


def _newest(found: Iterator[str] | Sequence[str]) -> Sequence[str]:
    """The newest different ones, as many as a digest has room for."""
    return list(dict.fromkeys(reversed(list(found))))[: limits.DIGEST_ITEMS_MAX][::-1]


def clipped_line(text: str) -> str:
    """A decision or a path, on one line."""
    return _clip(one_line(text))


def _clip(text: str) -> str:
    most = limits.DIGEST_WORDS_CHARS_MAX
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _fitting(digests: Sequence[EarlierSession]) -> tuple[EarlierSession, ...]:
    """The newest digests that fit together."""
    room, kept = limits.DIGEST_BYTES_MAX, list[EarlierSession]()
    for each in reversed(digests):
        words = (each.first, each.last, *each.decisions, *each.files)
        room -= sum(len(text.encode(errors="surrogatepass")) for text in words)
        if room < 0:
            break
        kept.append(each)
    return tuple(reversed(kept))
