"""The list of what needs a person, most urgent first.

A need is derived from the state at one moment, so it goes when its cause goes, and every client
sees the same list. Its key names the occasion, and not only the kind: a failure that was put aside
does not hide the next one.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from msgspec.structs import replace

from muster import limits
from muster.machines.ids import HERE, MUSTER, ChannelId, ConversationId, SeatId
from muster.machines.policies import SESSION_LIMIT
from muster.machines.state import Agent, Channel, Record, Status, Team, WordToPerson
from muster.machines.turns.rest_limits import RUNAWAY_ENDS
from muster.machines.vocabulary import (
    RUNAWAY,
    Authority,
    Limit,
    NeedKind,
    RunMode,
    WorkspaceState,
)

UNANSWERED: Final = frozenset({NeedKind.APPROVAL, NeedKind.QUESTION, NeedKind.HELD})
"""An agent waits for the answer: a person can put these aside for some time, and not as done."""

_ENDED_BY_LIMIT: Final = frozenset(Limit) - {
    Limit.IDLE_ROUNDS,
    Limit.NOTHING_NEW,
    Limit.STOP_PHRASE,
    Limit.SELECTOR,
}
_STOPS: Final = {
    "budget": NeedKind.LIMIT,
    SESSION_LIMIT: NeedKind.LIMIT,
    RUNAWAY: NeedKind.RUNAWAY,
}
"""Reasons for which muster itself pauses an agent, and a person decides how it goes on."""

_RANK: Final = {kind: rank for rank, kind in enumerate(NeedKind)}
_STUCK: Final = timedelta(seconds=limits.STUCK_SECONDS)


class Need(Record, frozen=True, kw_only=True):
    """Something that needs a person."""

    kind: NeedKind
    key: str
    why: str = ""
    since: datetime | None = None
    until: datetime | None = None
    """The time at which it is decided without a person."""

    seat: SeatId | None = None
    channel: ChannelId | None = None
    conversation: ConversationId | None = None
    approval: str | None = None
    count: int = 1
    """How many messages it stands for."""

    can_go_on: bool = False
    """Whether some more turns can be allowed. A limit of sessions is no matter of turns: there a
    person starts the agent again."""


def open_needs(team: Team, now: datetime) -> list[Need]:
    """The needs of a person, without those that people have put aside."""
    aside = {each.key for each in team.settled if each.until is None or each.until > now}
    return [each for each in all_needs(team, now) if each.key not in aside]


def all_needs(team: Team, now: datetime) -> list[Need]:
    """All needs of a person, most urgent first; of a kind the oldest first."""
    found = [
        *(need for agent in team.agents.values() for need in _of_agent(agent, now)),
        *(need for channel in team.channels.values() for need in _of_channel(channel)),
        *_full_disks(team),
        *_failed_requests(team),
        *_unreviewed(team),
    ]
    found.sort(key=lambda each: (_RANK[each.kind], each.since is None, each.since, each.key))
    return found


def changes_at(team: Team, now: datetime) -> datetime | None:
    """The time at which the list changes although nothing happens."""
    times = [each.until for each in team.settled if each.until is not None]
    times += [due for agent in team.agents.values() if (due := _stuck_at(agent)) is not None]
    return min((each for each in times if each > now), default=None)


# ── agents ────────────────────────────────────────────────────────────────────────────────────────


def _of_agent(agent: Agent, now: datetime) -> Iterator[Need]:
    if agent.retired:
        return
    for asked in agent.approvals:
        where = f" (in {asked.folder})" if asked.folder else ""
        yield Need(
            kind=NeedKind.APPROVAL,
            key=f"approval:{asked.id}",
            why=f"{asked.tool}: {asked.detail}{where}"[: limits.NEED_CHARS_MAX],
            since=asked.since,
            until=asked.until,
            seat=agent.seat,
            approval=asked.id,
        )
    if not agent.disabled:  # a person put it out of work, and knows
        yield from _trouble(agent, now)
    disputed, evidence = agent.disputed, agent.evidence
    if disputed is not None and (evidence is None or evidence.seq <= disputed.seq):
        occasion = f"{agent.seat}:{disputed.seq}"
        why = f"reported {disputed.reported}, but {disputed.evidence}"
        yield _about(agent, NeedKind.CONFLICT, occasion, why, disputed.at)
    yield from _unread(agent.to_person, agent.seen)


def _trouble(agent: Agent, now: datetime) -> Iterator[Need]:
    """A limit, a lost message, a failure, a wish that is not carried out: the first of them."""
    run, failure, left = agent.run, agent.run.last_failure, agent.unanswered
    occasion = f"{agent.seat}:{run.generation}"
    known = run.desired is RunMode.PAUSE and run.set_by != MUSTER  # a person stopped it, and knows
    kind = _STOPS.get(run.set_because)
    if not known and run.desired is RunMode.PAUSE and kind is not None:
        limit = _about(agent, kind, occasion, run.note, run.set_at)
        yield replace(limit, can_go_on=run.set_because != SESSION_LIMIT)
    elif left is not None:
        yield _about(agent, NeedKind.UNANSWERED, f"{agent.seat}:{left.seq}", left.reason, left.at)
    elif not known and failure is not None and run.retry_at is not None:
        if run.failures >= limits.FAILURES_TOLD:
            yield _about(agent, NeedKind.FAILING, occasion, failure.reason, failure.at)
    elif not known and failure is not None and agent.session is None:
        occasion = f"{agent.seat}:{failure.seq}"
        yield _about(agent, NeedKind.FAILED, occasion, failure.reason, failure.at)
    elif (due := _stuck_at(agent)) is not None and due <= now:
        yield _about(agent, NeedKind.STUCK, occasion, "", agent.differs_since)


def _about(agent: Agent, kind: NeedKind, occasion: str, why: str, since: datetime | None) -> Need:
    return Need(kind=kind, key=f"{kind}:{occasion}", why=why, since=since, seat=agent.seat)


def _stuck_at(agent: Agent) -> datetime | None:
    """The time from which an agent counts as stuck. One that connects by itself comes when it
    wants."""
    if agent.authority is Authority.SELF and agent.status is not Status.ALIVE:
        return None
    return None if agent.differs_since is None else agent.differs_since + _STUCK


def _unread(
    words: tuple[WordToPerson, ...], seen: int, channel: ChannelId | None = None
) -> Iterator[Need]:
    """The unseen messages of an agent, or of a channel, as one need: it is answered as one."""
    unseen = [each for each in words if each.seq > seen]
    if not unseen:
        return
    newest = unseen[-1]
    yield Need(
        kind=NeedKind.MESSAGE,
        key=message_key(newest),
        why="\n".join(each.text for each in unseen),
        since=unseen[0].at,
        seat=newest.seat,
        channel=channel,
        count=len(unseen),
    )


def message_key(word: WordToPerson) -> str:
    """The key of the unseen messages of which this is the newest."""
    return f"message:{word.seq}"


# ── channels and requests ─────────────────────────────────────────────────────────────────────────


def _of_channel(channel: Channel) -> Iterator[Need]:
    if channel.archived:
        return
    turn = channel.turn
    wait = turn.wait if turn is not None else None
    if turn is not None and wait is not None and not wait.approval:
        kind = NeedKind.HELD if wait.by_human else NeedKind.QUESTION
        yield Need(
            kind=kind,
            key=f"{kind}:{channel.id}:{channel.epoch}",
            why=wait.reason,
            since=wait.since,
            until=wait.until,
            seat=turn.holder,
            channel=channel.id,
        )
    if channel.resting and channel.rest_limit in _ENDED_BY_LIMIT:
        kind = NeedKind.RUNAWAY if channel.rest_limit in RUNAWAY_ENDS else NeedKind.LIMIT
        yield Need(
            kind=kind,
            key=f"{kind}:{channel.id}:{channel.epoch}",
            why=channel.rest_reason,
            channel=channel.id,
            can_go_on=True,
        )
    yield from _unread(channel.to_person, channel.seen, channel.id)


def _unreviewed(team: Team) -> Iterator[Need]:
    """Changes of finished tasks that are neither merged nor discarded."""
    for each in team.workspaces.values():
        is_over = each.conversation is not None and not team.is_worked_in(each)
        if is_over and each.state is WorkspaceState.OPEN and each.changes.files:
            count = each.changes
            files = "1 file" if count.files == 1 else f"{count.files} files"
            why = f"{files}, +{count.insertions} \u2212{count.deletions} to review"
            yield Need(
                kind=NeedKind.REVIEW,
                key=f"review:{each.id}",
                why=f"{each.problem}; {why}" if each.problem else why,
                since=each.since,
                conversation=each.conversation,
            )


def _full_disks(team: Team) -> Iterator[Need]:
    for node in team.nodes.values():
        low = node.disk_low
        if low is not None and node.away is None:
            where = "" if node.name == HERE else f" on {node.name}"
            why = f"{low.free_bytes // 2**20} MiB are left{where}; large messages are refused"
            key = f"disk:{node.name}:{low.seq}"
            yield Need(kind=NeedKind.DISK, key=key, why=why, since=low.since)


def _failed_requests(team: Team) -> Iterator[Need]:
    for request in team.delegation.failed:
        yield Need(
            kind=NeedKind.REQUEST,
            key=f"request:{request.conversation}",
            why=request.why,
            since=request.at,
            conversation=request.conversation,
        )
