"""The messages of a conversation with Claude's models, each with its tokens and its price.

The program tells prices at the end of its work, and that counts. Until then they are learned from
what it told before, or else estimated from the model's name.
"""

from collections.abc import Mapping
from typing import Any, Final

from msgspec import structs

from muster.machines.vocabulary import NOTHING_USED, Usage

Counts = Mapping[str, Any]  # as the model's API reports them

_NAMES: Final = {
    "input_tokens": "input_tokens",
    "output_tokens": "output_tokens",
    "cache_read_tokens": "cache_read_input_tokens",
    "cache_write_tokens": "cache_creation_input_tokens",
}
_IN_RESULTS: Final = {
    "input_tokens": "inputTokens",
    "output_tokens": "outputTokens",
    "cache_read_tokens": "cacheReadInputTokens",
    "cache_write_tokens": "cacheCreationInputTokens",
}
_WEIGHTS: Final = {
    "input_tokens": 1.0,
    "output_tokens": 5.0,
    "cache_read_tokens": 0.1,
    "cache_write_tokens": 1.25,
}
"""The prices of the kinds of tokens, relative to a token of input."""

_DOLLARS: Final = (("opus", 5e-6), ("haiku", 1e-6), ("", 3e-6))
"""The price of a token of input by a part of the model's name, until a result has told it."""


class PricedMessages:
    """The usage of messages, by their ids."""

    def __init__(self) -> None:
        """Begin before the first message."""
        self._messages: dict[str, Usage] = {}
        self._learned: dict[str, float] = {}

    @property
    def usage(self) -> Usage:
        """The usage of all its messages."""
        return sum(self._messages.values(), NOTHING_USED)

    def clear(self) -> None:
        """Forget the messages, and keep the prices."""
        self._messages = {}

    def learn(self, models: Mapping[str, Counts]) -> None:
        """Learn prices from what the program itself has counted, by model."""
        for model, counts in models.items():
            weight = _weight(_usage(counts, _IN_RESULTS))
            cost = counts.get("costUSD")
            if weight and isinstance(cost, int | float) and cost > 0:
                self._learned[model] = cost / weight

    def count(self, number: str, model: str, counts: Counts) -> bool:
        """Count a message by its id, or what is known of it now; tell whether that is more."""
        before = self._messages.get(number, NOTHING_USED)
        found = _usage(counts, _NAMES)
        usage = Usage(
            **{name: max(getattr(before, name), getattr(found, name)) for name in _WEIGHTS}
        )
        if not number or usage.tokens == before.tokens:
            return False
        cost = round(_weight(usage) * self._price(model), 8)
        self._messages[number] = Usage(
            cost_usd=cost, **{name: getattr(usage, name) for name in _WEIGHTS}
        )
        return True

    def _price(self, model: str) -> float:
        learned = self._learned.get(model)
        return learned or next(price for part, price in _DOLLARS if part in model)


def usage_of_models(models: Mapping[str, Counts], cost_usd: object) -> Usage:
    """All that the program itself has counted, by model."""
    tokens = sum((_usage(each, _IN_RESULTS) for each in models.values()), NOTHING_USED)
    cost = cost_usd if isinstance(cost_usd, int | float) and cost_usd >= 0 else 0.0
    return structs.replace(tokens, cost_usd=float(cost))


def _usage(counts: Counts, names: Mapping[str, str]) -> Usage:
    return Usage(**{ours: _number(counts.get(theirs)) for ours, theirs in names.items()})


def _number(value: object) -> int:
    return value if isinstance(value, int) and value > 0 else 0


def _weight(usage: Usage) -> float:
    return sum(getattr(usage, name) * weight for name, weight in _WEIGHTS.items())
