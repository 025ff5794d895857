"""The next speaker of a channel: claims first, then the selector if there is one, then the ring.

`granting.py` grants turns by these rules. Surprising:

- A claimed turn does not move the ring's cursor: the ring goes on where it was, and a member that
  is often mentioned does not make the others wait for a whole round. Only if the ring's next is
  claimed, the cursor moves on: it would speak twice otherwise.
- After a whole round of claimed turns, mentions and raised hands wait for one turn of the ring.
- The selector is a member of the ring, but is granted turns only to choose the next speaker, unless
  a person chooses or mentions it.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, TypeVar

from muster import limits
from muster.errors import CannotSpeak
from muster.machines import events as e
from muster.machines.events import Fact
from muster.machines.ids import SeatId, name_key
from muster.machines.names import NAME_EDGES, named_in
from muster.machines.state import Agent, Channel, ClaimedTurn, Team
from muster.machines.turns.table import (
    Membership,
    has_news,
    reachable,
    selector_of,
    unreachable_because,
)
from muster.machines.vocabulary import Authority, Claim, SpeakerOrder

Named = TypeVar("Named")

NO_HANDOFF: Final = "the turn ends without a handoff"
"""The beginning of the warning about a handoff that had no effect."""

RING: Final = "ring"
"""The reason of a turn that the ring's order gave."""

NOBODY: Final = frozenset({"nobody", "none", "no one"})
"""Answers of a selector that end the conversation."""

_REASONS: Final = {
    Claim.PERSON: "chosen by {by}",
    Claim.HANDOFF: "handed over by {by}",
    Claim.MENTION: "mentioned by {by}",
    Claim.SELECTOR: "chosen by the selector {by}",
    Claim.HAND: "raised its hand",
}
_PATIENT: Final = (Claim.MENTION, Claim.HAND)
"""Claims that let the ring go first after a whole round of claimed turns."""

_MENTION: Final = re.compile(r"(?<![\w@])@(?=[\w.-])")
"""An @ that may begin a mention; the one in an address of e-mail does not."""

_GOES_ON: Final = re.compile(r"[.-]?\w")
"""The rest of a longer name, after a name: `@dev-ops` does not mention `dev`."""

# Looking up an enum member costs as much as a call; every grant uses these.
_MUSTER, _LEAD, _SELECTOR = Authority.MUSTER, Authority.LEAD, SpeakerOrder.SELECTOR


# ── the ring ──────────────────────────────────────────────────────────────────────────────────────


def in_ring_order(team: Team, channel: Channel) -> Iterator[Agent]:
    """The members that can take a turn, from the one after the cursor on, without the selector."""
    agents, ring, size = team.agents, channel.ring, len(channel.ring)
    selector = selector_of(team, channel)
    for step in range(1, size + 1):
        agent = agents[ring[(channel.cursor + step) % size]]
        if agent is not selector and reachable(team, agent):
            yield agent


def wants_turn(channel: Channel, agent: Agent) -> bool:
    """Whether a turn is more than a silent pass, as far as muster may judge that.

    An agent that connects by itself judges for itself, except where a selector decides: the
    selector cannot know what is new for whom, and a chosen agent always speaks. A member whose turn
    a person took away has no say: the person wants it to stop until there is something new.
    """
    if agent.seat in channel.stopped:
        return not is_stopped(channel, agent.seat)
    if agent.unasked:
        return True
    judges = agent.authority is not _MUSTER and agent.authority is not _LEAD
    if judges and channel.config.speaker_order is not _SELECTOR:
        return True
    return has_news(channel, agent.seat, channel.read)


def is_stopped(channel: Channel, seat: SeatId) -> bool:
    """Whether a person took a member's turn away, and nothing new was said to it since."""
    upto = channel.stopped.get(seat)
    return upto is not None and not has_news(channel, seat, channel.read, upto)


def can_take_turn(team: Team, channel: Channel) -> bool:
    """Whether a member of the ring would be granted the turn if the channel did not rest."""
    return any(
        team.is_free(agent) and wants_turn(channel, agent) for agent in in_ring_order(team, channel)
    )


def upcoming(team: Team, channel: Channel) -> SeatId | None:
    """The member that is expected to speak next, for views; none where a selector decides."""
    claimed = first_claim(team, channel)
    if claimed is not None:
        return claimed.seat
    if selector_of(team, channel) is not None and not channel.selector_asked:
        return None
    following = in_ring_order(team, channel)
    agent = next((each for each in following if wants_turn(channel, each)), None)
    if agent is not None:
        return agent.seat
    ring = channel.ring
    return ring[(channel.cursor + 1) % len(ring)] if ring else None


# ── claims ────────────────────────────────────────────────────────────────────────────────────────


def first_claim(team: Team, channel: Channel) -> ClaimedTurn | None:
    """The most important claim of a member that can take the turn now."""
    for each in channel.claims:
        agent = team.agents[each.seat]
        if team.is_free(agent) and each.seat in channel.ring and reachable(team, agent):
            return each
    return None


def must_wait(team: Team, channel: Channel, claimed: ClaimedTurn) -> bool:
    """Whether a claim waits for the ring: others of the ring were passed over for a whole round.

    Members that mention each other, or one that raises its hand in every turn, would keep the
    others from speaking. A handoff, a selector and a person decide who speaks, and need not wait.
    """
    if claimed.claim not in _PATIENT or channel.turns_ahead < len(channel.ring):
        return False
    return any(
        team.is_free(agent) and wants_turn(channel, agent)
        for agent in in_ring_order(team, channel)
        if agent.seat not in (claimed.seat, channel.last_holder)
    )


def claim_of(channel: Channel, seat: SeatId) -> ClaimedTurn | None:
    """The claim of a member, if it has one."""
    return next((each for each in channel.claims if each.seat == seat), None)


def reason(claimed: ClaimedTurn) -> str:
    """The reason of a claimed turn, in words."""
    return _REASONS[claimed.claim].format(by=claimed.by)


def hand_over(membership: Membership, to: SeatId) -> Fact:
    """The claim of the member that the speaker names as the next one.

    A member that cannot take the turn is only a warning: the speaker often cannot know, and its
    words and the end of its turn count all the same. Then the channel's order decides.
    """
    channel, speaker = membership.channel, membership.agent
    why = _not_handed_over_because(membership, membership.team.agent(to))
    if why:
        text = f"{NO_HANDOFF}: {why}"
        return e.WarningLogged(text=text, seat=speaker.seat, channel=channel.id)
    return e.TurnClaimed(channel=channel.id, seat=to, claim=Claim.HANDOFF, by=speaker.id)


def _not_handed_over_because(membership: Membership, target: Agent) -> str:
    """The reason why the speaker's handoff has no effect; empty if it has one."""
    channel = membership.channel
    if target.seat == membership.agent.seat:
        return f"{target.id!r} named itself"
    if target.seat not in channel.ring:
        return f"{target.id!r} is no member of {channel.id!r}"
    if not reachable(membership.team, target):
        return f"{target.id!r} {unreachable_because(membership.team, target)}"
    if target is selector_of(membership.team, channel):
        return f"{target.id!r} only chooses who speaks"
    return ""


def check_speaker(membership: Membership) -> None:
    """Refuse a member that an agent cannot give the turn to."""
    agent = membership.agent
    if not reachable(membership.team, agent):
        raise CannotSpeak(name=agent.id, why=unreachable_because(membership.team, agent))
    if agent is selector_of(membership.team, membership.channel):
        raise CannotSpeak(name=agent.id, why="only chooses who speaks")


def mentions(
    team: Team, channel: Channel, text: str, claim: Claim, by: str, but: SeatId | None = None
) -> Iterator[Fact]:
    """The claims of the members that a text mentions with @, in its order."""
    if "@" not in text:
        return
    silent = None if claim is Claim.PERSON else selector_of(team, channel)
    names = {
        name_key(agent.id): agent.seat
        for agent in (team.agents[seat] for seat in channel.ring)
        if agent.seat != but and agent is not silent and reachable(team, agent)
    }
    for seat in _mentioned(text, names):
        yield e.TurnClaimed(channel=channel.id, seat=seat, claim=claim, by=by)


def names_person(text: str, person: str) -> bool:
    """Whether a text mentions a person with @."""
    return "@" in text and bool(_mentioned(text, {name_key(person): person}))


def _mentioned(text: str, names: Mapping[str, Named]) -> Sequence[Named]:
    """The owners of the names that follow an @, each once. A longer name wins over its
    beginning."""
    longest_first = sorted(names, key=len, reverse=True)
    found: dict[Named, None] = {}
    for at in islice(_MENTION.finditer(text), limits.MENTIONS_MAX):
        # Two characters more than a name may have: they show whether the name ends there.
        said = name_key(text[at.end() : at.end() + limits.NAME_CHARS_MAX + 2])
        for name in longest_first:
            if said.startswith(name) and not _GOES_ON.match(said, len(name)):
                found[names[name]] = None
                break
    return tuple(found)


# ── the selector ──────────────────────────────────────────────────────────────────────────────────


def chosen_speaker(membership: Membership, text: str, to: SeatId | None) -> SeatId | None:
    """The next speaker that a selector names; none where that is no member that can speak."""
    candidates = list(in_ring_order(membership.team, membership.channel))
    if to is not None:
        return to if any(agent.seat == to for agent in candidates) else None
    return named_in(text, {name_key(agent.id): agent.seat for agent in candidates})


def ends_conversation(text: str) -> bool:
    """Whether a selector's answer says that nobody is to speak."""
    return name_key(text[: limits.SELECTOR_ANSWER_CHARS].strip(NAME_EDGES)) in NOBODY
