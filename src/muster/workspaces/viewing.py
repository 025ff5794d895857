"""Workspaces, for HTTP and the command line."""

from muster.machines.state import Team, Workspace
from muster.views.answers.workspaces import WorkspaceList, WorkspaceView


def view_workspace(team: Team, workspace: Workspace) -> WorkspaceView:
    """A workspace, with the name that its agent has now."""
    agent = None if workspace.seat is None else team.agents.get(workspace.seat)
    return WorkspaceView(
        workspace=workspace.id,
        agent=workspace.agent_name if agent is None else agent.id,
        conversation=workspace.conversation,
        state=workspace.state,
        since=workspace.since,
        repository=workspace.repository,
        folder=workspace.folder,
        branch=workspace.branch,
        target=workspace.target,
        changes=workspace.changes,
        working=team.is_worked_in(workspace),
        merged=workspace.merged,
        commit=workspace.commit,
        conflict=workspace.conflict,
        problem=workspace.problem,
    )


def view_workspaces(team: Team) -> WorkspaceList:
    """The workspaces of a team: those of agents first, then those of tasks, the newest last."""
    found = sorted(
        team.workspaces.values(),
        key=lambda each: (each.conversation is not None, each.conversation or "", each.id),
    )
    return WorkspaceList(workspaces=tuple(view_workspace(team, each) for each in found))
