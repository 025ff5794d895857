"""Answers to the question what an agent or a task has changed."""

from collections.abc import Collection
from typing import Final

from msgspec.structs import replace

from muster.errors import NotFound
from muster.machines.ids import ConversationId
from muster.machines.state import Agent, Workspace
from muster.machines.vocabulary import WorkspaceState
from muster.views.answers.workspaces import Changes, FileDiff, TurnList, WorkPlace
from muster.workspaces.reading import (
    diff_shared,
    diff_worktree,
    read_place,
    read_shared,
    read_worktree,
)
from muster.workspaces.rules import open_workspace
from muster.workspaces.service import Workspaces
from muster.workspaces.turns import read_turns, turn_changes, turn_diff
from muster.workspaces.viewing import view_workspace

NO_WORKTREE: Final = "This task has no worktree of its own. Its files are in its outputs."


async def agent_turns(service: Workspaces, agent: Agent) -> TurnList:
    """The turns of an agent that changed files; none where its folder is shared."""
    found = open_workspace(service.team, seat=agent.seat)
    return TurnList() if found is None else await service.in_thread(read_turns, found)


async def task_turns(service: Workspaces, conversation: ConversationId) -> TurnList:
    """The turns of a task that changed files."""
    found = open_workspace(service.team, conversation=conversation)
    return TurnList() if found is None else await service.in_thread(read_turns, found)


async def agent_changes(
    service: Workspaces, agent: Agent, touched: Collection[str], turn: str = ""
) -> Changes:
    """The changes of an agent, or of one of its turns, in its worktree or in the shared folder."""
    found = open_workspace(service.team, seat=agent.seat)
    if found is not None and _is_shown(service, found, agent):
        return await _of_worktree(service, found, turn)
    folder = service.rules.folders(agent)
    return await service.in_thread(read_shared, folder, service.home, touched)


async def agent_place(service: Workspaces, agent: Agent) -> WorkPlace:
    """The folder and the branch that an agent works in."""
    found = open_workspace(service.team, seat=agent.seat)
    if found is not None and found.state is not WorkspaceState.CLOSED:
        return WorkPlace(folder=found.folder, branch=found.branch)
    return await service.in_thread(read_place, service.rules.folders(agent))


async def agent_diff(service: Workspaces, agent: Agent, file: str, turn: str = "") -> FileDiff:
    """The diff of one file that an agent, or one of its turns, has changed."""
    found = open_workspace(service.team, seat=agent.seat)
    if found is not None and _is_shown(service, found, agent):
        return await _worktree_diff(service, found, file, turn)
    return await service.in_thread(diff_shared, service.rules.folders(agent), service.home, file)


def _is_shown(service: Workspaces, workspace: Workspace, agent: Agent) -> bool:
    """A closed workspace is shown while the agent is to have one."""
    return workspace.state is not WorkspaceState.CLOSED or service.rules.agents(agent) is not None


async def task_changes(
    service: Workspaces, conversation: ConversationId, turn: str = ""
) -> Changes:
    """The changes of a task, or of one of its turns."""
    found = open_workspace(service.team, conversation=conversation)
    if found is None:
        return Changes(kind="none", note=NO_WORKTREE)
    return await _of_worktree(service, found, turn)


async def task_diff(
    service: Workspaces, conversation: ConversationId, file: str, turn: str = ""
) -> FileDiff:
    """The diff of one file that a task, or one of its turns, has changed."""
    found = open_workspace(service.team, conversation=conversation)
    if found is None:
        raise NotFound(kind="changed file", name=file)
    return await _worktree_diff(service, found, file, turn)


async def _worktree_diff(
    service: Workspaces, workspace: Workspace, file: str, turn: str
) -> FileDiff:
    if turn:
        return await service.in_thread(turn_diff, workspace, turn, file)
    return await service.in_thread(diff_worktree, workspace, file)


async def _of_worktree(service: Workspaces, workspace: Workspace, turn: str) -> Changes:
    if turn:
        return await service.in_thread(turn_changes, workspace, turn)
    others = [
        each
        for each in service.team.workspaces.values()
        if each.id != workspace.id
        and each.repository == workspace.repository
        and each.state is not WorkspaceState.CLOSED
    ]
    read = await service.in_thread(read_worktree, workspace, others)
    return replace(read, workspace=view_workspace(service.team, workspace))
