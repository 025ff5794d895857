"""Words: text becomes comparable tokens, each with a fixed weight.

Weights come from frequency classes (`data/frequency.txt`) and not from the agents at hand: so a
score means the same over eight agents and over a hundred and fifty.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Final, NamedTuple

DATA: Final = Path(__file__).parent / "data"

RARE_WEIGHT: Final = 4.0
"""Weight of a word in no class: mostly a name of something."""

TELLING: Final = 2.0
"""Least weight of a word that is counted in a long text."""

WEIGHTS: Final = {"0": 0.0, "foreign": 0.0, "1": 0.35, "2": 1.2, "3": 2.4}

_SPELLINGS: Final = {
    "cpp": r"\b[cC]\+\+",
    "csharp": r"\b[cC]#|\b[cC] [sS]harp\b",
    "fsharp": r"\b[fF]#",
    "dotnet": r"(?<!\w)\.(?:NET|net|Net)\b",
    "nodejs": r"\b[nN]ode\.?(?:js|JS)\b",
    "nextjs": r"\b[nN]ext\.?(?:js|JS)\b",
    "nuxtjs": r"\b[nN]uxt\.?(?:js|JS)\b",
    "vue": r"\b[vV]ue\.(?:js|JS)\b",
    "nplusone": r"\b[nN] ?\+ ?1\b",
    "cicd ci": r"\b(?:CI|ci) ?/ ?(?:CD|cd)\b",
    "abtest": r"\b[aA] ?/ ?[bB]\b(?: [tT]est\w*)?",
    "endtoend": r"\b[eE]nd[- ]to[- ][eE]nd\b",
    "frontend": r"\b[fF]ront[- ][eE]nd\b",
    "backend": r"\b[bB]ack[- ][eE]nd\b",
    "fullstack": r"\b[fF]ull[- ][sS]tack\b",
    "ui ux": r"\b(?:UI|ui) ?/ ?(?:UX|ux)\b",
    "gotomarket": r"\b[gG]o[- ]to[- ][mM]arket\b",
    "oncall": r"\b[oO]n[- ][cC]all\b",
    # the language, not the verb: a capital in mid-sentence, or before a word about programs
    "golang": r"(?<=[a-z,0-9(/] )Go\b(?! to\b)|\bGo(?= (?:code|service|server|module|program))"
    r"|(?<=[^\x00-\x7f] )Go\b",
}
_ANY: Final = "|".join(f"({each})" for each in _SPELLINGS.values())
_SPELLED: Final = re.compile(rf"(?<![A-Za-z0-9])(?=[.abcefgnouvABCEFGNOUV])(?:{_ANY})")
"""The lookahead on the first letter is a cheap check before the patterns are tried."""

_SPELLING: Final = ("", *_SPELLINGS)
_PIECE: Final = re.compile(r"[^\W_]+(?:[-'’][^\W_]+)*")
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_SUFFIX: Final = re.compile(r"(?:(?<=\w)|(?<!\S))\.[a-z][a-z0-9]{0,5}\b(?!\()")
_WIDE: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
_VOWEL: Final = re.compile(r"[aeiouy]")


class WordToken(NamedTuple):
    """A word as typed, and its stem for comparison."""

    typed: str
    stem: str
    at: int
    """Position in the text; the parts of a compound share one."""


def plain(text: str) -> str:
    """Normalise Unicode; Latin letters lose their accents."""
    text = unicodedata.normalize("NFKC", text)
    return text if text.isascii() else "".join(map(_bare, text))


@lru_cache(maxsize=4096)
def _bare(letter: str) -> str:
    if letter == "ß":
        return "ss"
    base = unicodedata.normalize("NFD", letter)[0]
    return base if base.isascii() and base.isalpha() else letter


def tokens(text: str) -> list[WordToken]:
    """The words of a text in order, and the parts of compounds."""
    text = _SPELLED.sub(_spelled, plain(text))
    found = [
        WordToken(typed, same, at)
        for at, match in enumerate(_PIECE.finditer(text))
        for typed, same in _parts(match[0])
    ]
    places = len(found)
    found += [WordToken(each, each, places + at) for at, each in enumerate(_SUFFIX.findall(text))]
    return found


def _spelled(match: re.Match[str]) -> str:
    return _SPELLING[match.lastindex or 0]


@lru_cache(maxsize=32768)
def _parts(piece: str) -> tuple[tuple[str, str], ...]:
    """The tokens of a word: the whole first, then its parts, each with its stem."""
    if not piece.isascii() and _WIDE.search(piece):
        return tuple(_pairs(piece))
    words = piece.split("-")
    parts = [part for word in words for part in _CAMEL.split(word) if word.isascii()]
    spelled = [piece, *(part for part in (*words, *parts) if len(part) > 1 or len(words) == 1)]
    return tuple((each, stem(each.replace("-", "").lower())) for each in dict.fromkeys(spelled))


def _pairs(piece: str) -> Iterator[tuple[str, str]]:
    """The tokens of scripts without spaces: every pair of characters, and other text in between."""
    for run in _WIDE.findall(piece):
        yield from ((run[i : i + 2], run[i : i + 2]) for i in range(max(1, len(run) - 1)))
    for word in re.findall(r"[A-Za-z0-9]{2,}", piece):
        yield word, stem(word.lower())


# ── stems ─────────────────────────────────────────────────────────────────────────────────────────


@cache
def _endings() -> dict[str, list[tuple[str, str]]]:
    """Endings and their replacements, by last letter, longer ones first."""
    found: dict[str, list[tuple[str, str]]] = {}
    for line in data_lines("endings.txt"):
        instead, _, endings = line.partition(":")
        for ending in endings.split():
            found.setdefault(ending[-1], []).append((ending, instead.strip("-")))
    return {last: sorted(each, key=lambda pair: -len(pair[0])) for last, each in found.items()}


class Forms(NamedTuple):
    """Synonyms, and words that the rules about endings get wrong."""

    same: Mapping[str, str]
    kept: Mapping[str, str]


@cache
def forms() -> Forms:
    """The table of forms."""
    same: dict[str, str] = {}
    kept: dict[str, str] = {}
    for line in data_lines("forms.txt"):
        head, _, words = line.partition(":")
        if head.startswith("="):
            same.update(dict.fromkeys(words.split(), head[1:]))
        elif head == "-":
            kept.update((word, word) for word in words.split())
        else:
            kept.update(dict.fromkeys((head, *words.split()), head))
    return Forms(same, kept)


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """The rough stem of a word, compared only with other stems."""
    word = word.replace("’", "'").removesuffix("'s").replace("'", "")
    table = forms()
    word = table.same.get(word, word)
    if word in table.kept:
        return table.kept[word]
    if len(word) < 4 or not word.isascii():
        return word
    return _cut(word)


def _cut(word: str) -> str:
    for ending, instead in _endings().get(word[-1], ()):
        if word.endswith(ending):
            rest = word[: -len(ending)]
            if len(rest) >= 3 and _VOWEL.search(rest):
                return _undoubled(rest + instead)
    if word.endswith("y") and word[-2] not in "aeou":
        return word[:-1] + "i"
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return _cut(word[:-1]) if len(word) > 4 else word[:-1]
    return word


def _undoubled(rest: str) -> str:
    doubled = len(rest) > 3 and rest[-1] == rest[-2] and rest[-1] not in "lsz"
    return rest[:-1] if doubled else rest


_PLAIN: Final = re.compile(r"[a-z][a-z0-9]+")


def counted(text: str) -> dict[str, int]:
    """The count of each significant word in a long text, by stem. Fast rather than exact."""
    found: dict[str, int] = {}
    for word, times in Counter(_PLAIN.findall(text.lower())).items():
        same = stem(word)
        if weight(same) >= TELLING:
            found[same] = found.get(same, 0) + times
    return found


# ── weights ───────────────────────────────────────────────────────────────────────────────────────


@cache
def classes() -> dict[str, float]:
    """The weight of every classified word, by stem; the first class is used."""
    found: dict[str, float] = {}
    for line in data_lines("frequency.txt"):
        name, _, words = line.partition(":")
        for word in words.split():
            found.setdefault(stem(word), WEIGHTS[name])
            found.setdefault(word, WEIGHTS[name])
    return found


@cache
def foreign_words() -> frozenset[str]:
    """Function words of other languages that are no English words."""
    kinds = [line.partition(":") for line in data_lines("frequency.txt")]
    english = {word for name, _, words in kinds if name != "foreign" for word in words.split()}
    other = {word for name, _, words in kinds if name == "foreign" for word in words.split()}
    return frozenset(other - english)


@lru_cache(maxsize=65536)
def weight(word: str) -> float:
    """The weight of a stem."""
    known = classes().get(word)
    if known is not None:
        return known
    if word.isdecimal() or (len(word) == 1 and word.isascii()):
        return 0.0
    return RARE_WEIGHT


def data_lines(name: str) -> Iterator[str]:
    """The lines of a table, without comments."""
    for line in (DATA / name).read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            yield line
