"""Making, merging, rebasing and discarding workspaces.

git does the work, and may be interrupted at any moment. So a fact comes before each step and
another one after it: a step without an end in the log is settled at the next start of muster.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from muster.errors import CannotChangeWorkspace, Invalid
from muster.limits import CONFLICT_FILES_MAX
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.actors import refuse_agent
from muster.machines.events import Fact
from muster.machines.ids import MUSTER
from muster.machines.state import Team, Workspace
from muster.machines.vocabulary import WorkspaceState, WorkspaceStep

_STEPS: Final = {step.state: step for step in WorkspaceStep}
"""The steps by the state of a workspace while one is under way."""


def plan_workspace(team: Team, command: c.PlanWorkspace, now: datetime) -> Sequence[Fact]:
    found = team.workspaces.get(command.workspace)
    if found is not None and found.state is not WorkspaceState.CLOSED:
        raise Invalid(what=f"the workspace {command.workspace!r}", why="exists")
    planned = e.WorkspacePlanned(
        workspace=command.workspace,
        repository=command.repository,
        folder=command.folder,
        branch=command.branch,
        base=command.base,
        target=command.target,
        seat=command.seat,
        conversation=command.conversation,
        agent_name=command.agent_name,
    )
    return (planned,)


def report_workspace_made(
    team: Team, command: c.ReportWorkspaceMade, now: datetime
) -> Sequence[Fact]:
    _require(team, command.workspace, WorkspaceState.MAKING)
    return (e.WorkspaceMade(workspace=command.workspace, git_dir=command.git_dir),)


def report_workspace_changes(
    team: Team, command: c.ReportWorkspaceChanges, now: datetime
) -> Sequence[Fact]:
    if _require(team, command.workspace, WorkspaceState.OPEN).changes == command.changes:
        return ()
    return (e.WorkspaceChanged(workspace=command.workspace, changes=command.changes),)


def hand_workspace(team: Team, command: c.HandWorkspace, now: datetime) -> Sequence[Fact]:
    workspace = _require(team, command.workspace, WorkspaceState.OPEN)
    if workspace.conversation is None or team.is_worked_in(workspace):
        raise Invalid(what=f"the workspace {workspace.id!r}", why="is not that of a finished task")
    return (e.WorkspaceHanded(workspace=workspace.id, conversation=command.conversation),)


def begin_workspace_step(
    team: Team, command: c.BeginWorkspaceStep, now: datetime
) -> Sequence[Fact]:
    workspace, step = team.workspace(command.workspace), command.step
    if workspace.state is not WorkspaceState.OPEN:
        raise _cannot(workspace, step, f"it is {workspace.state}", "Try again when that is done.")
    if step is WorkspaceStep.DISCARD and team.is_worked_in(workspace):
        who = workspace.agent_name or workspace.id
        raise _cannot(workspace, step, f"{who} works in it", "Stop the session first.")
    begun = e.WorkspaceStepBegun(
        workspace=workspace.id, step=step, branch=command.branch, force=command.force
    )
    return (begun,)


def report_workspace_step(
    team: Team, command: c.ReportWorkspaceStep, now: datetime
) -> Sequence[Fact]:
    """End a step. A failure with files is a conflict."""
    workspace = team.workspace(command.workspace)
    step = _STEPS.get(workspace.state)
    if step is None:
        raise Invalid(what=f"the workspace {workspace.id!r}", why=f"is {workspace.state}")
    if command.files:
        files = command.files[:CONFLICT_FILES_MAX]
        return (
            e.WorkspaceConflict(
                workspace=workspace.id, step=step, branch=workspace.into, files=files
            ),
        )
    if command.failure:
        return (e.WorkspaceStepFailed(workspace=workspace.id, step=step, reason=command.failure),)
    if step is WorkspaceStep.REBASE:
        return (
            e.WorkspaceRebased(
                workspace=workspace.id, branch=workspace.into, commit=command.commit
            ),
        )
    merged = e.WorkspaceMerged(
        workspace=workspace.id,
        branch=workspace.into,
        commit=command.commit,
        changes=command.changes,
    )
    return (merged,)


def report_workspace_removed(
    team: Team, command: c.ReportWorkspaceRemoved, now: datetime
) -> Sequence[Fact]:
    _require(team, command.workspace, WorkspaceState.MAKING, WorkspaceState.DISCARDING)
    removed = e.WorkspaceRemoved(
        workspace=command.workspace, reason=command.reason, commit=command.commit
    )
    return (removed,)


def check_hand(team: Team, command: c.HandWorkspace, actor: str) -> None:
    """Only a person asks for more changes."""
    refuse_agent(actor, "hand on a workspace")


def check_step(team: Team, command: c.BeginWorkspaceStep, actor: str) -> None:
    """Only a person decides what becomes of changes; muster removes workspaces without any."""
    refuse_agent(actor, f"{command.step} changes")
    if actor == MUSTER and (command.step is not WorkspaceStep.DISCARD or command.force):
        raise Invalid(what="muster", why="only removes workspaces without unmerged work")


def _require(team: Team, name: str, *states: WorkspaceState) -> Workspace:
    workspace = team.workspaces.get(c.WorkspaceId(name))
    if workspace is None or workspace.state not in states:
        state = "missing" if workspace is None else workspace.state
        raise Invalid(what=f"the workspace {name!r}", why=f"is {state}")
    return workspace


def _cannot(
    workspace: Workspace, step: WorkspaceStep, why: str, remedy: str
) -> CannotChangeWorkspace:
    return CannotChangeWorkspace(step=step, workspace=workspace.id, why=why, remedy=remedy)
