"""Patterns for names of files, tools and commands, in which `*` matches anything.

A pattern with a slash in it is matched against a file's whole path, any other against its name;
matching ignores case. `fnmatch` would import `re`, which costs a hook more than its own work.
"""


def listed(names: str) -> tuple[str, ...]:
    """Split names that are separated by blanks."""
    return tuple(names.split())


def matches(pattern: str, path: str) -> bool:
    """Whether a path or a name matches a pattern."""
    if "/" not in pattern:
        path = path.rpartition("/")[2]
    return _fits(pattern.lower(), path.lower())


class PatternIndex:
    """Many patterns, indexed so that a file is matched against few of them."""

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
        """A pattern that matches the file, or None."""
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
    """Match the parts between the stars, each at the first place where it occurs."""
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
