"""How fast money is spent: the burn rate of the last minutes, and the sum of a day.

The cost of a piece of work is known when it is done, or bit by bit where its session tells it on
the way. A rate counts what was spent after the first of these in its window, over the time since
then: one expensive piece is no rate at all.
"""

from datetime import datetime
from typing import Final

from msgspec.structs import replace

from muster.limits import (
    BURN_PIECES_MAX,
    BURN_SECONDS_MIN,
    BURN_WINDOW_SECONDS,
    RUNAWAY_PIECES_MIN,
)
from muster.machines.state import Burn, PieceCost
from muster.machines.vocabulary import Usage

_DAY: Final = "%Y-%m-%d"


def burnt(burn: Burn, usage: Usage, at: datetime) -> Burn:
    """The spending with one more piece of work. Work that costs nothing changes nothing."""
    if usage.cost_usd <= 0:
        return burn
    day = at.strftime(_DAY)
    before = burn.today_usd if burn.day == day else 0.0
    recent, cost = _recent(burn, at), usage.cost_usd
    if len(recent) == BURN_PIECES_MAX:  # the first is kept: the rate is measured from there
        recent, cost = recent[:-1], recent[-1].cost_usd + cost
    recent = (*recent, PieceCost(at=at, cost_usd=cost))
    return Burn(recent=recent, day=day, today_usd=round(before + usage.cost_usd, 8))


def _recent(burn: Burn, at: datetime) -> tuple[PieceCost, ...]:
    return tuple(
        each for each in burn.recent if (at - each.at).total_seconds() < BURN_WINDOW_SECONDS
    )


def rested(burn: Burn) -> Burn:
    """The same day, and a rate that begins anew: a person has looked."""
    return replace(burn, recent=()) if burn.recent else burn


def spent_today_usd(burn: Burn, now: datetime) -> float:
    """The spending on the day of `now`, in UTC."""
    return burn.today_usd if burn.day == now.strftime(_DAY) else 0.0


def usd_per_minute(burn: Burn, now: datetime) -> float:
    """The burn rate at a time; 0 where fewer than two pieces of work are in its window."""
    recent = _recent(burn, now)
    if len(recent) < 2:
        return 0.0
    seconds = max((now - recent[0].at).total_seconds(), BURN_SECONDS_MIN)
    return sum(each.cost_usd for each in recent[1:]) / seconds * 60


def over_rate(burn: Burn, most: float | None) -> str:
    """The reason why the last pieces of work are a runaway; empty if they are none."""
    if not most or len(burn.recent) < RUNAWAY_PIECES_MIN:
        return ""
    rate = usd_per_minute(burn, burn.recent[-1].at)
    return f"${rate:.2f} a minute, and ${most:g} are allowed" if rate >= most else ""


def over_day(burn: Burn, most: float | None, now: datetime, who: str = "") -> str:
    """The reason why no more is spent on this day; empty if more is allowed."""
    spent = spent_today_usd(burn, now)
    if not most or spent < most:
        return ""
    return f"${spent:.2f} spent{who} today, and ${most:g} a day are allowed"
