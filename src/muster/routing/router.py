"""Routes a request to a state: an agent or MAIN, with a confidence and the reasons.

An agent that the request names comes first, then a person's choice for the same request, then the
rules of MAIN, then the best score and the gate. A scorer can be anything that scores a request over
an index of agents; the gate and the explanation are shared by all scorers.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from muster.routing.agent_files import MAIN, AgentFile
from muster.routing.choices import CHOICE, ChoiceIndex, PastChoice, quoted, with_choices
from muster.routing.gate import ENTER, confidence
from muster.routing.lexical import LexicalIndex, MatchedTerm, Scored, typed_words
from muster.routing.main_rules import stay
from muster.routing.mentions import MentionedNames
from muster.routing.request import SHOWN_CHARS_MAX, ParsedRequest, take_request

NAMED_CONFIDENCE: Final = 0.98
CHOICE_CONFIDENCE: Final = 0.95
RULE_CONFIDENCE: Final = 0.97
"""Confidence if the request names an agent, if a person chose one for the same request before, and
if a rule keeps it in MAIN."""

REMEMBERED: Final = "remembered"
"""The rule of a decision that repeats a person's choice for the same request."""

NO_MATCH: Final = "no-match"
"""The rule of a decision that no agent matched."""

UNMATCHED: Final = 0.4
"""Confidence in MAIN for a request without a match: some are for an agent with other words."""

SURE: Final = 0.6
"""Margin above which the runner-up is not shown."""

UNSURE_MARGIN: Final = 0.25
UNSURE_CONFIDENCE: Final = 0.6
UNSURE_BEST: Final = 0.2
"""Bounds of a clear decision: the least lead of the best, and the least confidence in it. A best
agent that is not entered, but has this probability, is worth a question too."""

CHOICES_MAX: Final = 3
CLOSE: Final = 0.6
"""How many agents a question offers, and the least score of the third, relative to the best."""

SHOWN: Final = 5
WORDS_SHOWN: Final = 3


@dataclass(frozen=True, slots=True)
class Candidate:
    """A scored agent: its score, and the words behind it."""

    agent: str
    score: float
    evidence: tuple[MatchedTerm, ...]

    @property
    def reason(self) -> str:
        """Why it is a candidate, in words for people."""
        return matched(self.evidence)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The state for a request, and why."""

    agent: str
    """An agent's name, or MAIN."""

    confidence: float
    """The probability that this state is right."""

    margin: float = 0.0
    """The lead of the best over the next, as a fraction of the best score."""

    candidates: tuple[Candidate, ...] = ()
    """Best first; their scores are comparable within one decision."""

    rule: str
    """`named`, `remembered`, a rule of MAIN, `score`, or `no-match`."""

    reason: str
    """The reason, in words for people."""

    router: str

    ambiguous: bool = False
    """Whether several agents may be meant, so that a person or a model should choose."""

    guess: str = ""
    """The router's own choice, where a person chose; empty if it was unsure."""

    @property
    def is_unsure(self) -> bool:
        """Whether a model should choose among the candidates, where one is at hand."""
        return self.ambiguous or (self.rule == NO_MATCH and bool(self.candidates))

    @property
    def choices(self) -> tuple[Candidate, ...]:
        """The agents that may be meant, best first; the third only if it is close."""
        first = self.candidates[:CHOICES_MAX]
        return tuple(
            each for at, each in enumerate(first) if at < 2 or each.score >= CLOSE * first[0].score
        )


class Scorer(Protocol):
    """Ranks agents for a request. `words` are those of the agents: they are never typos."""

    @property
    def words(self) -> frozenset[str]:
        """The words that agents use."""
        ...

    def score(self, request: ParsedRequest) -> list[Scored]:
        """Every agent that matches a request, best first."""
        ...


class Router:
    """A router over the agents of a folder."""

    def __init__(
        self,
        agents: Sequence[AgentFile],
        *,
        bodies: bool = True,
        scorer: Scorer | None = None,
        sure: Callable[[ParsedRequest, Sequence[Scored]], float] = confidence,
        name: str = "lexical",
        choices: Sequence[PastChoice] = (),
    ) -> None:
        """Index the agents. `scorer` replaces the lexical one; if its scores have another scale,
        `sure` must turn them into a confidence. `choices` are those of people, oldest first."""
        self.agents = tuple(agents)
        self.name = name
        self._scorer: Scorer = scorer or LexicalIndex(agents, bodies=bodies)
        self._sure = sure
        self._names = MentionedNames(agents)
        self._choices = ChoiceIndex(choices)
        self._numbers = {agent.name: number for number, agent in enumerate(self.agents)}

    def route(self, query: str) -> Decision:
        """Route one request; a very long one by its start."""
        query = query[:SHOWN_CHARS_MAX]
        mention = self._names.find(query)
        if mention is not None:
            name = self.agents[mention.agent].name
            if mention.wanted:
                return self._decided(name, NAMED_CONFIDENCE, "named", f'Named: "{name}"')
            return self._decided(MAIN, RULE_CONFIDENCE, "agents", f'A question about "{name}"')
        chosen = self._choices.same(query)
        if chosen is not None and chosen.agent in (MAIN, *self._numbers):
            reason = f"Remembered: {quoted(chosen)}"
            return self._decided(chosen.agent, CHOICE_CONFIDENCE, REMEMBERED, reason)
        kept = stay(query)
        if kept is not None:
            reason = f'{kept.label}: "{kept.seen}"' if kept.seen else kept.label
            return self._decided(MAIN, RULE_CONFIDENCE, kept.rule, reason)
        request = take_request(query, self._scorer.words)
        ranked = self._scorer.score(request)
        found = self._choices.similar(query)
        return self._scored(request, with_choices(ranked, found, self._numbers))

    def _decided(self, agent: str, sure: float, rule: str, reason: str) -> Decision:
        return Decision(agent=agent, confidence=sure, rule=rule, reason=reason, router=self.name)

    def _scored(self, request: ParsedRequest, ranked: Sequence[Scored]) -> Decision:
        sure = self._sure(request, ranked)
        names = [self.agents[each.agent].name for each in ranked[:SHOWN]]
        candidates = tuple(
            Candidate(name, round(each.score, 3), each.evidence)
            for name, each in zip(names, ranked, strict=False)
        )
        enters = sure >= ENTER
        lead = round(margin(ranked), 4)
        return Decision(
            agent=names[0] if enters else MAIN,
            confidence=round(sure if enters else UNMATCHED * (1 - sure), 4),
            margin=lead,
            candidates=candidates,
            rule="score" if enters else NO_MATCH,
            reason=matched(ranked[0].evidence) if enters else "No agent matched",
            router=self.name,
            ambiguous=_is_unsure(sure, lead),
        )


def _is_unsure(sure: float, lead: float) -> bool:
    """Whether the best agent is likely enough for a question, and not clear enough without one."""
    return sure >= UNSURE_BEST and (sure < UNSURE_CONFIDENCE or lead < UNSURE_MARGIN)


def margin(ranked: Sequence[Scored]) -> float:
    """The lead of the best over the next, as a fraction of the best score."""
    if not ranked or ranked[0].score <= 0:
        return 0.0
    return 1 - (ranked[1].score / ranked[0].score if len(ranked) > 1 else 0.0)


def route(query: str, agents: Sequence[AgentFile], *, bodies: bool = True) -> Decision:
    """Route one request. For many, keep a `Router`: building its index takes most of the time."""
    return Router(agents, bodies=bodies).route(query)


# ── explanations ──────────────────────────────────────────────────────────────────────────────────


def matched(evidence: Sequence[MatchedTerm]) -> str:
    """Up to three words of the user, with the concept if the agent does not use the word itself."""
    if not evidence:
        return "Scored best"
    shown = (_shown(each) for each in typed_words(evidence, WORDS_SHOWN))
    return f"Matched: {' + '.join(shown)}"


def _shown(term: MatchedTerm) -> str:
    if term.where == CHOICE:
        return term.typed
    return f'"{term.typed}" ~ {term.term[1:]}' if term.term.startswith("#") else f'"{term.typed}"'


def state_name(agent: str) -> str:
    """The name of an agent's state, as transitions show it."""
    return "_".join(agent.replace("-", " ").replace("/", " ").split()).upper()


def explained(decision: Decision) -> str:
    """A decision as one line of text."""
    if decision.ambiguous:
        either = " or ".join(f"{each.agent} ({each.reason})" for each in decision.choices)
        return f"[MAIN]  Ambiguous: {either}"
    if decision.agent != MAIN:
        head = f"[MAIN -> {state_name(decision.agent)}]  {decision.reason}"
        told = decision.rule in ("named", REMEMBERED)
        return head if told else f"{head}  ({_figures(decision)})"
    nearest = ", ".join(f"{each.agent} {each.score:.1f}" for each in decision.candidates[:3])
    return f"[MAIN]  {decision.reason}" + (f"  (closest: {nearest})" if nearest else "")


def _figures(decision: Decision) -> str:
    figures = f"{decision.confidence:.2f}"
    if len(decision.candidates) > 1 and (decision.confidence < SURE or decision.ambiguous):
        figures += f"; next: {decision.candidates[1].agent}"
    return figures
