"""Findings of `muster doctor`: the answers of its checks."""

from enum import StrEnum
from typing import NamedTuple


class Level(StrEnum):
    """The severity of a finding."""

    OK = "ok"
    NOTE = "note"
    WARN = "warn"
    FIX = "fix"


class Finding(NamedTuple):
    """A check, its result, and the remedy."""

    level: Level
    subject: str
    found: str
