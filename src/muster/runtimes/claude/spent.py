"""The usage of a piece of work while it goes on, message by message.

The program counts at the end of a piece of work, and that counts. Until then each message of the
model tells its tokens. Their price is learned from earlier results of the conversation; before the
first one it is estimated from the model's name.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from muster.machines.vocabulary import NOTHING_USED, Usage

if TYPE_CHECKING:
    from claude_agent_sdk import AssistantMessage, ResultMessage

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


class SpentSoFar:
    """The usage of the present piece of work."""

    def __init__(self) -> None:
        """Begin before the first message."""
        self._messages: dict[str, Usage] = {}
        self._models: dict[str, str] = {}
        self._learned: dict[str, float] = {}
        self._streamed = ""
        """The id of the message that is being streamed."""

    @property
    def usage(self) -> Usage:
        """The usage of all its messages."""
        return sum(self._messages.values(), NOTHING_USED)

    def said(self, message: "AssistantMessage") -> bool:
        """Take a message, or a part of one; tell whether that changes the usage."""
        return self._count(message.message_id or "", message.model, message.usage or {})

    def streamed(self, event: Counts) -> bool:
        """Take an event of the stream; its last one tells the output of a message."""
        match event:
            case {"type": "message_start", "message": {"id": str(number), "model": str(model)}}:
                self._streamed = number
                self._models[number] = model
            case {"type": "message_delta", "usage": {} as counts} if self._streamed:
                return self._count(self._streamed, self._models.get(self._streamed, ""), counts)
            case _:
                pass
        return False

    def result(self, message: "ResultMessage") -> None:
        """A piece of work is done: begin the next one, and learn the prices."""
        self._messages, self._models = {}, {}
        models: Mapping[str, Counts] = message.model_usage or {}
        for model, counts in models.items():
            weight = _weight(_usage(counts, _IN_RESULTS))
            cost = counts.get("costUSD")
            if weight and isinstance(cost, int | float) and cost > 0:
                self._learned[model] = cost / weight

    def _count(self, number: str, model: str, counts: Counts) -> bool:
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


def _usage(counts: Counts, names: Mapping[str, str]) -> Usage:
    return Usage(**{ours: _number(counts.get(theirs)) for ours, theirs in names.items()})


def _number(value: object) -> int:
    return value if isinstance(value, int) and value > 0 else 0


def _weight(usage: Usage) -> float:
    return sum(getattr(usage, name) * weight for name, weight in _WEIGHTS.items())
