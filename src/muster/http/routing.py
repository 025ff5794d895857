"""Routes: how a handler is declared, and the request that it gets. `route_table.py` finds them.

    @route("POST", "/api/channels/{channel}/turn/pass", may=ACTORS)
    async def pass_turn(call: ApiCall, channel: ChannelId, body: PassTurnBody) -> Recorded:
        "End a turn without a message."

One declaration serves the router, the access check (`auth.py`), the OpenAPI document and the
handbook. The names in the path, `query` and `body` are the handler's parameters. Their types and
the answer's are read from its signature, so no handler casts anything. The docstring is the
summary. A declaration that contradicts itself raises a TypeError when its module is imported.
"""

import inspect
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from hashlib import blake2b
from types import ModuleType
from typing import (
    Any,
    Concatenate,
    Final,
    Generic,
    NewType,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from muster.engine.dispatcher import Receipt
from muster.errors import Forbidden, Invalid, KeyReused, NotFound, Repeated
from muster.http.mcp.desk import McpDesk
from muster.http.signing_in.browser_sessions import BrowserSessions
from muster.http.stream import EventStream, Streams
from muster.http.waiting import LongPolls
from muster.machines.access.scopes import check_scope, outside_scope
from muster.machines.commands import Command
from muster.machines.identity.crew import retired_as
from muster.machines.ids import NodeId, SeatId, name_key, seat_in
from muster.machines.keys import is_same_request, with_digest
from muster.machines.state import Agent, Team
from muster.machines.vocabulary import Role, Scope
from muster.mcp.calls import Asking
from muster.store.codec import decode
from muster.team import Muster
from muster.views.access import Access, access_of, view_scope
from muster.views.answers.agents import CallerView

EVERYBODY: Final = frozenset(Role)
OPERATOR: Final = frozenset({Role.OPERATOR})
PEOPLE: Final = frozenset({Role.OPERATOR, Role.MEMBER})
SPEAKERS: Final = frozenset({Role.OPERATOR, Role.MEMBER, Role.AGENT})
PEOPLE_AND_VIEWERS: Final = PEOPLE | {Role.VIEWER}
ACTORS: Final = frozenset({Role.OPERATOR, Role.AGENT})

SAFE: Final = frozenset({"GET", "HEAD"})
"""Methods that change nothing."""


T = TypeVar("T")


# ── a request ─────────────────────────────────────────────────────────────────────────────────────


class ApiCaller(msgspec.Struct, frozen=True):
    """The authenticated caller of a request."""

    role: Role
    actor: str
    """As the log names it: `person:<name>` for a person, `agent:<name>`."""

    seat: SeatId | None = None
    token: str = ""
    """The id of its token."""

    user: str = ""
    """The user's name; empty for the human of the team, or an agent."""

    scope: Scope | None = None
    """The agents and channels that a member may act on; none for the whole team."""


class ApiCall:
    """One request whose caller is authenticated and allowed to make it."""

    __slots__ = (
        "_present",
        "ask",
        "browsers",
        "caller",
        "is_authorized",
        "key",
        "long_polls",
        "mcp",
        "muster",
        "request",
        "streams",
    )

    def __init__(
        self,
        *,
        muster: Muster,
        streams: Streams,
        browsers: BrowserSessions,
        caller: ApiCaller,
        request: Request,
        body: bytes,
        present: ExitStack,
        is_authorized: Callable[[], bool],
        long_polls: LongPolls,
        ask: Asking,
        mcp: McpDesk,
    ) -> None:
        """Hold the parts. An agent that acts is present until `present` is closed.

        `is_authorized` tells whether the token of the request is still valid, and `ask` sends
        further requests of the same caller.
        """
        self.ask = ask
        self.mcp = mcp
        self.muster = muster
        self.streams = streams
        self.browsers = browsers
        self.caller = caller
        self.request = request
        self.is_authorized = is_authorized
        self.long_polls = long_polls
        self.key = key_of(request, body)
        """The idempotency key of a request that changes something."""

        self._present = present

    @property
    def identity(self) -> CallerView:
        """The caller, as it is told to the caller itself."""
        team, seat = self.muster.team, self.caller.seat
        name = None if seat is None else team.agent(seat).id
        speaker = None if seat is not None else self.speaker
        scope = view_scope(team, self.caller.scope)
        return CallerView(
            role=self.caller.role, agent=name, human=team.human, user=speaker, scope=scope
        )

    @property
    def speaker(self) -> str:
        """The name under which a person acts: a user's own, or that of the team's human."""
        return self.caller.user or self.muster.team.human

    @property
    def access(self) -> Access:
        """The caller's access to channels, as things are now."""
        caller = self.caller
        return access_of(self.muster.team, caller.role, caller.seat, caller.user)

    @property
    def team(self) -> Team:
        """The team as far as it is on disk, without what the caller may not see."""
        return self.access.shown(self.muster.team)

    def agent(self, name: str) -> Agent:
        """The agent with this name; else the one with this document (`agent-identity:9`) or seat.

        A retired agent is found by its name until another one takes it. The machine refuses every
        command about it but the one that brings it back.
        """
        team = self.team
        seat = team.names.get(name_key(name))
        if seat is None:
            seat = seat_in(name)
        found = None if seat is None else team.agents.get(seat)
        found = found or self._renamed_caller(name) or retired_as(team, name)
        if found is None:
            raise NotFound(kind="agent", name=name)
        return found

    def _renamed_caller(self, name: str) -> Agent | None:
        """The calling agent, if this was its name: its program may not know the new one yet."""
        seat = self.caller.seat
        caller = None if seat is None else self.team.agents.get(seat)
        former = () if caller is None else caller.former_names
        return caller if name_key(name) in map(name_key, former) else None

    def require_operator(self, act: str) -> None:
        """Refuse an act of a route that others may call, too."""
        if self.caller.role is not Role.OPERATOR:
            remedy = "Use a token of role operator."
            raise Forbidden(who=f"A {self.caller.role}", act=act, remedy=remedy)

    def check_scope(self, command: Command) -> None:
        """Refuse a command outside of the caller's scope. `send` does, before it sends."""
        check_scope(self.muster.team, self.caller.scope, command, self.muster.clock.now())

    def require_whole_team(self, act: str) -> None:
        """Refuse an act that concerns the whole team to a caller with a scope."""
        if self.caller.scope is not None:
            raise outside_scope(f"the whole team, which is needed to {act}")

    def handed_to(self, name: str | None) -> SeatId | None:
        """The seat of the agent that is handed a turn. A 404 would say that the turn is gone."""
        try:
            return None if name is None else self.agent(name).seat
        except NotFound:
            why = f"must name a member of the channel, and there is no agent {name!r}"
            raise Invalid(what="to", why=why) from None

    def acting_as(self, name: str) -> Agent:
        """The agent with this name, if the caller may act as it. The agent counts as present."""
        agent = self.agent(name)
        caller = self.caller
        if caller.role in (Role.VIEWER, Role.MEMBER):
            remedy = "Use a token of the agent or of an operator."
            raise Forbidden(who=f"A {caller.role}", act=f"act as {agent.id!r}", remedy=remedy)
        if caller.role is Role.AGENT and caller.seat != agent.seat:
            who, act = self.team.agent(caller.seat or SeatId(0)).id, f"act as {agent.id!r}"
            remedy = "An agent's token acts as that agent only."
            raise Forbidden(who=repr(who), act=act, remedy=remedy)
        if caller.role is not Role.AGENT:  # an agent's own call counts as a whole
            self._present.enter_context(self.muster.presence.calling(agent.seat))
        return agent

    async def send(self, command: Command, *, has_key: bool = True) -> Receipt:
        """Send a command of the caller; return when it is on disk.

        A retry with the request's key gets the receipt of the first try. A request that sends
        several commands gives its key to the one that matters.
        """
        actor, key = self.caller.actor, self.key if has_key else None
        self.check_scope(command)
        if getattr(command, "channel", None) in self.access.hidden:
            first = await self.first_try()  # by an agent that has left the channel since
            if first is not None:
                return first
            raise NotFound(kind="channel", name=getattr(command, "channel", None))
        try:
            return await self.muster.dispatcher.send(command, actor=actor, key=key)
        except Repeated as repeated:
            return await self._first_receipt(repeated.seq)

    async def send_more(self, command: Command) -> Receipt:
        """Send a further command of a request, which its key does not belong to."""
        return await self.send(command, has_key=False)

    async def unless_ended(self, work: Awaitable[T]) -> T:
        """Wait for work, unless the caller disconnects or loses its token before."""
        return await self.long_polls.unless_ended(work, self.request, self.is_authorized)

    async def first_try(self) -> Receipt | None:
        """The receipt of the first request with the same key; none if this one is the first."""
        if self.key is None:
            return None
        seq = await self.muster.dispatcher.seq_of_key(self.caller.actor, self.key)
        return None if seq is None else await self._first_receipt(seq)

    async def _first_receipt(self, seq: int) -> Receipt:
        found = [decode(each.data) for each in await self.muster.store.read(after=seq - 1, limit=1)]
        assert self.key is not None
        if not all(is_same_request(self.key, event.key or "") for event in found):
            raise KeyReused(seq=seq)
        return Receipt(seq, found, repeated=True)


def key_of(request: Request, body: bytes) -> str | None:
    """The `Idempotency-Key` of a request that changes something, with a digest of the request."""
    key = request.headers.get("idempotency-key")
    if key is None or request.method in SAFE:
        return None
    line = f"{request.method} {request.url.path}?{request.url.query}\n"
    digest = blake2b(line.encode() + body, digest_size=12).hexdigest()
    return with_digest(key, digest)


# ── a route ───────────────────────────────────────────────────────────────────────────────────────

AnswerT = TypeVar("AnswerT", bound=msgspec.Struct)


class JsonResponse(Response, Generic[AnswerT]):
    """An answer as JSON that needs headers of its own, such as a cookie."""

    def __init__(self, answer: AnswerT, headers: Mapping[str, str]) -> None:
        """Encode the answer."""
        content = msgspec.json.encode(answer)
        super().__init__(content, headers=headers, media_type="application/json")


Answer = msgspec.Struct | Response | EventStream | None
"""A struct, which becomes JSON; a response or a stream, which is sent as it is; or nothing."""

Handler = Callable[..., Awaitable[Answer]]

NodesWithAnswer = Callable[..., Awaitable[Sequence[NodeId]]]
"""The other nodes that may have the answer to a request, from the call and the names in its path.
None of them: this node answers."""


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """A path with a method, who may call it, and what goes in and comes out."""

    method: str
    path: str
    """Names in braces stand for one segment each: `/api/agents/{name}`."""

    handler: Handler
    may: frozenset[Role]
    """Roles that may call it at all."""

    summary: str
    query: type[msgspec.Struct] | None = None
    body: type[msgspec.Struct] | None = None
    """The type of the JSON body; a body that is left out is an empty object."""

    takes: str = ""
    """The media type of a body that is no JSON; the handler reads it."""

    answer: type[msgspec.Struct] | None = None
    status: int = 200
    is_public: bool = False
    """Whether it needs no token. `may` does not matter then."""

    is_waiting: bool = False
    """Whether it is a long poll. Its handler is cancelled when the caller disconnects."""

    is_compressed: bool = False
    """Whether a large answer is compressed."""

    of_node: "NodesWithAnswer | None" = None
    """Finds the other nodes that may have the answer; none if it is the same on all of them."""


def route(
    method: str,
    path: str,
    *,
    may: frozenset[Role] = frozenset(),
    status: int = 200,
    public: bool = False,
    waits: bool = False,
    compress: bool = False,
    takes: str = "",
    of_node: NodesWithAnswer | None = None,
) -> Callable[[Callable[Concatenate[ApiCall, ...], Awaitable[Answer]]], Route]:
    """Declare a handler as the route for a path; `may` names the roles, or it is `public`."""
    if public == bool(may):
        raise TypeError(f"{method} {path}: say who may call it, or that it is public")

    def declare(handler: Handler) -> Route:
        name = f"{method} {path} ({handler.__name__})"
        hints: dict[str, Any] = get_type_hints(handler)  # annotations are any objects at all
        _, *given = inspect.signature(handler).parameters
        names = [each for _, each in names_in(path)]
        if unknown := set(given) ^ {*names, *(set(given) & {"query", "body"})}:
            raise TypeError(f"{name}: parameters and path disagree on {sorted(unknown)}")
        if wrong := [each for each in names if not _is_text(hints[each])]:
            raise TypeError(f"{name}: a segment of a path is text, which {wrong} are not")
        return Route(
            method=method,
            path=path,
            handler=handler,
            may=may,
            summary=" ".join((handler.__doc__ or "").partition("\n\n")[0].split()),
            query=_struct(name, hints.get("query")),
            body=_struct(name, hints.get("body")),
            takes=takes,
            answer=_answer(name, hints["return"]),
            status=status,
            is_public=public,
            is_waiting=waits,
            is_compressed=compress,
            of_node=of_node,
        )

    return declare


def names_in(path: str) -> list[tuple[int, str]]:
    """The names in a path, each with the place of its segment."""
    return [(at, each[1:-1]) for at, each in enumerate(path.split("/")) if is_name(each)]


def is_name(segment: str) -> bool:
    """Whether a segment of a declared path stands for any segment."""
    return segment.startswith("{") and segment.endswith("}")


def _is_text(hint: object) -> bool:
    while isinstance(hint, NewType):
        hint = hint.__supertype__
    return hint is str


def _struct(route: str, hint: object) -> type[msgspec.Struct] | None:
    if hint is None or (isinstance(hint, type) and issubclass(hint, msgspec.Struct)):
        return hint
    raise TypeError(f"{route}: query, body and answer are structs, which {hint} is not")


def _answer(route: str, hint: object) -> type[msgspec.Struct] | None:
    """The struct that the answer is as JSON; nothing where it is empty or a response as it is."""
    if get_origin(hint) is JsonResponse:
        (hint,) = get_args(hint)
    return None if hint is type(None) or _is_response(hint) else _struct(route, hint)


def _is_response(hint: object) -> bool:
    return isinstance(hint, type) and issubclass(hint, Response | EventStream)


def routes_in(module: ModuleType) -> Iterator[Route]:
    """Every route that a module declares, in its order."""
    for value in vars(module).values():
        if isinstance(value, Route):
            yield value
