"""The route for a path and a method, found in a tree of all paths."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple
from urllib.parse import unquote

from muster.errors import NotFound, WrongMethod
from muster.http.routing import Route, is_name, names_in


class RouteMatch(NamedTuple):
    """A route, and the segments that the names in its path stand for."""

    route: Route
    path: dict[str, str]


class _Place:
    """A place in the tree of paths: the words and the name that can follow, and its routes."""

    __slots__ = ("any_word", "methods", "words")

    def __init__(self) -> None:
        self.words: dict[str, _Place] = {}
        self.any_word: _Place | None = None
        self.methods: dict[str, tuple[Route, list[tuple[int, str]]]] = {}

    def next(self, segment: str) -> "_Place":
        """The place after a segment of a declared path, made if need be; a name matches any."""
        if is_name(segment):
            self.any_word = self.any_word or _Place()
            return self.any_word
        return self.words.setdefault(segment, _Place())

    def matches(self, segments: Sequence[str]) -> "Iterator[_Place]":
        """The places that a path leads to; a word is a better match than a name."""
        if not segments:
            yield self
            return
        for place in (self.words.get(segments[0]), self.any_word):
            if place is not None:
                yield from place.matches(segments[1:])


class RouteTable:
    """Every route, found by path and method."""

    def __init__(self, routes: Iterable[Route]) -> None:
        """Build the tree of their paths."""
        self.routes = tuple(routes)
        self._root = _Place()
        for each in self.routes:
            self._add(each)

    def _add(self, route: Route) -> None:
        place = self._root
        for segment in route.path.split("/"):
            place = place.next(segment)
        if route.method in place.methods:
            raise ValueError(f"two routes for {route.method} {route.path}")
        place.methods[route.method] = (route, names_in(route.path))

    def find(self, method: str, path: str) -> RouteMatch:
        """The route for a path as it was sent, still encoded: a name may contain a slash.

        HEAD is answered as GET; the server sends no body.
        """
        declared = "GET" if method == "HEAD" else method
        segments = path.split("/")
        allowed: set[str] = set()
        for place in self._root.matches(segments):
            found = place.methods.get(declared)
            if found is not None:
                route, names = found
                return RouteMatch(route, {name: unquote(segments[at]) for at, name in names})
            allowed |= set(place.methods)  # a word of one path may be a name in another
        if allowed:
            told = ", ".join(sorted(allowed))
            raise WrongMethod(method=method, path=unquote(path), allowed=told)
        raise NotFound(kind="path", name=unquote(path))
