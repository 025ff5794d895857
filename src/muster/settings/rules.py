"""What may be written as a setting: its rule, how that is said in words, and what a mistake is.

Where the mistake stands is the affair of whoever read it: `config.py` and `agent_settings.py`.
"""

from collections.abc import Iterable
from enum import EnumMeta
from types import NoneType
from typing import Any, Literal, NamedTuple, get_args, get_origin

import msgspec


class WrongError(Exception):
    """A value that may not stand there; whoever read it knows where."""

    def __init__(self, what: str, remedy: str) -> None:
        """Remember what is wrong, and what to write instead."""
        super().__init__(what)
        self.what = what
        self.remedy = remedy


class Rule(NamedTuple):
    """What a setting is for, and between which values it lies where it is a number."""

    about: str
    low: float | None = None
    high: float | None = None


# Whatever a field may be annotated with; `Any` is what Python itself calls it.
def in_words(kind: Any, rule: Rule) -> str:  # noqa: ANN401
    """What may be written, in words."""
    kinds: list[Any] = [each for each in get_args(kind) if each is not NoneType]
    if get_origin(kind) is Literal or isinstance(kind, EnumMeta):
        choices = get_args(kind) or tuple(kind)
        return "one of " + ", ".join(f'"{choice}"' for choice in choices)
    if get_origin(kind) is tuple:
        return "a list of texts in quotes"
    if kind is bool:
        return "true or false"
    if rule.low is None:
        return "a text in quotes"
    whole = "a whole number" if int in (kind, *kinds) else "a number"
    return f"{whole} from {rule.low:g} to {rule.high:.0f}"


# As above: a kind is whatever a field may be annotated with.
def converted(
    key: str,
    value: object,
    kind: Any,  # noqa: ANN401
    rule: Rule,
    *,
    strict: bool = True,
) -> Any:  # noqa: ANN401
    """A value as the kind that its setting has, if it is one and within its bounds."""
    wrong = WrongError(f"{key} is {shown(value)}", f"Give {in_words(kind, rule)}.")
    try:
        result: object = msgspec.convert(value, kind, strict=strict)
    except msgspec.ValidationError:
        raise wrong from None
    if not _in_range(result, rule):
        raise wrong
    return result


def _in_range(value: object, rule: Rule) -> bool:
    if rule.low is None or rule.high is None or not isinstance(value, int | float):
        return True
    return rule.low <= value <= rule.high  # false for a NaN as well


def suggestion(written: str, known: Iterable[str], otherwise: str) -> str:
    """The nearest thing that exists; a right name in the wrong table is near too."""
    from difflib import get_close_matches  # only mistakes need it

    known = list(known)
    name = written.rpartition(".")[2]
    elsewhere = [key for key in known if key.rpartition(".")[2] == name]
    near = elsewhere or get_close_matches(written, known, n=1, cutoff=0.7)
    return f"Did you mean {near[0]}?" if near else f"{otherwise[0].upper()}{otherwise[1:]}."


def shown(value: object) -> str:
    """A value as a person would have written it, short enough for a message."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "a table"
    text = f'"{value}"' if isinstance(value, str) else str(value)
    return text if len(text) <= 40 else f"{text[:39]}…"
