"""An agent's description, split into parts by how much each tells.

The name has the most weight, then the purpose, then the requests of users in its examples.
Sentences about what an agent is *not* for are left out, so that their words attract no requests,
and so are phrases that all descriptions share.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_EXAMPLE: Final = re.compile(r"<example>(.*?)(?:</example>|\Z)", re.DOTALL | re.IGNORECASE)
_ASIDE: Final = re.compile(r"<commentary>.*?(?:</commentary>|\Z)", re.DOTALL | re.IGNORECASE)
_USER: Final = re.compile(
    r"\buser\s*:\s*[\"“]?(.*?)[\"”]?\s*(?=\bassistant\s*:|<|\Z)", re.DOTALL | re.IGNORECASE
)
_CONTEXT: Final = re.compile(
    r"\bcontext\s*:\s*(.*?)\s*(?=\buser\s*:|\Z)", re.DOTALL | re.IGNORECASE
)
_TAG: Final = re.compile(r"</?\w+>")
_SENTENCE: Final = re.compile(r"(?<=[.!?。])\s+|\n+|(?<=;)\s+")
_NEGATIVE: Final = re.compile(
    r"\b(?:not (?:for|to be used|intended|meant|suitable)|do not|don't|does not|doesn't|never|"
    r"must not|should not|shouldn't|cannot|isn't|is not|avoid using|except for)\b",
    re.IGNORECASE,
)
_ELSEWHERE: Final = re.compile(
    r"\b(?:use|belongs? to|leave|see|prefer|hand|delegate|for (?:that|those))\b.*\binstead\b|"
    r"\bthose belong to\b|\bnot\b.*\buse [\w-]+",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class DescriptionParts:
    """The parts of a description."""

    purpose: str
    requests: str
    """Texts of users in the examples."""

    scenes: str
    """Topics of the examples."""


def take_apart(description: str) -> DescriptionParts:
    """Split a description into its purpose and its examples."""
    examples = _EXAMPLE.findall(description)
    rest = _ASIDE.sub(" ", _EXAMPLE.sub(" ", description))
    cleaned = [_ASIDE.sub(" ", example) for example in examples]
    return DescriptionParts(
        purpose=" . ".join(_positive(_TAG.sub(" ", rest))),
        requests=" . ".join(said for each in cleaned for said in _USER.findall(each)),
        scenes=" . ".join(scene for each in cleaned for scene in _CONTEXT.findall(each)),
    )


def _positive(text: str) -> Iterator[str]:
    """The sentences about what an agent is for, without negative ones."""
    for sentence in _SENTENCE.split(text):
        match = _NEGATIVE.search(sentence) or _ELSEWHERE.search(sentence)
        if match is None:
            yield sentence
        elif len(before := sentence[: match.start()].strip(" ,;:-")) > 30:
            yield before
