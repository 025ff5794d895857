"""Workspaces: from the plan to the removal, and who decides about changes."""

import pytest

from muster import limits
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.ids import MUSTER, ConversationId, WorkspaceId
from muster.machines.needs.needs import open_needs
from muster.machines.state import Workspace
from muster.machines.vocabulary import (
    Authority,
    ChangeCount,
    DelegationMode,
    NeedKind,
    RunMode,
    WorkspaceState,
    WorkspaceStep,
)
from tests.machines.scene import Scene, facts

ADA = WorkspaceId("Ada")
TASK = ConversationId("conv_001")
TWO = ChangeCount(files=2, insertions=5, deletions=1)


def plan(scene: Scene, name: str = "Ada", conversation: ConversationId | None = None) -> None:
    scene.do(
        c.PlanWorkspace(
            workspace=WorkspaceId(name),
            repository="/srv/app",
            folder=f"/w/{name}",
            branch=f"muster/{name}",
            base="c0",
            target="main",
            seat=None if conversation else scene.seat("Ada"),
            conversation=conversation,
            agent_name="Ada",
        ),
        MUSTER,
    )


def made(name: str = "Ada", conversation: ConversationId | None = None) -> Scene:
    scene = Scene()
    scene.do(c.EnrollAgent(name="Ada", authority=Authority.MUSTER))
    plan(scene, name, conversation)
    scene.do(c.ReportWorkspaceMade(workspace=WorkspaceId(name), git_dir="/srv/app/.git/w"), MUSTER)
    return scene


def workspace(scene: Scene, name: str = "Ada") -> Workspace:
    return scene.team.workspaces[WorkspaceId(name)]


def begin(step: WorkspaceStep, **more: bool) -> c.BeginWorkspaceStep:
    return c.BeginWorkspaceStep(workspace=ADA, step=step, branch="main", **more)


def report(scene: Scene, **what: object) -> None:
    scene.do(c.ReportWorkspaceStep(workspace=ADA, **what), MUSTER)  # pyright: ignore[reportArgumentType]


def test_a_workspace_is_planned_then_made_and_planned_once() -> None:
    scene = made()
    assert workspace(scene).state is WorkspaceState.OPEN
    assert workspace(scene).git_dir == "/srv/app/.git/w"
    plan_again = c.PlanWorkspace(
        workspace=ADA, repository="/r", folder="/f", branch="b", base="c", agent_name="Ada"
    )
    scene.refuse(plan_again, "invalid", MUSTER)
    scene.refuse(c.ReportWorkspaceMade(workspace=ADA, git_dir="/g"), "invalid", MUSTER)
    unknown = c.ReportWorkspaceMade(workspace=WorkspaceId("x"), git_dir="/g")
    scene.refuse(unknown, "invalid", MUSTER)


def test_a_workspace_that_could_not_be_made_is_forgotten() -> None:
    scene = Scene()
    scene.do(c.EnrollAgent(name="Ada", authority=Authority.MUSTER))
    plan(scene)
    scene.do(c.ReportWorkspaceRemoved(workspace=ADA, reason="no commit"), MUSTER)
    assert not scene.team.workspaces
    plan(scene)


@pytest.mark.parametrize(
    ("step", "state"),
    [
        (WorkspaceStep.MERGE, WorkspaceState.MERGING),
        (WorkspaceStep.REBASE, WorkspaceState.REBASING),
        (WorkspaceStep.DISCARD, WorkspaceState.DISCARDING),
    ],
)
def test_one_step_at_a_time_and_a_failed_one_leaves_it_open(
    step: WorkspaceStep, state: WorkspaceState
) -> None:
    scene = made()
    scene.do(begin(step))
    assert workspace(scene).state is state
    for other in WorkspaceStep:
        scene.refuse(begin(other), "cannot_change_workspace")
    report(scene, failure="index.lock exists")
    assert workspace(scene).state is WorkspaceState.OPEN
    assert workspace(scene).problem == "index.lock exists"
    scene.refuse(c.ReportWorkspaceStep(workspace=ADA), "invalid", MUSTER)


def test_a_merge_is_recorded_with_its_commit_and_clears_what_was_wrong() -> None:
    scene = made()
    scene.do(c.ReportWorkspaceChanges(workspace=ADA, changes=TWO), MUSTER)
    scene.do(begin(WorkspaceStep.MERGE))
    report(scene, failure="conflicts", files=("app.py",))
    assert workspace(scene).conflict == ("app.py",)
    scene.do(begin(WorkspaceStep.MERGE))
    report(scene, commit="c1", changes=TWO)
    after = workspace(scene)
    assert (after.merged, after.commit, after.conflict, after.problem) == (True, "c1", (), "")
    assert after.changes == ChangeCount()
    [merged] = facts(scene.log, e.WorkspaceMerged)
    assert (merged.branch, merged.changes) == ("main", TWO)


def test_a_rebase_is_recorded() -> None:
    scene = made()
    scene.do(begin(WorkspaceStep.REBASE))
    report(scene, commit="c2")
    [rebased] = facts(scene.log, e.WorkspaceRebased)
    assert (rebased.branch, rebased.commit) == ("main", "c2")


def test_only_so_many_files_in_conflict_are_recorded() -> None:
    scene = made()
    scene.do(begin(WorkspaceStep.MERGE))
    report(scene, failure="conflicts", files=tuple(map(str, range(1000))))
    assert len(workspace(scene).conflict) == limits.CONFLICT_FILES_MAX


def test_agents_decide_nothing_and_muster_only_removes_what_nobody_needs() -> None:
    scene = made()
    for step in WorkspaceStep:
        scene.refuse(begin(step), "forbidden", "agent:Ada")
    for step in (begin(WorkspaceStep.MERGE), begin(WorkspaceStep.DISCARD, force=True)):
        scene.refuse(step, "invalid", MUSTER)
    scene.do(begin(WorkspaceStep.DISCARD), MUSTER)


def test_a_workspace_in_which_a_session_works_is_not_discarded() -> None:
    scene = made()
    scene.want("Ada", RunMode.CONTINUOUS)
    refusal = scene.refuse(begin(WorkspaceStep.DISCARD), "cannot_change_workspace")
    assert "Ada works in it" in str(refusal)
    scene.do(begin(WorkspaceStep.MERGE))


def test_a_discarded_workspace_is_remembered_and_its_name_is_free() -> None:
    scene = made()
    scene.do(begin(WorkspaceStep.DISCARD, force=True))
    assert workspace(scene).force
    scene.do(c.ReportWorkspaceRemoved(workspace=ADA, reason="by Marcus", commit="c9"), MUSTER)
    assert workspace(scene).state is WorkspaceState.CLOSED
    assert workspace(scene).commit == "c9"
    scene.refuse(begin(WorkspaceStep.MERGE), "cannot_change_workspace")
    plan(scene)
    assert workspace(scene).state is WorkspaceState.MAKING


def test_a_merged_workspace_keeps_its_merge_when_it_is_removed() -> None:
    scene = made()
    scene.do(begin(WorkspaceStep.MERGE))
    report(scene, commit="c1")
    scene.do(begin(WorkspaceStep.DISCARD), MUSTER)
    scene.do(c.ReportWorkspaceRemoved(workspace=ADA, reason="merged"), MUSTER)
    assert (workspace(scene).commit, workspace(scene).merged) == ("c1", True)
    assert open_needs(scene.team, scene.now) == []


def test_unmerged_work_after_a_merge_is_what_a_discard_removes() -> None:
    scene = made()
    scene.do(begin(WorkspaceStep.MERGE))
    report(scene, commit="c1")
    scene.do(begin(WorkspaceStep.DISCARD, force=True))
    scene.do(c.ReportWorkspaceRemoved(workspace=ADA, reason="by Marcus", commit="c2"), MUSTER)
    assert (workspace(scene).commit, workspace(scene).merged) == ("c2", False)


def test_only_the_newest_closed_workspaces_are_remembered() -> None:
    scene = made()
    for number in range(limits.WORKSPACES_KEPT_MAX + 3):
        name = WorkspaceId(f"task-{number}")
        plan(scene, name, ConversationId(f"conv_{number}"))
        scene.do(c.ReportWorkspaceMade(workspace=name, git_dir="/g"), MUSTER)
        scene.do(c.BeginWorkspaceStep(workspace=name, step=WorkspaceStep.DISCARD), MUSTER)
        scene.do(c.ReportWorkspaceRemoved(workspace=name, reason="empty"), MUSTER)
    assert len(scene.team.workspaces) == limits.WORKSPACES_KEPT_MAX + 1
    assert ADA in scene.team.workspaces
    assert WorkspaceId("task-0") not in scene.team.workspaces


def test_changes_that_are_counted_again_alike_are_no_news() -> None:
    scene = made()
    counted = c.ReportWorkspaceChanges(workspace=ADA, changes=TWO)
    assert facts(scene.do(counted, MUSTER), e.WorkspaceChanged)
    assert not scene.do(counted, MUSTER)


def test_changes_of_a_finished_task_need_a_person_until_they_are_merged() -> None:
    scene = made("task-1", TASK)
    name = WorkspaceId("task-1")
    scene.do(c.StartDelegation(mode=DelegationMode.INTERACTIVE, path="here", agents=("ada",)))
    scene.do(c.OpenConversation(text="do it", speaker_name="Marcus"))
    [conversation] = scene.team.delegation.conversations
    assert conversation == TASK
    scene.do(c.ReportWorkspaceChanges(workspace=name, changes=ChangeCount(files=1)), MUSTER)
    assert not open_needs(scene.team, scene.now)  # it is still worked on
    discard = c.BeginWorkspaceStep(workspace=name, step=WorkspaceStep.DISCARD)
    scene.refuse(discard, "cannot_change_workspace")
    scene.do(c.CloseConversation(conversation=TASK, summary="done"))
    [need] = open_needs(scene.team, scene.now)
    assert (need.kind, need.conversation) == (NeedKind.REVIEW, TASK)
    assert need.why == "1 file, +0 \u22120 to review"
    merge = c.BeginWorkspaceStep(workspace=name, step=WorkspaceStep.MERGE, branch="main")
    scene.do(merge)
    scene.do(c.ReportWorkspaceStep(workspace=name, failure="index.lock exists"), MUSTER)
    scene.do(c.ReportWorkspaceChanges(workspace=name, changes=TWO), MUSTER)
    [need] = open_needs(scene.team, scene.now)
    assert need.why == "index.lock exists; 2 files, +5 \u22121 to review"
    scene.do(merge)
    scene.do(c.ReportWorkspaceStep(workspace=name, commit="c1"), MUSTER)
    assert not open_needs(scene.team, scene.now)


def test_another_task_goes_on_in_the_workspace_of_a_finished_one() -> None:
    scene = made("task-1", TASK)
    name, more = WorkspaceId("task-1"), ConversationId("conv_002")
    hand = c.HandWorkspace(workspace=name, conversation=more)
    scene.refuse(hand, "forbidden", "agent:Ada")
    scene.do(hand)
    assert workspace(scene, name).conversation == more
    assert workspace(scene, name).earlier == (TASK,)
    own = made()
    of_agent = c.HandWorkspace(workspace=ADA, conversation=more)
    own.refuse(of_agent, "invalid")
