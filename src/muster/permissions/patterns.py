"""Patterns of file names and other names, in which `*` stands for anything.

A pattern is compared with a file's name, or with its whole path if it has a slash in it, in any
case. The standard library's own matching would load `re`, which costs a hook more than its work.
"""


def listed(names: str) -> tuple[str, ...]:
    """Names that are written one after the other."""
    return tuple(names.split())


def matches(pattern: str, path: str) -> bool:
    """Whether a file, or a name of any kind, fits a pattern."""
    if "/" not in pattern:
        path = path.rpartition("/")[2]
    return _fits(pattern.lower(), path.lower())


class PatternIndex:
    """Many patterns, sorted so that a file is compared with few of them."""

    __slots__ = ("_endings", "_exact", "_names", "_paths")

    def __init__(self, patterns: tuple[str, ...]) -> None:
        self._endings: dict[str, str] = {}
        self._exact: dict[str, str] = {}
        self._names: dict[str, str] = {}
        self._paths: dict[str, str] = {}
        for pattern in patterns:
            low = pattern.lower()
            if "/" in low:
                self._paths[low] = pattern
            elif low[:2] == "*." and "*" not in low[1:]:
                self._endings[low[1:]] = pattern
            elif "*" not in low:
                self._exact[low] = pattern
            else:
                self._names[low] = pattern

    def find(self, path: str) -> str | None:
        """A pattern that a file fits, if there is one."""
        path = path.lower()
        name = path.rpartition("/")[2]
        if name in self._exact:
            return self._exact[name]
        dot = name.find(".")
        while dot >= 0:
            if name[dot:] in self._endings:
                return self._endings[name[dot:]]
            dot = name.find(".", dot + 1)
        for text, patterns in ((name, self._names), (path, self._paths)):
            for low, pattern in patterns.items():
                if _fits(low, text):
                    return pattern
        return None


def _fits(pattern: str, text: str) -> bool:
    """Compare the parts between the stars, each with the first place that it can have."""
    first, *between = pattern.split("*")
    if not between:
        return pattern == text
    last = between.pop()
    if not text.startswith(first):
        return False
    at = len(first)
    for part in between:
        found = text.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    return len(text) - at >= len(last) and text.endswith(last)
