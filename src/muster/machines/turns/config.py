"""The bounds of a channel's rules, for commands and for settings."""

from collections.abc import Mapping
from typing import Final

from muster import limits
from muster.errors import Invalid
from muster.machines.names import check_plain
from muster.machines.turns.table import check_seconds
from muster.machines.vocabulary import SpeakerOrder, TurnConfig

_BOUNDS: Final[Mapping[str, tuple[float, float]]] = {
    "rest_after_idle_rounds": (1, limits.IDLE_ROUNDS_MAX),
    "turns_per_message": (0, limits.TURNS_MAX),
    "rounds_per_message": (0, limits.TURNS_MAX),
    "max_turns": (0, limits.TURNS_MAX),
    "max_rounds": (0, limits.TURNS_MAX),
    "cost_usd_per_message": (0, limits.USAGE_COST_USD_MAX),
    "alike_in_a_row": (0, limits.TURNS_MAX),
    "cost_usd_per_minute": (0, limits.USAGE_COST_USD_MAX),
    "cost_usd_per_day": (0, limits.USAGE_COST_USD_MAX),
    "max_cost_usd": (0, limits.USAGE_COST_USD_MAX),
    "tokens_per_message": (0, limits.USAGE_SUM_MAX),
    "max_tokens": (0, limits.USAGE_SUM_MAX),
}
"""The smallest and the largest value of each rule that is a number, and not of seconds."""


def check_config(config: TurnConfig) -> None:
    """Refuse rules with values out of range."""
    for name in config.__struct_fields__:
        if name.endswith("_seconds"):
            check_seconds(name, getattr(config, name))
    for name, (low, high) in _BOUNDS.items():
        if not low <= getattr(config, name) <= high:  # false for NaN, too
            raise Invalid(what=name, why=f"must be {low} to {high:.0f}")
    if len(config.stop_phrase) > limits.STOP_PHRASE_CHARS_MAX:
        why = f"must have at most {limits.STOP_PHRASE_CHARS_MAX} characters"
        raise Invalid(what="stop_phrase", why=why)
    if config.selector:
        check_plain("selector", config.selector)
    elif config.speaker_order is SpeakerOrder.SELECTOR:
        raise Invalid(what="selector", why="must name the member that chooses the next speaker")
