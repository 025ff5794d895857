"""Write checks for a file: by its real path, its name, its mode and its new content."""

from __future__ import annotations

import os
import stat

from muster.permissions.patterns import PatternIndex, matches
from muster.permissions.policy import ANY_EXECUTABLE, NON_EXECUTABLE, Permissions
from muster.regular_files import open_regular, read_start

CONTENT_CHARS_MAX = 4 * 1024 * 1024
"""Up to this size an edit is applied in memory, to see how the file would begin."""

PATH_CHARS_MAX = 4096
"""The longest path: the kernel takes no longer one (PATH_MAX)."""


class Refusal:
    """A denied write: the last part of the rule's name, the pattern, and the reason."""

    __slots__ = ("pattern", "rule", "why")

    def __init__(self, rule: str, pattern: str, why: str) -> None:
        self.rule = rule
        self.pattern = pattern
        self.why = why


class Target:
    """The file that a write would change: all its names, and its current mode and content."""

    def __init__(self, path: str, cwd: str) -> None:
        given = os.path.join(cwd, path)  # noqa: PTH118
        if len(given) > PATH_CHARS_MAX:  # to resolve a path takes the square of its length
            raise ValueError(f"a path has at most {PATH_CHARS_MAX} characters")
        self.real = os.path.realpath(given)
        names = (os.path.normpath(given), self.real)
        self.names = tuple(dict.fromkeys((*names, *map(_without_tail, names))))
        self.mode = self._mode()

    def _mode(self) -> int | None:
        try:
            return os.stat(self.real).st_mode  # noqa: PTH116
        except FileNotFoundError:
            return None

    @property
    def is_folder(self) -> bool:
        """Whether the target is an existing folder."""
        return self.mode is not None and stat.S_ISDIR(self.mode)

    def begins_as_program(self) -> bool:
        """Whether the existing file begins with `#!`."""
        if self.mode is None or not stat.S_ISREG(self.mode):
            return False
        return read_start(self.real, 2) == b"#!"

    def read(self) -> str:
        """The current content, up to the size that an edit is applied to."""
        if self.mode is None or not stat.S_ISREG(self.mode):
            return ""
        with os.fdopen(open_regular(self.real), encoding="utf-8", errors="replace") as file:
            return file.read(CONTENT_CHARS_MAX)


def _without_tail(name: str) -> str:
    """A path without blanks and dots at its end: `evil.py ` is for people and tools `evil.py`."""
    return name.rstrip(" .\t\r\n\u00a0\u200b") or name


def check_write(
    permissions: Permissions,
    executable: PatternIndex,
    path: str,
    cwd: str,
    *,
    begins: str = "",
) -> Refusal | None:
    """Check a write to a file: the reason to deny it, or None. `begins` is its new first text."""
    if not path or "\0" in path or path.startswith("~"):
        return Refusal("path", "", f"{path!r}, which is not the literal path of a file")
    if path.rpartition("/")[2].startswith("-"):
        return Refusal("path", "", f"{path!r}, which other commands would read as an option")
    try:
        return _check(permissions, executable, Target(path, cwd), begins)
    except (OSError, ValueError) as failed:
        return Refusal("path", "", f"{path!r}, which cannot be inspected ({failed})")


def check_folder(
    permissions: Permissions, executable: PatternIndex, path: str, cwd: str
) -> Refusal | None:
    """Check the creation of a folder: the reason to deny it, or None. Its own name is allowed."""
    if not permissions.can_write or not path or "\0" in path or path.startswith("~"):
        return Refusal("path", "", f"{path!r}, which is not the literal path of a folder")
    if any(part.startswith("-") for part in path.split("/")):
        return Refusal("path", "", f"{path!r}, which other commands would read as an option")
    try:
        target = Target(path, cwd)
    except (OSError, ValueError) as failed:
        return Refusal("path", "", f"{path!r}, which cannot be inspected ({failed})")
    for pattern in permissions.cannot_write:
        for name in target.names:
            found = _place(executable, pattern, f"{name}/")
            if found is not None:
                return Refusal(
                    "cannot-write", found, f"{target.real}, a folder of executable files"
                )
    return None


def _place(executable: PatternIndex, pattern: str, path: str) -> str | None:
    """The pattern that matches a folder or one of its parents."""
    if pattern == ANY_EXECUTABLE:
        return executable.find(path)
    return pattern if "/" in pattern and matches(pattern, path) else None


def _check(
    permissions: Permissions, executable: PatternIndex, target: Target, begins: str
) -> Refusal | None:
    known_harmless = False
    for pattern in permissions.cannot_write:
        if pattern == ANY_EXECUTABLE:
            refusal = _executable(executable, target, begins)
            if refusal is not None:
                return refusal
            known_harmless = True
        elif any(matches(pattern, name) for name in target.names):
            return Refusal("cannot-write", pattern, _as_seen(target))
    for pattern in permissions.can_write:
        if pattern == NON_EXECUTABLE:
            if known_harmless or _executable(executable, target, begins) is None:
                return None
        elif all(matches(pattern, name) for name in target.names):
            return None
    return Refusal("not-listed", "", f"{_as_seen(target)}, which no pattern of can_write matches")


def _executable(executable: PatternIndex, target: Target, begins: str) -> Refusal | None:
    """The reason that a file counts as executable, or None."""
    seen = _as_seen(target)
    for name in target.names:
        pattern = executable.find(name)
        if pattern is not None:
            return Refusal("cannot-write", f"{ANY_EXECUTABLE}: {pattern}", seen)
    if begins.startswith("#!"):
        return Refusal("shebang", ANY_EXECUTABLE, f"{seen}, which would begin with '#!'")
    if target.mode is not None and not target.is_folder:
        if target.mode & 0o111:
            return Refusal("execute-bit", ANY_EXECUTABLE, f"{seen}, which has the execute bit")
        if target.begins_as_program():
            return Refusal("shebang", ANY_EXECUTABLE, f"{seen}, which begins with '#!'")
    return None


def _as_seen(target: Target) -> str:
    given = target.names[0]
    return given if given == target.real else f"{given} (which is {target.real})"
