"""The selector: how many requests are right if a model chooses where the router is unsure.

The model is a script that gets the prompt of a selector, with the request and up to five
descriptions, and answers as a model does; muster reads its choice from the answer. Two scripts
bound what a real model reaches: one knows the right agent and chooses it wherever its description
is shown, the other only compares the letters of the request with those of the descriptions.

    python -m bench.selecting [--set FILE] [--agents DIR]
"""

import argparse
import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from bench.routing import DATA, Answered, Asked, answer, read_set, tally
from muster.delegation.assignments import Assignment, prompt
from muster.machines.delegation.selection import chosen_agent
from muster.machines.ids import ConversationId
from muster.machines.state import Ranked, Selection
from muster.machines.vocabulary import DelegationMode
from muster.routing.agent_files import MAIN, AgentFile, read_folders
from muster.routing.router import Decision

SELECTOR: Final = AgentFile("selector", "")
NONE: Final = "NONE"
PIECE: Final = 4
"""How many letters are compared: so "pays" is like "payment"."""

ALIKE_MIN: Final = 0.7
"""The least likeness of a description that the comparing script chooses."""

_PARTS: Final = re.compile(r"# The request\n\n(.*?)\n\n# The agents\n\n(.*?)\n\n# Your", re.DOTALL)
_AGENT: Final = re.compile(r"^- ([^\n:]+): (.*)$", re.MULTILINE)

Model = Callable[[str], str]
"""A model: it answers a prompt."""


class Selected(NamedTuple):
    """The results with a selector: all requests, and the part of them that it was asked for."""

    right: float
    left_main: float
    asked: float


def knowing(asked: Sequence[Asked]) -> Model:
    """A model that knows the right agents, and sees only the descriptions that it is shown."""
    right = {each.query: each.acceptable for each in asked}

    def choose(text: str) -> str:
        request, agents = _read(text)
        found = (name for name in agents if name in right[request])
        return f"Its description fits.\n{next(found, NONE)}"

    return choose


def comparing(text: str) -> str:
    """A model that chooses the description which shares most pieces of words with the request."""
    request, agents = _read(text)
    wanted = _pieces(request)
    known = {name: _pieces(f"{name} {told}") for name, told in agents.items()}
    rare = {
        piece: math.log((len(known) + 1) / (1 + sum(piece in each for each in known.values())))
        for piece in wanted
    }
    alike = {name: sum(rare[piece] for piece in wanted & each) for name, each in known.items()}
    best = max(alike, key=lambda name: alike[name])
    return f"It has most in common.\n{best if alike[best] >= ALIKE_MIN else NONE}"


def _read(text: str) -> tuple[str, dict[str, str]]:
    """The request of a prompt, and the descriptions in it by agent."""
    parts = _PARTS.search(text)
    assert parts is not None, text
    return parts[1], {each[1]: each[2] for each in _AGENT.finditer(parts[2])}


def _pieces(text: str) -> set[str]:
    return {word[:PIECE] for word in re.findall(r"[^\W\d_]{3,}", text.lower())}


def selected(answered: Answered, agents: Sequence[AgentFile], model: Model) -> Selected:
    """The results where a model chooses for a router that is unsure."""
    files = {each.name: each for each in agents}
    unsure = [decision.is_unsure for _, decision in answered]
    final = [
        (asked, _chosen(asked, decision, files, model) if asks else decision)
        for (asked, decision), asks in zip(answered, unsure, strict=True)
    ]
    counted = tally(final)
    return Selected(counted.right, counted.left_main, sum(unsure) / len(unsure))


def _chosen(
    asked: Asked, decision: Decision, files: dict[str, AgentFile], model: Model
) -> Decision:
    """The decision after a model's choice: none of the candidates leaves it to MAIN."""
    ranked = tuple(Ranked(agent=each.agent, score=each.score) for each in decision.candidates)
    selection = Selection(selector=SELECTOR.name, candidates=ranked)
    task = Assignment(
        conversation=ConversationId("conv_001"),
        text=asked.query,
        agent=SELECTOR,
        epoch=1,
        outputs=Path("outputs"),
        dialogue=Path("dialogue.md"),
        mode=DelegationMode.ORCHESTRATOR,
        candidates=[files[each.agent] for each in ranked],
    )
    agent = chosen_agent(selection, model(prompt(task))) or MAIN
    return Decision(agent=agent, confidence=1.0, rule="selector", reason="", router="")


def main() -> None:
    """Score a set with and without a model, and print the results."""
    parser = argparse.ArgumentParser(prog="python -m bench.selecting", description=__doc__)
    parser.add_argument("--set", type=Path, default=DATA / "clinic" / "queries.jsonl")
    parser.add_argument("--agents", type=Path, default=DATA / "clinic" / "agents")
    options = parser.parse_args()
    asked = read_set(options.set)
    agents = read_folders([options.agents]).agents
    answered = answer(asked, options.agents, bodies=True)
    print(f"router alone       {100 * tally(answered).right:5.1f} % right")
    for name, model in (("knows descriptions", knowing(asked)), ("compares words", comparing)):
        got = selected(answered, agents, model)
        print(
            f"{name:18} {100 * got.right:5.1f} % right, {100 * got.left_main:.1f} % left MAIN"
            f" wrongly, asked for {100 * got.asked:.0f} %"
        )


if __name__ == "__main__":
    main()
