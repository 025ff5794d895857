"""Spaces of claims and of news, explored like the others: `python -m tests.simulation.claims`.

In one, agents that connect by themselves claim turns in every way, a selector is asked, and the
channel is archived. In the other, agents that muster runs are asked only when there is news, up to
a limit of turns.
"""

import sys
from collections.abc import Hashable, Iterator

from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.commands import Command
from muster.machines.ids import ChannelId, SeatId, SessionId
from muster.machines.kernel.team import decide
from muster.machines.state import Agent, Channel, Team, TurnState
from muster.machines.turns.table import has_news
from muster.machines.vocabulary import Authority, Awaits, RunMode, SpeakerOrder
from tests.simulation.explore import START, Space, explore

LIFE = SessionId("boot")

CHANNEL = ChannelId("c0")
SELECTOR, ONE, TWO = SEATS = (SeatId(9), SeatId(10), SeatId(11))


def _started(authority: Authority, config: e.TurnConfig, seats: tuple[SeatId, ...]) -> Team:
    """Agents that are up, and their channel."""
    team = Team()

    def do(command: Command) -> None:
        nonlocal team
        team = decide(team, command, START, actor="muster", life=LIFE).team

    do(c.StartMuster(server_session=LIFE, muster_version="explored"))
    for seat in seats:
        do(c.EnrollAgent(name=f"a{seat}", authority=authority, long_lived=True))
        if authority is Authority.SELF:
            do(c.ConnectAgent(seat=seat))
            continue
        do(c.SetDesired(seat=seat, desired=RunMode.CONTINUOUS, set_by="Ann"))
        session = team.agents[seat].session
        assert session is not None
        do(c.ReportSessionStarted(session=session))
    do(c.CreateChannel(channel=CHANNEL, config=config, members=seats))
    return team


# ── claims ────────────────────────────────────────────────────────────────────────────────────────


def claim_space(order: SpeakerOrder) -> Space:
    """Two speakers and perhaps a selector, with claims of every kind."""
    config = e.TurnConfig(
        speaker_order=order,
        selector=f"a{SELECTOR}",
        rest_after_idle_rounds=1,
        turns_per_message=0,
        alike_in_a_row=0,
    )

    def tries(team: Team) -> Iterator[Command]:
        channel = team.channels[CHANNEL]
        yield c.PostMessage(channel=CHANNEL, text="hello", speaker_name="Ann")
        yield c.PostMessage(channel=CHANNEL, text=f"@a{TWO} hello", speaker_name="Ann")
        yield c.CheckChannel(channel=CHANNEL)
        yield c.ArchiveChannel(channel=CHANNEL, archived=not channel.archived)
        for seat in (ONE, TWO):
            yield c.AddMember(channel=CHANNEL, seat=seat)
            yield c.RemoveMember(channel=CHANNEL, seat=seat)
            yield c.RaiseHand(channel=CHANNEL, seat=seat)
            yield c.RaiseHand(channel=CHANNEL, seat=seat, raised=False)
        yield c.WaitTurn(channel=CHANNEL, seat=ONE, reason="a build", awaits=Awaits.RESUME)
        yield c.ResumeTurn(channel=CHANNEL, seat=ONE)
        yield c.DisableAgent(seat=SELECTOR)
        for seat in SEATS:
            yield from _claim_tries(seat)
        turn = channel.turn
        if order is SpeakerOrder.SELECTOR and turn is not None and turn.holder == ONE:
            # ONE reads what is said, TWO does not; other orders do not look at what is new.
            yield c.DeliverMessages(channel=CHANNEL, seat=ONE, upto=channel.last_message)

    return Space(
        name=f"claims of three agents in the order {order}",
        start=lambda: _started(Authority.SELF, config, SEATS),
        tries=tries,
        key=_claim_key,
    )


def _claim_tries(seat: SeatId) -> Iterator[Command]:
    yield c.OverrideTurn(channel=CHANNEL, seat=seat, to=TurnState.ACTIVE)
    yield c.OverrideTurn(channel=CHANNEL, seat=seat, to=TurnState.QUEUED)
    yield c.CompleteTurn(channel=CHANNEL, seat=seat)
    yield c.CompleteTurn(channel=CHANNEL, seat=seat, to=ONE)
    for text in ("nobody", f"@a{ONE}"):
        yield c.Speak(channel=CHANNEL, seat=seat, text=text, complete=True)


def _claim_key(team: Team) -> Hashable:
    channel = team.channels[CHANNEL]
    present = tuple(team.agents[seat].present for seat in SEATS)
    claims = tuple((each.seat, each.claim) for each in channel.claims)
    news: Hashable = ()
    if channel.config.speaker_order is SpeakerOrder.SELECTOR:
        news = (_member_key(channel, ONE), has_news(channel, TWO, channel.read))
    return (_channel_key(channel), present, claims, channel.selector_asked, news)


def _channel_key(channel: Channel) -> Hashable:
    turn = channel.turn
    held = turn and (
        turn.holder,
        turn.posted,
        turn.choosing,
        turn.wait is not None,
        has_news(channel, turn.holder, channel.delivered, turn.granted),
    )
    return (
        channel.ring,
        channel.cursor,
        held,
        channel.drain and channel.drain.seat,
        channel.idle,
        channel.rest_limit,
        channel.archived,
        min(channel.silent_turns, len(channel.ring) * channel.config.rest_after_idle_rounds),
    )


# ── news and limits ───────────────────────────────────────────────────────────────────────────────

_LIMITS = (0, 2)  # of turns after a message
PAIR = (SELECTOR, ONE)


def news_space() -> Space:
    """Two agents that muster runs; they are asked when there is news, or when they are chosen."""
    rules = [
        e.TurnConfig(rest_after_idle_rounds=1, turns_per_message=most, alike_in_a_row=0)
        for most in _LIMITS
    ]

    def tries(team: Team) -> Iterator[Command]:
        channel = team.channels[CHANNEL]
        yield c.PostMessage(channel=CHANNEL, text="hello", speaker_name="Ann")
        yield c.CheckChannel(channel=CHANNEL)
        for config in rules:
            yield c.ConfigureChannel(channel=CHANNEL, config=config)
        for seat in PAIR:
            yield from _news_tries(channel, team.agents[seat])

    return Space(
        name="news and limits of two agents that muster runs",
        start=lambda: _started(Authority.MUSTER, rules[-1], PAIR),
        tries=tries,
        key=_news_key,
    )


def _news_tries(channel: Channel, agent: Agent) -> Iterator[Command]:
    seat = agent.seat
    yield c.DeliverMessages(channel=CHANNEL, seat=seat, upto=channel.last_message)
    yield c.CompleteTurn(channel=CHANNEL, seat=seat)
    yield c.Speak(channel=CHANNEL, seat=seat, text="word", complete=True)
    yield c.ReportWorkStopped(channel=CHANNEL, seat=seat)
    if seat != SELECTOR:  # one that always stays
        yield c.AddMember(channel=CHANNEL, seat=seat)
        yield c.RemoveMember(channel=CHANNEL, seat=seat)
    if channel.turn is None and channel.drain is None:
        yield c.OverrideTurn(channel=CHANNEL, seat=seat, to=TurnState.ACTIVE)


def _news_key(team: Team) -> Hashable:
    channel = team.channels[CHANNEL]
    most = channel.config.turns_per_message
    members = tuple(_member_key(channel, seat) for seat in PAIR)
    killing = channel.drain is not None and channel.drain.killing
    return (_channel_key(channel), members, most, min(channel.turns_since_message, 2), killing)


def _member_key(channel: Channel, seat: SeatId) -> Hashable:
    """What of the messages a member has seen, and whether it was handed any since it acted."""
    delivered, read = channel.delivered.get(seat, 0), channel.read.get(seat, 0)
    unseen = has_news(channel, seat, channel.delivered)
    return (unseen, has_news(channel, seat, channel.read), delivered > read)


SPACES = (claim_space(SpeakerOrder.MENTION), claim_space(SpeakerOrder.SELECTOR), news_space())


if __name__ == "__main__":
    for each in SPACES:
        print(explore(each), flush=True)
    sys.exit(0)
