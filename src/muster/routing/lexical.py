"""The lexical scorer: words that a request shares with an agent's name, description and body.

BM25 with fields, with fixed weights of words (`words.py`) and with concepts as additional terms. An
index is built once per folder; scoring visits only agents that share a term with the request.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from muster.routing.agent_files import AgentFile
from muster.routing.concepts import concepts
from muster.routing.describing import take_apart
from muster.routing.request import ParsedRequest, Unit
from muster.routing.vocabulary import phrases_in
from muster.routing.words import WordToken, counted, tokens, weight

NAME: Final = "name"
DESCRIPTION: Final = "description"
BODY: Final = "body"

SATURATION: Final = 3.0
"""BM25's k1: how fast repetitions of a word saturate."""

MUCH_MAX: Final = SATURATION + 1
"""Upper bound of a term's weight in an agent."""

NAME_FACTOR: Final = 3.0
REQUESTS_FACTOR: Final = 0.8
SCENES_FACTOR: Final = 0.4
"""Weights of a word in a name, in texts of users in examples, and in topics of examples, relative
to a word in the purpose."""

BODY_FACTOR: Final = 0.21
BODY_MAX: Final = 1.3
"""Weight of a word in a body per occurrence, and its upper bound: bodies mention much."""

BODY_CHARS_MAX: Final = 4000
DESCRIPTION_CHARS_MAX: Final = 16_000
"""How much of a body and of a description is read: they start with what the agent is about."""

BODY_CONCEPT_FACTOR: Final = 0.05
BODY_CONCEPT_MAX: Final = 0.4

LENGTH_PART: Final = 0.35
LENGTH_USUAL: Final = 25
LENGTH_MIN: Final = 10
"""BM25's b, and typical lengths in significant words: a word weighs less in a longer text."""

CONCEPT_PART: Final = 0.7
CONCEPT_IN_NAME: Final = 0.4
"""Weight of a word for its concept, relative to the word itself: in descriptions, and in names: a
name is about something in particular, a route-optimiser is not for every kind of optimisation."""

UNASKED: Final = 0.3
"""Penalty for an agent whose name is about something that the request does not mention."""

NAME_WORD_MAX: Final = 3.0

COMMON: Final = 2.0
COMMON_MIN: Final = 2
FOLDER_USUAL: Final = 12
"""How much less a term weighs that many agents of a folder share: it does not tell them apart. The
others keep that from counting where few share it and in small folders."""

COVERED: Final = 0.3
"""Bonus for an agent that shares the whole of a request."""


@dataclass(frozen=True, slots=True)
class MatchedTerm:
    """A unit of a request that an agent shares: as typed, as matched, its score, the field it was
    found in, and whether the unit only suggests the term."""

    typed: str
    term: str
    credit: float
    where: str
    weak: bool = False


@dataclass(frozen=True, slots=True)
class Scored:
    """An agent by its number, its score, and the terms behind the score."""

    agent: int
    score: float
    evidence: tuple[MatchedTerm, ...]


class LexicalIndex:
    """An inverted index: the agents of each term, with weights."""

    def __init__(self, agents: Sequence[AgentFile], *, bodies: bool = True) -> None:
        """Index every agent, with or without bodies."""
        self._postings: defaultdict[str, list[tuple[int, float, str]]] = defaultdict(list)
        self._names = [_name_parts(agent.name) for agent in agents]
        for number, agent in enumerate(agents):
            if agent.routable:
                self._enter(number, agent, bodies)
        self.words = frozenset(self._postings)
        part = COMMON / (len(agents) + FOLDER_USUAL)
        self._telling = {
            term: 1 / (1 + part * max(0, len(found) - COMMON_MIN))
            for term, found in self._postings.items()
        }

    def _enter(self, number: int, agent: AgentFile, bodies: bool) -> None:
        """Add an agent's weight of every term, and the field that contributes most."""
        name = _counted(tokens(_spaced(agent.name)), NAME_FACTOR, in_name=True)
        told = _description(agent.description)
        body = _body(agent.body) if bodies else {}
        for term in name.keys() | told.keys():
            amount = name.get(term, 0.0) + told.get(term, 0.0) + body.pop(term, 0.0)
            where = NAME if term in name else DESCRIPTION
            self._postings[term].append((number, _saturated(amount), where))
        for term, amount in body.items():
            self._postings[term].append((number, _saturated(amount), BODY))

    def score(self, request: ParsedRequest) -> list[Scored]:
        """Every agent that shares a term with a request, best first."""
        shared: dict[int, list[MatchedTerm]] = {}
        covered: dict[int, float] = {}
        for unit in request.units:
            for agent, term in self._best_terms(unit):
                shared.setdefault(agent, []).append(term)
                covered[agent] = covered.get(agent, 0.0) + unit.weight
        asked = {term for unit in request.units for term, _ in unit.terms}
        bonus = COVERED / (request.mass + 2.0)
        scored = [
            Scored(
                agent,
                sum(each.credit for each in found)
                * (1 + bonus * covered[agent])
                * self._fit(agent, asked),
                tuple(found),
            )
            for agent, found in shared.items()
        ]
        return sorted(scored, key=lambda each: (-each.score, each.agent))

    def _best_terms(self, unit: Unit) -> Iterator[tuple[int, MatchedTerm]]:
        """The best meaning of a unit for each agent that shares one."""
        best: dict[int, tuple[float, str, str]] = {}
        for term, factor in unit.terms:
            worth = unit.weight * factor * self._telling.get(term, 1.0)
            for agent, much, where in self._postings.get(term, ()):
                if agent not in best or worth * much > best[agent][0]:
                    best[agent] = (worth * much, term, where)
        for agent, (credit, term, where) in best.items():
            yield agent, MatchedTerm(unit.typed, term, credit, where, term in unit.cues)

    def _fit(self, agent: int, asked: set[str]) -> float:
        """How much of a name a request covers: the name "tester" fits requests about tests."""
        parts = self._names[agent]
        total = sum(heavy for heavy, _ in parts)
        unasked = sum(heavy for heavy, terms in parts if asked.isdisjoint(terms))
        return 1 - UNASKED * unasked / (total + 2.0)


def _saturated(amount: float) -> float:
    return amount * MUCH_MAX / (amount + SATURATION)


def _spaced(name: str) -> str:
    return name.replace("-", " ")


def _name_parts(name: str) -> list[tuple[float, frozenset[str]]]:
    """The significant words of a name, each with its terms."""
    places: dict[int, tuple[float, set[str]]] = {}
    for word in tokens(_spaced(name)):
        heavy, terms = places.get(word.at, (0.0, set[str]()))
        terms |= {word.stem, *concepts().of_agents.get(word.stem, ())}
        places[word.at] = (max(heavy, min(weight(word.stem), NAME_WORD_MAX)), terms)
    return [(heavy, frozenset(terms)) for heavy, terms in places.values() if heavy > 1]


def _description(text: str) -> dict[str, float]:
    told = take_apart(text[:DESCRIPTION_CHARS_MAX])
    parts = ((told.purpose, 1.0), (told.requests, REQUESTS_FACTOR), (told.scenes, SCENES_FACTOR))
    found: dict[str, float] = {}
    for part, factor in parts:
        words = tokens(part)
        telling = sum(weight(word.stem) > 1 for word in words)
        length = max(telling, LENGTH_MIN) / LENGTH_USUAL
        factor /= 1 - LENGTH_PART + LENGTH_PART * length
        _add(found, _counted(words, factor, in_name=False))
    return found


def _counted(words: Sequence[WordToken], factor: float, *, in_name: bool) -> dict[str, float]:
    """The weight of every term in some words."""
    found: dict[str, float] = {}
    part = factor * (CONCEPT_IN_NAME if in_name else CONCEPT_PART)
    about = concepts().of_agents
    for word in words:
        if weight(word.stem):
            found[word.stem] = found.get(word.stem, 0.0) + factor
        for name in about.get(word.stem, ()):
            found[name] = found.get(name, 0.0) + part
    for each in phrases_in(words, concepts().agent_phrases):
        _add(found, dict.fromkeys(each.phrase.concepts, part))
    return found


def _body(text: str) -> dict[str, float]:
    found: dict[str, float] = {}
    about = concepts().of_agents
    for word, times in counted(text[:BODY_CHARS_MAX]).items():
        found[word] = min(BODY_FACTOR * times, BODY_MAX)
        for name in about.get(word, ()):
            more = found.get(name, 0.0) + BODY_CONCEPT_FACTOR * times
            found[name] = min(BODY_CONCEPT_MAX, more)
    return found


def _add(found: dict[str, float], more: Mapping[str, float]) -> None:
    for term, amount in more.items():
        found[term] = found.get(term, 0.0) + amount


def typed_words(evidence: Iterable[MatchedTerm], most: int) -> list[MatchedTerm]:
    """The units with the highest scores, each word of the user once."""
    best: dict[str, MatchedTerm] = {}
    for each in sorted(evidence, key=lambda each: -each.credit):
        best.setdefault(each.typed.lower(), each)
    return list(best.values())[:most]
