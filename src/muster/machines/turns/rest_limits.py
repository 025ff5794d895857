"""Groups of the limits at which a channel rests; views need them, too."""

from typing import Final

from muster.machines.vocabulary import Limit

QUIET_ENDS: Final = frozenset({Limit.IDLE_ROUNDS, Limit.NOTHING_NEW})
"""Ends that are no news: the channel rests without a notice."""

WHOLE_CHANNEL: Final = frozenset(
    {Limit.TURNS, Limit.ROUNDS, Limit.COST, Limit.TOKENS, Limit.COST_PER_DAY}
)
"""Limits of all turns of a channel, which a message does not start again."""

RUNAWAY_ENDS: Final = frozenset({Limit.ALIKE, Limit.COST_RATE})
"""Limits at which a conversation is a runaway."""

RAISABLE_LIMITS: Final = frozenset(Limit) - QUIET_ENDS - {Limit.SELECTOR}
"""Limits that a change of the rules can raise or take away."""
