"""Changes and workspaces over HTTP: what differs, and what becomes of it."""

from typing import Annotated

import msgspec

from muster.errors import Forbidden, NotFound
from muster.http.nodes.elsewhere import agent_node, session_node
from muster.http.routing import EVERYBODY, OPERATOR, PEOPLE, ApiCall, route
from muster.http.types import Body, Query
from muster.machines.commands import SendMessage
from muster.machines.ids import ConversationId, WorkspaceId
from muster.machines.state import Agent, Workspace
from muster.views.answers import Recorded
from muster.views.answers.workspaces import (
    Changes,
    FileDiff,
    TurnList,
    WorkPlace,
    WorkspaceList,
    WorkspaceView,
)
from muster.views.memory.digest import written_files
from muster.workspaces.answering import (
    agent_changes,
    agent_diff,
    agent_place,
    agent_turns,
    task_changes,
    task_diff,
    task_turns,
)
from muster.workspaces.viewing import view_workspace, view_workspaces

BranchName = Annotated[str, msgspec.Meta(max_length=250)]


# ── reading ───────────────────────────────────────────────────────────────────────────────────────


@route("GET", "/api/workspaces", may=EVERYBODY)
async def list_workspaces(call: ApiCall) -> WorkspaceList:
    """List the git worktrees of agents and tasks."""
    return view_workspaces(call.team)


def _reads(call: ApiCall, agent: Agent) -> Agent:
    """The agent, unless its work may repeat what was said in a channel hidden from the caller."""
    if agent.seat in call.access.insiders:
        remedy = "It is in a private channel; a member or an operator may."
        raise Forbidden(who="You", act=f"read the changes of {agent.id!r}", remedy=remedy)
    return agent


@route("GET", "/api/agents/{name}/place", may=EVERYBODY, of_node=agent_node)
async def show_agent_place(call: ApiCall, name: str) -> WorkPlace:
    """Show the folder that an agent works in, and the branch that is checked out there."""
    return await agent_place(call.muster.workspaces, call.agent(name))


class TurnQuery(Query, frozen=True, kw_only=True):
    """Which changes."""

    turn: Annotated[str, msgspec.Meta(max_length=64)] = ""
    """Only those of this turn; left out, all of them."""


@route("GET", "/api/agents/{name}/turns", may=EVERYBODY, of_node=agent_node)
async def list_agent_turns(call: ApiCall, name: str) -> TurnList:
    """List the turns in which an agent changed files of its worktree."""
    return await agent_turns(call.muster.workspaces, _reads(call, call.agent(name)))


@route("GET", "/api/conversations/{conversation}/turns", may=EVERYBODY, of_node=session_node)
async def list_task_turns(call: ApiCall, conversation: str) -> TurnList:
    """List the turns in which a task changed files of its worktree."""
    return await task_turns(call.muster.workspaces, ConversationId(conversation))


@route("GET", "/api/agents/{name}/changes", may=EVERYBODY, compress=True, of_node=agent_node)
async def show_agent_changes(call: ApiCall, name: str, query: TurnQuery) -> Changes:
    """List the files that an agent has changed, in its worktree or in the shared folder."""
    agent, store = _reads(call, call.agent(name)), call.muster.store
    show = call.access.shown_event
    named = await written_files(store, agent, 0, call.team.seq, show)
    touched = {path for _, path in named}
    return await agent_changes(call.muster.workspaces, agent, touched, query.turn)


@route("GET", "/api/agents/{name}/changes/{file}", may=EVERYBODY, compress=True, of_node=agent_node)
async def show_agent_diff(call: ApiCall, name: str, file: str, query: TurnQuery) -> FileDiff:
    """Show the diff of one file that an agent has changed."""
    agent = _reads(call, call.agent(name))
    return await agent_diff(call.muster.workspaces, agent, file, query.turn)


@route(
    "GET",
    "/api/conversations/{conversation}/changes",
    may=EVERYBODY,
    compress=True,
    of_node=session_node,
)
async def show_task_changes(call: ApiCall, conversation: str, query: TurnQuery) -> Changes:
    """List the files that a task has changed in its worktree."""
    task = ConversationId(conversation)
    return await task_changes(call.muster.workspaces, task, query.turn)


@route(
    "GET",
    "/api/conversations/{conversation}/changes/{file}",
    may=EVERYBODY,
    compress=True,
    of_node=session_node,
)
async def show_task_diff(call: ApiCall, conversation: str, file: str, query: TurnQuery) -> FileDiff:
    """Show the diff of one file that a task has changed."""
    task = ConversationId(conversation)
    return await task_diff(call.muster.workspaces, task, file, query.turn)


# ── acting ────────────────────────────────────────────────────────────────────────────────────────


class MergeBody(Body, frozen=True, kw_only=True):
    """Where changes are merged."""

    into: BranchName = ""
    """The branch; left out, the one that the worktree was made from."""


class RebaseBody(Body, frozen=True, kw_only=True):
    """Where a branch is rebased."""

    onto: BranchName = ""
    """The branch; left out, the one that the worktree was made from."""


class DiscardBody(Body, frozen=True, kw_only=True):
    """How a workspace is discarded."""

    force: bool = False
    """Discard it with its unmerged work."""


class AskForChangesBody(Body, frozen=True, kw_only=True):
    """The changes that a person asks an agent for."""

    text: Annotated[str, msgspec.Meta(min_length=1)]
    path: str = ""
    """The file that it is about."""

    line: Annotated[int, msgspec.Meta(ge=1)] | None = None


@route("POST", "/api/workspaces/{workspace}/merge", may=OPERATOR)
async def merge_workspace(call: ApiCall, workspace: str, body: MergeBody) -> WorkspaceView:
    """Merge a workspace into a branch. A conflict is refused, and changes nothing."""
    name = WorkspaceId(workspace)
    if await call.first_try() is None:
        merge = call.muster.workspaces.merge
        await merge(name, actor=call.caller.actor, key=call.key, into=body.into)
    return view_workspace(call.team, call.team.workspace(name))


@route("POST", "/api/workspaces/{workspace}/rebase", may=OPERATOR)
async def rebase_workspace(call: ApiCall, workspace: str, body: RebaseBody) -> WorkspaceView:
    """Rebase a workspace onto a branch. A conflict is refused, and changes nothing."""
    name = WorkspaceId(workspace)
    if await call.first_try() is None:
        rebase = call.muster.workspaces.rebase
        await rebase(name, actor=call.caller.actor, key=call.key, onto=body.onto)
    return view_workspace(call.team, call.team.workspace(name))


@route("POST", "/api/workspaces/{workspace}/discard", may=OPERATOR)
async def discard_workspace(call: ApiCall, workspace: str, body: DiscardBody) -> WorkspaceView:
    """Remove a worktree and its branch; with unmerged work only by force."""
    name = WorkspaceId(workspace)
    if await call.first_try() is None:
        discard = call.muster.workspaces.discard
        await discard(name, actor=call.caller.actor, key=call.key, force=body.force)
    return view_workspace(call.team, call.team.workspace(name))


@route("POST", "/api/workspaces/{workspace}/ask", may=PEOPLE, status=201)
async def ask_for_changes(call: ApiCall, workspace: str, body: AskForChangesBody) -> Recorded:
    """Ask the agent of a workspace for changes: by a message, or as a task that goes on in it."""
    found = call.team.workspace(WorkspaceId(workspace))
    text = _asked(found, body)
    if found.conversation is None:
        if found.seat is None:
            raise NotFound(kind="agent of the workspace", name=workspace)
        message = SendMessage(text=text, speaker_name=call.speaker, seat=found.seat)
        return Recorded(seq=(await call.send(message)).seq)
    call.require_whole_team("hand a request to it")
    await call.muster.requests.ask(
        text,
        speaker=call.speaker,
        to=found.agent_name,
        wait=False,
        key=call.key,
        workspace=found.id,
    )
    return Recorded(seq=call.team.seq)


def _asked(workspace: Workspace, body: AskForChangesBody) -> str:
    """The request in words, with the place that it is about."""
    where = f" in {body.path}" if body.path else ""
    where += f", line {body.line}" if body.path and body.line else ""
    return f"Please change your work on {workspace.branch}{where}: {body.text}"
