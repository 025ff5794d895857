"""The gate: whether the best agent is entered, and with which confidence.

Confidence is the probability that entering this agent is right, by a logistic model on features of
the scores. It uses the best agent and the next one only: a share among all agents would depend on
the size of the folder. The coefficients were fitted on requests to six collections of agents and
evaluated on held-out parts of them (docs/guides/routing.md).
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
"""Threshold for entering an agent. An agent may write and run, so staying in MAIN costs less."""

CAUTION: Final = 0.45
"""Subtracted from every confidence: agents and requests of users differ from the fitted ones."""

CREDIT_MIN: Final = 1.0
"""Least score of a unit of a request that counts as matched."""

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
    "everyday": -1.8,
    "short": 1.04,
}
"""The features of the gate, and their coefficients."""

_HINTS: Final = ("asks_work", "asks_fact", "chats", "trouble", "states")


@cache
def everyday_words() -> frozenset[str]:
    """Stems of everyday topics that are no work for agents."""
    return frozenset(stem(word) for word in " ".join(data_lines("everyday.txt")).split())


def features(request: ParsedRequest, ranked: Sequence[Scored]) -> tuple[float, ...]:
    """The features of the gate, in the order of FEATURES."""
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
        min(len(strange), 2) / 2,
        float(len(request.words) <= 3),
    )


def confidence(request: ParsedRequest, ranked: Sequence[Scored]) -> float:
    """The probability that entering the best agent is right."""
    if not ranked or ranked[0].score <= 0:
        return 0.0
    found = features(request, ranked)
    total = sum(each * seen for each, seen in zip(FEATURES.values(), found, strict=True))
    return 1 / (1 + math.exp(CAUTION - total))
