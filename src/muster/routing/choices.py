"""Choices that people made for earlier requests, and their weight for a new one.

The same request again goes to the agent that was chosen for it. A similar request, one that shares
most of its significant words, gives that agent a credit beside the words of its description. A
choice is matched by its words alone: agents write none of them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from muster.routing.lexical import MatchedTerm, Scored
from muster.routing.words import tokens, weight

CHOICE: Final = "choice"
"""The field of a term that comes from a choice and not from an agent's own text."""

SIMILAR: Final = 0.4
"""Least similarity of a request to an earlier one. From 0.4 on, choices for other requests made no
decision on the labelled sets worse; with 0.35 some left MAIN because of one rare word."""

CREDIT: Final = 1.2
CREDIT_BASE_MIN: Final = 4.0
"""Credit of a choice for an identical request, relative to the best score without choices, and the
least such score: a correction of an agent that shares no word must count too."""

QUOTED_CHARS: Final = 60
"""How much of an earlier request an explanation quotes."""


@dataclass(frozen=True, slots=True)
class PastChoice:
    """An earlier request, and the agent or MAIN that a person chose for it."""

    text: str
    agent: str


class Resemblance(NamedTuple):
    """How much an earlier request resembles a new one, from 0 to 1."""

    similarity: float
    choice: PastChoice


class ChoiceIndex:
    """The choices of a project, the oldest first."""

    def __init__(self, choices: Iterable[PastChoice] = ()) -> None:
        """Index the choices; a later choice for the same request replaces the earlier one."""
        self._known = {request_key(each.text): each for each in choices}
        self._words = [(_significant(each.text), each) for each in self._known.values()]

    def same(self, query: str) -> PastChoice | None:
        """The choice for this very request."""
        return self._known.get(request_key(query)) if self._known else None

    def similar(self, query: str) -> Mapping[str, Resemblance]:
        """The most similar earlier request of each agent, if it is similar enough."""
        words = _significant(query) if self._words else {}
        found: dict[str, Resemblance] = {}
        for other, choice in self._words:
            likeness = _similarity(words, other)
            known = found.get(choice.agent)
            if likeness >= SIMILAR and (known is None or likeness >= known.similarity):
                found[choice.agent] = Resemblance(likeness, choice)
        return found


def request_key(text: str) -> str:
    """The key of a request: case, blanks and the punctuation at its end make no difference."""
    return " ".join(text.casefold().split()).rstrip(".!? ")


def quoted(choice: PastChoice) -> str:
    """The reason that a choice gives, in words for people."""
    text = " ".join(choice.text.split())
    short = text if len(text) <= QUOTED_CHARS else f"{text[: QUOTED_CHARS - 1]}…"
    return f'chosen for "{short}"'


def with_choices(
    ranked: Sequence[Scored], found: Mapping[str, Resemblance], numbers: Mapping[str, int]
) -> Sequence[Scored]:
    """Scored agents with the credits of choices, best first."""
    if not found:
        return ranked
    base = max(CREDIT_BASE_MIN, ranked[0].score if ranked else 0.0)
    scores = {each.agent: each for each in ranked}
    for name, (likeness, choice) in found.items():
        if name not in numbers:
            continue  # MAIN, or an agent that is gone
        before = scores.get(numbers[name], Scored(numbers[name], 0.0, ()))
        credit = likeness * CREDIT * base
        term = MatchedTerm(quoted(choice), CHOICE, credit, CHOICE)
        scores[before.agent] = Scored(before.agent, before.score + credit, (*before.evidence, term))
    return sorted(scores.values(), key=lambda each: (-each.score, each.agent))


def _significant(text: str) -> dict[str, float]:
    """The weights of the significant words of a text, by their stems."""
    stems = {word.stem for word in tokens(text)}
    return {stem: heavy for stem in stems if (heavy := weight(stem)) > 0}


def _similarity(one: Mapping[str, float], other: Mapping[str, float]) -> float:
    """The weight of the words that two texts share, as a fraction of the weight of all."""
    shared = sum(heavy for stem, heavy in one.items() if stem in other)
    every = sum(one.values()) + sum(other.values()) - shared
    return shared / every if every else 0.0
