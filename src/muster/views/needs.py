"""Needs of a person, for HTTP and the command line: the same list for every client."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from muster.limits import NEED_CHARS_MAX
from muster.machines.needs.needs import UNANSWERED, Need, all_needs, changes_at, open_needs
from muster.machines.state import Agent, Team
from muster.machines.vocabulary import NeedKind
from muster.views.answers.needs import NeedList, NeedView
from muster.views.run.badges import badge_of

_WHAT: Final[Mapping[NeedKind, str]] = {
    NeedKind.DISK: "is nearly full",
    NeedKind.APPROVAL: "is waiting for your approval",
    NeedKind.QUESTION: "is waiting for you",
    NeedKind.HELD: "was interrupted by you",
    NeedKind.RUNAWAY: "was paused as a runaway",
    NeedKind.UNANSWERED: "left a message unanswered",
    NeedKind.FAILING: "keeps failing",
    NeedKind.LIMIT: "has reached a limit",
    NeedKind.REQUEST: "was not carried out",
    NeedKind.FAILED: "failed",
    NeedKind.STUCK: "is stuck",
    NeedKind.CONFLICT: "has conflicting reports",
    NeedKind.REVIEW: "has changes to review",
    NeedKind.MESSAGE: "wrote to you",
}


def view_needs(team: Team, now: datetime) -> NeedList:
    """The needs of a person now."""
    found = open_needs(team, now)
    return NeedList(
        needs=tuple(_view(team, each) for each in found),
        put_off=_put_off(team, now),
        changes_at=changes_at(team, now),
        seq=team.seq,
    )


def _put_off(team: Team, now: datetime) -> int:
    later = {each.key for each in team.settled if each.until is not None and each.until > now}
    return sum(each.key in later for each in all_needs(team, now)) if later else 0


def _view(team: Team, need: Need) -> NeedView:
    agent = team.agents[need.seat] if need.seat is not None else None
    return NeedView(
        kind=need.kind,
        key=need.key,
        what=_WHAT[need.kind] if need.count == 1 else f"wrote {need.count} messages to you",
        why=_why(team, need, agent),
        since=need.since,
        until=need.until,
        seat=need.seat,
        agent=agent.id if agent is not None else None,
        channel=need.channel,
        conversation=need.conversation,
        approval=need.approval,
        can_be_done=need.kind not in UNANSWERED,
        is_whole=_is_whole(need, agent),
        can_go_on=need.can_go_on,
    )


def _is_whole(need: Need, agent: Agent | None) -> bool:
    """Whether a person who reads the reason knows all of a request for approval."""
    asked = () if agent is None else agent.approvals
    changes = any(each.change for each in asked if each.id == need.approval)
    return need.approval is not None and not changes and len(need.why) < NEED_CHARS_MAX


def _why(team: Team, need: Need, agent: Agent | None) -> str:
    """The reason. Its badge says best what an agent does that is stuck."""
    if need.kind is NeedKind.STUCK and agent is not None:
        return badge_of(team, agent).line
    if need.kind is NeedKind.REQUEST:
        return _whole_sentences(need.why)
    return need.why


def _whole_sentences(text: str) -> str:
    """A reason that was cut to be kept, without the sentence that was cut: half a remedy is none.
    The page of the request has all of it."""
    if len(text) < NEED_CHARS_MAX:
        return text
    sentences, end, _ = text.rpartition(". ")
    return f"{sentences}." if end else f"{text}…"
