"""Which state a request enters: an agent, or MAIN; how sure that is, and what decided.

First an agent that is named, then what belongs to MAIN whatever the agents are, then the best score
and the gate. A scorer is anything that can score a request over an index of agents; the gate and
the explanation are shared, so a new scorer brings neither.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from muster.routing.agent_files import MAIN, AgentFile
from muster.routing.gate import ENTER, confidence
from muster.routing.lexical import LexicalIndex, MatchedTerm, Scored, typed_words
from muster.routing.main_rules import stay
from muster.routing.mentions import MentionedNames
from muster.routing.request import SHOWN_CHARS_MAX, ParsedRequest, take_request

NAMED_CONFIDENCE: Final = 0.98
RULE_CONFIDENCE: Final = 0.97
"""How sure it is where somebody named an agent, and where a rule keeps a request in MAIN."""

UNMATCHED: Final = 0.4
"""How often MAIN is right for a request that matches nobody: others are worded as no agent is."""

SURE: Final = 0.6
"""From here on the runner-up is not worth showing."""

UNSURE_MARGIN: Final = 0.1
SHOWN: Final = 5
WORDS_SHOWN: Final = 3


@dataclass(frozen=True, slots=True)
class Candidate:
    """An agent that was considered: its score, and the words that made it."""

    agent: str
    score: float
    evidence: tuple[MatchedTerm, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Where a request goes, and why."""

    agent: str
    """An agent's name, or MAIN."""

    confidence: float
    """How probable it is that this is right: entering the agent, or staying."""

    margin: float = 0.0
    """How far the best is ahead of the next, as a part of its score."""

    candidates: tuple[Candidate, ...] = ()
    """Best first; their scores are comparable within one decision."""

    rule: str
    """`named`, a rule of MAIN, `score`, or `no-match`."""

    reason: str
    """What decided, in words for people."""

    router: str

    @property
    def unsure(self) -> bool:
        """Whether the next one was about as good."""
        return self.rule == "score" and self.margin < UNSURE_MARGIN


class Scorer(Protocol):
    """Ranks agents for a request. `words` are those of the agents: they are no slips."""

    @property
    def words(self) -> frozenset[str]:
        """The words that agents use."""
        ...

    def score(self, request: ParsedRequest) -> list[Scored]:
        """Every agent that has something to do with a request, best first."""
        ...


class Router:
    """The agents of a folder, ready to be asked."""

    def __init__(
        self,
        agents: Sequence[AgentFile],
        *,
        bodies: bool = True,
        scorer: Scorer | None = None,
        sure: Callable[[ParsedRequest, Sequence[Scored]], float] = confidence,
        name: str = "lexical",
    ) -> None:
        """Index the agents. A scorer of one's own takes the place of the lexical one; if its
        scores are of another kind, it brings its own way to say how `sure` they make."""
        self.agents = tuple(agents)
        self.name = name
        self._scorer: Scorer = scorer or LexicalIndex(agents, bodies=bodies)
        self._sure = sure
        self._names = MentionedNames(agents)

    def route(self, query: str) -> Decision:
        """Decide about one request; of a very long one by its beginning."""
        query = query[:SHOWN_CHARS_MAX]
        mention = self._names.find(query)
        if mention is not None:
            name = self.agents[mention.agent].name
            if mention.wanted:
                return self._decided(name, NAMED_CONFIDENCE, "named", f'Named: "{name}"')
            return self._decided(MAIN, RULE_CONFIDENCE, "agents", f'A question about "{name}"')
        kept = stay(query)
        if kept is not None:
            reason = f'{kept.label}: "{kept.seen}"' if kept.seen else kept.label
            return self._decided(MAIN, RULE_CONFIDENCE, kept.rule, reason)
        request = take_request(query, self._scorer.words)
        return self._scored(request, self._scorer.score(request))

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
        return Decision(
            agent=names[0] if enters else MAIN,
            confidence=round(sure if enters else UNMATCHED * (1 - sure), 4),
            margin=round(margin(ranked), 4),
            candidates=candidates,
            rule="score" if enters else "no-match",
            reason=_matched(ranked[0].evidence) if enters else "No agent matched",
            router=self.name,
        )


def margin(ranked: Sequence[Scored]) -> float:
    """How far the best is ahead of the next, as a part of its score."""
    if not ranked or ranked[0].score <= 0:
        return 0.0
    return 1 - (ranked[1].score / ranked[0].score if len(ranked) > 1 else 0.0)


def route(query: str, agents: Sequence[AgentFile], *, bodies: bool = True) -> Decision:
    """Decide about one request. For many, keep a `Router`: its index is what takes time."""
    return Router(agents, bodies=bodies).route(query)


# ── in words ──────────────────────────────────────────────────────────────────────────────────────


def _matched(evidence: Sequence[MatchedTerm]) -> str:
    """Up to three words of the user, with the concept where a word itself is not the agent's."""
    if not evidence:
        return "Scored best"
    shown = (
        f'"{each.typed}" ~ {each.term[1:]}' if each.term.startswith("#") else f'"{each.typed}"'
        for each in typed_words(evidence, WORDS_SHOWN)
    )
    return f"Matched: {' + '.join(shown)}"


def state_name(agent: str) -> str:
    """An agent as a state, as transitions show it."""
    return "_".join(agent.replace("-", " ").replace("/", " ").split()).upper()


def explained(decision: Decision) -> str:
    """A decision on one line."""
    if decision.agent != MAIN:
        head = f"[MAIN -> {state_name(decision.agent)}]  {decision.reason}"
        return head if decision.rule == "named" else f"{head}  ({_figures(decision)})"
    nearest = ", ".join(f"{each.agent} {each.score:.1f}" for each in decision.candidates[:3])
    return f"[MAIN]  {decision.reason}" + (f"  (closest: {nearest})" if nearest else "")


def _figures(decision: Decision) -> str:
    figures = f"{decision.confidence:.2f}"
    if len(decision.candidates) > 1 and (decision.confidence < SURE or decision.unsure):
        figures += f"; next: {decision.candidates[1].agent}"
    return figures
