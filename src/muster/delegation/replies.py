"""The answers of MAIN where muster itself is MAIN.

muster has no model. It can greet, list the agents, tell the last result, and say that no agent
matches. If such a request needs something that MAIN may not do, it suggests an agent to create.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from muster.delegation.policy import policy_of
from muster.errors import BadSource
from muster.machines.events import Routed
from muster.permissions.judge import judge
from muster.permissions.patterns import listed
from muster.permissions.policy import Policy

_FILE: Final = re.compile(r"(?<![\w./-])[\w./-]*\w\.[A-Za-z]\w{0,7}(?![\w.])")
_RUNS: Final = re.compile(
    r"\b(run|execute|compile|build|install|deploy|test|benchmark|start|launch|migrate)\b",
    re.IGNORECASE,
)
_CODES: Final = re.compile(
    r"\b(?:write|create|implement|add|fix|refactor|port|generate|code|program|debug|develop)\b"
    r".*\b(?:code|script|program|function|class|app|api|test|tests|module|library|service|bug|"
    r"website|page|query|python|javascript|typescript|rust|go|java|bash|sql|css|html)\b",
    re.IGNORECASE | re.DOTALL,
)
_THANKS: Final = re.compile(
    r"\b(thanks?|thank you|thx|cheers|merci|danke|gracias)\b", re.IGNORECASE
)
_LAST: Final = re.compile(
    r"\b(just|last|before|earlier|previous\w*|did you|have you)\b", re.IGNORECASE
)
_SMALL: Final = frozenset(
    listed(
        """a an and are as at be can could do for from have how i in into is it its make me my now
        of on or our please should some that the then this to up us use want we will with would you
        your write create implement add fix run execute build new"""
    )
)
_SLUG_WORDS: Final = 3
_NAME_ONE: Final = "`--to AGENT` gives it to an agent all the same."

CLOSEST: Final = 3
"""How many agents are named if none matched."""


class Denial(msgspec.Struct, frozen=True):
    """A permission that a request needs and MAIN lacks, and an agent to create for it."""

    rule: str
    reason: str
    suggestion: str


def reply(routed: Routed, text: str, agents: Sequence[str], last: str) -> str:
    """MAIN's answer to a request. `last` is the summary of the last conversation."""
    match routed.rule:
        case "smalltalk" | "empty":
            return "You're welcome!" if _THANKS.search(text) else _greeting(agents)
        case "agents":
            return f"I route each request to the agent whose description matches. {_agents(agents)}"
        case "session" | "order" if last:
            return f"The last conversation: {last}"
        case "no-match":
            return f"No agent matched, so nothing was done. {closest(routed, agents)}"
        case _:
            return (
                f"This belongs to MAIN ({routed.reason}), and no model is MAIN here: "
                f"muster routes and delegates, and has no answer of its own to it. "
                f"{_NAME_ONE}"
            )


def about_the_past(text: str) -> bool:
    """Whether a request asks about earlier work."""
    return _LAST.search(text) is not None


def _greeting(agents: Sequence[str]) -> str:
    return f"Hello. I route each request to the agent whose description matches. {_agents(agents)}"


def _agents(agents: Sequence[str]) -> str:
    if not agents:
        return "There are no agents yet; `--agents DIR` at the start of a session loads them."
    names = ", ".join(sorted(agents)[:8])
    more = f" and {len(agents) - 8} more" if len(agents) > 8 else ""
    return f"{len(agents)} agents are there: {names}{more}."


def closest(routed: Routed, agents: Sequence[str]) -> str:
    """The agents that came closest to a request that none matched, each with its reason."""
    if not agents:
        return _agents(agents)
    near = routed.candidates[:CLOSEST]
    if not near:
        return f"None of the {len(agents)} agents has a word of it. {_NAME_ONE}"
    told = ", ".join(f"{each.agent} ({each.reason})" for each in near)
    return f"The closest: {told}. {_NAME_ONE}"


def no_program(agent: str) -> str:
    """The answer where the settings name no program for an agent."""
    return (
        f"This is for {agent}, but nothing says which program runs it. Install Claude "
        f"Code (pip install 'muster-agents[claude]'), or write [agents.{agent}] or [delegation] "
        "with command = [...] into muster.toml."
    )


def denial_in(root: Path, text: str) -> Denial | None:
    """`denial` by the policy of a session's folder; a malformed policy denies."""
    try:
        policy = policy_of(root)
    except BadSource as broken:
        return Denial("policy.broken", str(broken), slug(text))
    return denial(text, policy)


def denial(text: str, policy: Policy) -> Denial | None:
    """The permission that a request without a matching agent needs and MAIN lacks, if any."""
    for name in _FILE.findall(text):
        verdict = judge("MAIN", "Write", {"file_path": name, "content": ""}, policy=policy)
        if not verdict.allowed:
            return Denial(
                verdict.rule, f"This requires writing {name}: {verdict.reason}", slug(text)
            )
    if _CODES.search(text):
        reason = "This requires writing code, which MAIN cannot perform."
        return Denial("main.write", reason, slug(text))
    if found := _RUNS.search(text):
        reason = f"This requires to {found[1].lower()} something, which MAIN cannot perform."
        return Denial("main.execute", reason, slug(text))
    return None


def suggested(denial: Denial, routed: Routed, agents: Sequence[str]) -> str:
    """The answer that suggests an agent to create, and names the closest ones."""
    return (
        f"{denial.reason} No agent matched. One could be created: "
        f".claude/agents/{denial.suggestion}.md, with a description that says when to use it. "
        f"{closest(routed, agents)}"
    )


def slug(text: str) -> str:
    """A name for an agent that could handle this request."""
    words = re.findall(r"[a-z][a-z0-9]+", text.lower())
    telling = list(dict.fromkeys(word for word in words if word not in _SMALL))[:_SLUG_WORDS]
    return "-".join([*telling, "agent"])[:64]
