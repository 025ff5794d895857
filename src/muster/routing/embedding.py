"""An optional scorer: the lexical score plus the similarity of word vectors.

`muster-agents[embed]` contains static vectors; nothing is downloaded and no model is run. Vectors
change little where shared words decide already; they help requests that share none with an agent.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any, Final

from muster.errors import Invalid
from muster.routing.agent_files import AgentFile
from muster.routing.describing import take_apart
from muster.routing.lexical import DESCRIPTION, LexicalIndex, MatchedTerm, Scored
from muster.routing.request import ParsedRequest

Vector = Sequence[float]
Vectors = Callable[[Sequence[str]], Sequence[Vector]]

NEAR_MIN: Final = 0.25
"""Texts below this cosine similarity count as unrelated."""

NEAR_WEIGHT: Final = 8.0
"""Score of a perfect similarity: as much as two rare words in a description."""


class EmbeddingIndex:
    """Agents by words and by vectors."""

    def __init__(
        self, agents: Sequence[AgentFile], vectors: Vectors, *, bodies: bool = True
    ) -> None:
        """Index the words, and the vector of each agent's purpose."""
        self._lexical = LexicalIndex(agents, bodies=bodies)
        self._vectors = vectors
        self._routable = [number for number, agent in enumerate(agents) if agent.routable]
        purposes = [
            f"{agents[at].name} {take_apart(agents[at].description).purpose}"
            for at in self._routable
        ]
        self._purposes = [_unit(vector) for vector in vectors(purposes)] if purposes else []

    @property
    def words(self) -> frozenset[str]:
        """The words that agents use."""
        return self._lexical.words

    def score(self, request: ParsedRequest) -> list[Scored]:
        """Every agent that shares words with a request or is similar to it, best first."""
        scored = {each.agent: each for each in self._lexical.score(request)}
        asked = _unit(self._vectors([request.text])[0])
        for agent, purpose in zip(self._routable, self._purposes, strict=True):
            near = sum(ours * theirs for ours, theirs in zip(asked, purpose, strict=True))
            if near > NEAR_MIN:
                credit = NEAR_WEIGHT * (near - NEAR_MIN) / (1 - NEAR_MIN)
                had = scored.get(agent, Scored(agent, 0.0, ()))
                more = MatchedTerm("meaning", "~", credit, DESCRIPTION)
                found = (*had.evidence, more)
                scored[agent] = replace(had, score=had.score + credit, evidence=found)
        return sorted(scored.values(), key=lambda each: (-each.score, each.agent))


def _unit(vector: Vector) -> list[float]:
    length = math.sqrt(sum(each * each for each in vector)) or 1.0
    return [each / length for each in vector]


def static_vectors() -> Vectors:
    """The vectors of `muster-agents[embed]`, from its own folder; nothing is downloaded."""
    try:
        package: Any = import_module("wordllama")  # the package has no types
    except ImportError as missing:
        remedy = "needs `pip install 'muster-agents[embed]'`; the lexical router needs nothing"
        raise Invalid(what="The router 'embed'", why=remedy) from missing
    folder = str(package.__path__[0])
    model: Any = package.WordLlama.load(cache_dir=folder, disable_download=True)  # nor has this

    def vectors(texts: Sequence[str]) -> Sequence[Vector]:
        return [[float(each) for each in row] for row in model.embed(list(texts))]

    return vectors
