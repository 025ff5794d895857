"""Delegation over HTTP: sessions, requests, what came of them, routing and permissions.

Folders that come in over HTTP lie in the project: the folder that holds the team's home.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Final
from weakref import WeakKeyDictionary

import msgspec

from muster.delegation import session_folder
from muster.delegation.conversations import ranked
from muster.delegation.desk import Desk
from muster.delegation.policy import policy_of
from muster.delegation.workers import agents_of
from muster.errors import Invalid, NotFound, PathTaken
from muster.http.routing import EVERYBODY, OPERATOR, ApiCall, route
from muster.machines.ids import ConversationId
from muster.machines.state import Delegation
from muster.machines.vocabulary import DelegationMode
from muster.permissions.judge import judge
from muster.routing.agent_files import AgentFile, AgentFolders, find_agents
from muster.routing.router import Router
from muster.team import Muster
from muster.views.answers import View
from muster.views.answers.conversations import (
    ConversationList,
    ConversationView,
    DelegationView,
    RouteView,
)

CONVERSATIONS: Final = 50
CONVERSATIONS_MAX: Final = 1000

_desks: "WeakKeyDictionary[Muster, Desk]" = WeakKeyDictionary()

Folder = Annotated[str, msgspec.Meta(min_length=1, max_length=1024)]


def seat_desk(muster: Muster, desk: Desk) -> None:
    """Let requests that come for this team go to this desk."""
    _desks[muster] = desk


def desk_of(call: ApiCall) -> Desk:
    """The desk of the team that is asked."""
    found = _desks.get(call.muster)
    if found is None:
        raise NotFound(kind="desk", name="delegation")
    return found


def _inside(desk: Desk, folder: str) -> Path:
    """A folder of the project."""
    try:
        path = (desk.project / folder).resolve()
        path.exists()
    except (OSError, ValueError) as wrong:  # too long, or a NUL byte in it
        raise Invalid(what="the path", why=f"cannot be: {wrong}") from wrong
    if not path.is_relative_to(desk.project.resolve()):
        raise PathTaken(path=folder, why="is outside of the project")
    return path


# ── sessions ──────────────────────────────────────────────────────────────────────────────────────


class SessionWish(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Which session is wanted."""

    mode: DelegationMode | None = None
    path: Folder | None = None
    """Its folder, seen from the project; without one it is named after the time."""

    agents: Annotated[tuple[Folder, ...], msgspec.Meta(max_length=16)] = ()
    """Folders with agents, before those of the project and of the user."""


def _view(delegation: Delegation, *, resumed: bool = False) -> DelegationView:
    going_on = sorted(delegation.conversations.values(), key=lambda each: each.id)
    return DelegationView(
        open=delegation.mode is not None,
        mode=delegation.mode,
        path=delegation.path,
        agents=delegation.agents,
        opened=delegation.opened,
        working={each.id: each.state for each in going_on},
        resumed=resumed,
    )


@route("GET", "/api/delegation", may=EVERYBODY)
async def show_session(call: ApiCall) -> DelegationView:
    """Which state machine session is open."""
    return _view(call.team.delegation)


@route("POST", "/api/delegation", may=OPERATOR)
async def start_session(call: ApiCall, body: SessionWish) -> DelegationView:
    """Open a state machine session, or go on with it."""
    desk = desk_of(call)
    given = [_inside(desk, folder) for folder in body.agents]
    found = session_folder.usable(await _found(desk, given))
    name = f"{session_folder.SESSIONS_FOLDER}/{call.muster.clock.now():%Y%m%d_%H%M%S}"
    root = _inside(desk, body.path or name)
    if session_folder.has_session(root):
        raise PathTaken(path=root, why="has a log of its own")
    if call.team.delegation.path != str(root):
        session_folder.prepare(
            root, ours=await session_folder.was_here(desk.conversations.ledger, root)
        )
    delegation, resumed = await session_folder.start(
        desk.conversations.ledger,
        root=root,
        mode=body.mode,
        agents=found.agents,
        folders=session_folder.folders_of(given, project=desk.project, user=Path.home()),
        policy=policy_of(root),
        actor=call.caller.actor,
        allowance=desk.allowance,
    )
    view = _view(delegation, resumed=resumed)
    return msgspec.structs.replace(view, warnings=tuple(map(str, found.warnings)))


@route("DELETE", "/api/delegation", may=OPERATOR)
async def end_session(call: ApiCall) -> DelegationView:
    """Close the state machine session."""
    await session_folder.end(desk_of(call).conversations.ledger, actor=call.caller.actor)
    return _view(call.team.delegation)


# ── conversations ─────────────────────────────────────────────────────────────────────────────────


class Request(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What somebody wants done."""

    text: Annotated[str, msgspec.Meta(min_length=1)]
    to: str | None = None
    """The agent to give it to, whoever matches."""

    wait: bool = True
    """Whether the answer comes when it is done, and not at once."""


class ConversationQuery(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Which conversations."""

    limit: Annotated[int, msgspec.Meta(ge=1, le=CONVERSATIONS_MAX)] = CONVERSATIONS


@route("POST", "/api/conversations", may=OPERATOR)
async def ask(call: ApiCall, body: Request) -> ConversationView:
    """Hand a request to the agent whose description matches."""
    return await desk_of(call).ask(body.text, speaker=call.team.human, to=body.to, wait=body.wait)


@route("GET", "/api/conversations", may=EVERYBODY)
async def list_conversations(call: ApiCall, query: ConversationQuery) -> ConversationList:
    """Conversations with their traces and files."""
    views = await desk_of(call).conversations.views()
    return ConversationList(conversations=tuple(views.values())[-query.limit :])


@route("GET", "/api/conversations/{conversation}", may=EVERYBODY)
async def show_conversation(call: ApiCall, conversation: str) -> ConversationView:
    """One conversation with its trace and files."""
    name = conversation
    found = (await desk_of(call).conversations.views()).get(ConversationId(name))
    if found is None:
        raise NotFound(kind="conversation", name=name)
    return found


# ── routing and permissions ───────────────────────────────────────────────────────────────────────


class RouteWish(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A request that is to be decided about, and nothing more."""

    text: str
    agents: Annotated[tuple[Folder, ...], msgspec.Meta(max_length=16)] = ()
    """Folders with agents, seen from the project; without any, the session's agents."""


@route("POST", "/api/route", may=EVERYBODY)
async def route_request(call: ApiCall, body: RouteWish) -> RouteView:
    """Decide which agent a request is for, and say why."""
    decision = Router(await _agents(call, body)).route(body.text)
    return RouteView(
        agent=decision.agent,
        confidence=decision.confidence,
        margin=decision.margin,
        rule=decision.rule,
        reason=decision.reason,
        router=decision.router,
        candidates=ranked(decision),
    )


async def _agents(call: ApiCall, wish: RouteWish) -> list[AgentFile]:
    if not wish.agents and call.team.delegation.mode is not None:
        return list(agents_of(call.team.delegation).values())
    desk = desk_of(call)
    given = [_inside(desk, folder) for folder in wish.agents]
    return list((await _found(desk, given)).agents)


async def _found(desk: Desk, folders: Sequence[Path]) -> AgentFolders:
    """The agents of folders. Read in a thread: a slow disk must not stop the event loop."""
    return await asyncio.to_thread(find_agents, folders, project=desk.project, user=Path.home())


class ToolCall(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A tool call that is to be judged."""

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
    path = call.team.delegation.path
    policy = policy_of(Path(path) if path else desk_of(call).project)
    verdict = judge(body.state, body.tool, body.input, cwd=body.cwd, policy=policy)
    return VerdictView(
        decision=verdict.decision,
        rule=verdict.rule,
        reason=verdict.with_remedy(),
        delegate_to=None,
    )
