"""Finds text of a command line that would become the first line of a program (`#!`).

`echo`, `printf` and here-documents write text as it is given, so its beginning counts: a document
may show a script. Other programs put text anywhere (`sed`, `awk`, the formats of git), so there
`#!` counts wherever it is. A program that only searches for it writes lines that exist.
"""

from __future__ import annotations

from muster.permissions.shell.words import NUMBERED

_SEARCHING = frozenset(("grep", "egrep", "fgrep", "rg", "ag", "zgrep"))
_LITERAL = frozenset(("", "echo", "cat", "tee"))

_OCTAL_DIGITS = (3, 4)  # of `\\043` in a format, and of `\\0043` for `echo -e`
_ESCAPES = {**NUMBERED, "o": (8, 3), "d": (10, 3)}
_DIGITS = {8: "01234567", 10: "0123456789", 16: "0123456789abcdefABCDEF"}


def writes_program(program: str, texts: list[str]) -> bool:
    """Whether a program with these arguments may write a first line of a program."""
    if program in _SEARCHING:
        return False
    if program == "printf":
        joined = "".join(texts)
        for conversion in ("%s", "%c", "%b"):
            joined = joined.replace(conversion, "")
        return _begins(joined) or any(map(_begins, texts))
    found = _begins if program in _LITERAL else _contains
    return any(map(found, texts))


def _begins(text: str) -> bool:
    if text.startswith("\\") and "!" in text[:8]:
        return True
    return any(_decoded(text, octal, 2) == "#!" for octal in _OCTAL_DIGITS)


def _contains(text: str) -> bool:
    return any("#!" in _decoded(text, octal, len(text)) for octal in _OCTAL_DIGITS)


def _decoded(text: str, octal: int, count: int) -> str:
    """The first characters of a text whose escapes give the numbers of characters."""
    if "\\" not in text and "%" not in text:
        return text[:count]
    found: list[str] = []
    at = 0
    while at < len(text) and len(found) < count:
        char, at = _character(text, at, octal)
        found.append(char)
    return "".join(found)


def _character(text: str, at: int, octal: int) -> tuple[str, int]:
    """The character at a place, which may be given by its number, and the place after it."""
    if text[at] == "\\":
        base, most = _ESCAPES.get(text[at + 1 : at + 2], (8, octal))
        start = at + 1 if text[at + 1 : at + 2] not in _ESCAPES else at + 2
    elif text[at] == "%":  # `%x23` in a format of git, `%23` in one of its references
        base, most = 16, 2
        start = at + 2 if text[at + 1 : at + 2] == "x" else at + 1
    else:
        return text[at], at + 1
    end = start
    while end < min(start + most, len(text)) and text[end] in _DIGITS[base]:
        end += 1
    if end == start or (text[at] == "%" and end - start < most):
        return text[at], at + 1
    number = int(text[start:end], base)
    return chr(number % 0x100 if base == 8 else min(number, 0x10FFFF)), end
