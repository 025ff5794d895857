"""Which values and variables of the shell are certainly numbers.

Shells evaluate the value of a variable in arithmetic, and run a command that is hidden in it
(`a[$(command)]`). So arithmetic is allowed only on variables that hold numbers.
"""

from __future__ import annotations

from muster.permissions.programs.catalogue import named
from muster.permissions.shell.words import ShellWord

NUMERIC_PARAMETERS = frozenset(
    (
        *("RANDOM", "SRANDOM", "SECONDS", "LINENO", "UID", "EUID", "PPID", "SHLVL", "COLUMNS"),
        *("LINES", "BASHPID", "EPOCHSECONDS", "OPTIND"),
    )
)
"""Variables that the shell itself keeps as numbers."""

_SHELL_LISTS = named(
    """path argv match mbegin mend pipestatus status signals words fpath cdpath manpath dirstack
    options commands reply functions"""
)
"""Variables that zsh sets to text."""


def is_number(value: ShellWord) -> bool:
    """Whether an assigned value is certainly a number, or empty after a failure."""
    if value.plain:
        return value.text.isascii() and value.text.isdecimal()
    raw = value.raw
    if raw[:1] == '"' and raw[-1:] == '"':
        raw = raw[1:-1]
    return _is_range(raw) or _is_calculation(raw) or _counts(raw)


def _is_range(raw: str) -> bool:
    """`{1..10}`."""
    parts = raw[1:-1].split("..")
    ends = raw[:1] == "{" and raw[-1:] == "}" and len(parts) in (2, 3)
    return ends and all(part.isascii() and part.isdecimal() for part in parts)


def _is_calculation(raw: str) -> bool:
    """`$((n + 1))`."""
    inner = raw[3:-2]
    return raw[:3] == "$((" and raw[-2:] == "))" and "(" not in inner and ")" not in inner


def _counts(raw: str) -> bool:
    """`$(... | wc -l)`: a single pipeline whose last program prints numbers alone."""
    inner = raw[2:-1]
    if raw[:2] != "$(" or raw[-1:] != ")" or any(char in inner for char in ";&\n`(){}#\\"):
        return False
    *before, last = inner.split("|")
    if any(char in last for char in "'\"$*?[") or "" in before:
        return False
    words = last.partition("<")[0].split() or [""]
    source = last.partition("<")[2].split()
    if len(source) > 1 or ("<" in last and not source) or "<" in "".join(source):
        return False
    if words[0] == "wc":
        return all(word[:1] == "-" and not word[1:].strip("lwcmL") for word in words[1:])
    if words[0] == "grep":
        return _counts_matches(words[1:])
    if words[0] == "seq":
        return all(word.isascii() and word.isdecimal() for word in words[1:])
    return words in (["nproc"], ["date", "+%s"])


def _counts_matches(words: list[str]) -> bool:
    """`grep -c PATTERN FILE`: of several files it prints the names, too."""
    letters = "".join(word[1:] for word in words if word[:1] == "-")
    operands = [word for word in words if word[:1] != "-"]
    return "c" in letters and not letters.strip("ciEFPvwx") and len(operands) in (1, 2)


def may_be_text(expression: str, tainted: set[str], numbers: set[str]) -> bool:
    """Whether a name in an arithmetic expression may stand for anything but a number.

    `numbers` are the variables to which the line assigns numbers, `tainted` those to which it
    assigns anything else. Others come from the environment, which the line cannot choose; names
    without a lower-case letter are left out, because shells set many of them to text.
    """
    for index, char in enumerate(expression):
        if char == "$":
            following = expression[index + 1 : index + 2]
            if following == "{":
                following = expression[index + 2 : index + 3]
            if following.isdecimal() or (following and following in "@*-_"):
                return True  # a positional parameter, or the last word of a command
    names = [name for name in _names_in(expression) if not name[0].isdecimal()]
    return any(name in tainted or (name not in numbers and _is_text(name)) for name in names)


def _is_text(name: str) -> bool:
    if name in _SHELL_LISTS or not name.isascii():
        return True
    return name not in NUMERIC_PARAMETERS and not any(char.islower() for char in name)


def _names_in(text: str) -> list[str]:
    return "".join(char if char.isalnum() or char == "_" else " " for char in text).split()
