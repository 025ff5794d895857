"""Token usage and cost of a session, and of each of its results.

The program counts from the beginning of its conversation on, helpers and earlier lives with it; but
after a life that was cut off it counts from nothing. Each result is told what came since the last.
"""

from collections.abc import Mapping
from typing import Any, Final

from claude_agent_sdk import ResultMessage

from muster.machines.vocabulary import NOTHING_USED, Usage

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


def since(before: Usage, result: ResultMessage) -> Usage:
    """The usage of this result, if `before` was counted until the one before it.

    It is at least what the result itself says of its agent alone, without helpers: where there is
    less between the two counts, the second began anew.
    """
    now, own = total(result), result.usage or {}
    if now.tokens < before.tokens + sum(_number(own, key) for key in _OWN):
        before = NOTHING_USED
    return Usage(
        cost_usd=round(max(0.0, now.cost_usd - before.cost_usd), 8),
        input_tokens=max(0, now.input_tokens - before.input_tokens),
        output_tokens=max(0, now.output_tokens - before.output_tokens),
        cache_read_tokens=max(0, now.cache_read_tokens - before.cache_read_tokens),
        cache_write_tokens=max(0, now.cache_write_tokens - before.cache_write_tokens),
    )


def _number(counts: Counts, key: str) -> int:
    value = counts.get(key)
    return value if isinstance(value, int) and value > 0 else 0
