"""Parses the front matter of an agent file, line by line.

The files are written by people and by models, and many are not valid YAML although they look like
it. A key is a known word at the start of a line; all text up to the next known key is its value.
Files that are valid YAML give the same result as YAML, and the others can be read too.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

KEYS: Final = frozenset(
    (
        *("name", "description", "tools", "allowed-tools", "allowed_tools", "allowedTools"),
        *("disallowedTools", "disallowed-tools", "model", "color", "colour", "category", "version"),
        *("author", "tags", "dependencies", "parallel_capable", "expertise_level", "effort"),
        *("permissionMode", "permission-mode", "maxTurns", "max-turns", "skills", "mcpServers"),
        *("hooks", "memory", "background", "isolation", "initialPrompt", "license", "metadata"),
    )
)
"""Any other word at the start of a line is text: `user:` and `Context:` occur in descriptions."""

SEARCHED_LINES: Final = 30
"""Latest line of the opening fence: some files start with a sentence about themselves."""

_FENCE: Final = re.compile(r"\s*-{3,}\s*$")
_CLOSING: Final = re.compile(r"-{3,}\s*$")
_KEY: Final = re.compile(r"([A-Za-z][\w-]*)\s*:(?=\s|$)(.*)$")
_BLOCK: Final = re.compile(r"[|>][+-]?\d?[+-]?\s*$")
_NEWLINES: Final = re.compile(r"\\+n")
_QUOTES: Final = re.compile(r'\\+"')
_ITEM: Final = re.compile(r"\s*-\s+(.*)$")
_SWITCH: Final = re.compile(r"\s*([\w-]+)\s*:\s*(\w+)\s*$")
_OFF: Final = frozenset(("false", "no", "off", "deny"))


@dataclass(frozen=True, slots=True)
class Value:
    """The raw lines of a value, and the line number of the first."""

    lines: tuple[str, ...]
    line: int


@dataclass(frozen=True, slots=True)
class Head:
    """The front matter, key by key, and the body."""

    values: Mapping[str, Value]
    body: str
    line: int
    """The line number of its start."""

    closed: bool
    """Whether it has a closing fence."""

    repeated: tuple[tuple[str, int], ...] = ()
    """Repeated keys and their lines; the first one is used."""


def read_head(text: str) -> Head | None:
    """The front matter of an agent file, or None."""
    lines = text.split("\n")
    begin = _begin(lines)
    if begin is None:
        return None
    lines = [*lines[: begin + 1], *_dedented(lines[begin + 1 :], lines[begin])]
    end, closed = _end(lines, begin + 1)
    values: dict[str, Value] = {}
    repeated: list[tuple[str, int]] = []
    for key, value in _values(lines, begin + 1, end):
        if key in values:
            repeated.append((key, value.line))
        else:
            values[key] = value
    if not values:
        return None
    body = "\n".join(lines[end + 1 if closed else end :])
    return Head(values, body.strip("\n"), begin + 1, closed, tuple(repeated))


def _begin(lines: Sequence[str]) -> int | None:
    """The line of the opening fence: the first non-blank line, or one followed by a key."""
    first = next((at for at, line in enumerate(lines) if line.strip()), None)
    if first is None:
        return None
    if _FENCE.match(lines[first]):
        return first
    for at, line in enumerate(lines[:SEARCHED_LINES]):
        if _FENCE.match(line) and at + 1 < len(lines):
            key = _key(lines[at + 1].strip())
            if key is not None and key[0] in ("name", "description"):
                return at
    return None


def _dedented(lines: Sequence[str], fence: str) -> list[str]:
    indent = fence[: len(fence) - len(fence.lstrip())]
    return [line.removeprefix(indent) for line in lines]


def _end(lines: Sequence[str], begin: int) -> tuple[int, bool]:
    """The line of the closing fence; without one, the first blank line or heading."""
    at = next((n for n in range(begin, len(lines)) if _CLOSING.match(lines[n])), None)
    if at is not None and not _runs_into_body(lines[begin:at]):
        return at, True
    seen = False
    for number in range(begin, len(lines)):
        line = lines[number]
        if line.startswith("#") or (seen and not line.strip()):
            return number, False
        seen = seen or bool(line.strip())
    return len(lines), False


def _runs_into_body(lines: Sequence[str]) -> bool:
    """Whether the fence is a rule in the text: a heading came before it, and no key after that."""
    headings = [n for n, line in enumerate(lines) if re.match(r"#{1,6} \S", line)]
    return bool(headings) and not any(_key(line) for line in lines[headings[0] :])


def _key(line: str) -> tuple[str, str] | None:
    found = _KEY.match(line)
    return (found[1], found[2]) if found and found[1] in KEYS else None


def _unknown(line: str) -> tuple[str, str] | None:
    """An unknown key. It ends every value except a description, whose text may look like a key."""
    found = _KEY.match(line)
    return (found[1], found[2]) if found else None


def _values(lines: Sequence[str], begin: int, end: int) -> Iterator[tuple[str, Value]]:
    key, held, at = "", [""], begin
    for number in range(begin, end):
        found = _key(lines[number]) or (key != "description" and _unknown(lines[number])) or None
        if found is None:
            held.append(lines[number])
            continue
        if key:
            yield key, Value(tuple(held), at + 1)
        key, held, at = found[0], [found[1]], number
    if key:
        yield key, Value(tuple(held), at + 1)


def text_of(value: Value | None) -> str:
    """The text of a value, without quotes, escapes, block markers and indentation."""
    if value is None:
        return ""
    first, rest = value.lines[0].strip(), value.lines[1:]
    if _BLOCK.match(first):
        first = ""
    text = "\n".join((first, *(line.strip() for line in rest))).strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        quote, text = text[0], text[1:-1]
        if quote == "'":
            text = text.replace("''", "'")
    return _QUOTES.sub('"', _NEWLINES.sub("\n", text)).strip()


def tools_of(value: Value | None) -> tuple[str, ...] | None:
    """The tools in a value, in any notation; None allows all."""
    if value is None:
        return None
    rest = [line for line in value.lines[1:] if line.strip()]
    if not value.lines[0].strip() and rest:
        return _of_lines(rest)
    text = text_of(value)
    if text.startswith("[") and text.endswith("]"):
        return tuple(_separated(text[1:-1]))
    return None if text in ("", "*") else _without_all(_separated(text))


def _of_lines(lines: Sequence[str]) -> tuple[str, ...] | None:
    """The tools of a list with one per line, or of a mapping to booleans."""
    items = [item for line in lines if (item := _ITEM.match(line))]
    if items:
        return _without_all(_bare(item[1]) for item in items)
    switches = [switch for line in lines if (switch := _SWITCH.match(line))]
    if switches:
        return _without_all(each[1] for each in switches if each[2].lower() not in _OFF)
    return _without_all(_separated(" ".join(lines)))


def _without_all(tools: Iterator[str] | Sequence[str]) -> tuple[str, ...] | None:
    listed = tuple(tools)
    return None if "*" in listed else listed


def _separated(text: str) -> Iterator[str]:
    """The parts between commas outside parentheses."""
    depth, part = 0, ""
    for char in text:
        depth += (char == "(") - (char == ")")
        if char == "," and depth <= 0:
            if _bare(part):
                yield _bare(part)
            part = ""
        else:
            part += char
    if _bare(part):
        yield _bare(part)


def _bare(text: str) -> str:
    return text.strip().strip("'\"").strip()
