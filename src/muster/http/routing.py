"""What a route is, what its handler is given, and how a path finds its route.

A handler gets one `Call`: parsed, with its caller known and allowed. It sends one command or asks
one question, and returns a struct, which is encoded as JSON, or a response of its own for a stream.
Who the caller is says `auth.py`; `app.py` does everything around the handler.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import ExitStack
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

import msgspec
from starlette.requests import Request

from muster.engine.dispatcher import Receipt
from muster.errors import Forbidden, NotFound, WrongMethod
from muster.http.browser_sessions import BrowserSessions
from muster.machines.commands import Command
from muster.machines.ids import SeatId, name_key
from muster.machines.state import Agent, Team
from muster.machines.vocabulary import Role
from muster.team import Muster

EVERYBODY: Final = frozenset(Role)
OPERATOR: Final = frozenset({Role.OPERATOR})
ACTORS: Final = frozenset({Role.OPERATOR, Role.AGENT})

_DOCUMENT: Final = "agent-identity:"


class Caller(msgspec.Struct, frozen=True):
    """Who asks."""

    role: Role
    actor: str
    """As the log names it: `person:<human>` for an operator or a viewer, `agent:<name>`."""

    seat: SeatId | None = None


class Call:
    """One request, parsed, with its caller."""

    __slots__ = (
        "_present",
        "body",
        "browsers",
        "caller",
        "key",
        "muster",
        "path",
        "query",
        "request",
    )

    def __init__(
        self,
        *,
        muster: Muster,
        caller: Caller,
        request: Request,
        present: ExitStack,
        browsers: BrowserSessions,
        path: Mapping[str, str],
        query: object = None,
        body: object = None,
        key: str | None = None,
    ) -> None:
        """Hold the parts. Whoever acts is present until `present` is closed, after the answer."""
        self.muster = muster
        self.caller = caller
        self.request = request
        self.browsers = browsers
        self.path = path
        self.query: Any = query  # an instance of the route's query struct
        self.body: Any = body  # an instance of the route's body struct
        self.key = key
        """The `Idempotency-Key` of the request."""

        self._present = present

    @property
    def team(self) -> Team:
        """The team as far as it is on disk."""
        return self.muster.team

    def agent(self, name: str) -> Agent:
        """Whom a name means, or its document (`agent-identity:9`) where it has none."""
        team = self.team
        seat = team.names.get(name_key(name))
        if seat is None and name.startswith(_DOCUMENT):
            seat = _seat(name.removeprefix(_DOCUMENT))
        found = None if seat is None else team.agents.get(seat)
        if found is None:
            raise NotFound(kind="agent", name=name)
        return found

    def acting_as(self, name: str) -> Agent:
        """Whom a name means, if the caller may act as that agent. It is heard of by that."""
        agent = self.agent(name)
        caller = self.caller
        if caller.role is Role.VIEWER:
            raise Forbidden(who="A viewer", act="act", remedy="It may read everything.")
        if caller.role is Role.AGENT and caller.seat != agent.seat:
            who, act = self.team.agent(caller.seat or SeatId(0)).id, f"act as {agent.id!r}"
            raise Forbidden(who=repr(who), act=act, remedy="A token of an agent is for itself.")
        if caller.role is not Role.AGENT:  # whose own call counts as a whole
            self._present.enter_context(self.muster.presence.calling(agent.seat))
        return agent

    async def send(self, command: Command) -> Receipt:
        """Have the caller's command carried out; return when it is on disk."""
        return await self.muster.dispatcher.send(command, actor=self.caller.actor)


def _seat(digits: str) -> SeatId | None:
    number = digits.isascii() and digits.isdecimal() and len(digits) < 10
    return SeatId(int(digits)) if number else None


Handler = Callable[[Call], Awaitable[object]]


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """A path with a method, who may call it, and what goes in and comes out."""

    method: str
    path: str
    """Names in braces stand for one segment each: `/api/agents/{name}`."""

    handler: Handler
    may: frozenset[Role]
    """Who may call it at all."""

    summary: str
    query: type | None = None
    body: type | None = None
    """The struct that the JSON body is; a body that is left out is an empty object."""

    answer: type | None = None
    status: int = 200
    open: bool = False
    """Whether nobody needs a token for it. `may` does not matter then."""

    waits: bool = False
    """Whether it answers late. Its handler is cancelled when the caller is gone meanwhile."""


class Found(NamedTuple):
    """A route, and what the names in its path stand for."""

    route: Route
    path: Mapping[str, str]


class _Pattern(NamedTuple):
    """A path cut into segments; a name stands where any segment fits."""

    segments: tuple[str, ...]
    names: tuple[str | None, ...]
    methods: dict[str, Route]

    def match(self, segments: list[str]) -> dict[str, str] | None:
        found: dict[str, str] = {}
        for own, name, given in zip(self.segments, self.names, segments, strict=True):
            if name is not None:
                found[name] = unquote(given)
            elif own != given:
                return None
        return found


class Table:
    """Every route, found by path and method."""

    def __init__(self, routes: Iterable[Route]) -> None:
        """Sort the routes by the number of their segments."""
        self.routes = tuple(routes)
        self._patterns: dict[int, list[_Pattern]] = {}
        for route in self.routes:
            self._add(route)
        for patterns in self._patterns.values():  # a word is a better match than a name
            patterns.sort(key=lambda pattern: sum(name is not None for name in pattern.names))

    def _add(self, route: Route) -> None:
        segments = tuple(route.path.split("/"))
        patterns = self._patterns.setdefault(len(segments), [])
        pattern = next((each for each in patterns if each.segments == segments), None)
        if pattern is None:
            pattern = _Pattern(segments, tuple(_name(each) for each in segments), {})
            patterns.append(pattern)
        if route.method in pattern.methods:
            raise ValueError(f"two routes for {route.method} {route.path}")
        pattern.methods[route.method] = route

    def find(self, method: str, path: str) -> Found:
        """The route for a path as it was sent, still encoded; so a name may have a slash in it."""
        segments = path.split("/")
        allowed: set[str] = set()
        for pattern in self._patterns.get(len(segments), ()):
            names = pattern.match(segments)
            if names is None:
                continue
            route = pattern.methods.get(method)
            if route is not None:
                return Found(route, names)
            allowed |= set(pattern.methods)  # what is a word here may be somebody's name
        if allowed:
            told = ", ".join(sorted(allowed))
            raise WrongMethod(method=method, path=unquote(path), allowed=told)
        raise NotFound(kind="path", name=unquote(path))


def _name(segment: str) -> str | None:
    return segment[1:-1] if segment.startswith("{") and segment.endswith("}") else None
