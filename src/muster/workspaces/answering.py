"""Answers to the question what an agent or a task has changed."""

from collections.abc import Collection
from typing import Final

from msgspec.structs import replace

from muster.errors import NotFound
from muster.machines.ids import ConversationId
from muster.machines.state import Agent, Workspace
from muster.machines.vocabulary import WorkspaceState
from muster.views.answers.workspaces import Changes, FileDiff, WorkPlace
from muster.workspaces.reading import (
    diff_shared,
    diff_worktree,
    read_place,
    read_shared,
    read_worktree,
)
from muster.workspaces.rules import open_workspace
from muster.workspaces.service import Workspaces
from muster.workspaces.viewing import view_workspace

NO_WORKTREE: Final = "This task has no worktree of its own. Its files are in its outputs."


async def agent_changes(service: Workspaces, agent: Agent, touched: Collection[str]) -> Changes:
    """The changes of an agent, in its worktree or in the folder that it shares."""
    found = open_workspace(service.team, seat=agent.seat)
    if found is not None and _is_shown(service, found, agent):
        return await _of_worktree(service, found)
    folder = service.rules.folders(agent)
    return await service.in_thread(read_shared, folder, service.home, touched)


async def agent_place(service: Workspaces, agent: Agent) -> WorkPlace:
    """The folder and the branch that an agent works in."""
    found = open_workspace(service.team, seat=agent.seat)
    if found is not None and found.state is not WorkspaceState.CLOSED:
        return WorkPlace(folder=found.folder, branch=found.branch)
    return await service.in_thread(read_place, service.rules.folders(agent))


async def agent_diff(service: Workspaces, agent: Agent, file: str) -> FileDiff:
    """The diff of one file that an agent has changed."""
    found = open_workspace(service.team, seat=agent.seat)
    if found is not None and _is_shown(service, found, agent):
        return await service.in_thread(diff_worktree, found, file)
    return await service.in_thread(diff_shared, service.rules.folders(agent), service.home, file)


def _is_shown(service: Workspaces, workspace: Workspace, agent: Agent) -> bool:
    """A closed workspace is shown while the agent is to have one."""
    return workspace.state is not WorkspaceState.CLOSED or service.rules.agents(agent) is not None


async def task_changes(service: Workspaces, conversation: ConversationId) -> Changes:
    """The changes of a task."""
    found = open_workspace(service.team, conversation=conversation)
    if found is None:
        return Changes(kind="none", note=NO_WORKTREE)
    return await _of_worktree(service, found)


async def task_diff(service: Workspaces, conversation: ConversationId, file: str) -> FileDiff:
    """The diff of one file that a task has changed."""
    found = open_workspace(service.team, conversation=conversation)
    if found is None:
        raise NotFound(kind="changed file", name=file)
    return await service.in_thread(diff_worktree, found, file)


async def _of_worktree(service: Workspaces, workspace: Workspace) -> Changes:
    others = [
        each
        for each in service.team.workspaces.values()
        if each.id != workspace.id
        and each.repository == workspace.repository
        and each.state is not WorkspaceState.CLOSED
    ]
    read = await service.in_thread(read_worktree, workspace, others)
    return replace(read, workspace=view_workspace(service.team, workspace))
