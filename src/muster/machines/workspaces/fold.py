"""The fold of the facts about workspaces."""

from msgspec.structs import replace

from muster.limits import WORKSPACES_KEPT_MAX
from muster.machines import events as e
from muster.machines.events import Event
from muster.machines.ids import WorkspaceId
from muster.machines.maps import drop, put
from muster.machines.state import Team, Workspace
from muster.machines.vocabulary import ChangeCount, WorkspaceState

_UNCHANGED = ChangeCount()


def workspace_planned(team: Team, event: Event, fact: e.WorkspacePlanned) -> Team:
    workspace = Workspace(
        id=fact.workspace,
        repository=fact.repository,
        folder=fact.folder,
        branch=fact.branch,
        base=fact.base,
        target=fact.target,
        seat=fact.seat,
        conversation=fact.conversation,
        agent_name=fact.agent_name,
        since=event.ts,
        seq=event.seq,
    )
    return replace(team, workspaces=put(team.workspaces, workspace.id, workspace))


def workspace_made(team: Team, event: Event, fact: e.WorkspaceMade) -> Team:
    return _with(team, event, fact.workspace, git_dir=fact.git_dir, state=WorkspaceState.OPEN)


def workspace_changed(team: Team, event: Event, fact: e.WorkspaceChanged) -> Team:
    return _with(team, event, fact.workspace, changes=fact.changes)


def workspace_handed(team: Team, event: Event, fact: e.WorkspaceHanded) -> Team:
    before = team.workspaces[fact.workspace]
    earlier = (
        before.earlier if before.conversation is None else (*before.earlier, before.conversation)
    )
    return _with(team, event, fact.workspace, conversation=fact.conversation, earlier=earlier)


def workspace_step_begun(team: Team, event: Event, fact: e.WorkspaceStepBegun) -> Team:
    state = fact.step.state
    into = fact.branch or team.workspaces[fact.workspace].into
    return _with(team, event, fact.workspace, state=state, into=into, force=fact.force)


def workspace_merged(team: Team, event: Event, fact: e.WorkspaceMerged) -> Team:
    merged = _with(team, event, fact.workspace, changes=_UNCHANGED, commit=fact.commit, merged=True)
    return _settled(merged, event, fact.workspace)


def workspace_rebased(team: Team, event: Event, fact: e.WorkspaceRebased) -> Team:
    return _settled(team, event, fact.workspace)


def workspace_conflict(team: Team, event: Event, fact: e.WorkspaceConflict) -> Team:
    problem = f"{fact.step} with {fact.branch}: conflicts"
    return _settled(team, event, fact.workspace, problem, fact.files)


def workspace_step_failed(team: Team, event: Event, fact: e.WorkspaceStepFailed) -> Team:
    return _settled(team, event, fact.workspace, fact.reason)


def workspace_removed(team: Team, event: Event, fact: e.WorkspaceRemoved) -> Team:
    """A closed workspace is remembered for some time; one that was never made is not."""
    before = team.workspaces[fact.workspace]
    if before.state is WorkspaceState.MAKING:
        return replace(team, workspaces=drop(team.workspaces, fact.workspace))
    closed = _with(
        team,
        event,
        fact.workspace,
        state=WorkspaceState.CLOSED,
        commit=fact.commit or (before.commit if before.merged else ""),
        merged=before.merged and not fact.commit,
        problem=fact.reason,
        conflict=(),
    )
    return _without_oldest(closed)


def _settled(
    team: Team, event: Event, name: WorkspaceId, problem: str = "", files: tuple[str, ...] = ()
) -> Team:
    """The workspace after a step: open again."""
    return _with(team, event, name, state=WorkspaceState.OPEN, problem=problem, conflict=files)


def _with(team: Team, event: Event, name: WorkspaceId, **changes: object) -> Team:
    workspace = replace(team.workspaces[name], since=event.ts, seq=event.seq, **changes)
    return replace(team, workspaces=put(team.workspaces, name, workspace))


def _without_oldest(team: Team) -> Team:
    closed = [each for each in team.workspaces.values() if each.state is WorkspaceState.CLOSED]
    if len(closed) <= WORKSPACES_KEPT_MAX:
        return team
    oldest = min(closed, key=lambda each: each.seq)
    return replace(team, workspaces=drop(team.workspaces, oldest.id))
