"""The table of concepts: what words of descriptions and of requests are about.

The tables are text for people (`data/*.txt`). Parsing them takes about a tenth of a second, most of
it for stems, and every `muster route` would pay for it; so they are kept in parsed form as well, in
`data/parsed.json`, with a digest of the texts. A parsed form that does not belong to the texts is
ignored.

    python -m muster.routing.concepts

writes it anew; a test compares it.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from hashlib import blake2b
from typing import Final

import msgspec

from muster.routing.words import DATA, data_lines, stem, tokens

PARSED: Final = DATA / "parsed.json"

DESCRIBING: Final = ("concepts.txt", "topics.txt")
"""The tables with words of descriptions; the others have words of requests alone."""

ASKING: Final = "thesaurus.txt"
SUGGESTING: Final = "cues.txt"

TEXTS: Final = (*DESCRIBING, ASKING, SUGGESTING, "forms.txt", "endings.txt")
"""Every table that the parsed form depends on."""

_WIDER: Final = re.compile(r"\[(\w+)\]")

_Spelled = dict[tuple[str, ...], list[str]]
"""Concepts by the stems of a word or phrase."""


class Phrase(msgspec.Struct, frozen=True, array_like=True):
    """A phrase of several words, and its concepts."""

    stems: tuple[str, ...]
    concepts: tuple[str, ...]


class Concepts(msgspec.Struct, frozen=True):
    """Concepts by word, for agents and for requests. Phrases by their first word."""

    of_agents: dict[str, tuple[str, ...]]
    of_requests: dict[str, tuple[str, ...]]
    agent_phrases: dict[str, tuple[Phrase, ...]]
    request_phrases: dict[str, tuple[Phrase, ...]]
    wider: dict[str, tuple[str, ...]]
    cues: dict[str, tuple[str, ...]]
    cue_phrases: dict[str, tuple[Phrase, ...]]


class _Parsed(msgspec.Struct, frozen=True):
    digest: str
    """Of the texts that were parsed."""

    concepts: Concepts


@cache
def concepts() -> Concepts:
    """The table of concepts."""
    try:
        parsed = msgspec.json.decode(PARSED.read_bytes(), type=_Parsed)
    except (OSError, msgspec.DecodeError):
        return parse()
    return parsed.concepts if parsed.digest == digest() else parse()


def digest() -> str:
    """A digest of the texts."""
    found = blake2b(digest_size=16)
    for name in TEXTS:
        found.update((DATA / name).read_bytes().replace(b"\r\n", b"\n"))
    return found.hexdigest()


def parsed() -> bytes:
    """The parsed form as it is stored: an entry on each line, so that changes can be compared."""
    tables = msgspec.structs.asdict(parse())
    told = b",\n".join(b"%b:{\n%b\n}" % (_json(name), _rows(each)) for name, each in tables.items())
    return b'{"digest":%b,"concepts":{\n%b\n}}\n' % (_json(digest()), told)


def _rows(table: Mapping[str, object]) -> bytes:
    return b",\n".join(b"%b:%b" % (_json(key), _json(table[key])) for key in sorted(table))


def _json(value: object) -> bytes:
    return msgspec.json.encode(value)


def parse() -> Concepts:
    """Parse the texts."""
    agents: _Spelled = {}
    requests: _Spelled = {}
    wider: dict[str, tuple[str, ...]] = {}
    for line in (line for table in DESCRIBING for line in data_lines(table)):
        name, _, told = line.partition(":")
        own, _, asked = told.partition("|")
        name = f"#{name}"
        wider[name] = (*wider.get(name, ()), *(f"#{each}" for each in _WIDER.findall(own)))
        for spelling in _WIDER.sub(" ", own).split():
            agents.setdefault(_stems(spelling), []).append(name)
            requests.setdefault(_stems(spelling), []).append(name)
        for spelling in asked.split():
            requests.setdefault(_stems(spelling), []).append(name)
    for name, spelling in _spellings(ASKING):
        requests.setdefault(_stems(spelling), []).append(name)
    cues: _Spelled = {}
    for name, spelling in _spellings(SUGGESTING):
        cues.setdefault(_stems(spelling), []).append(name)
    return Concepts(
        _single(agents),
        _single(requests),
        _phrases(agents),
        _phrases(requests),
        {name: wide for name, wide in wider.items() if wide},
        _single(cues),
        _phrases(cues),
    )


def _spellings(table: str) -> Iterator[tuple[str, str]]:
    """Words and phrases of requests, each with its concept."""
    for line in data_lines(table):
        name, _, words = line.partition(":")
        yield from ((f"#{name}", spelling) for spelling in words.split())


def _stems(spelling: str) -> tuple[str, ...]:
    if spelling.startswith("."):
        return (spelling,)
    if spelling.isalpha():
        return (stem(spelling),)
    places: dict[int, str] = {}
    for token in tokens(spelling.replace("_", " ")):
        places.setdefault(token.at, token.stem)
    return tuple(places.values())


def _single(table: Mapping[tuple[str, ...], list[str]]) -> dict[str, tuple[str, ...]]:
    """Single words; a phrase of two words may also be written as one."""
    found: dict[str, list[str]] = {}
    for key, names in table.items():
        if len(key) < 3:
            found.setdefault("".join(key), []).extend(names)
    return {word: tuple(dict.fromkeys(names)) for word, names in found.items()}


def _phrases(table: Mapping[tuple[str, ...], list[str]]) -> dict[str, tuple[Phrase, ...]]:
    found: dict[str, list[Phrase]] = {}
    for key, names in table.items():
        if len(key) > 1:
            found.setdefault(key[0], []).append(Phrase(key, tuple(dict.fromkeys(names))))
    return {first: tuple(phrases) for first, phrases in found.items()}


if __name__ == "__main__":
    PARSED.write_bytes(parsed())
