"""Explains the state of an agent, channel, event or approval: each event is followed to its cause.

An explanation is a generator: it yields the part of the log that it wants to read and is sent the
events. `read_from` runs it on a log that blocks (the command line's file), `read_async` on a store.
"""

from collections.abc import Generator, Sequence
from datetime import datetime
from typing import Final, NamedTuple, Protocol, TypeVar

from muster.errors import NotFound
from muster.machines.events import (
    ApprovalAnswered,
    ApprovalRequested,
    DesiredSet,
    Event,
    SessionResult,
    StateTransition,
    TurnsPassed,
    WarningLogged,
    WorkSpending,
)
from muster.machines.identity.wake_words import wake_line
from muster.machines.kernel.sentences import sentence
from muster.machines.policies import LIMIT_PAUSES
from muster.machines.state import Agent, Channel, Team, TurnState
from muster.machines.turns.order import is_stopped, wants_turn
from muster.machines.turns.table import reachable, selector_of, unreachable_because
from muster.machines.vocabulary import Authority, Machine, RunMode
from muster.store.base import EVERYTHING, EventStore, LogFilter, Stored
from muster.store.codec import decode
from muster.views.access import ShowEvent, shown_events
from muster.views.answers import View
from muster.views.answers.agents import BadgeWord
from muster.views.run.badges import badge_of
from muster.views.run.running import RUNS_FOR, next_start, waits_for
from muster.views.turns import SPEAKS_AGAIN, why_resting

STEPS_MAX: Final = 100
"""Events of one explanation; a person reads no further."""

RECENT: Final = 500
"""Transitions of one agent that are searched for the newest of each machine."""

TRANSITIONS: Final = frozenset({"state_transition"})
ANSWERS: Final = frozenset({"approval_answered"})
PASSED: Final = frozenset({"turns_passed"})
WARNINGS: Final = frozenset({"warning_logged"})
DESIRED: Final = frozenset({"desired_set"})
LEFT: Final = frozenset({"member_left"})
TAKEN_AWAY: Final = (
    "a person took its turn away. What it was handed until then counts as read, and is not handed"
    " to it again; the rest comes with its next turn"
)
CHANNEL_TURNS: Final = TRANSITIONS | {"channel_created", "channel_rested", "channel_roused"}

T = TypeVar("T")

# ── reading ───────────────────────────────────────────────────────────────────────────────────────


class LogRead(NamedTuple):
    """A part of the log that an explanation wants to read."""

    after: int
    limit: int
    where: LogFilter = EVERYTHING
    backwards: bool = False


Reading = Generator[LogRead, Sequence[Stored], T]
"""A generator that asks for parts of the log and returns a result."""


class BlockingLog(Protocol):
    """A log that is read without an event loop."""

    def read(
        self, *, after: int, limit: int, where: LogFilter = EVERYTHING, backwards: bool = False
    ) -> Sequence[Stored]:
        """Up to `limit` events, as `EventStore.read` gives them."""
        ...


def read_from(log: BlockingLog, reading: Reading[T]) -> T:
    """Run a reading on a log that blocks."""
    try:
        wanted = next(reading)
        while True:
            wanted = reading.send(log.read(**wanted._asdict()))
    except StopIteration as done:
        return done.value


async def read_async(store: EventStore, reading: Reading[T], show: ShowEvent) -> T:
    """Run a reading on a store, as if it had only what `show` shows."""
    try:
        wanted = next(reading)
        while True:
            page = await store.read(**wanted._asdict())
            wanted = reading.send(shown_events(page, show))
    except StopIteration as done:
        return done.value


# ── explanations ──────────────────────────────────────────────────────────────────────────────────


class Explanation(NamedTuple):
    """A state and the events that explain it: the newest first, each followed by its cause."""

    subject: str
    """The agent or channel, with what separates it from the title; empty for an event."""

    title: str
    events: Sequence[Event]


def of_agent(team: Team, agent: Agent) -> Reading[list[Explanation]]:
    """The newest transition of each machine that the agent is in, why it does not get the turn
    where that is not the ring's order, and its open approvals.
    """
    where = LogFilter(types=TRANSITIONS, seat=agent.seat)
    newest: dict[str, tuple[Event, str]] = {}
    for stored in (yield LogRead(0, RECENT, where, backwards=True)):
        event = decode(stored.data)
        if isinstance(event.fact, StateTransition):
            scope = _scope(agent, event.fact)
            if scope is not None:
                newest.setdefault(scope, (event, event.fact.target))
    found: list[Explanation] = [*(yield from _not_running(team, agent))]
    found += yield from _last_warning(team, agent)
    for scope, (event, target) in newest.items():
        found.append(Explanation(f"{agent.id}, ", f"{scope}: {target}", (yield from _chain(event))))
    found += yield from _last_wake(agent)
    for channel in (team.channels[name] for name in agent.channels):
        found += yield from _not_its_turn(team, channel, agent)
    for channel in team.channels.values():
        if agent.seat in channel.barred:
            found += yield from _barred(channel, agent)
        elif agent.seat in channel.lost_places:
            found += yield from _lost_place(channel, agent)
    for asked in agent.approvals:
        found += yield from of_approval(asked.id)
    return found


def _last_warning(team: Team, agent: Agent) -> Reading[list[Explanation]]:
    """The newest warning about the agent since muster started: of its state file, for example."""
    where = LogFilter(types=WARNINGS, seat=agent.seat)
    for stored in (yield LogRead(0, 1, where, backwards=True)):
        event = decode(stored.data)
        if isinstance(event.fact, WarningLogged) and team.is_here(event.session_id):
            title = f"last warning: {event.fact.text}"
            return [Explanation(f"{agent.id}, ", title, (yield from _chain(event)))]
    return []


def _last_wake(agent: Agent) -> Reading[list[Explanation]]:
    """The record of the last wake: what the agent was given, and whether it knew who it is."""
    wake = agent.last_wake
    if wake is None:
        return []
    event = yield from _event(wake.seq)
    events = (yield from _chain(event)) if event is not None else ()
    return [Explanation(f"{agent.id}, ", f"last wake: {wake_line(wake)}", events)]


def _not_running(team: Team, agent: Agent) -> Reading[list[Explanation]]:
    """The failure since the last success, and the agents that this one waits for."""
    found: list[Explanation] = []
    if badge_of(team, agent).status is BadgeWord.UNKNOWN:
        found += yield from _unknown(team, agent)
    failure, start = agent.run.last_failure, next_start(agent)
    if failure is not None:
        times = "a session failed" if failure.count == 1 else f"{failure.count} sessions failed"
        retry = "" if start is None else f"; the next one starts at {start.at:%H:%M:%S} UTC"
        event = yield from _event(failure.seq)
        events = (yield from _chain(event)) if event is not None else ()
        title = f"run: {times} ({failure.reason}){retry}"
        found.append(Explanation(f"{agent.id}, ", title, events))
    if agent.run.desired is RunMode.PAUSE:
        found += yield from _paused_at_limit(agent)
    if agent.unanswered is not None:
        event = yield from _event(agent.unanswered.seq)
        events = (yield from _chain(event)) if event is not None else ()
        again = f"`muster retry {agent.id}` hands it over again"
        title = f"messages: it left one unanswered ({agent.unanswered.reason}); {again}"
        found.append(Explanation(f"{agent.id}, ", title, events))
    if agent.run.waits_for_work and agent.session is None:
        run_now = f"`muster start {agent.id} --now` runs it at once"
        title = f"run: it {RUNS_FOR[agent.run.policy.runs_for]}; {run_now}"
        found.append(Explanation(f"{agent.id}, ", title, ()))
    if missing := waits_for(team, agent):
        title = f"run: it starts after {', '.join(missing)}, which must run first"
        found.append(Explanation(f"{agent.id}, ", title, ()))
    return found


def _paused_at_limit(agent: Agent) -> Reading[list[Explanation]]:
    """The limit that paused an agent, and the usage or the failure by which it was reached."""
    where = LogFilter(types=DESIRED, seat=agent.seat)
    for stored in (yield LogRead(0, 1, where, backwards=True)):
        event = decode(stored.data)
        if isinstance(event.fact, DesiredSet) and event.fact.trigger in LIMIT_PAUSES:
            before = yield from _event(event.seq - 1)
            spent = before is not None and isinstance(before.fact, SessionResult | WorkSpending)
            events = (event, before) if before is not None and spent else (event,)
            title = f"run: paused at a limit ({event.fact.note})"
            return [Explanation(f"{agent.id}, ", title, events)]
    return []


def _unknown(team: Team, agent: Agent) -> Reading[list[Explanation]]:
    """Why nothing confirms that an agent runs, and the evidence that was seen last."""
    seen = agent.evidence
    event = (yield from _event(seen.seq)) if seen is not None else None
    since = "" if seen is None else f"; the last sign of it is of {seen.at:%H:%M:%S} UTC"
    title = f"run: unknown, {badge_of(team, agent).line}{since}"
    return [Explanation(f"{agent.id}, ", title, (event,) if event is not None else ())]


def _scope(agent: Agent, fact: StateTransition) -> str | None:
    """The machine or channel of a transition; none where the agent has left the channel since."""
    if fact.machine is not Machine.TURNS or not agent.channels:
        return str(fact.machine)
    return f"turns in {fact.channel}" if fact.channel in agent.channels else None


def _not_its_turn(team: Team, channel: Channel, agent: Agent) -> Reading[list[Explanation]]:
    """Why a member in the queue does not get the turn, where that is not the ring's order."""
    if channel.state_of(agent.seat) is not TurnState.QUEUED or channel.archived:
        return []
    where, turn = f"turns in {channel.id}: ", channel.turn
    if not reachable(team, agent):
        return [Explanation(f"{agent.id}, ", f"{where}it {unreachable_because(team, agent)}", ())]
    if agent is selector_of(team, channel):
        title = f"{where}it is the selector, and gets the turn only to choose the next speaker"
        return [Explanation(f"{agent.id}, ", title, ())]
    if turn is not None and turn.choosing:
        selector = team.agent(turn.holder)
        title = f"{where}it waits for the choice of the selector {selector.id}"
        mine = LogFilter(types=TRANSITIONS, channel=channel.id, seat=selector.seat)
        return (yield from _newest(agent, title, mine))
    if wants_turn(channel, agent):
        return []
    if is_stopped(channel, agent.seat):
        mine = LogFilter(types=TRANSITIONS, channel=channel.id, seat=agent.seat)
        return (yield from _newest(agent, f"{where}{TAKEN_AWAY}. {SPEAKS_AGAIN}", mine))
    title = f"{where}it is passed over while there is nothing new for it (nothing_new)"
    for stored in (yield LogRead(0, RECENT, _in(channel, PASSED), backwards=True)):
        event = decode(stored.data)
        if isinstance(event.fact, TurnsPassed) and agent.seat in event.fact.seats:
            return [Explanation(f"{agent.id}, ", title, (yield from _chain(event)))]
    return [Explanation(f"{agent.id}, ", title, ())]


def _barred(channel: Channel, agent: Agent) -> Reading[list[Explanation]]:
    """Why an agent is not in a channel: a person removed it."""
    title = f"not in {channel.id}: a person removed it, and only a person can add it again"
    left = LogFilter(types=LEFT, channel=channel.id, seat=agent.seat)
    return (yield from _newest(agent, title, left))


def _lost_place(channel: Channel, agent: Agent) -> Reading[list[Explanation]]:
    """Why an agent is not in a channel: it left in a crash or without a heartbeat."""
    comes_back = "joins again" if agent.authority is Authority.SELF else "runs again"
    title = f"not in {channel.id}: it lost its place, and gets it back when it {comes_back}"
    left = LogFilter(types=LEFT, channel=channel.id, seat=agent.seat)
    return (yield from _newest(agent, title, left))


def _newest(agent: Agent, title: str, where: LogFilter) -> Reading[list[Explanation]]:
    """An explanation by the newest event of a kind, if there is one."""
    page = yield LogRead(0, 1, where, backwards=True)
    events = (yield from _chain(decode(page[0].data))) if page else ()
    return [Explanation(f"{agent.id}, ", title, events)]


def _in(channel: Channel, types: frozenset[str]) -> LogFilter:
    return LogFilter(types=types, channel=channel.id)


def of_channel(team: Team, channel: Channel) -> Reading[list[Explanation]]:
    """The grant of the current turn; without one, the channel's newest change."""
    if channel.turn:
        holder = team.agent(channel.turn.holder)
        because = f" ({channel.turn.reason})" if channel.turn.reason else ""
        state = f"turn {channel.epoch} is with {holder.id}{because}"
        where = LogFilter(types=TRANSITIONS, channel=channel.id, seat=holder.seat)
    else:
        rests = why_resting(team, channel)
        state = f"it rests: {rests}" if rests else "nobody has the turn"
        where = LogFilter(types=CHANNEL_TURNS, channel=channel.id)
    found: list[Explanation] = []
    for newest in (yield LogRead(0, 1, where, backwards=True)):
        events = yield from _chain(decode(newest.data))
        found.append(Explanation(f"{channel.id}: ", state, events))
    return found


def of_event(seq: str) -> Reading[list[Explanation]]:
    """One event, by its place in the log."""
    event = yield from _named(seq)
    if event is None:
        raise NotFound(kind="event", name=seq)
    return [Explanation("", f"event {event.seq}", (yield from _chain(event)))]


def of_approval(approval: str) -> Reading[list[Explanation]]:
    """The answer to a request for approval and the request; the request alone while it is open."""
    request, answer = yield from approval_and_answer(approval)
    fact = None if answer is None else answer.fact
    allowed = isinstance(fact, ApprovalAnswered) and fact.allow
    state = "nobody has answered yet" if answer is None else "allowed" if allowed else "denied"
    chain = yield from _chain(answer or request)
    return [Explanation("", f"approval {approval}: {state}", chain)]


def approval_and_answer(approval: str) -> Reading[tuple[Event, Event | None]]:
    """A request for approval, and its answer; none while it is open."""
    request = yield from _named(approval)
    if request is None or not isinstance(request.fact, ApprovalRequested):
        raise NotFound(kind="approval", name=approval)
    where = LogFilter(types=ANSWERS, seat=request.fact.seat)
    for stored in (yield LogRead(request.seq, RECENT, where)):
        event = decode(stored.data)
        if isinstance(event.fact, ApprovalAnswered) and event.fact.approval == approval:
            return request, event
    return request, None


def _chain(event: Event) -> Reading[Sequence[Event]]:
    """An event and its causes, one after another."""
    chain = [event]
    while (cause := _cause_of(event)) is not None and len(chain) < STEPS_MAX:
        found = yield from _event(cause)
        if found is None or found.seq >= event.seq:
            break
        chain.append(found)
        event = found
    return chain


def _cause_of(event: Event) -> int | None:
    """The seq of the event that this one follows from; none where it came from outside.

    A person's answer to an approval has no cause of its own: it follows the request, whose id is
    its place in the log.
    """
    if event.cause is None and isinstance(event.fact, ApprovalAnswered):
        return int(event.fact.approval)
    return event.cause


def _named(word: str) -> Reading[Event | None]:
    number = word.isascii() and word.isdecimal() and len(word) <= len(str(SEQ_MAX))
    return (yield from _event(int(word))) if number else None


def _event(seq: int) -> Reading[Event | None]:
    if not 0 < seq <= SEQ_MAX:
        return None
    page = yield LogRead(seq - 1, 1)
    return decode(page[0].data) if page and page[0].seq == seq else None


SEQ_MAX: Final = 2**53
"""The largest place in a log: beyond it a browser would round."""

# ── as answers ────────────────────────────────────────────────────────────────────────────────────


class EventSummary(View, frozen=True, kw_only=True):
    """An event of the log, as a sentence."""

    seq: int
    ts: datetime
    type: str
    actor: str
    text: str


class ExplanationView(View, frozen=True, kw_only=True):
    """A state, and the events that explain it: the newest first, each followed by its cause."""

    title: str
    steps: tuple[EventSummary, ...]


class ExplanationList(View, frozen=True, kw_only=True):
    """Every explanation of the requested thing."""

    accounts: tuple[ExplanationView, ...]


def view_explanations(team: Team, found: Sequence[Explanation]) -> ExplanationList:
    """Explanations as an answer."""
    return ExplanationList(
        accounts=tuple(
            ExplanationView(
                title=each.title, steps=tuple(_summary(team, event) for event in each.events)
            )
            for each in found
        )
    )


def _summary(team: Team, event: Event) -> EventSummary:
    return EventSummary(
        seq=event.seq,
        ts=event.ts,
        type=event.type,
        actor=event.actor,
        text=sentence(event, team),
    )
