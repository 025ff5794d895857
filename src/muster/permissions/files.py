"""Whether a file may be written: by its real path, its name, its mode and what it would hold."""

from __future__ import annotations

import os
import stat

from muster.permissions.patterns import PatternIndex, matches
from muster.permissions.policy import ANY_EXECUTABLE, NON_EXECUTABLE, Permissions
from muster.regular_files import open_regular, read_start

CONTENT_CHARS_MAX = 4 * 1024 * 1024
"""Up to this size an edit is carried out in memory, to see how the file would begin."""


class Refusal:
    """Why a file may not be written: the end of the rule's name, the pattern, and a sentence."""

    __slots__ = ("pattern", "rule", "why")

    def __init__(self, rule: str, pattern: str, why: str) -> None:
        self.rule = rule
        self.pattern = pattern
        self.why = why


class Target:
    """A file as it would be written: every name it has, and what is there now."""

    def __init__(self, path: str, cwd: str) -> None:
        given = os.path.join(cwd, path)  # noqa: PTH118
        self.real = os.path.realpath(given)
        self.names = tuple(dict.fromkeys((os.path.normpath(given), self.real)))
        self.mode = self._mode()

    def _mode(self) -> int | None:
        try:
            return os.stat(self.real).st_mode  # noqa: PTH116
        except FileNotFoundError:
            return None

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder that exists."""
        return self.mode is not None and stat.S_ISDIR(self.mode)

    def begins_as_program(self) -> bool:
        """Whether what is there begins with `#!`."""
        if self.mode is None or not stat.S_ISREG(self.mode):
            return False
        return read_start(self.real, 2) == b"#!"

    def read(self) -> str:
        """What is there, as far as it is needed to carry out an edit."""
        if self.mode is None or not stat.S_ISREG(self.mode):
            return ""
        with os.fdopen(open_regular(self.real), encoding="utf-8", errors="replace") as file:
            return file.read(CONTENT_CHARS_MAX)


def check_write(
    permissions: Permissions,
    executable: PatternIndex,
    path: str,
    cwd: str,
    *,
    begins: str = "",
) -> Refusal | None:
    """Why a file may not be written, or None. `begins` is how it would begin, if that is known."""
    if not path or "\0" in path or path.startswith("~"):
        return Refusal("path", "", f"{path!r}, which does not name a file for certain")
    if path.rpartition("/")[2].startswith("-"):
        return Refusal("path", "", f"{path!r}, which others would take for an option")
    try:
        return _check(permissions, executable, Target(path, cwd), begins)
    except (OSError, ValueError) as failed:
        return Refusal("path", "", f"{path!r}, which cannot be looked at ({failed})")


def check_folder(
    permissions: Permissions, executable: PatternIndex, path: str, cwd: str
) -> Refusal | None:
    """Why a folder may not be made, or None: only the places count, not its name."""
    if not permissions.can_write or not path or "\0" in path or path.startswith("~"):
        return Refusal("path", "", f"{path!r}, which does not name a folder for certain")
    try:
        target = Target(path, cwd)
    except (OSError, ValueError) as failed:
        return Refusal("path", "", f"{path!r}, which cannot be looked at ({failed})")
    for pattern in permissions.cannot_write:
        for name in target.names:
            found = _place(executable, pattern, f"{name}/")
            if found is not None:
                return Refusal("cannot-write", found, f"{target.real}, a place of executable files")
    return None


def _place(executable: PatternIndex, pattern: str, path: str) -> str | None:
    """The pattern of a place that a folder is, or lies in."""
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
    return Refusal("not-listed", "", f"{_as_seen(target)}, which no pattern of can_write fits")


def _executable(executable: PatternIndex, target: Target, begins: str) -> Refusal | None:
    """Why a file counts as executable, or None."""
    seen = _as_seen(target)
    for name in target.names:
        pattern = executable.find(name)
        if pattern is not None:
            return Refusal("cannot-write", f"{ANY_EXECUTABLE}: {pattern}", seen)
    if begins.startswith("#!"):
        return Refusal("shebang", ANY_EXECUTABLE, f"{seen}, which would begin with '#!'")
    if target.mode is not None and not target.is_folder:
        if target.mode & 0o111:
            return Refusal("execute-bit", ANY_EXECUTABLE, f"{seen}, which can be executed")
        if target.begins_as_program():
            return Refusal("shebang", ANY_EXECUTABLE, f"{seen}, which begins with '#!'")
    return None


def _as_seen(target: Target) -> str:
    given = target.names[0]
    return given if given == target.real else f"{given} (which is {target.real})"
