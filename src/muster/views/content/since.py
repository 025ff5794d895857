"""The digest of what has happened since a person last looked, for HTTP and the command line.

It is computed from the log, from the place up to which the person has looked (`Team.looked`). Only
the types in `TOLD` are read. A state transition is decoded only if it is an agent that begins to
wait, which the bytes say: there may be a hundred thousand others in a night.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final

from msgspec.structs import replace

from muster.machines import events as e
from muster.machines.events import Event
from muster.machines.ids import MUSTER, ChannelId, ConversationId, SeatId
from muster.machines.state import Team
from muster.machines.vocabulary import FAILURES, NOTHING_USED, Answered, Machine
from muster.store.base import EventStore, LogFilter, Stored
from muster.store.codec import decode
from muster.views.access import ShowEvent, shown_events
from muster.views.answers.since import ChannelTalk, SinceEntry, SinceKind, SinceView
from muster.views.channels import usage_view
from muster.views.content.spent import SpentOnce
from muster.views.history import moment_of
from muster.views.why import BlockingLog

EVENTS_MAX: Final = 100_000
"""Events that one digest reads: the newest. It takes about a second."""

PAGE_EVENTS: Final = 256
ENTRIES_MAX: Final = 12
"""Entries of a kind that are told; the others are counted."""

CURVE_PARTS: Final = 24

_WAITS: Final = b'"to":"WAITING"'
_KINDS: Final = tuple(SinceKind)

TOLD: Final = LogFilter(
    types=frozenset(
        {
            "agent_message",
            "approval_answered",
            "approval_requested",
            "conversation_end",
            "session_end",
            "session_result",
            "state_transition",
            "usage_recorded",
            "usage_reported",
            "work_spending",
        }
    )
)
"""The events that a digest is made of."""

REQUESTS: Final = LogFilter(types=frozenset({"conversation_start"}))
REQUESTS_MAX: Final = 1000
"""The newest requests, by whose text the digest calls them. Older ones go by their number."""


def titles_of(requests: Iterable[Stored]) -> dict[ConversationId, str]:
    """The texts of requests, from the events that opened their conversations."""
    facts = (decode(each.data).fact for each in requests)
    return {fact.conversation: fact.text for fact in facts if isinstance(fact, e.ConversationStart)}


class SinceDigest:
    """The digest of some events of the log, which are added in order."""

    def __init__(self, team: Team, titles: Mapping[ConversationId, str]) -> None:
        """Tell it with the names of this team, and with the requests by their conversation."""
        self._team = team
        self._titles = titles
        self._entries: dict[tuple[str, str], SinceEntry] = {}
        self._channels: dict[ChannelId, int] = {}
        self._once = SpentOnce()
        self._spent = NOTHING_USED
        self._costs: list[tuple[datetime, float]] = []

    def add(self, stored: Stored) -> None:
        """Add one event."""
        if stored.type == "agent_message":
            if stored.channel is not None:
                self._channels[stored.channel] = self._channels.get(stored.channel, 0) + 1
        elif stored.type != "state_transition" or _WAITS in stored.data:
            self._tell(decode(stored.data))

    def _tell(self, event: Event) -> None:
        match event.fact:
            case e.ConversationEnd():
                self._ended(event, event.fact)
            case e.SessionEnd(task=None, outcome=outcome) if outcome in FAILURES:
                self._failed(event, event.fact)
            case e.ApprovalRequested():
                self._asked_approval(event, event.fact)
            case e.ApprovalAnswered():
                self._answered(event, event.fact)
            case e.StateTransition(machine=Machine.TURNS, trigger="wait_requested"):
                self._waits(event, event.fact)
            case e.SessionResult() | e.UsageReported() | e.UsageRecorded() | e.WorkSpending():
                used = self._once.more(event.fact)
                self._spent += used
                self._costs.append((event.ts, used.cost_usd))
            case _:
                pass

    # ── entries ───────────────────────────────────────────────────────────────────────────────────

    def _ended(self, event: Event, fact: e.ConversationEnd) -> None:
        kind = SinceKind.DONE if fact.outcome == "answered" else SinceKind.FAILED
        entry = SinceEntry(
            kind=kind,
            what=self._titles.get(fact.conversation, fact.conversation),
            outcome=fact.summary or fact.outcome,
            at=event.ts,
            seq=event.seq,
            conversation=fact.conversation,
        )
        self._put(("conversation", fact.conversation), entry)

    def _failed(self, event: Event, fact: e.SessionEnd) -> None:
        for seat in fact.seats:
            before = self._entries.get(("session", str(seat)))
            count = before.count + 1 if before is not None else 1
            entry = self._of(seat, event, SinceKind.FAILED)
            why = fact.reason or str(fact.outcome)
            told = replace(entry, what=why, outcome=fact.outcome, count=count)
            self._put(("session", str(seat)), told)

    def _asked_approval(self, event: Event, fact: e.ApprovalRequested) -> None:
        entry = self._of(fact.seat, event, SinceKind.ASKED)
        what = f"{fact.tool}: {fact.detail}"
        self._put(("approval", fact.approval), replace(entry, what=what, outcome="open"))

    def _answered(self, event: Event, fact: e.ApprovalAnswered) -> None:
        asked = self._entries.get(("approval", fact.approval))
        if asked is not None:
            outcome = _verdict(event, fact)
            self._put(("approval", fact.approval), replace(asked, outcome=outcome))

    def _waits(self, event: Event, fact: e.StateTransition) -> None:
        if fact.seat is None or not fact.reason:
            return
        entry = self._of(fact.seat, event, SinceKind.ASKED)
        told = replace(entry, what=fact.reason, outcome="asked", channel=fact.channel)
        self._put(("question", str(event.seq)), told)

    def _of(self, seat: SeatId, event: Event, kind: SinceKind) -> SinceEntry:
        agent = self._team.agents.get(seat)
        return SinceEntry(
            kind=kind,
            what="",
            outcome="",
            at=event.ts,
            seq=event.seq,
            seat=seat,
            agent=agent.id if agent is not None else None,
        )

    def _put(self, key: tuple[str, str], entry: SinceEntry) -> None:
        self._entries.pop(key, None)
        self._entries[key] = entry

    # ── the whole ─────────────────────────────────────────────────────────────────────────────────

    def view(
        self, after: int, since: datetime | None, now: datetime, *, complete: bool
    ) -> SinceView:
        """The digest of what was added."""
        entries = list(self._entries.values())
        counts = {kind: sum(each.kind is kind for each in entries) for kind in _KINDS}
        newest = [
            each
            for kind in _KINDS
            for each in [found for found in reversed(entries) if found.kind is kind][:ENTRIES_MAX]
        ]
        talked = sorted(self._channels.items(), key=lambda each: -each[1])
        return SinceView(
            after=after,
            since=since,
            seq=self._team.seq,
            until=now,
            done=counts[SinceKind.DONE],
            failed=counts[SinceKind.FAILED],
            asked=counts[SinceKind.ASKED],
            entries=tuple(newest),
            channels=tuple(
                ChannelTalk(channel=channel, messages=count)
                for channel, count in talked
                if channel in self._team.channels
            ),
            spent=usage_view(self._spent),
            curve=curve(self._costs, now),
            complete=complete,
        )


def _verdict(event: Event, fact: e.ApprovalAnswered) -> str:
    word = "allowed" if fact.allow else "denied"
    if fact.how is Answered.DEADLINE:
        return f"{word}, as nobody answered in time"
    if fact.how is Answered.PERSON and event.actor != MUSTER:
        return f"{word} by {event.actor.partition(':')[2] or event.actor}"
    return "its session is over"


def curve(costs: list[tuple[datetime, float]], until: datetime) -> tuple[float, ...]:
    """The cost in equal parts of the time from the first cost on; empty without any cost."""
    if not any(cost for _, cost in costs):
        return ()
    first = costs[0][0]
    span = max((until - first).total_seconds(), 1.0)
    parts = [0.0] * CURVE_PARTS
    for at, cost in costs:
        place = int((at - first).total_seconds() / span * CURVE_PARTS)
        parts[min(max(place, 0), CURVE_PARTS - 1)] += cost
    return tuple(round(part, 6) for part in parts)


async def read_digest(
    store: EventStore, team: Team, after: int, now: datetime, show: ShowEvent
) -> SinceView:
    """The digest of a store's log after a place in it, of the events that `show` shows."""
    newest = await store.read(after=0, limit=REQUESTS_MAX, where=REQUESTS, backwards=True)
    digest = SinceDigest(team, titles_of(shown_events(newest, show)))
    begin = max(after, team.seq - EVENTS_MAX)
    at = begin
    while page := await store.read(after=at, limit=PAGE_EVENTS, where=TOLD):
        await asyncio.sleep(0)  # a store in memory never yields to other tasks by itself
        for stored in shown_events(page, show):
            digest.add(stored)
        at = page[-1].seq
    since = await store.read(after=after - 1, limit=1) if after else ()
    return digest.view(after, _time_of(since), now, complete=begin == after)


def read_digest_of(log: BlockingLog, team: Team, after: int, now: datetime) -> SinceView:
    """The same digest of a log that is read without an event loop."""
    newest = log.read(after=0, limit=REQUESTS_MAX, where=REQUESTS, backwards=True)
    digest = SinceDigest(team, titles_of(newest))
    begin = max(after, team.seq - EVENTS_MAX)
    at = begin
    while page := log.read(after=at, limit=PAGE_EVENTS, where=TOLD):
        for stored in page:
            digest.add(stored)
        at = page[-1].seq
    since = log.read(after=after - 1, limit=1) if after else ()
    return digest.view(after, _time_of(since), now, complete=begin == after)


def _time_of(page: Sequence[Stored]) -> datetime | None:
    return moment_of(page[0]) if page else None


def looked(team: Team, actor: str | None = None) -> int:
    """How far a person has looked at the team; without an actor, whoever looked last."""
    if actor is not None:
        return team.looked.get(actor, 0)
    return next(reversed(list(team.looked.values())), 0)
