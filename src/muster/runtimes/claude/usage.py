"""Token usage and cost of a session, and of each of its results.

The program counts from the beginning of its conversation on, helpers and earlier lives with it. It
keeps the counts when it ends in order; after a life that was cut off it counts on from the last
kept ones. Each result is told what came since the last.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from muster.machines.vocabulary import NOTHING_USED, Usage
from muster.runtimes.claude.protocol.messages import ResultMessage

_COUNTED: Final = {
    "input_tokens": "inputTokens",
    "output_tokens": "outputTokens",
    "cache_read_tokens": "cacheReadInputTokens",
    "cache_write_tokens": "cacheCreationInputTokens",
}
_OWN: Final = (
    "input_tokens",
    "output_tokens",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
)

Counts = Mapping[str, Any]  # as the program reports them


def total(result: ResultMessage) -> Usage:
    """All that was counted until this result."""
    models: list[Counts] = [*(result.model_usage or {}).values()]
    tokens = {ours: sum(_number(each, key) for each in models) for ours, key in _COUNTED.items()}
    return Usage(cost_usd=result.total_cost_usd or 0.0, **tokens)


class Counted(msgspec.Struct, frozen=True):
    """The program's counts for a conversation."""

    now: Usage = NOTHING_USED
    """At its last result."""

    kept: Usage = NOTHING_USED
    """At its last end in order: after a life that was cut off it counts on from there."""

    def at_end(self) -> "Counted":
        """After an end in order."""
        return Counted(self.now, kept=self.now)


def since(counted: Counted, result: ResultMessage) -> tuple[Usage, Counted]:
    """The usage of this result, and the counts after it.

    It is at least what the result itself says of its agent alone, without helpers: that tells which
    of the earlier counts the program counted on from.
    """
    now, own = total(result), result.usage or {}
    least = sum(_number(own, key) for key in _OWN)
    fits = (each for each in (counted.now, counted.kept) if now.tokens >= each.tokens + least)
    before = next(fits, NOTHING_USED)
    used = Usage(
        cost_usd=round(max(0.0, now.cost_usd - before.cost_usd), 8),
        input_tokens=max(0, now.input_tokens - before.input_tokens),
        output_tokens=max(0, now.output_tokens - before.output_tokens),
        cache_read_tokens=max(0, now.cache_read_tokens - before.cache_read_tokens),
        cache_write_tokens=max(0, now.cache_write_tokens - before.cache_write_tokens),
    )
    return used, Counted(now, kept=counted.kept if before is counted.now else before)


def _number(counts: Counts, key: str) -> int:
    value = counts.get(key)
    return value if isinstance(value, int) and value > 0 else 0
