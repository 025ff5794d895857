"""Delegation over HTTP: sessions, requests, conversations, routing and permissions.

All paths in requests lie in the project: the folder that holds the team's home.
"""

import asyncio
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec

from muster.delegation.assignments import Nesting
from muster.delegation.conversations import past_choices, ranked
from muster.delegation.policy import policy_of
from muster.errors import NotFound
from muster.http.routing import EVERYBODY, OPERATOR, PEOPLE, SPEAKERS, ApiCall, route
from muster.machines.commands import (
    CancelConversation,
    ForgetChoice,
    LogConversation,
    RememberChoice,
)
from muster.machines.ids import ConversationId, WorkspaceId
from muster.machines.state import Delegation
from muster.machines.vocabulary import DelegationMode, WorkspaceState
from muster.views.answers import View
from muster.views.answers.conversations import (
    CarriedOut,
    ChoiceList,
    ConversationList,
    ConversationView,
    DelegationView,
    RouteView,
)
from muster.views.conversations import choice_list, continued, worker_of
from muster.worker.judging import judged
from muster.worker.routing import routed
from muster.workspaces.rules import open_workspace

CONVERSATIONS: Final = 50
CONVERSATIONS_MAX: Final = 1000

Folder = Annotated[str, msgspec.Meta(min_length=1, max_length=1024)]


# ── sessions ──────────────────────────────────────────────────────────────────────────────────────


class SessionWish(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The session to open."""

    mode: DelegationMode | None = None
    path: Folder | None = None
    """Its folder, relative to the project; without one, it is named after the current time."""

    agents: Annotated[tuple[Folder, ...], msgspec.Meta(max_length=16)] = ()
    """Folders with agents; they come before those of the project and of the user."""


def _root(call: ApiCall) -> Path:
    """The folder of the session, also if it was moved with its project."""
    return call.muster.requests.conversations.log_provider.folder(call.team).root


def _view(call: ApiCall, delegation: Delegation, *, resumed: bool = False) -> DelegationView:
    going_on = sorted(delegation.conversations.values(), key=lambda each: each.id)
    return DelegationView(
        open=delegation.mode is not None,
        mode=delegation.mode,
        path=str(_root(call)) if delegation.path else "",
        agents=delegation.agents,
        opened=delegation.opened,
        working={each.id: each.state for each in going_on},
        resumed=resumed,
    )


@route("GET", "/api/delegation", may=EVERYBODY)
async def show_session(call: ApiCall) -> DelegationView:
    """Show the state machine session that is open."""
    return _view(call, call.team.delegation)


@route("POST", "/api/delegation", may=OPERATOR)
async def start_session(call: ApiCall, body: SessionWish) -> DelegationView:
    """Open a state machine session, or resume it."""
    if await call.first_try() is not None:
        return _view(call, call.team.delegation, resumed=True)
    opened = await call.muster.requests.open_session(
        mode=body.mode, path=body.path, agents=body.agents, actor=call.caller.actor, key=call.key
    )
    view = _view(call, opened.delegation, resumed=opened.resumed)
    return msgspec.structs.replace(view, warnings=tuple(map(str, opened.warnings)))


@route("DELETE", "/api/delegation", may=OPERATOR)
async def end_session(call: ApiCall) -> DelegationView:
    """Close the state machine session."""
    if await call.first_try() is None:
        await call.muster.requests.end_session(actor=call.caller.actor, key=call.key)
    return _view(call, call.team.delegation)


class QueueWish(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The agents whose messages in the queue are carried out."""

    agents: Annotated[tuple[str, ...], msgspec.Meta(max_length=256)] = ()
    """The names of these agents; none stand for all."""

    until_empty: bool = False
    """Whether to answer when the queue is empty, and not when the session ends."""


@route("POST", "/api/delegation/queue", may=OPERATOR)
async def run_queue(call: ApiCall, body: QueueWish) -> CarriedOut:
    """Carry out the messages in the queue, until it is empty or the session ends."""
    queue = call.muster.requests.queue
    done = await queue.carry_out(body.agents, until_empty=body.until_empty)
    return CarriedOut(conversations=done)


class IndexLine(msgspec.Struct, frozen=True, kw_only=True):
    """A line for the index of conversations."""

    entry: Annotated[str, msgspec.Meta(min_length=1)]


@route("POST", "/api/delegation/log", may=OPERATOR)
async def log_line(call: ApiCall, body: IndexLine) -> DelegationView:
    """Write a line into the index of conversations."""
    await call.send(LogConversation(entry=body.entry))
    return _view(call, call.team.delegation)


# ── conversations ─────────────────────────────────────────────────────────────────────────────────


class Request(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A request to the session."""

    text: Annotated[str, msgspec.Meta(min_length=1)]
    to: str | None = None
    """The agent to give it to; without one, the request is routed."""

    wait: bool = True
    """Whether to answer when the request is done, and not at once."""

    depth: Annotated[int, msgspec.Meta(ge=0, le=1_000_000)] = 0
    """How many agents the request is nested in: MUSTER_ASK_DEPTH, if an agent asks."""

    agent: str = ""
    """The agent that asks, if it is one. An agent's token asks as that agent in any case."""

    continues: ConversationId | None = None
    """An earlier conversation that this goes on from: its agent gets the request, if none is named,
    with what it was asked and answered."""


class ConversationQuery(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A selection of conversations."""

    limit: Annotated[int, msgspec.Meta(ge=1, le=CONVERSATIONS_MAX)] = CONVERSATIONS


@route("POST", "/api/conversations", may=SPEAKERS)
async def ask(call: ApiCall, body: Request) -> ConversationView:
    """Hand a request to the agent whose description matches."""
    call.require_whole_team("hand a request to it")
    requests = call.muster.requests
    text, to, workspace = body.text, body.to, None
    if body.continues is not None:
        earlier = await _find(call, body.continues)
        text, to = continued(earlier, text), to or worker_of(earlier)
        workspace = _workspace_of(call, body.continues)
    return await requests.ask(
        text,
        speaker=call.speaker,
        to=to,
        wait=body.wait,
        key=call.key,
        nesting=_nesting(call, body),
        workspace=workspace,
    )


def _nesting(call: ApiCall, body: Request) -> Nesting:
    """The asker: the agent of the token, or else the one that the request names."""
    seat = call.caller.seat
    if seat is None:
        return Nesting(body.depth, body.agent)
    return Nesting(max(body.depth, 1), call.team.agent(seat).id)


def _workspace_of(call: ApiCall, conversation: ConversationId) -> WorkspaceId | None:
    """The worktree of an earlier conversation, if it is still there: the next one goes on in it."""
    found = open_workspace(call.team, conversation=conversation)
    if found is None or found.state is not WorkspaceState.OPEN or call.team.is_worked_in(found):
        return None
    return found.id


@route("GET", "/api/conversations", may=EVERYBODY)
async def list_conversations(call: ApiCall, query: ConversationQuery) -> ConversationList:
    """Conversations with their traces and files."""
    views = await call.muster.requests.conversations.views()
    return ConversationList(conversations=tuple(views.values())[-query.limit :])


@route("GET", "/api/conversations/{conversation}", may=EVERYBODY)
async def show_conversation(call: ApiCall, conversation: str) -> ConversationView:
    """One conversation with its trace and files."""
    return await _find(call, ConversationId(conversation))


@route("POST", "/api/conversations/{conversation}/cancel", may=PEOPLE)
async def cancel_conversation(call: ApiCall, conversation: str) -> ConversationView:
    """End a request that is no longer wanted, and stop the work on it."""
    await call.send(CancelConversation(conversation=ConversationId(conversation)))
    return await _find(call, ConversationId(conversation))


async def _find(call: ApiCall, name: ConversationId) -> ConversationView:
    found = (await call.muster.requests.conversations.views()).get(name)
    if found is None:
        raise NotFound(kind="conversation", name=name)
    return found


# ── choices of people ─────────────────────────────────────────────────────────────────────────────


class ChoiceWish(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A request, and the agent that it is for."""

    text: Annotated[str, msgspec.Meta(min_length=1)]
    agent: str
    """An agent of the session, or MAIN."""

    guess: str = ""
    """The agent that the router chose, if this corrects it."""


@route("GET", "/api/delegation/choices", may=EVERYBODY)
async def list_choices(call: ApiCall) -> ChoiceList:
    """List the choices of people that routing remembers."""
    return choice_list(call.team.delegation)


@route("POST", "/api/delegation/choices", may=OPERATOR)
async def remember_choice(call: ApiCall, body: ChoiceWish) -> ChoiceList:
    """Remember the agent for a request: the same request goes there, and similar ones rather."""
    await call.send(RememberChoice(text=body.text, to=body.agent, guess=body.guess))
    return choice_list(call.team.delegation)


@route("DELETE", "/api/delegation/choices/{number}", may=OPERATOR)
async def forget_choice(call: ApiCall, number: str) -> ChoiceList:
    """Forget a choice."""
    if not (number.isascii() and number.isdecimal() and len(number) < 10):
        raise NotFound(kind="remembered choice", name=number)
    await call.send(ForgetChoice(number=int(number)))
    return choice_list(call.team.delegation)


@route("DELETE", "/api/delegation/choices", may=OPERATOR)
async def forget_choices(call: ApiCall) -> ChoiceList:
    """Forget all choices."""
    await call.send(ForgetChoice())
    return choice_list(call.team.delegation)


# ── routing and permissions ───────────────────────────────────────────────────────────────────────


class RouteWish(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A request to route without opening a conversation."""

    text: str
    agents: Annotated[tuple[Folder, ...], msgspec.Meta(max_length=16)] = ()
    """Folders with agents, relative to the project; without any, the session's agents."""


@route("POST", "/api/route", may=EVERYBODY)
async def route_request(call: ApiCall, body: RouteWish) -> RouteView:
    """Decide which agent a request is for, and say why."""
    agents = await call.muster.requests.agents(body.agents)
    choices = past_choices(call.team.delegation.choices)
    deciding = routed(call.muster.worker, agents, choices, body.text, owner=call.caller.token)
    decision = await call.unless_ended(deciding)
    return RouteView(
        agent=decision.agent,
        confidence=decision.confidence,
        margin=decision.margin,
        rule=decision.rule,
        reason=decision.reason,
        router=decision.router,
        candidates=ranked(decision.candidates),
        ambiguous=decision.ambiguous,
    )


class ToolCall(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A tool call to judge."""

    state: str
    tool: str
    input: dict[str, Any]  # whatever the tool takes
    cwd: str | None = None


class VerdictView(View, frozen=True, kw_only=True):
    """Whether a state may make a call, by which rule, and who could do it instead."""

    decision: str
    rule: str
    reason: str
    delegate_to: str | None


@route("POST", "/api/permit", may=EVERYBODY)
async def permit(call: ApiCall, body: ToolCall) -> VerdictView:
    """Judge a tool call by the permissions of a state."""
    root = _root(call) if call.team.delegation.path else call.muster.requests.project
    policy = await asyncio.to_thread(policy_of, root)  # agents can write the file
    judging = judged(
        call.muster.worker,
        [body.state],
        body.tool,
        body.input,
        cwd=body.cwd,
        policy=policy,
        owner=call.caller.token,
    )
    verdict = await call.unless_ended(judging)
    return VerdictView(
        decision=verdict.decision,
        rule=verdict.rule,
        reason=verdict.with_remedy(),
        delegate_to=None,
    )
