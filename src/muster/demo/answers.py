"""The demo team's answers to people, chosen by keywords: there is no model."""

import re
from typing import Final

from muster.demo.cast import NAMES, WORKSHOP, Character
from muster.demo.story import line_of

QUOTED_CHARS: Final = 120

_WORK: Final = re.compile(
    r"\b(write|draft|build|make|create|plan|review|research|find|look up|document|file|task)\b",
    re.IGNORECASE,
)
_WHO: Final = re.compile(r"\b(who|name|soul|yourself)\b", re.IGNORECASE)
_CRASH: Final = re.compile(r"\b(crash\w*|fail\w*|broke\w*|break)\b", re.IGNORECASE)
_WORDS: Final = re.compile(r"\w+")


def named(text: str) -> set[str]:
    """The team members whose names occur in a message."""
    words = {word.lower() for word in _WORDS.findall(text)}
    return {name for name in NAMES if name.lower() in words}


def quoted(text: str) -> str:
    """A person's message in one line, truncated."""
    line = " ".join(text.split())
    return line if len(line) <= QUOTED_CHARS else line[: QUOTED_CHARS - 1] + "…"


def answer(character: Character, text: str) -> str:
    """A character's answer to a person's message."""
    line = line_of(character, text)
    if line is not None:
        return line
    if _CRASH.search(text):
        return (
            "If one of us crashes, it leaves the ring, the turn goes to the next agent, and muster "
            "restarts it with backoff. See `muster why Rusty` for the last time."
        )
    if _WORK.search(text):
        return (
            f"I {character.does}, but only by script, and here I can only talk. Delegate it as a "
            "task instead (under Tasks, or with `muster ask`): it goes to the matching "
            "agent, and you get a file."
        )
    if _WHO.search(text):
        return (character.soul or f"I am {character.name}, and I {character.does}.") + (
            " I am a script of the demo; no model is behind me."
        )
    return (
        f"I heard “{quoted(text)}”. No model is behind me, so I cannot say more than my lines: "
        f"I am {character.name}, and I {character.does}."
    )


def back_again(character: Character) -> str:
    """A character's first line after a crash."""
    return (
        f"{character.name} again. My process crashed, muster started another in my seat, and here "
        f"I am with the same soul. In {WORKSHOP} I had to join the ring again."
    )
