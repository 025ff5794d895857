"""Tables of concepts, of other languages and of pasted errors.

A concept is a term like a word, written `#name`. Agents get concepts from their descriptions,
requests from their words. So a request for "pods" finds an agent for Kubernetes.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache
from typing import Final, NamedTuple

from muster.routing.concepts import Phrase, concepts
from muster.routing.words import TELLING, WordToken, data_lines, stem, weight

WIDER: Final = 0.5
"""Weight of a wider concept: a request about Django is half about Python."""

PREFIX_CHARS_MIN: Final = 3


class FoundPhrase(NamedTuple):
    """A phrase in a text, from one place to another."""

    phrase: Phrase
    first: int
    last: int


def phrases_in(
    found: Sequence[WordToken], table: Mapping[str, Sequence[Phrase]], gap: int = 0
) -> Iterator[FoundPhrase]:
    """Every phrase of a table in a text. Up to `gap` words that tell little may stand between two
    words of it."""
    places: dict[int, set[str]] = {}
    for token in found:
        places.setdefault(token.at, set()).add(token.stem)
    telling = {token.at for token in found if gap and weight(token.stem) >= TELLING}
    for token in found:
        for phrase in table.get(token.stem, ()):
            last = token.at
            for word in phrase.stems[1:]:
                last = _next(last, word, places, range(gap + 1), telling)
            if last >= 0:
                yield FoundPhrase(phrase, token.at, last)


def _next(
    at: int, word: str, places: Mapping[int, Set[str]], steps: range, telling: Set[int]
) -> int:
    """The place of a word near after a place; -1 if it is not there, or there is no place."""
    for place in (at + 1 + step for step in steps) if at >= 0 else ():
        if word in places.get(place, ()):
            return place
        if place in telling:
            break
    return -1


# ── other languages ───────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Dictionary:
    """Words of other languages: whole words, prefixes, and characters of scripts without spaces."""

    whole: Mapping[str, str]
    beginnings: Mapping[str, str]
    signs: Sequence[tuple[str, str]]
    several: Sequence[tuple[str, str]]


@cache
def dictionary() -> Dictionary:
    """The table of other languages."""
    whole: dict[str, str] = {}
    beginnings: dict[str, str] = {}
    signs: list[tuple[str, str]] = []
    several: list[tuple[str, str]] = []
    for line in data_lines("languages.txt"):
        english, _, words = line.partition(":")
        english = english.replace("_", " ")
        for word in words.split():
            bare = word.rstrip("*")
            if _is_wide(bare):
                signs.append((bare, english))
            elif "_" in bare:
                several.append((bare.replace("_", " "), english))
            elif word.endswith("*"):
                beginnings.setdefault(bare, english)
            else:
                whole.setdefault(bare, english)
    return Dictionary(whole, beginnings, signs, several)


def _is_wide(word: str) -> bool:
    return any("\u3040" <= sign <= "\ud7af" for sign in word)


def translated(word: str) -> str | None:
    """Translate a word into English by its longest prefix in the table."""
    table = dictionary()
    if word in table.whole:
        return table.whole[word]
    for end in range(len(word), PREFIX_CHARS_MIN - 1, -1):
        if word[:end] in table.beginnings:
            return table.beginnings[word[:end]]
    return None


def translated_signs(text: str) -> Iterator[tuple[str, str]]:
    """Translate text in scripts without spaces, and phrases of several words."""
    table = dictionary()
    if not text.isascii():
        yield from ((sign, english) for sign, english in table.signs if sign in text)
    yield from ((words, english) for words, english in table.several if words in text)


# ── pasted errors ─────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Signature:
    """The pattern of an error message, and its concepts."""

    pattern: re.Pattern[str]
    concepts: tuple[str, ...]


@cache
def signatures() -> tuple[Signature, ...]:
    """The table of pasted errors."""
    rows = (line.rpartition(" => ") for line in data_lines("signatures.txt"))
    return tuple(
        Signature(re.compile(pattern, re.MULTILINE), _named(names.split()))
        for pattern, _, names in rows
    )


def _named(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(f"#{name}" for name in names)


def known(word: str) -> bool:
    """Whether a stem is in the table of concepts."""
    table = concepts()
    return word in table.of_requests or stem(word) in table.of_requests
