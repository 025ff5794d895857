"""What the demo team answers to people: by a few words that it knows, because no model reads."""

import re
from typing import Final

from muster.demo.cast import NAMES, WORKSHOP, Character

QUOTED_CHARS: Final = 120

_WORK: Final = re.compile(
    r"\b(write|draft|build|make|create|plan|review|research|find|look up|document|file|task)\b",
    re.IGNORECASE,
)
_WHO: Final = re.compile(r"\b(who|name|soul|yourself)\b", re.IGNORECASE)
_CRASH: Final = re.compile(r"\b(crash\w*|fail\w*|broke\w*|break)\b", re.IGNORECASE)
_WORDS: Final = re.compile(r"\w+")


def named(text: str) -> set[str]:
    """Whom of the team somebody speaks to by name."""
    words = {word.lower() for word in _WORDS.findall(text)}
    return {name for name in NAMES if name.lower() in words}


def quoted(text: str) -> str:
    """A person's words on one line, not too many."""
    line = " ".join(text.split())
    return line if len(line) <= QUOTED_CHARS else line[: QUOTED_CHARS - 1] + "…"


def answer(character: Character, text: str) -> str:
    """What one of them says to a person's words."""
    if _CRASH.search(text):
        return (
            "If one of us crashes, it leaves the ring, the turn goes on, and muster starts it "
            "again after a pause. Ask why about Rusty to see how it went the last time."
        )
    if _WORK.search(text):
        return (
            f"I {character.does}, but only by script, and here I can only talk. Hand it out as a "
            "task instead (a conversation, or `muster ask`): it goes to whoever of us it is for, "
            "and you get a file."
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
    """What it says in its first turn after its process has crashed."""
    return (
        f"{character.name} again. My process crashed, muster started another in my seat, and here "
        f"I am with the same soul. In {WORKSHOP} I had to queue up anew."
    )
