"""The HTTP interface: the list of routes, and everything around a handler.

The team is open before the server listens and stays open until it has stopped, so there is no
lifespan here to open it: a handler that runs has a team. A request finds its route (`routing.py`),
is authenticated (`auth.py`), parsed, handled and answered; every error on the way becomes a problem
document (`problems.py`).
"""

import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Final, TypeVar, cast

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from muster import limits
from muster.client.requests import ApiRequest
from muster.engine.dispatcher import Commit
from muster.errors import MusterError, NotFound
from muster.http import openapi, problems
from muster.http.auth import AccessControl
from muster.http.compression import compressed
from muster.http.mcp import answering as mcp
from muster.http.mcp.asking import inner_request
from muster.http.mcp.desk import McpDesk
from muster.http.nodes.elsewhere import ask_nodes, decode_request, encode_answer
from muster.http.page import static
from muster.http.parsing import announced_size, parse_body, parse_query, read_body
from muster.http.route_table import RouteTable
from muster.http.routes import (
    agents,
    channels,
    conversations,
    costs,
    dialogues,
    events,
    health,
    history,
    identity,
    importing,
    markdown,
    messages,
    metrics,
    runs,
    state,
    tokens,
    turns,
    why,
    work,
)
from muster.http.routes.content import exports, files, memory, search
from muster.http.routes.operator import programs, settings, users
from muster.http.routes.people import (
    approvals,
    by_hand,
    needs,
    nodes,
    push,
    resuming,
    since,
    workspaces,
)
from muster.http.routing import Answer, ApiCall, ApiCaller, Route, routes_in
from muster.http.signing_in import routes as sign_in_routes
from muster.http.signing_in.browser_sessions import BrowserSessions
from muster.http.signing_in.oidc import routes as sso_routes
from muster.http.signing_in.oidc.flow import OidcSignIns
from muster.http.signing_in.oidc.provider import OidcProvider
from muster.http.signing_in.public_address import PublicAddress
from muster.http.signing_in.refusals import RefusedRequests
from muster.http.signing_in.trusted_header import NO_TRUSTED_HEADER, TrustedHeader
from muster.http.stream import Streams
from muster.http.waiting import CallerGone, LongPolls
from muster.machines.events import SessionEnd, TokenRevoked, TokenRotated, UserRemoved, UserSet
from muster.settings.server import OidcSettings
from muster.team import Muster
from muster.views.answers import Recorded

ANSWER_HEADERS: Final = {"cache-control": "no-store", "x-content-type-options": "nosniff"}

_ENDS_OF_TOKENS: Final = frozenset({TokenRevoked, TokenRotated, UserRemoved, UserSet, SessionEnd})
"""Facts that end tokens or change what they grant, and the end of a session with its own token."""

T = TypeVar("T")

log = logging.getLogger(__name__)


def routes() -> tuple[Route, ...]:
    """Every route."""
    plain = tuple(_plain_routes())
    return (*plain, *openapi.pages(plain))


def _plain_routes() -> Iterator[Route]:
    talking = (
        channels,
        turns,
        messages,
        files,
        search,
        exports,
        work,
        conversations,
        dialogues,
        mcp,
    )
    showing = (static, state, costs, history, markdown, metrics, why, events, workspaces)
    people = (approvals, by_hand, needs, nodes, push, resuming, since, tokens, users)
    acting = (agents, settings, programs, identity, memory, importing, runs, *people)
    for module in (health, sign_in_routes, sso_routes, *acting, *talking, *showing):
        yield from routes_in(module)


def build(
    muster: Muster,
    *,
    host: str = "127.0.0.1",
    home: Path | None = None,
    public_url: str = "",
    trusted: TrustedHeader = NO_TRUSTED_HEADER,
) -> "Api":
    """The application that serves one open team, under the names of this host.

    Browsers stay signed in over a restart if there is a home to keep their sessions in.
    """
    public = PublicAddress.of(public_url)
    browsers = BrowserSessions(muster.clock.wall, muster.ids, home, public, trusted)
    muster.push.subscribers = browsers
    browsers.sso = sso_of(muster.settings.current.oidc, os.environ, muster)
    access = AccessControl(
        host=host,
        session_tokens=muster.session_tokens,
        browsers=browsers,
        monotonic=muster.clock.monotonic,
    )
    return Api(muster, RouteTable(routes()), access)


def sso_of(
    settings: OidcSettings, environ: Mapping[str, str], muster: Muster
) -> OidcSignIns | None:
    """Single sign-on, if the settings name a provider."""
    if not settings.issuer:
        return None
    provider = OidcProvider(settings, environ.get(settings.secret_env, ""))
    return OidcSignIns(provider, muster.clock.wall, muster.ids)


class Api:
    """Answers requests for one team."""

    def __init__(self, muster: Muster, table: RouteTable, access: AccessControl) -> None:
        """Answer for this team by these routes."""
        self._muster = muster
        self._table = table
        self._access = access
        self._streams = Streams(muster.feed, muster.partials)
        self._long_polls = LongPolls()
        self._mcp = McpDesk()
        self._refused = RefusedRequests(muster.dispatcher, muster.clock)
        muster.dispatcher.watch(self._on_commit)
        muster.nodes.answer_with(self._answer_node)

    def sign_in_code(self, token_digest: str) -> str:
        """A code that signs a browser in once, with the token of this digest."""
        return self._access.browsers.codes.issue(token_digest).code

    def end_waiting(self) -> None:
        """Answer long polls and end streams: the server is shutting down."""
        self._muster.inbox.close()
        self._muster.requests.close()
        self._streams.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request. Protocols other than HTTP are ignored."""
        if scope["type"] != "http":
            return
        request, began = Request(scope, receive), self._muster.clock.monotonic()
        with ExitStack() as present:
            response = await self._respond(request, present)
        if log.isEnabledFor(logging.DEBUG):
            self._log_request(request, response, began)
        # Sending is no sign of life: a stopped process takes nothing, and an event stream lasts.
        await response(scope, receive, send)

    def _log_request(self, request: Request, response: ASGIApp, began: float) -> None:
        """Log a request that is about to be answered, without its query, which may be private."""
        status = response.status_code if isinstance(response, Response) else 200
        milliseconds = round((self._muster.clock.monotonic() - began) * 1000, 3)
        extra = {
            "action": "request",
            "method": request.method,
            "path": request.url.path,
            "status": status,
            "milliseconds": milliseconds,
        }
        log.debug("%s %s: %d", request.method, request.url.path, status, extra=extra)

    async def _respond(self, request: Request, present: ExitStack) -> ASGIApp:
        try:
            return await self._handle(request, present)
        except MusterError as error:
            self._refused.count(error, self._access.name_of(request, self._muster.team))
            return problems.answer(error)
        except (ClientDisconnect, CallerGone):
            return Response()  # the caller has disconnected
        except Exception:
            extra = {"action": "request_failed", "path": request.url.path}
            log.exception("a request failed", extra=extra)
            return problems.bug()

    async def _handle(self, request: Request, present: ExitStack) -> ASGIApp:
        route, answer = await self._answer(request, present)
        return _response(route, request, answer)

    async def _answer(self, request: Request, present: ExitStack) -> tuple[Route, Answer]:
        own_path = self._access.browsers.public.without_prefix(_raw_path(request))
        route, path = self._table.find(request.method, own_path)
        caller = self._access.admit(request, route, self._muster.team)
        if not route.is_public:
            self._access.spend_quota(caller, request, announced_size(request))
        if self._muster.files is not None:
            self._muster.files.disk.require_room(announced_size(request))
        if caller.seat is not None:
            present.enter_context(self._muster.presence.calling(caller.seat))
        arguments: dict[str, object] = {**path}
        body = b""
        if route.query is not None:
            arguments["query"] = parse_query(request, route.query)
        if route.body is not None:
            open_max, usual = limits.OPEN_BODY_BYTES_MAX, limits.REQUEST_BYTES_MAX
            body = await read_body(request, open_max if route.is_public else usual)
            arguments["body"] = parse_body(body, route.body)
        call = self._call(request, caller, present, body)
        if route.answer is Recorded and (first := await call.first_try()) is not None:
            return route, Recorded(seq=first.seq, repeated=True)
        if route.of_node is not None and (others := await route.of_node(call, **path)):
            return route, await ask_nodes(call, others, own_path)
        work = route.handler(call, **arguments)
        return route, await (call.unless_ended(work) if route.is_waiting else work)

    def _call(
        self, request: Request, caller: ApiCaller, present: ExitStack, body: bytes = b""
    ) -> ApiCall:
        return ApiCall(
            muster=self._muster,
            streams=self._streams,
            browsers=self._access.browsers,
            caller=caller,
            request=request,
            body=body,
            present=present,
            is_authorized=lambda: self._access.is_still(request, self._muster.team, caller),
            long_polls=self._long_polls,
            ask=partial(self._ask_for, request),
            mcp=self._mcp,
        )

    async def _answer_node(self, content: bytes) -> bytes:
        """Answer a request that came to another node, for the caller whom that one admitted."""
        asked = decode_request(content)
        request = asked.asgi()
        try:
            route, path = self._table.find(request.method, asked.path)
            if route.of_node is None:
                raise NotFound(kind="path", name=asked.path)
            arguments: dict[str, object] = {**path}
            if route.query is not None:
                arguments["query"] = parse_query(request, route.query)
            with ExitStack() as present:
                call = self._call(request, asked.caller, present)
                response = _response(route, request, await route.handler(call, **arguments))
            assert isinstance(response, Response)
            self._muster.nodes.check_size(len(response.body))
        except MusterError as error:
            response = problems.answer(error)
        except Exception:
            extra = {"action": "request_failed", "path": asked.path}
            log.exception("a request of another node failed", extra=extra)
            response = problems.bug()
        return encode_answer(response)

    async def _ask_for(self, outer: Request, request: ApiRequest[T]) -> T:
        """Answer a request within another one: as its caller, by the same checks and bounds.

        Nothing is encoded: an answer is a struct of the type that the request names.
        """
        with ExitStack() as present:
            _, answer = await self._answer(inner_request(outer, request), present)
        return cast("T", answer)

    def _on_commit(self, commit: Commit) -> None:
        """End the streams and long polls of tokens that a commit has ended."""
        if all(type(event.fact) not in _ENDS_OF_TOKENS for event in commit.events):
            return
        self._streams.end_unauthorized()
        self._long_polls.end_unauthorized()


def _raw_path(request: Request) -> str:
    """The path as it was sent: an encoded slash is part of a name."""
    raw = cast("bytes | None", request.scope.get("raw_path"))
    return raw.decode("ascii", "replace") if raw is not None else request.url.path


def _response(route: Route, request: Request, answer: Answer) -> ASGIApp:
    if answer is None:
        return Response(status_code=route.status, headers=ANSWER_HEADERS)
    if not isinstance(answer, msgspec.Struct):
        return answer
    content = msgspec.json.encode(answer)
    if route.is_compressed:
        return compressed(request, content, route.status)
    return Response(content, route.status, ANSWER_HEADERS, "application/json")
