"""Agents that a request names: asking *for* one enters it, asking *about* one does not."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from muster.routing.agent_files import AgentFile
from muster.routing.words import plain

_CALLS: Final = (
    r"(?:use|using|ask|let|have|get|call|run|invoke|start|try|launch|with|via|through|tell|"
    r"(?:hand|give|pass|send|assign|delegate|forward|leave|route|over|back|it|this|that|task)\b[^.?!]{0,40}?\bto|"
    r"(?:nutze|nimm|frag|frage|verwende|utilise|demande a|usa|pide a|pregunta a))"
)
_ABOUT: Final = re.compile(
    r"^\W*(?:what|who|why|when|where|which|how|is|are|does|do|did|was|has|can you (?:explain|tell)|"
    r"tell me (?:about|what|more)|describe|explain|show me|list)\b",
    re.IGNORECASE,
)
_NOT: Final = re.compile(
    r"\b(?:do not|don't|dont|never|no need|stop|without|instead of|not)\b", re.IGNORECASE
)
_DOES: Final = (
    r"(?:agent\b|[?.!]*$|(?:do|does|doing|done|say|said|find|found|finish|finished|busy|ready|working|free|"
    r"available|able|responsible|good|know|answer|answered|write|wrote|written|make|made|think|report|"
    r"reported|look|looked|looking|work|works|run|running|been|still|already|yet|take|took|cost|cover|"
    r"handle|help|tell|start|started|need)\b)"
)
"""What a colleague does or is, after its name in a question."""


@dataclass(frozen=True, slots=True)
class Mention:
    """A named agent, as typed, and whether the request asks for it."""

    agent: int
    typed: str
    wanted: bool


class MentionedNames:
    """The names of some agents, for finding them in requests."""

    def __init__(self, agents: Sequence[AgentFile]) -> None:
        """Index every spelling of the names; longer ones match first."""
        self._agents = {_spelling(agent.name): at for at, agent in reversed([*enumerate(agents)])}
        names = sorted(self._agents, key=len, reverse=True)
        every = "|".join(re.escape(name).replace(r"\ ", r"[ _/-]+") for name in names if name)
        named = rf"(?P<name>{every})" if every else r"(?P<name>(?!))"
        self._named = re.compile(rf"(?<![\w-]){named}(?![\w-])")
        self._at = re.compile(rf"@(?:agent-)?{named}(?![\w-])")
        self._asked = re.compile(
            rf"\b{_CALLS}\s+(?:the\s+|our\s+|my\s+|an?\s+|agent\s+|subagent\s+)*[\"'`@]?{named}(?![\w-])"
        )
        self._addressed = re.compile(rf"^\W*{named}(?:\s*[:,]|\s+(?:please|pls|agent))")
        self._kind = re.compile(rf"(?<![\w-]){named}\s+(?:sub)?agent\b")
        self._colleague = re.compile(rf"\b(?:the|our|your)\s+{named}(?![\w-])\s*{_DOES}")

    def find(self, text: str) -> Mention | None:
        """The agent that a text asks for or about, if any."""
        lower = plain(text).lower()
        called = self._at.search(lower) or self._asked.search(lower)
        if called is None:
            called = self._addressed.search(lower) or self._kind.search(lower)
        if called is None:
            return self._asked_about(lower)
        at = self._agents[_spelling(called["name"])]
        before = lower[: called.start("name")]
        if not before.rstrip().endswith("@") and not self._single_call(called, lower):
            return None
        wanted = not _NOT.search(before) and (
            "@" in called[0] or not _ABOUT.match(lower) or called.re is self._asked
        )
        return Mention(at, called["name"], wanted)

    def _single_call(self, called: re.Match[str], text: str) -> bool:
        """A name of one plain word may be just that word: it counts only where the context is
        unambiguous, as in "ask debugger to"."""
        if len(_spelling(called["name"]).split()) > 1:
            return True
        rest = text[called.end("name") :]
        return bool(re.match(r"\s*(?:agent|subagent|to\b|for\b|on\b|please|$|[,.:!])", rest))

    def _asked_about(self, text: str) -> Mention | None:
        if not _ABOUT.match(text):
            return None
        named = self._colleague.search(text) or self._named.search(text)
        if named is None or (named.re is self._named and "-" not in named["name"]):
            return None
        return Mention(self._agents[_spelling(named["name"])], named["name"], wanted=False)


def _spelling(name: str) -> str:
    return re.sub(r"[\s_/-]+", " ", plain(name).lower()).strip()
