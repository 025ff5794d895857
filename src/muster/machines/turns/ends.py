"""The end of a conversation: the limits at which a channel rests, and the reason that it gives.

A limit counts what follows one message of a person, or all turns of the channel. A channel that
rests grants no turn; a person's message starts it again, and so does a higher limit.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from muster.machines import events as e
from muster.machines.breaker.burn import over_day, over_rate, usd_per_minute
from muster.machines.events import Fact
from muster.machines.spending import over
from muster.machines.state import Channel, Team
from muster.machines.turns.order import in_ring_order
from muster.machines.turns.rest_limits import QUIET_ENDS, WHOLE_CHANNEL
from muster.machines.vocabulary import NOTHING_USED, Limit

_PER_MESSAGE: Final = "since the last message of a person"
_IN_ALL: Final = "in all"


def limit_reached(team: Team, channel: Channel, now: datetime) -> tuple[Limit, str] | None:
    """The limit that a channel has reached, and that in words. Every grant asks this."""
    if channel.turns < channel.free_until:
        return None
    rules, since = channel.config, channel.since_message
    if since.stopped and rules.stop_phrase:
        return Limit.STOP_PHRASE, f"{rules.stop_phrase!r} was said"
    turns = channel.turns - since.turns_before
    if 0 < rules.turns_per_message <= turns:
        return Limit.TURNS_PER_MESSAGE, f"{turns} turns {_PER_MESSAGE}"
    if 0 < rules.max_turns <= channel.turns:
        return Limit.TURNS, f"{channel.turns} turns {_IN_ALL}"
    if rules.rounds_per_message or rules.max_rounds:
        rounds = _rounds_reached(team, channel)
        if rounds is not None:
            return rounds
    if 0 < rules.alike_in_a_row <= channel.echo.alike:
        rate = usd_per_minute(channel.burn, now)
        cost = f", ${rate:.2f} a minute" if rate else ""
        return Limit.ALIKE, _runaway(channel, f"the last {channel.echo.alike} alike{cost}", now)
    return None if channel.used is NOTHING_USED else _usage_reached(channel, now)


def _runaway(channel: Channel, what: str, now: datetime) -> str:
    """A runaway in words: `27 turns in 55 s, the last 12 alike`."""
    turns, since = f"{channel.turns_since_message} turns", channel.echo.since
    if since is not None:
        turns += f" in {_duration((now - since).total_seconds())}"
    return f"{turns}, {what}"


def _duration(seconds: float) -> str:
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds // size:.0f} {unit}"
    return f"{max(1, seconds):.0f} s"


def _rounds_reached(team: Team, channel: Channel) -> tuple[Limit, str] | None:
    """A round has as many turns as there are members that can speak now."""
    rules, speakers = channel.config, max(1, sum(1 for _ in in_ring_order(team, channel)))
    if 0 < rules.rounds_per_message * speakers <= channel.turns_since_message:
        return Limit.ROUNDS_PER_MESSAGE, f"{rules.rounds_per_message} rounds {_PER_MESSAGE}"
    if 0 < rules.max_rounds * speakers <= channel.turns:
        return Limit.ROUNDS, f"{rules.max_rounds} rounds {_IN_ALL}"
    return None


def _usage_reached(channel: Channel, now: datetime) -> tuple[Limit, str] | None:
    rules, since = channel.config, channel.since_message.used
    for limit, used, cost_usd, tokens, where in (
        (Limit.COST_PER_MESSAGE, since, rules.cost_usd_per_message, None, _PER_MESSAGE),
        (Limit.TOKENS_PER_MESSAGE, since, None, rules.tokens_per_message, _PER_MESSAGE),
        (Limit.COST, channel.used, rules.max_cost_usd, None, _IN_ALL),
        (Limit.TOKENS, channel.used, None, rules.max_tokens, _IN_ALL),
    ):
        if reached := over(used, cost_usd or None, tokens or None, f" {where}"):
            return limit, reached
    if reached := over_rate(channel.burn, rules.cost_usd_per_minute):
        return Limit.COST_RATE, _runaway(channel, reached, now)
    if reached := over_day(channel.burn, rules.cost_usd_per_day, now, " in the channel"):
        return Limit.COST_PER_DAY, reached
    return None


def silence_reached(team: Team, channel: Channel, passed_over: int = 0) -> tuple[Limit, str] | None:
    """The rest that is due after whole rounds without a post.

    Members that are about to be passed over count as silent.
    """
    rounds, silent_turns = channel.config.rest_after_idle_rounds, channel.silent_turns + passed_over
    speakers = sum(1 for _ in in_ring_order(team, channel))
    if not 0 < speakers * rounds <= silent_turns:
        return None
    return Limit.IDLE_ROUNDS, f"{rounds} rounds without a message"


def rest(channel: Channel, limit: Limit, reason: str) -> Sequence[Fact]:
    """Let a channel rest; where a person would wonder why, say so in the channel."""
    rounds = channel.config.rest_after_idle_rounds if limit is Limit.IDLE_ROUNDS else 0
    rested = e.ChannelRested(channel=channel.id, idle_rounds=rounds, limit=limit, reason=reason)
    if limit in QUIET_ENDS:
        return (rested,)
    remedy = "A higher limit lets it" if limit in WHOLE_CHANNEL else "A message lets it"
    text = f"⏸️ The conversation rests: {reason} ({limit}). {remedy} go on."
    return (rested, e.Announcement(channel=channel.id, text=text))
