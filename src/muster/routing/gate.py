"""The gate: whether the best agent is entered, and how sure that is.

Confidence is the probability that entering this agent is right, by a logistic model on what the
scores look like. It uses the best agent and the next one only: a share among all agents would mean
something else in every folder. Its numbers were fitted on requests to six collections of agents;
what they are worth was measured with a part of those left out (docs/guides/routing.md).
"""

import math
from collections.abc import Sequence
from functools import cache
from typing import Final

from muster.routing.lexical import MUCH_MAX, NAME, Scored
from muster.routing.main_rules import hints
from muster.routing.request import ParsedRequest
from muster.routing.words import data_lines, stem

ENTER: Final = 0.3
"""From which confidence on an agent is entered. An agent may write and run: staying costs less."""

CAUTION: Final = 0.45
"""Taken off before a confidence is told: agents and requests look different elsewhere."""

CREDIT_MIN: Final = 1.0
"""What a piece of a request counts at least, to be one of those that matched."""

FEATURES: Final[dict[str, float]] = {
    "constant": -4.03,
    "score": 2.52,
    "coverage": 1.3,
    "margin": 2.87,
    "in_name": 0.73,
    "matched": 0.56,
    "best_word": -1.31,
    "asks_work": 0.8,
    "asks_fact": -1.86,
    "chats": -0.63,
    "trouble": 0.33,
    "states": -2.1,
    "error": 0.43,
    "everyday": -0.8,
    "short": 1.04,
}
"""What the gate looks at, and how much each counts."""

_HINTS: Final = ("asks_work", "asks_fact", "chats", "trouble", "states")


@cache
def everyday_words() -> frozenset[str]:
    """Stems of what people talk about that is no work for agents."""
    return frozenset(stem(word) for word in " ".join(data_lines("everyday.txt")).split())


def features(request: ParsedRequest, ranked: Sequence[Scored]) -> tuple[float, ...]:
    """What the gate looks at, in the order of FEATURES."""
    best = ranked[0]
    second = ranked[1].score if len(ranked) > 1 else 0.0
    credit = [each.credit for each in best.evidence]
    in_name = sum(each.credit for each in best.evidence if each.where == NAME)
    shared = {each.typed for each in best.evidence}
    strange = [
        word for word in request.words if word.stem in everyday_words() and word.typed not in shared
    ]
    suggested = hints(request.text)
    return (
        1.0,
        math.log1p(best.score),
        best.score / (MUCH_MAX * request.mass + 2.0),
        1 - second / best.score,
        in_name / best.score,
        min(sum(each > CREDIT_MIN for each in credit), 5) / 5,
        math.log1p(max(credit, default=0.0)),
        *(float(hint in suggested) for hint in _HINTS),
        float(request.error),
        min(len(strange), 3) / 3,
        float(len(request.words) <= 3),
    )


def confidence(request: ParsedRequest, ranked: Sequence[Scored]) -> float:
    """How probable it is that entering the best agent is right."""
    if not ranked or ranked[0].score <= 0:
        return 0.0
    found = features(request, ranked)
    total = sum(each * seen for each, seen in zip(FEATURES.values(), found, strict=True))
    return 1 / (1 + math.exp(CAUTION - total))
