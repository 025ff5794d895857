"""The text of an approval request: the arguments of the call, and the agent's own words about it.

A person decides about what is run, which is in the arguments. The words of an agent come after
them, and are marked: they may say something else.
"""

from collections.abc import Mapping
from typing import Final

from muster.runtimes.excerpts import compact

_FIRST: Final = ("command", "file_path", "notebook_path", "path", "url", "query", "pattern")
"""The arguments of a tool that a person wants to see first."""

OWN_WORDS: Final = "in the agent's own words: "


def arguments_text(given: Mapping[str, object]) -> str:
    """The arguments of a tool for a person to read: the important ones first, one a line."""
    keys = [key for key in _FIRST if key in given]
    keys += [key for key in given if key not in keys]
    return "\n".join(f"{key}: {_value(given[key])}" for key in keys)


def request_text(given: Mapping[str, object], words: str) -> str:
    """The arguments of a call, then the agent's words, if they are not an argument themselves."""
    if not given:
        return words
    if not words.strip() or words in given.values():
        return arguments_text(given)
    return f"{arguments_text(given)}\n{OWN_WORDS}{words}"


def _value(value: object) -> str:
    return value if isinstance(value, str) else compact(value)
