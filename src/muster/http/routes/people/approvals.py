"""Approvals over HTTP: what waits for a person's permission, and the person's answer.

Only an operator answers. An agent can ask and see the open requests, and can never allow one.
"""

import asyncio
from contextlib import suppress
from typing import Annotated, Final

import msgspec

from muster.engine.dispatcher import Receipt
from muster.errors import Invalid, NotFound
from muster.http.log_pages import read_slice
from muster.http.routing import ACTORS, EVERYBODY, PEOPLE, ApiCall, route
from muster.http.types import Note, Query, Seconds, StrictBody
from muster.inbox.errands import is_away
from muster.limits import APPROVAL_DETAIL_CHARS_MAX, NAME_CHARS_MAX
from muster.machines.approvals.decide import open_approval
from muster.machines.commands import AnswerApproval, ConnectAgent, RequestApproval
from muster.machines.events import ApprovalAnswered, ApprovalRequested
from muster.machines.ids import SessionId
from muster.machines.state import Agent
from muster.machines.vocabulary import ApprovalScope
from muster.store.base import LogFilter
from muster.store.codec import decode
from muster.views.answers.agents import ApprovalList, Settled
from muster.views.answers.approvals import ApprovalState, DecisionList
from muster.views.approvals import view_approvals, view_decisions
from muster.views.why import SEQ_MAX, approval_and_answer, read_async

DECISIONS: Final = 50
DECISIONS_MAX: Final = 500

REQUEST_SECONDS: Final = 600.0
"""How long a request is open, as in the settings of an agent."""

BY_SESSION: Final = "session:"
"""The id of a session's own token begins with it."""


class ApprovalBody(StrictBody, frozen=True, kw_only=True):
    """A person's answer to a request."""

    allow: bool
    note: Note = ""
    """The reason, which the agent is told."""

    scope: ApprovalScope = ApprovalScope.ONCE
    """How far a permission reaches: this call, calls of its kind in this session, or all later ones
    too. The request's `rules` say which calls these are."""


@route("GET", "/api/approvals", may=EVERYBODY)
async def list_approvals(call: ApiCall) -> ApprovalList:
    """List the tool calls that wait for a person's approval."""
    return view_approvals(call.team)


class RequestBody(StrictBody, frozen=True, kw_only=True):
    """Something that an agent wants a person to allow."""

    tool: Annotated[str, msgspec.Meta(min_length=1, max_length=NAME_CHARS_MAX)]
    """What it wants to use, in a word."""

    detail: Annotated[str, msgspec.Meta(min_length=1, max_length=APPROVAL_DETAIL_CHARS_MAX)]
    """What exactly it wants to do, for the person who decides."""

    seconds: Seconds = REQUEST_SECONDS
    """After that many seconds without an answer it is denied."""

    agent: str | None = None
    """The agent that asks, where the caller is an operator."""


@route("POST", "/api/approvals", may=ACTORS, status=201)
async def request_approval(call: ApiCall, body: RequestBody) -> ApprovalState:
    """Ask a person for approval, as an agent. Its turn waits for the answer.

    A request ends with the session that made it. That of an agent that connects by itself ends when
    the agent leaves.
    """
    first = await call.first_try()
    if first is None:
        agent, session = await _asking(call, body.agent)
        first = await call.send(
            RequestApproval(
                session=session,
                seat=agent.seat,
                tool=body.tool,
                detail=body.detail,
                seconds=body.seconds,
            )
        )
    asked = first.events[0].fact
    assert isinstance(asked, ApprovalRequested)
    return await _state(call, asked.approval)


async def _asking(call: ApiCall, name: str | None) -> tuple[Agent, SessionId | None]:
    """The agent that asks, and its session: that of the caller's token, or else its own.

    An agent that connects by itself has none, and is connected by its request.
    """
    if name is None and call.identity.agent is None:
        raise Invalid(what="agent", why="must be named: an operator asks for no approval itself")
    agent = call.acting_as(name or call.identity.agent or "")
    by_token = SessionId(call.caller.token.removeprefix(BY_SESSION))
    if by_token in (agent.session, *agent.tasks):
        return agent, by_token
    if agent.session is None and is_away(agent):
        await call.send_more(ConnectAgent(seat=agent.seat))
    return agent, agent.session


class ApprovalQuery(Query, frozen=True, kw_only=True):
    """How long to wait for the answer."""

    wait: Annotated[float, msgspec.Meta(ge=0, le=60)] = 0.0
    """Seconds. Without any, the request is shown as it is."""


@route("GET", "/api/approvals/{approval}", may=EVERYBODY, waits=True)
async def show_approval(call: ApiCall, approval: str, query: ApprovalQuery) -> ApprovalState:
    """Show a request for approval, and its answer when there is one; with `wait`, wait for it."""
    shown = await _state(call, approval)
    if shown.open and query.wait:
        with suppress(TimeoutError, NotFound):  # in the end it is answered, or it is still open
            async with asyncio.timeout(query.wait):
                await _until_answered(call, approval)
        shown = await _state(call, approval)
    return shown


async def _until_answered(call: ApiCall, approval: str) -> None:
    """Wait until a request is open no longer. Raises `NotFound` then."""
    seat = open_approval(call.muster.team, approval)[0].seat
    while not call.muster.inbox.closed:
        # Subscribed before the state is read: an answer in between wakes this request.
        news = call.muster.inbox.news(seat)
        open_approval(call.muster.team, approval)
        await news.wait()


async def _state(call: ApiCall, approval: str) -> ApprovalState:
    reading = approval_and_answer(approval)
    request, answer = await read_async(call.muster.store, reading, call.access.shown_event)
    asked, fact = request.fact, None if answer is None else answer.fact
    assert isinstance(asked, ApprovalRequested)
    told = fact if isinstance(fact, ApprovalAnswered) else None
    return ApprovalState(
        id=asked.approval,
        agent=call.team.agent(asked.seat).id,
        tool=asked.tool,
        detail=asked.detail,
        until=asked.until,
        open=told is None,
        allow=None if told is None else told.allow,
        how=None if told is None else told.how,
        note="" if told is None else told.note,
        scope=None if told is None else told.scope,
        rules=asked.rules,
    )


class DecisionQuery(Query, frozen=True, kw_only=True):
    """Which decisions."""

    agent: str | None = None
    before: Annotated[int, msgspec.Meta(ge=1, le=SEQ_MAX)] | None = None
    """Only those before this place in the log."""

    limit: Annotated[int, msgspec.Meta(ge=1, le=DECISIONS_MAX)] = DECISIONS


@route("GET", "/api/decisions", may=EVERYBODY)
async def list_decisions(call: ApiCall, query: DecisionQuery) -> DecisionList:
    """List who allowed or denied what, the newest first."""
    seat = None if query.agent is None else call.agent(query.agent).seat
    where = LogFilter(types=frozenset({"approval_answered"}), seat=seat)
    found, _, _ = await read_slice(call, where, None, query.limit + 1, before=query.before)
    answers = [decode(each.data) for each in reversed(found)][: query.limit]
    requests: dict[str, ApprovalRequested] = {}
    for each in answers:
        assert isinstance(each.fact, ApprovalAnswered)
        asked = await _asked(call, each.fact.approval)
        if asked is not None:
            requests[asked.approval] = asked
    return DecisionList(
        decisions=view_decisions(call.team, answers, requests),
        before=answers[-1].seq if len(found) > query.limit else None,
    )


async def _asked(call: ApiCall, approval: str) -> ApprovalRequested | None:
    """The request of an answer. A request's id is its place."""
    found = await call.muster.store.read(after=int(approval) - 1, limit=1)
    fact = decode(found[0].data).fact if found else None
    return fact if isinstance(fact, ApprovalRequested) else None


@route("POST", "/api/approvals/{approval}", may=PEOPLE)
async def answer_approval(call: ApiCall, approval: str, body: ApprovalBody) -> Settled:
    """Allow a tool call that waits for approval, or deny it. The first answer counts."""
    first = await call.first_try()
    if first is not None:
        return await _settled(call, first)
    agent, asked = open_approval(call.team, approval)
    command = AnswerApproval(approval=asked.id, allow=body.allow, note=body.note, scope=body.scope)
    receipt = await call.send(command)
    return Settled(
        seq=receipt.seq,
        id=asked.id,
        agent=agent.id,
        tool=asked.tool,
        allow=body.allow,
        scope=body.scope,
    )


async def _settled(call: ApiCall, first: Receipt) -> Settled:
    """The answer that was given before with the same key. A request's id is its place."""
    answer = first.events[0].fact
    assert isinstance(answer, ApprovalAnswered)
    found = await call.muster.store.read(after=int(answer.approval) - 1, limit=1)
    asked = decode(found[0].data).fact
    assert isinstance(asked, ApprovalRequested)
    return Settled(
        seq=first.seq,
        id=answer.approval,
        agent=call.team.agent(answer.seat).id,
        tool=asked.tool,
        allow=answer.allow,
        scope=answer.scope,
    )
