"""The gate: whether the best agent is entered, and with which confidence.

Confidence is the probability that entering this agent is right, by a logistic model on features of
the scores. It uses the best agent and the next one only: a share among all agents would depend on
the size of the folder. The coefficients were fitted on requests to several collections of agents
and evaluated on others (docs/guides/routing.md).
"""

import math
from collections.abc import Sequence
from functools import cache
from typing import Final

from muster.routing.lexical import BODY, MUCH_MAX, NAME, Scored
from muster.routing.main_rules import hints
from muster.routing.request import ParsedRequest
from muster.routing.words import data_lines, stem

ENTER: Final = 0.3
"""Threshold for entering an agent. An agent may write and run, so staying in MAIN costs less."""

CREDIT_MIN: Final = 1.0
"""Least score of a unit of a request that counts as matched."""

LONE: Final = 0.25
"""Upper bound of the confidence in an agent that one word only suggests: worth a question."""

FEATURES: Final[dict[str, float]] = {
    "constant": -3.52,
    "score": 2.29,
    "coverage": 0.5,
    "margin": 1.35,
    "in_name": -0.34,
    "matched": 0.85,
    "best_word": -1.13,
    "asks_work": 0.41,
    "asks_fact": -1.87,
    "chats": -1.25,
    "trouble": 0.53,
    "states": -1.78,
    "error": 0.15,
    "everyday": -0.85,
    "short": 0.59,
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
    shared = {each.typed for each in best.evidence} | _own(ranked)
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


def _own(ranked: Sequence[Scored]) -> set[str]:
    """Words of a request that the agents of this folder are about, whichever agent it is."""
    return {
        each.typed
        for scored in ranked
        for each in scored.evidence
        if not each.weak and each.where != BODY
    }


def confidence(request: ParsedRequest, ranked: Sequence[Scored]) -> float:
    """The probability that entering the best agent is right."""
    if not ranked or ranked[0].score <= 0:
        return 0.0
    found = features(request, ranked)
    total = sum(each * seen for each, seen in zip(FEATURES.values(), found, strict=True))
    sure = 1 / (1 + math.exp(-total))
    return min(sure, LONE) if _is_hardly_suggested(ranked[0]) else sure


def _is_hardly_suggested(best: Scored) -> bool:
    """Whether there is nothing but one weak cue for an agent."""
    return all(each.weak for each in best.evidence) and len(best.evidence) == 1
