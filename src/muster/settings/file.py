"""The text of `muster.toml`: reading it, parsing it, and finding the line that a mistake is on.

`model.py` validates the content.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from stat import S_ISREG
from typing import cast

from muster.errors import BadSettings, BadSource
from muster.limits import SETTINGS_DEPTH_MAX
from muster.regular_files import SMALL_BYTES_MAX, TooLong, read_regular


def text_of(path: Path, *, bytes_max: int = SMALL_BYTES_MAX) -> str | None:
    """The text of the file, or None without a file: then every setting has its default."""
    try:
        data = _bytes_of(path, bytes_max)
    except OSError as failed:
        what = f"cannot be read ({failed.strerror or failed})"
        remedy = "Make it readable for you, or move it away."
        raise BadSource(path=path, line=0, what=what, remedy=remedy) from failed
    if data is None:
        return None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as failed:
        line = data.count(b"\n", 0, failed.start) + 1
        what = f"byte {data[failed.start]:#04x} is not UTF-8"
        remedy = "Save the file as UTF-8."
        raise BadSettings(path=path, line=line, what=what, remedy=remedy) from failed


def _bytes_of(path: Path, bytes_max: int) -> bytes | None:
    # not Path.exists: from Python 3.14 on it answers False where it may not look
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None
    if not S_ISREG(mode):
        # a folder cannot be read, and reading a pipe would wait for ever
        raise BadSource(path=path, line=0, what="is not a file", remedy="Move it out of the way.")
    try:
        return read_regular(path, bytes_max=bytes_max)
    except TooLong as error:
        what = f"is {error.strerror}"
        raise BadSource(path=path, line=0, what=what, remedy="Shorten it.") from error


def parsed(path: Path, text: str) -> dict[str, object]:
    """The content of the file as TOML."""
    import tomllib  # a slow import, and most homes have no file

    try:
        found = tomllib.loads(text)
    except RecursionError as failed:
        raise _too_deep(path) from failed
    except tomllib.TOMLDecodeError as failed:
        what, line = _syntax_error(str(failed), text)
        remedy = "Correct the line; a setting is written as name = value."
        if twice := _TWICE.match(what):
            table = ".".join(re.findall(r"'([^']*)'", twice[1]))
            first = line_of(text, tuple(table.split(".")))
            what = f"the table [{table}] is written twice, first on line {first}"
            remedy = "Write all of its settings below the first, and remove the second heading."
        raise BadSettings(path=path, line=line, what=what, remedy=remedy) from failed
    if _is_too_deep(found):
        raise _too_deep(path)
    return found


def _is_too_deep(document: object) -> bool:
    """Whether values lie too deep in others. Level by level: recursion is what must not happen."""
    level = [document]
    for _ in range(SETTINGS_DEPTH_MAX):
        level = [inner for each in level for inner in _values_in(each)]
    return bool(level)


def _values_in(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return cast("dict[str, object]", value).values()
    return cast("list[object]", value) if isinstance(value, list) else ()


def _too_deep(path: Path) -> BadSource:
    what = f"has tables or lists in one another, more than {SETTINGS_DEPTH_MAX} deep"
    return BadSource(path=path, line=0, what=what, remedy="No setting needs that: remove them.")


_TWICE = re.compile(r"Cannot declare (\(.*\)) twice")


def _syntax_error(message: str, text: str) -> tuple[str, int]:
    """Take the place out of the parser's message; without one the mistake is at the end."""
    found = re.search(r" \(at line (\d+), column \d+\)$", message)
    if found:
        return message[: found.start()], int(found[1])
    return message.removesuffix(" (at end of document)"), text.rstrip("\n").count("\n") + 1


_WRITTEN = re.compile(r"\s*(?:\[+(?P<table>[^\]]*)\]|(?P<key>[^=#]+?)\s*=)")


def line_of(text: str, wanted: tuple[str, ...]) -> int:
    """The line on which a key in its tables, or else the table around it, is written first.

    The search goes line by line through TOML as people usually write it. For other forms (a setting
    in an inline table) it finds the line of the surrounding table.
    """
    table: tuple[str, ...] = ()
    depth, line = 0, 1
    for number, written in enumerate(text.split("\n"), start=1):
        found = _WRITTEN.match(written)
        if not found:
            continue
        if found["table"] is not None:
            here = table = key_parts(found["table"])
        else:
            here = table + key_parts(found["key"])
        if len(here) > depth and wanted[: len(here)] == here:
            depth, line = len(here), number
    return line


_PART = re.compile(r"""\s*(?:"([^"]*)"|'([^']*)'|([^."']+))\s*(?:\.|$)""")


def key_parts(dotted: str) -> tuple[str, ...]:
    """The names between the dots; a name in quotes may have dots of its own."""
    found = (part[1] or part[2] or (part[3] or "").strip() for part in _PART.finditer(dotted))
    return tuple(found)
