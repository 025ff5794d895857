"""Parses a request into units: a typed word, its weight, and its possible meanings.

The terms of a unit are ways to understand one word: literally, in English, or as a concept. An
agent is credited with the best of them, once.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from muster.routing.concepts import concepts
from muster.routing.vocabulary import (
    WIDER,
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

CONCEPT: Final = 0.5
"""Weight of a word's concept, as a fraction of the word's own weight."""

CUE: Final = 0.35
CUE_PHRASE: Final = 0.7
CUE_WEIGHT_MIN: Final = 1.8
"""Weight of a weak cue, as a fraction of the word's own weight; of a phrase, as a fraction of a
strong one; and the least weight of a word with cues."""

GAP: Final = 2
"""How many other words may stand between two words of a phrase."""

SHOWN_CHARS_MAX: Final = 6000
"""How much of a request is read: a longer one is a paste, and its start tells enough."""

TYPED_CHARS_MAX: Final = 40
"""How much of a pasted error an explanation quotes."""

PHRASE_WEIGHT: Final = 3.6
SIGNATURE_WEIGHT: Final = 3.5

PASTED: Final = 0.3
"""Weight of words such as "error" and "failed" in a pasted error, where they are redundant."""

GENERAL: Final = 0.6
"""Weight of the concept "debugging" in a pasted error, beside its specific concepts."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A word or phrase of a request."""

    typed: str
    weight: float
    terms: tuple[tuple[str, float], ...]
    cues: frozenset[str] = frozenset()
    """The terms that it only suggests."""


_Spoken = tuple[int, int, float, tuple[str, ...]]
"""A phrase in a request: its first and last word, how strong it is, and its concepts."""


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
        """The total weight of its units."""
        return sum(unit.weight for unit in self.units)


def take_request(text: str, known: frozenset[str] = frozenset()) -> ParsedRequest:
    """Parse a request. `known` are words of agents, which need no spelling correction."""
    text = text[:SHOWN_CHARS_MAX]
    words = tokens(text)
    errors = [(found, match[0]) for found in signatures() if (match := found.pattern.search(text))]
    single = list(_words(words, _is_foreign(text, words), known, bool(errors)))
    units = [*_joined(single), *_phrases(words), *_signs(plain(text).lower())]
    for found, typed in errors[:4]:
        terms = tuple(
            (name, 1.0 if at == 0 else GENERAL if name == "#debug" else 0.8)
            for at, name in enumerate(found.concepts)
        )
        units.append(Unit(" ".join(typed.split())[:TYPED_CHARS_MAX], SIGNATURE_WEIGHT, terms))
    return ParsedRequest(text, tuple(words), tuple(_once(units)), bool(errors))


def _once(units: list[Unit]) -> Iterator[Unit]:
    """Drop repeated units."""
    seen: set[tuple[tuple[str, float], ...]] = set()
    for unit in units:
        if unit.terms not in seen:
            seen.add(unit.terms)
            yield unit


def _is_foreign(text: str, words: list[WordToken]) -> bool:
    """Whether a text is partly in another language, by function words or non-English letters."""
    if not text.isascii() and any(sign.isalpha() and not sign.isascii() for sign in text):
        return True
    return any(word.typed.lower() in foreign_words() for word in words)


def _joined(units: list[tuple[int, Unit]]) -> Iterator[Unit]:
    """Join the parts of a compound word into one unit."""
    places: dict[int, list[Unit]] = {}
    for at, unit in units:
        if unit.weight:
            places.setdefault(at, []).append(unit)
    for here in places.values():
        heaviest = max(unit.weight for unit in here)
        terms: dict[str, float] = {}
        for unit in here:
            for term, factor in unit.terms:
                terms[term] = max(terms.get(term, 0.0), factor * unit.weight / heaviest)
        cues = frozenset(each for unit in here for each in unit.cues)
        yield Unit(here[0].typed, heaviest, tuple(terms.items()), cues)


def _words(
    words: list[WordToken], foreign: bool, known: frozenset[str], pasted: bool
) -> Iterator[tuple[int, Unit]]:
    for word in words:
        heavy = weight(word.stem)
        if not heavy and word.stem not in concepts().cues:
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
        yield word.at, _with_cues(Unit(word.typed, heavy, tuple(terms.items())), word.stem)


def _with_cues(unit: Unit, word: str) -> Unit:
    """A unit with what its word suggests; a word that weighs little still suggests something."""
    cues = concepts().cues.get(word, ())
    heavy = max(unit.weight, CUE_WEIGHT_MIN) if cues else unit.weight
    own = {term: factor * unit.weight / heavy for term, factor in unit.terms}
    weak = frozenset(name for name in cues if own.get(name, 0.0) < CUE)
    return Unit(unit.typed, heavy, (*(own | dict.fromkeys(weak, CUE)).items(),), weak)


def _add_concepts(terms: dict[str, float], about: tuple[str, ...], factor: float) -> None:
    for name in about:
        terms[name] = max(terms.get(name, 0.0), factor)
        for wide in concepts().wider.get(name, ()):
            terms[wide] = max(terms.get(wide, 0.0), factor * WIDER)


def _english(typed: str, english: str) -> Unit:
    """The English unit for a word of another language."""
    terms: dict[str, float] = {}
    heavy = 0.0
    found = tokens(english)
    for word in found:
        terms[word.stem] = 0.9 / len(found)
        heavy = max(heavy, weight(word.stem))
        if len(found) == 1:
            _add_concepts(terms, concepts().of_requests.get(word.stem, ()), CONCEPT * 0.9)
    for each in phrases_in(found, concepts().request_phrases):
        heavy = RARE_WEIGHT
        _add_concepts(terms, each.phrase.concepts, 0.9)
    return Unit(typed, heavy, tuple(terms.items()))


def _phrases(words: list[WordToken]) -> Iterator[Unit]:
    """The phrases of a request. Those that overlap are one unit: they say one thing."""
    about = concepts()
    tables = ((about.request_phrases, 1.0), (about.cue_phrases, CUE_PHRASE))
    found = sorted(
        (each.first, each.last, factor, each.phrase.concepts)
        for table, factor in tables
        for each in phrases_in(words, table, GAP)
    )
    found = [each for each in found if not _is_part(each, found)]
    while found:
        first, last, terms, cues = found[0][0], found[0][1], dict[str, float](), set[str]()
        while found and found[0][0] <= last:
            _, end, factor, names = found.pop(0)
            last = max(last, end)
            _add_concepts(terms, names, factor)
            cues.update(names if factor < 1 else ())
        typed = _between(words, first, last)
        yield Unit(typed, PHRASE_WEIGHT, tuple(terms.items()), frozenset(cues))


def _is_part(each: _Spoken, found: list[_Spoken]) -> bool:
    """Whether a phrase is a part of a longer one: "find out" says less in "find out why"."""
    return any(
        other[0] <= each[0] and each[1] <= other[1] and other[1] - other[0] > each[1] - each[0]
        for other in found
        if other[2] >= each[2]
    )


def _between(words: list[WordToken], first: int, last: int) -> str:
    """The text from one place to another, as typed."""
    places: dict[int, str] = {}
    for word in words:
        places.setdefault(word.at, word.typed)
    return " ".join(typed for at, typed in places.items() if first <= at <= last)


def _signs(text: str) -> Iterator[Unit]:
    for sign, english in translated_signs(text):
        yield _english(sign, english)


# ── typos ─────────────────────────────────────────────────────────────────────────────────────────


def _corrected(word: WordToken, known: frozenset[str]) -> str | None:
    """The only known word at one typo's distance: a swapped, an extra or a missing letter."""
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
