r"""Environment files: lines of NAME=VALUE, as many tools read them.

A line is empty, a comment that begins with `#`, or an assignment, with or without `export` before
it. A value ends at the end of its line, or at a `#` after a space. Quotes keep spaces and `#`:
between single quotes everything is literal, between double quotes a backslash escapes (`\n`, `\t`,
`\r`, `\"`, `\\`, `\$`). Nothing is expanded. The last assignment of a name counts.

Such a file holds secrets: no error repeats anything of a line but a reserved name.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from muster.limits import ENV_FILE_BYTES_MAX
from muster.regular_files import TooLong, read_regular
from muster.settings.programs import OUR_VARIABLES

_ASSIGNMENT: Final = re.compile(r"(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_]*)[ \t]*=(.*)")
_COMMENT: Final = re.compile(r"[ \t]#")
_SINGLE: Final = re.compile(r"'([^']*)'(.*)")
_DOUBLE: Final = re.compile(r'"((?:[^"\\]|\\.)*)"(.*)')
_SPACES: Final = " \t\r"
_ESCAPE: Final = re.compile(r"\\(.)")
_ESCAPED: Final = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\", "$": "$"}


class EnvFileError(Exception):
    """A mistake in an environment file; its text names the file and the line, and no value."""

    def __init__(self, path: Path, line: int, what: str, remedy: str) -> None:
        """Line 0 is the file as a whole."""
        place = f" line {line}" if line else ""
        super().__init__(f"env_file {path}{place}: {what}")
        self.remedy = remedy


def read_env_file(path: Path) -> dict[str, str]:
    """The variables of a file."""
    try:
        data = read_regular(path, bytes_max=ENV_FILE_BYTES_MAX)
    except TooLong:
        what = f"it is longer than {ENV_FILE_BYTES_MAX // 1024} KiB"
        raise EnvFileError(path, 0, what, "Shorten it.") from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise EnvFileError(path, 0, why[:1].lower() + why[1:], _UNREADABLE) from None
    return parse_env_file(path, data)


_UNREADABLE: Final = "Make it a readable file, or correct env_file; it is relative to muster.toml."


def parse_env_file(path: Path, data: bytes) -> dict[str, str]:
    """The variables of the content of a file. The path is for the errors."""
    return dict(_assignments(path, data))


def _assignments(path: Path, data: bytes) -> Iterator[tuple[str, str]]:
    for number, raw in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        try:
            line = raw.decode().strip(_SPACES)
            if line and not line.startswith("#"):
                yield _assignment(line)
        except UnicodeDecodeError:
            what, remedy = "it is not UTF-8", "Save the file as UTF-8."
            raise EnvFileError(path, number, what, remedy) from None
        except _LineError as wrong:
            raise EnvFileError(path, number, wrong.what, wrong.remedy) from None


class _LineError(Exception):
    """A mistake in a line."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(what)
        self.what = what
        self.remedy = remedy


def _assignment(line: str) -> tuple[str, str]:
    found = _ASSIGNMENT.fullmatch(line)
    if found is None:
        raise _LineError("it is not NAME=VALUE", "Write NAME=VALUE, or # before a comment.")
    name, written = found[1], found[2]
    if name.startswith(OUR_VARIABLES):
        what = f"{name} is muster's own to set"
        raise _LineError(what, "Remove the line, or give the variable another name.")
    if "\0" in written:
        raise _LineError("it has a NUL byte in it", "Remove it: no program can receive it.")
    return name, _value(written)


def _value(written: str) -> str:
    value = written.strip(_SPACES)
    quoted = {"'": _SINGLE, '"': _DOUBLE}.get(value[:1])
    if quoted is None:
        return _COMMENT.split(written, maxsplit=1)[0].strip(_SPACES)
    found = quoted.fullmatch(value)
    if found is None:
        remedy = 'Close it on the same line; "\\n" is a line break in double quotes.'
        raise _LineError("its quote is not closed", remedy)
    value, rest = found[1], found[2].strip(_SPACES)
    if rest and not rest.startswith("#"):
        raise _LineError("something follows the closing quote", "Put all of the value in quotes.")
    return value if quoted is _SINGLE else _ESCAPE.sub(_unescaped, value)


def _unescaped(found: re.Match[str]) -> str:
    """An escape; a backslash before any other character is itself."""
    return _ESCAPED.get(found[1], found[0])
