"""Requests that stay in MAIN whatever the agents: small talk, session control, questions.

A rule is a sentence pattern, never a topic (`data/main_rules.txt`), and it decides alone. Weaker
hints from the form of a request (`data/hints.txt`) are weighed by the gate.
"""

import re
from dataclasses import dataclass
from functools import cache
from typing import Final

from muster.routing.words import data_lines, plain

SEEN_WORDS_MAX: Final = 6

LOOKED_AT_CHARS: Final = 600
"""How much of a request is matched: small talk is short, and regular expressions take time."""

_WORD: Final = re.compile(r"[^\W\d_]+")
_WIDE_TALK: Final = re.compile(
    r"^[\s!！。.~、,，]*(?:你好|您好|谢谢|多谢|感谢|早上好|晚安|再见|好的|ありがとう|こんにちは|おはよう|"
    r"こんばんは|さようなら|お疲れ|はい|了解|감사|고마|안녕|네\b|좋아)\S{0,8}$"
)
_PRAISE: Final = re.compile(
    r"^\W*(?:thanks|thank you|thx|cheers|great|perfect|nice|awesome|cool|excellent|good job|"
    r"well done|merci|danke|gracias|wonderful|brilliant|lovely)\b(?! (?:ly|if|to have))"
)
_ASKS: Final = re.compile(
    r"\b(?:please|pls|plz|(?:can|could|would|will) (?:you|we)|how (?:do|can|should|to)|"
    r"(?:i|we) (?:need|want)|i'd like|help me|needs? (?:an?|to)|but|however|"
    r"(?:now|next|then),? (?:\w+ )?(?:write|add|fix|make|create|build|run|update|deploy|do|let))\b"
)


@dataclass(frozen=True, slots=True)
class Stay:
    """A reason to stay in MAIN: the rule, its label, and the matched text."""

    rule: str
    label: str
    seen: str


@dataclass(frozen=True, slots=True)
class _Rule:
    name: str
    label: str
    pattern: re.Pattern[str]


@cache
def _rules(table: str) -> tuple[_Rule, ...]:
    patterns: dict[tuple[str, str], list[str]] = {}
    here: list[str] = []
    for line in data_lines(table):
        if head := re.fullmatch(r"\[([\w-]+)\] (.+)", line):
            here = patterns.setdefault((head[1], head[2]), [])
        else:
            here.append(f"(?:{line})")
    return tuple(
        _Rule(name, label, re.compile("|".join(each))) for (name, label), each in patterns.items()
    )


@cache
def _talk() -> tuple[frozenset[str], frozenset[str]]:
    """The core words of small talk, and all words that may occur in it."""
    lines = [line.partition(":") for line in data_lines("talk.txt")]
    core = frozenset(word for kind, _, words in lines if kind == "core" for word in words.split())
    return core, core | {word for _, _, words in lines for word in words.split()}


def stay(text: str) -> Stay | None:
    """The rule that keeps a request in MAIN, if there is one."""
    flat = _flat(text)
    words = _WORD.findall(flat.replace("'", ""))
    if not words:
        return Stay("empty", "Nothing said", "")
    if seen := _small_talk(flat, words):
        return Stay("smalltalk", "Small talk", seen)
    for rule in _rules("main_rules.txt"):
        if found := rule.pattern.search(flat):
            seen = " ".join(found[0].split()[:SEEN_WORDS_MAX])
            return Stay(rule.name, rule.label, seen)
    return None


def _flat(text: str) -> str:
    return " ".join(plain(text[:LOOKED_AT_CHARS]).replace("’", "'").lower().split()).lstrip(
        "¿¡\"'( "
    )


def hints(text: str) -> frozenset[str]:
    """Hints from the form of a request. A statement contains no question and no complaint."""
    flat = _flat(text)
    found = {rule.name for rule in _rules("hints.txt") if rule.pattern.search(flat)}
    if "?" in flat or found & {"asks_work", "trouble"}:
        found.discard("states")
    return frozenset(found)


def _small_talk(flat: str, words: list[str]) -> str:
    """The core word of a request that is only small talk, or praise without a request."""
    core, every = _talk()
    if every.issuperset(words):
        return next((word for word in words if word in core), "")
    praised = _PRAISE.match(flat) and not _ASKS.search(flat)
    return words[0] if praised or _WIDE_TALK.match(flat) else ""
