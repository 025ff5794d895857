"""The HTTP interface: which path is answered by what, and what is done around every handler.

The team is open before the server listens and stays open until it has stopped, so there is no
lifespan here to open it: a handler that runs has a team. A request is let in (`auth.py`), found its
route (`routing.py`), parsed, handled and answered; whatever goes wrong on the way is answered as a
problem document (`problems.py`).
"""

import logging
from collections.abc import Awaitable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final, cast

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from muster import limits
from muster.engine.tasks import background
from muster.errors import Invalid, Malformed, MusterError, TooLarge
from muster.http import openapi, problems, signin, static
from muster.http.auth import Gate
from muster.http.browser_sessions import BrowserSessions
from muster.http.routes import (
    agents,
    approvals,
    channels,
    conversations,
    costs,
    dialogues,
    events,
    history,
    identity,
    importing,
    markdown,
    messages,
    next,  # noqa: A004
    runs,
    state,
    tokens,
    turns,
    why,
)
from muster.http.routing import Call, Caller, Found, Route, Table
from muster.team import Muster
from muster.version import __version__

ANSWER_HEADERS: Final = {"cache-control": "no-store", "x-content-type-options": "nosniff"}

NUMBER_MAX: Final = 2**63 - 1

log = logging.getLogger(__name__)


class Health(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """That muster runs."""

    status: str
    version: str
    seq: int


async def health(call: Call) -> Health:
    """Whether muster runs. Open to everybody, so it tells nothing about the team itself."""
    return Health(status="ok", version=__version__, seq=call.team.seq)


HEALTH: Final = Route(
    method="GET",
    path="/api/health",
    handler=health,
    may=frozenset(),
    open=True,
    summary="Whether muster runs.",
    answer=Health,
)


def routes() -> tuple[Route, ...]:
    """Every route that there is."""
    plain = tuple(_plain_routes())
    return (*plain, *openapi.pages(plain))


def _plain_routes() -> Iterator[Route]:
    yield HEALTH
    talking = (channels, turns, messages, next, conversations, dialogues)
    showing = (static, state, costs, history, markdown, why, events)
    acting = (agents, identity, importing, runs, approvals, tokens)
    for module in (signin, *acting, *talking, *showing):
        yield from module.ROUTES


def build(muster: Muster, *, host: str = "127.0.0.1", home: Path | None = None) -> ASGIApp:
    """The application that answers for one open team, under the names of this host.

    Browsers stay signed in over a restart where there is a home to keep their sessions in.
    """
    browsers = BrowserSessions(muster.clock.now, muster.ids, home)
    gate = Gate(
        host=host, passes=muster.passes, browsers=browsers, monotonic=muster.clock.monotonic
    )
    return Api(muster, Table(routes()), gate)


def end_waiting(muster: Muster) -> None:
    """Answer whoever waits for something to happen: the server ends."""
    next.end_waiting(muster)
    events.streams_of(muster.feed).close()


class Api:
    """Answers requests."""

    def __init__(self, muster: Muster, table: Table, gate: Gate) -> None:
        """Answer for this team by these routes."""
        self._muster = muster
        self._table = table
        self._gate = gate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request. Nobody talks to us by anything but HTTP."""
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        with ExitStack() as present:
            response = await self._respond(request, present)
            await response(scope, receive, send)

    async def _respond(self, request: Request, present: ExitStack) -> ASGIApp:
        try:
            found = self._table.find(request.method, _raw_path(request))
            caller = self._gate.admit(request, found.route, self._muster.team)
            call = await self._parsed(request, found, caller, present)
            return await _handled(found.route, call)
        except MusterError as error:
            return problems.answer(error)
        except (ClientDisconnect, _CallerGone):
            return Response()  # nobody hears it
        except Exception:
            extra = {"action": "request_failed", "path": request.url.path}
            log.exception("a request failed", extra=extra)
            return problems.bug()

    async def _parsed(
        self, request: Request, found: Found, caller: Caller, present: ExitStack
    ) -> Call:
        if caller.seat is not None:
            present.enter_context(self._muster.presence.calling(caller.seat))
        route = found.route
        return Call(
            muster=self._muster,
            caller=caller,
            request=request,
            present=present,
            browsers=self._gate.browsers,
            path=found.path,
            query=_query(request, route.query) if route.query else None,
            body=_body(await read_body(request), route.body) if route.body else None,
            key=request.headers.get("idempotency-key"),
        )


def _raw_path(request: Request) -> str:
    """The path as it was sent: what is encoded in a name is a part of the name."""
    raw = cast("bytes | None", request.scope.get("raw_path"))
    return raw.decode("ascii", "replace") if raw is not None else request.url.path


async def _handled(route: Route, call: Call) -> ASGIApp:
    work = route.handler(call)
    answer = await _unless_gone(work, call.request) if route.waits else await work
    if isinstance(answer, Response) or callable(answer):
        return cast("ASGIApp", answer)
    if answer is None:
        return Response(status_code=route.status, headers=ANSWER_HEADERS)
    content = msgspec.json.encode(answer)
    return Response(content, route.status, ANSWER_HEADERS, "application/json")


class _CallerGone(Exception):
    """Whoever asked no longer waits for the answer."""


async def _unless_gone(work: Awaitable[object], request: Request) -> object:
    async with background() as tasks:
        tasks.create_task(_until_gone(request))
        return await work


async def _until_gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
    raise _CallerGone


# ── what comes in ─────────────────────────────────────────────────────────────────────────────────


def _query(request: Request, kind: type[object]) -> object:
    try:
        return _sane(msgspec.convert(dict(request.query_params), kind, strict=False))
    except msgspec.ValidationError as wrong:
        raise Invalid(what="the query", why=f"is not as it should be: {wrong}") from wrong


def _body(content: bytes, kind: type[object]) -> object:
    try:
        return _sane(msgspec.json.decode(content or b"{}", type=kind))
    except msgspec.ValidationError as wrong:
        raise Invalid(what="the body", why=f"is not as it should be: {wrong}") from wrong
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as wrong:
        raise Malformed(what="the body", why=f"is not JSON: {wrong}") from wrong


def _sane(parsed: object) -> object:
    """Refuse numbers that no store can hold and no clock can show."""
    for name in cast("msgspec.Struct", parsed).__struct_fields__:
        value = getattr(parsed, name)
        if isinstance(value, int | float) and not -NUMBER_MAX <= value <= NUMBER_MAX:
            raise Invalid(what=name, why="is out of range")  # and so is what is not a number
    return parsed


async def read_body(request: Request) -> bytes:
    """The whole body. One that is too large is read to its end, so that its sender listens."""
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        size += len(part)
        if size <= limits.REQUEST_BYTES_MAX:
            parts.append(part)
        elif size > limits.DISCARDED_BYTES_MAX:
            break
    if size > limits.REQUEST_BYTES_MAX:
        raise TooLarge(limit=limits.REQUEST_BYTES_MAX)
    return b"".join(parts)
