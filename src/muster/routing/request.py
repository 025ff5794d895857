"""A request, taken apart into units: what somebody typed, how much it tells, and what it may mean.

A unit's terms are ways to understand the same word: as it stands, in English, or as what it is
about. An agent is credited with the best of them, once.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from muster.routing.vocabulary import (
    WIDER,
    concepts,
    phrases_in,
    signatures,
    translated,
    translated_signs,
)
from muster.routing.words import (
    RARE_WEIGHT,
    WordToken,
    classes,
    foreign_words,
    plain,
    tokens,
    weight,
)

CONCEPT: Final = 0.75
"""What a word tells by what it is about, as a part of what it tells as it stands."""

SHOWN_CHARS_MAX: Final = 6000
"""How much of a request is looked at: what is longer is a paste, and its beginning tells."""

PHRASE_WEIGHT: Final = 3.0
SIGNATURE_WEIGHT: Final = 3.5

PASTED: Final = 0.3
"""What words such as "error" and "failed" still tell in a pasted error: it is one anyway."""

GENERAL: Final = 0.6
"""How much a pasted error is about debugging in general, beside what it is about in particular."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A piece of a request."""

    typed: str
    weight: float
    terms: tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class ParsedRequest:
    """A request and its units."""

    text: str
    words: tuple[WordToken, ...]
    units: tuple[Unit, ...]
    error: bool
    """Whether it looks like a pasted error."""

    @property
    def mass(self) -> float:
        """How much it tells altogether."""
        return sum(unit.weight for unit in self.units)


def take_request(text: str, known: frozenset[str] = frozenset()) -> ParsedRequest:
    """Take a request apart. `known` are words of agents, which are spelled right."""
    text = text[:SHOWN_CHARS_MAX]
    words = tokens(text)
    errors = [found for found in signatures() if found.pattern.search(text)]
    single = list(_words(words, _is_foreign(text, words), known, bool(errors)))
    units = [*_joined(single), *_phrases(words), *_signs(plain(text).lower())]
    for found in errors[:4]:
        terms = tuple(
            (name, 1.0 if at == 0 else GENERAL if name == "#debug" else 0.8)
            for at, name in enumerate(found.concepts)
        )
        units.append(Unit("error", SIGNATURE_WEIGHT, terms))
    return ParsedRequest(text, tuple(words), tuple(_once(units)), bool(errors))


def _once(units: list[Unit]) -> Iterator[Unit]:
    """What is said twice tells no more."""
    seen: set[tuple[tuple[str, float], ...]] = set()
    for unit in units:
        if unit.terms not in seen:
            seen.add(unit.terms)
            yield unit


def _is_foreign(text: str, words: list[WordToken]) -> bool:
    """Whether it is, in part, in another language: small words or letters that English lacks."""
    if not text.isascii() and any(sign.isalpha() and not sign.isascii() for sign in text):
        return True
    return any(word.typed.lower() in foreign_words() for word in words)


def _joined(units: list[tuple[int, Unit]]) -> Iterator[Unit]:
    """What was written in one piece is one unit, however many words are in it."""
    places: dict[int, list[Unit]] = {}
    for at, unit in units:
        places.setdefault(at, []).append(unit)
    for here in places.values():
        heaviest = max(unit.weight for unit in here)
        terms: dict[str, float] = {}
        for unit in here:
            for term, factor in unit.terms:
                terms[term] = max(terms.get(term, 0.0), factor * unit.weight / heaviest)
        yield Unit(here[0].typed, heaviest, tuple(terms.items()))


def _words(
    words: list[WordToken], foreign: bool, known: frozenset[str], pasted: bool
) -> Iterator[tuple[int, Unit]]:
    for word in words:
        heavy = weight(word.stem)
        if not heavy:
            continue
        terms = {word.stem: 1.0}
        about = concepts().of_requests.get(word.stem, ())
        if not about and heavy == RARE_WEIGHT and word.stem not in known:
            if foreign and (english := translated(word.typed.lower())):
                yield word.at, _english(word.typed, english)
                continue
            corrected = _corrected(word, known)
            if corrected is not None:
                heavy, about, terms = (
                    weight(corrected),
                    concepts().of_requests.get(corrected, ()),
                    {corrected: 0.9},
                )
        if word.typed.startswith(".") and not about:
            continue
        _add_concepts(terms, about, CONCEPT)
        if pasted and "#debug" in about:
            heavy *= PASTED
        yield word.at, Unit(word.typed, heavy, tuple(terms.items()))


def _add_concepts(terms: dict[str, float], about: tuple[str, ...], factor: float) -> None:
    for name in about:
        terms[name] = max(terms.get(name, 0.0), factor)
        for wide in concepts().wider.get(name, ()):
            terms[wide] = max(terms.get(wide, 0.0), factor * WIDER)


def _english(typed: str, english: str) -> Unit:
    """A word of another language, as if it had been said in English."""
    terms: dict[str, float] = {}
    heavy = 0.0
    found = tokens(english)
    for word in found:
        terms[word.stem] = 0.9 / len(found)
        heavy = max(heavy, weight(word.stem))
        if len(found) == 1:
            _add_concepts(terms, concepts().of_requests.get(word.stem, ()), CONCEPT * 0.9)
    for _, phrase in phrases_in(found, concepts().request_phrases):
        heavy = RARE_WEIGHT
        _add_concepts(terms, phrase.concepts, 0.9)
    return Unit(typed, heavy, tuple(terms.items()))


def _phrases(words: list[WordToken]) -> Iterator[Unit]:
    for at, phrase in phrases_in(words, concepts().request_phrases):
        typed = " ".join(word.typed for word in words[at : at + len(phrase.stems)])
        terms: dict[str, float] = {}
        _add_concepts(terms, phrase.concepts, 1.0)
        yield Unit(typed, PHRASE_WEIGHT, tuple(terms.items()))


def _signs(text: str) -> Iterator[Unit]:
    for sign, english in translated_signs(text):
        yield _english(sign, english)


# ── slips of the finger ───────────────────────────────────────────────────────────────────────────


def _corrected(word: WordToken, known: frozenset[str]) -> str | None:
    """The one known word that is a slip away: two letters swapped, one too many, or one missing."""
    slip = word.stem
    if not (4 <= len(slip) <= 14 and slip.isascii() and slip.isalpha()):
        return None
    table = concepts().of_requests
    for other in _near(slip):
        if other in known or other in table or classes().get(other, 0.0) > 1.0:
            return other
    return None


def _near(slip: str) -> Iterator[str]:
    for at in range(len(slip) - 1):
        if slip[at] != slip[at + 1]:
            yield slip[:at] + slip[at + 1] + slip[at] + slip[at + 2 :]
    if len(slip) >= 6:
        for at in range(1, len(slip)):
            yield slip[:at] + slip[at + 1 :]
        for at in range(1, len(slip)):
            for letter in "aeiourtnslcdmpgh":
                yield slip[:at] + letter + slip[at:]
