"""The checks after a soak: the log against the journals of all clients.

The log alone shows that turns were in order. Journals (`soak_agent.py`) show what no log can: that
every acknowledged message is in it once, and that every recorded delivery arrived.
"""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from muster.engine.loading import load
from muster.home.lock import LOG_FILE
from muster.machines import events as e
from muster.machines.events import Event
from muster.machines.ids import ChannelId, SeatId
from muster.machines.kernel.fold import fold
from muster.machines.kernel.invariants import violations
from muster.machines.keys import split_key
from muster.machines.state import Team, TurnState
from muster.machines.vocabulary import Machine
from muster.store.codec import decode
from muster.store.reading import LogReader
from tests.simulation.checkers import LogChecker
from tests.stress.soak_agent import Json, entries

PAGE_EVENTS: Final = 4096
ROUNDS_WAITED_MAX: Final = 2
"""Rounds that an agent may wait for a turn; joining and leaving shift the ring."""

Place = tuple[SeatId, ChannelId]
Journal = Sequence[Mapping[str, Json]]


class Verdict:
    """The result of a check: figures to print, and violations."""

    def __init__(self) -> None:
        self.figures: Counter[str] = Counter()
        self.wrong: list[str] = []


def check(home: Path, journals: Mapping[str, Path]) -> Verdict:
    """Compare the log of a home with the journals of the clients, by name."""
    verdict = Verdict()
    with LogReader.open(home / LOG_FILE) as reader:
        log = list(_read(reader))
        team = fold(Team(), log)
        if load(reader) != team:
            verdict.wrong.append("the snapshot and the log say different things")
    checker = LogChecker()
    verdict.wrong += [wrong for event in log for wrong in checker.read(event)]
    verdict.wrong += violations(team)
    verdict.figures["events"] = len(log)
    verdict.figures["starts"] = sum(isinstance(each.fact, e.MusterStarted) for each in log)
    told = {name: list(entries(path)) for name, path in journals.items()}
    check_turns(log, verdict)
    check_messages(log, told.values(), verdict)
    check_deliveries(log, team, told, verdict)
    return verdict


def _read(reader: LogReader) -> Iterator[Event]:
    after = 0
    while page := reader.read(after=after, limit=PAGE_EVENTS):
        yield from (decode(each.data) for each in page)
        after = page[-1].seq


# ── turns ─────────────────────────────────────────────────────────────────────────────────────────


def check_turns(log: Sequence[Event], verdict: Verdict) -> None:
    """Check fairness: no agent waits in the queue while others have turn after turn.

    An agent that is killed, removed or retired early may have had none. One whose process was
    killed keeps its place in the ring for some seconds, but is not in the queue.
    """
    rings: dict[ChannelId, set[SeatId]] = defaultdict(set)
    queues: dict[ChannelId, Counter[SeatId]] = defaultdict(Counter)
    turns: Counter[SeatId] = Counter()
    for event in log:
        match event.fact:
            case e.MemberJoined(seat=seat, channel=channel):
                rings[channel].add(seat)
                turns[seat] += 0
            case e.MemberLeft(seat=seat, channel=channel):
                rings[channel].remove(seat)
                queues[channel].pop(seat, None)
            case (
                e.StateTransition(machine=Machine.TURNS, seat=int() as seat, channel=str()) as fact
            ):
                channel, seat = ChannelId(fact.channel or ""), SeatId(seat)
                queue = queues[channel]
                queue.pop(seat, None)
                if fact.target == TurnState.QUEUED:
                    queue[seat] = 0
                turns[seat] += is_grant(fact)
                if fact.trigger == "turn_granted":  # by the ring; a person's choice comes before it
                    _wait(queue, len(rings[channel]), verdict)
            case _:
                pass
    verdict.figures["turns"] = turns.total()
    verdict.figures["fewest turns of an agent"] = min(turns.values(), default=0)


def is_grant(fact: e.StateTransition) -> bool:
    """Whether an event grants the turn."""
    moved = (fact.machine, fact.source, fact.target)
    return moved == (Machine.TURNS, TurnState.QUEUED, TurnState.ACTIVE)


def _wait(queue: Counter[SeatId], members: int, verdict: Verdict) -> None:
    """Count a turn of another agent for all that wait."""
    for seat in queue:
        queue[seat] += 1
        if queue[seat] > ROUNDS_WAITED_MAX * members:
            verdict.wrong.append(f"seat {seat} waits while others have {queue[seat]} turns")
    most = max(queue.values(), default=0)
    verdict.figures["longest wait"] = max(verdict.figures["longest wait"], most)


# ── messages ──────────────────────────────────────────────────────────────────────────────────────


def check_messages(log: Sequence[Event], journals: Collection[Journal], verdict: Verdict) -> None:
    """Check that acknowledged messages are in the log once, and refused ones are not."""
    found: dict[str, list[int]] = defaultdict(list)
    for event in log:
        if isinstance(event.fact, e.AgentMessage | e.UserMessage):
            found[split_key(event.key or "")[0]].append(event.seq)
    tried, said, refused = set[str](), dict[str, int](), set[str]()
    for entry in (entry for journal in journals for entry in journal):
        match entry:
            case {"trying": str(key)}:
                tried.add(key)
            case {"said": str(key), "seq": int(seq)}:
                if said.setdefault(key, seq) != seq:
                    verdict.wrong.append(f"{key} was acknowledged at {said[key]} and at {seq}")
                verdict.figures["repeated"] += entry["repeated"] is True
            case {"refused": str(key)}:
                refused.add(key)
            case _:
                pass
    verdict.wrong += _wrongly_said(found, tried, said, refused)
    verdict.figures["messages"] = sum(map(len, found.values()))
    verdict.figures["acknowledged"] = len(said)
    verdict.figures["refused"] = len(refused)
    verdict.figures["killed before they were answered"] = len(tried - said.keys() - refused)


def _wrongly_said(
    found: Mapping[str, Sequence[int]],
    tried: Collection[str],
    said: Mapping[str, int],
    refused: Collection[str],
) -> Iterator[str]:
    for key, seqs in found.items():
        if len(seqs) > 1:
            yield f"{key} was said {len(seqs)} times, at {seqs}"
        if key not in tried:
            yield f"{key!r} was said at {seqs} by nobody"
        if key in refused:
            yield f"{key} was refused, but stands at {seqs}"
    for key, seq in said.items():
        if seq not in found.get(key, ()):
            yield f"{key} was acknowledged at {seq}, but stands at {found.get(key)}"


# ── deliveries ────────────────────────────────────────────────────────────────────────────────────


class Delivery(NamedTuple):
    """Messages that the log records as delivered to an agent as new."""

    seq: int
    messages: tuple[int, ...]


class Deliveries:
    """All recorded deliveries, in order, and the losses of places."""

    def __init__(self, log: Sequence[Event]) -> None:
        self.by_place: dict[Place, list[Delivery]] = defaultdict(list)
        self.left: dict[Place, int] = {}
        """The `seq` at which an agent last lost its place. It may not have had a turn since."""

        self.messages: dict[ChannelId, list[int]] = defaultdict(list)
        self.notices: set[int] = set()
        """Notices of muster: they are handed over with the next turn, and ask for none."""

        self._speakers: dict[int, SeatId | None] = {}
        self._marks: dict[Place, int] = {}
        for event in log:
            self._read(event)

    def _read(self, event: Event) -> None:
        match event.fact:
            case e.AgentMessage(channel=str() as channel, seat=seat):
                self._say(event.seq, ChannelId(channel), seat)
            case e.UserMessage(channel=str() as channel):
                self._say(event.seq, ChannelId(channel), None)
            case e.Announcement(channel=str() as channel):
                self._say(event.seq, ChannelId(channel), None)
                self.notices.add(event.seq)
            case e.MessagesDelivered(channel=str() as channel, seat=seat, upto=upto):
                place = (seat, ChannelId(channel))
                messages = self.between(place, self._marks.get(place, 0), upto)
                self.by_place[place].append(Delivery(event.seq, messages))
                self._marks[place] = upto
            case e.MemberLeft(channel=channel, seat=seat):
                self.left[seat, channel] = event.seq
            case _:
                pass

    def _say(self, seq: int, channel: ChannelId, seat: SeatId | None) -> None:
        self.messages[channel].append(seq)
        self._speakers[seq] = seat

    def between(self, place: Place, after: int, upto: int) -> tuple[int, ...]:
        """The messages of others in a channel, in a part of the log."""
        seat, channel = place
        every = self.messages[channel]
        part = every[bisect_right(every, after) : bisect_right(every, upto)]
        return tuple(seq for seq in part if self._speakers[seq] != seat)


def check_deliveries(
    log: Sequence[Event], team: Team, journals: Mapping[str, Journal], verdict: Verdict
) -> None:
    """Check that each member got each message as new once, and lost answers again."""
    deliveries = Deliveries(log)
    for channel in team.channels.values():
        for seat in channel.ring:
            missing = deliveries.between(
                (seat, channel.id), channel.delivered.get(seat, 0), team.seq
            )
            if set(missing) - deliveries.notices:
                verdict.wrong.append(f"seat {seat} in {channel.id} was never handed {missing[:5]}")
    for name, journal in journals.items():
        seat = team.names.get(name)
        for channel in team.channels if seat is not None else ():
            place = (SeatId(seat or 0), channel)
            _check_place(name, place, deliveries, journal, verdict)


def _check_place(
    name: str, place: Place, deliveries: Deliveries, journal: Journal, verdict: Verdict
) -> None:
    """Compare the recorded deliveries of a channel with an agent's journal."""
    batches = [entry for entry in journal if entry.get("channel") == place[1] and "new" in entry]
    again = {seq for batch in batches for seq in batch["again"]}
    expected = iter(deliveries.by_place[place])
    lost: list[Delivery] = []
    for new in (tuple(batch["new"]) for batch in batches if batch["new"]):
        for delivery in expected:
            if delivery.messages == new:
                break
            lost.append(delivery)
        else:
            verdict.wrong.append(f"{name} was handed {new[:5]} as new, which is not on record")
    lost += expected
    verdict.figures["handed over"] += sum(len(batch["new"]) for batch in batches)
    verdict.figures["answers that got lost"] += len(lost)
    verdict.figures["told again"] += sum(len(batch["again"]) for batch in batches)
    for delivery in lost:
        unseen = set(delivery.messages) - again
        if unseen and delivery.seq > deliveries.left.get(place, 0):
            verdict.wrong.append(f"{name} never saw {sorted(unseen)[:5]}, handed at {delivery.seq}")
