"""Merging, rebasing and discarding: nothing half-done stays, and no unmerged work is lost."""

import os
from pathlib import Path

import pytest

from muster.errors import CannotChangeWorkspace, Forbidden
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.ids import MUSTER, SessionId, WorkspaceId
from muster.machines.vocabulary import ChangeCount, Outcome, RunMode, WorkspaceState, WorkspaceStep
from tests.builders import ADA, BEN, HUMAN, logged, run, want
from tests.workspaces.repositories import MAIN, Workshop, a_workshop, git

NAME = WorkspaceId("Ada")


async def merge(shop: Workshop, into: str = "") -> None:
    await shop.service.merge(NAME, actor=HUMAN, into=into)


async def refused(shop: Workshop, step: str, **how: bool) -> str:
    """The reason of a refusal, which leaves the workspace open."""
    act = {
        "merge": shop.service.merge,
        "rebase": shop.service.rebase,
        "discard": shop.service.discard,
    }
    with pytest.raises(CannotChangeWorkspace) as told:
        await act[step](NAME, actor=HUMAN, **how)  # pyright: ignore[reportArgumentType]
    assert shop.workspace().state is WorkspaceState.OPEN
    return str(told.value)


def commits(folder: Path) -> list[str]:
    return git(folder, "log", "--format=%s", "--topo-order").split("\n")


# ── merging ───────────────────────────────────────────────────────────────────────────────────────


def test_a_merge_takes_commits_and_what_is_not_committed(tmp_path: Path) -> None:
    async def test() -> None:
        async with a_workshop(tmp_path) as shop:
            folder = await shop.enter()
            (folder / "app.py").write_text("one\n2\nthree\n")
            git(folder, "commit", "--quiet", "--all", "--message", "Say 2")
            (folder / "new.py").write_text("new\n")
            await merge(shop)
            assert (shop.top / "app.py").read_text() == "one\n2\nthree\n"
            assert (shop.top / "new.py").read_text() == "new\n"
            assert git(shop.top, "status", "--porcelain") == ""
            assert commits(shop.top)[0] == "Merge muster/Ada into main"
            assert "Say 2" in commits(shop.top)
            assert git(shop.top, "log", "-1", "--format=%an", "muster/Ada") == "Ada"
            [merged] = [each.fact for each in await logged(shop.store, e.WorkspaceMerged)]
            assert isinstance(merged, e.WorkspaceMerged)
            assert merged.commit == git(shop.top, "rev-parse", "HEAD")
            assert merged.changes == ChangeCount(files=2, insertions=2, deletions=1)
            assert shop.workspace().merged

    run(test())


def test_an_agent_goes_on_in_its_worktree_and_is_merged_again(tmp_path: Path) -> None:
    async def test() -> None:
        async with a_workshop(tmp_path) as shop:
            folder = await shop.enter()
            for number in (1, 2):
                (folder / f"{number}.py").write_text("new\n")
                await merge(shop)
            assert (shop.top / "2.py").exists()
            assert "nothing to merge" in await refused(shop, "merge")

    run(test())


def test_a_worktree_without_changes_has_nothing_to_merge(tmp_path: Path) -> None:
    async def test() -> None:
        async with a_workshop(tmp_path) as shop:
            await shop.enter()
            assert "nothing to merge" in await refused(shop, "merge")

    run(test())


def test_a_conflict_names_the_files_and_changes_nothing(tmp_path: Path) -> None:
    async def test() -> None:
        async with a_workshop(tmp_path) as shop:
            folder = await shop.enter()
            (folder / "app.py").write_text("one\nADA\nthree\n")
            (shop.top / "app.py").write_text("one\nMARCUS\nthree\n")
            git(shop.top, "commit", "--quiet", "--all", "--message", "Mine")
            before = git(shop.top, "rev-parse", "HEAD")
            for step in ("merge", "rebase"):
                assert "conflicts with main in app.py" in await refused(shop, step)
                assert git(shop.top, "rev-parse", "HEAD") == before
                assert git(shop.top, "status", "--porcelain") == ""
                assert git(folder, "symbolic-ref", "--short", "HEAD") == "muster/Ada"
                assert (folder / "app.py").read_text() == "one\nADA\nthree\n"
            assert shop.workspace().conflict == ("app.py",)
            found = [each.fact for each in await logged(shop.store, e.WorkspaceConflict)]
            assert [getattr(each, "step", "") for each in found] == ["merge", "rebase"]

    run(test())


def test_a_rebase_brings_the_branch_up_to_date(tmp_path: Path) -> None:
    async def test() -> None:
        async with a_workshop(tmp_path) as shop:
            folder = await shop.enter()
            (folder / "new.py").write_text("new\n")
            (shop.top / "mine.py").write_text("mine\n")
            git(shop.top, "add", "--all")
            git(shop.top, "commit", "--quiet", "--message", "Mine")
            await shop.service.rebase(NAME, actor=HUMAN)
            assert (folder / "mine.py").exists()
            assert (folder / "new.py").exists()
            assert git(folder, "merge-base", "HEAD", MAIN) == git(shop.top, "rev-parse", MAIN)

    run(test())


@pytest.mark.parametrize("is_tracked", [True, False])
def test_a_merge_never_touches_what_a_person_has_not_committed(
    tmp_path: Path, is_tracked: bool
) -> None:
    async def test() -> None:
        async with a_workshop(tmp_path) as shop:
            folder, name = await shop.enter(), "app.py" if is_tracked else "new.py"
            (folder / name).write_text("Ada\n")
            (shop.top / name).write_text("mine\n")
            before = git(shop.top, "rev-parse", "HEAD")
            told = await refused(shop, "merge")
            assert f"uncommitted changes in {name}" in told
            assert "Commit or stash them" in told
            assert (shop.top / name).read_text() == "mine\n"
            assert git(shop.top, "rev-parse", "HEAD") == before

    run(test())


def test_uncommitted_work_in_other_files_is_no_obstacle(tmp_path: Path) -> None:
    async def test() -> None:
        async with a_workshop(tmp_path) as shop:
            folder = await shop.enter()
            (folder / "new.py").write_text("Ada\n")
            (shop.top / "app.py").write_text("mine\n")
            await merge(shop)
            assert (shop.top / "new.py").read_text() == "Ada\n"
            assert (shop.top / "app.py").read_text() == "mine\n"

    run(test())


def test_a_branch_that_nobody_has_checked_out_is_merged_into_as_well(tmp_path: Path) -> None:
    async def test() -> None:
        async with a_workshop(tmp_path) as shop:
            folder = await shop.enter()
            (folder / "new.py").write_text("Ada\n")
            git(shop.top, "checkout", "--quiet", "-b", "other")
            await merge(shop)
            assert not (shop.top / "new.py").exists()
            assert git(shop.top, "show", "main:new.py") == "Ada"
            assert "no branch 'missing'" in await refused(shop, "merge", into="missing")  # pyright: ignore[reportArgumentType]

    run(test())


def test_a_beginning_on_no_branch_is_merged_into_the_branch_that_a_person_is_on(
    tmp_path: Path,
) -> None:
    async def test() -> None:
        async with a_workshop(tmp_path) as shop:
            git(shop.top, "checkout", "--quiet", "--detach")
            folder = await shop.enter()
            (folder / "new.py").write_text("Ada\n")
            assert "is on no branch" in await refused(shop, "merge")
            git(shop.top, "checkout", "--quiet", MAIN)
            await merge(shop)
            assert (shop.top / "new.py").exists()

    run(test())


def test_what_a_person_merged_by_hand_counts_as_merged(tmp_path: Path) -> None:
    async def test() -> None:
        async with a_workshop(tmp_path) as shop:
            folder = await shop.enter()
            (folder / "new.py").write_text("Ada\n")
            git(folder, "add", "--all")
            git(folder, "commit", "--quiet", "--message", "New")
            git(shop.top, "merge", "--quiet", "muster/Ada")
            await merge(shop)
            assert shop.workspace().merged

    run(test())


# ── who may, and when ─────────────────────────────────────────────────────────────────────────────


def test_an_agent_decides_nothing_about_its_changes(tmp_path: Path) -> None:
    async def test() -> None:
        async with a_workshop(tmp_path) as shop:
            folder = await shop.enter()
            (folder / "new.py").write_text("Ada\n")
            for act in (shop.service.merge, shop.service.rebase, shop.service.discard):
                with pytest.raises(Forbidden):
                    await act(NAME, actor="agent:Ada")
            assert not git(folder, "log", "--format=%s", "main..HEAD")

    run(test())


def test_a_workspace_is_not_discarded_while_a_session_works_in_it(tmp_path: Path) -> None:
    async def test() -> None:
        async with a_workshop(tmp_path) as shop:
            await shop.enter()
            await want(shop.dispatcher, ADA, RunMode.CONTINUOUS)
            assert "Ada works in it" in await refused(shop, "discard", force=True)

    run(test())


# ── discarding ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("is_committed", [True, False])
def test_unmerged_work_is_discarded_only_with_force_and_can_be_restored(
    tmp_path: Path, is_committed: bool
) -> None:
    async def test() -> None:
        async with a_workshop(tmp_path) as shop:
            folder = await shop.enter()
            (folder / "new.py").write_text("Ada\n")
            if is_committed:
                git(folder, "add", "--all")
                git(folder, "commit", "--quiet", "--message", "New")
            assert "not merged" in await refused(shop, "discard")
            assert (folder / "new.py").exists()
            await shop.service.discard(NAME, actor=HUMAN, force=True)
            assert not folder.exists()
            assert shop.workspace().state is WorkspaceState.CLOSED
            assert git(shop.top, "show", f"{shop.workspace().commit}:new.py") == "Ada"
            assert "muster/Ada" not in git(shop.top, "branch")
            assert str(folder) not in git(shop.top, "worktree", "list")
            assert await shop.enter() == folder  # it can be made again

    run(test())


def test_a_discard_removes_links_and_not_what_they_lead_to(tmp_path: Path) -> None:
    async def test() -> None:
        async with a_workshop(tmp_path) as shop:
            folder = await shop.enter()
            outside = tmp_path / "outside"
            outside.mkdir()
            (outside / "precious").write_text("keep")
            (folder / "link").symlink_to(outside)
            (folder / "locked").mkdir()
            (folder / "locked" / "file").write_text("")
            (folder / "locked").chmod(0o500)
            git(shop.top, "worktree", "lock", str(folder))
            await shop.service.discard(NAME, actor=HUMAN, force=True)
            assert not folder.exists()
            assert (outside / "precious").read_text() == "keep"
            assert str(folder) not in git(shop.top, "worktree", "list")

    run(test())


def test_a_folder_that_a_worktree_was_replaced_with_is_removed_as_a_link(tmp_path: Path) -> None:
    async def test() -> None:
        async with a_workshop(tmp_path) as shop:
            folder = await shop.enter()
            folder.rename(tmp_path / "moved")
            folder.symlink_to(shop.top)
            await shop.service.discard(NAME, actor=HUMAN, force=True)
            assert (shop.top / "app.py").exists()
            assert folder.name not in os.listdir(folder.parent)  # noqa: PTH208

    run(test())


# ── after work, and after a crash ─────────────────────────────────────────────────────────────────


AN_END = e.SessionEnd(session=SessionId("s"), seats=(ADA,), outcome=Outcome.COMPLETED, code=0)
A_START = e.MusterStarted(server_session=SessionId("b"), muster_version="0", human="Marcus")


async def begin(shop: Workshop, step: WorkspaceStep, *, force: bool = False) -> None:
    """A step of a muster process that is killed then."""
    begun = c.BeginWorkspaceStep(workspace=NAME, step=step, branch=MAIN, force=force)
    await shop.dispatcher.send(begun, actor=HUMAN)


async def restart(shop: Workshop) -> Workshop:
    again = await shop.restarted()
    await again.react(A_START)
    return again


def test_changes_are_counted_at_the_end_of_a_session(tmp_path: Path) -> None:
    async def test() -> None:
        async with a_workshop(tmp_path) as shop:
            folder = await shop.enter()
            (folder / "new.py").write_text("a\nb\n")
            await shop.react(AN_END)
            assert shop.workspace().changes == ChangeCount(files=1, insertions=2)

    run(test())


@pytest.mark.parametrize("is_empty", [True, False])
def test_the_worktree_of_a_retired_agent_is_removed_only_without_unmerged_work(
    tmp_path: Path, is_empty: bool
) -> None:
    async def test() -> None:
        async with a_workshop(tmp_path) as shop:
            folder = await shop.enter()
            if not is_empty:
                (folder / "new.py").write_text("a\n")
            await shop.dispatcher.send(c.DismissAgent(seat=ADA), actor=MUSTER)
            await restart(shop)
            assert folder.exists() is not is_empty

    run(test())


@pytest.mark.parametrize("is_done", [True, False])
@pytest.mark.parametrize("step", [WorkspaceStep.MERGE, WorkspaceStep.REBASE])
def test_a_step_that_a_crash_interrupted_is_settled_by_what_git_says(
    tmp_path: Path, step: WorkspaceStep, is_done: bool
) -> None:
    async def test() -> None:
        async with a_workshop(tmp_path) as shop:
            folder = await shop.enter()
            (folder / "new.py").write_text("Ada\n")
            git(folder, "add", "--all")
            git(folder, "commit", "--quiet", "--message", "New")
            git(shop.top, "commit", "--quiet", "--allow-empty", "--message", "Mine")
            await begin(shop, step)
            if is_done and step is WorkspaceStep.MERGE:
                git(shop.top, "merge", "--quiet", "--no-edit", "muster/Ada")
            elif is_done:
                git(folder, "rebase", "--quiet", MAIN)
            await restart(shop)
            assert shop.workspace().state is WorkspaceState.OPEN
            assert bool(shop.workspace().problem) is not is_done

    run(test())


def test_a_rebase_that_a_crash_left_under_way_is_aborted(tmp_path: Path) -> None:
    async def test() -> None:
        async with a_workshop(tmp_path) as shop:
            folder = await shop.enter()
            (folder / "app.py").write_text("Ada\n")
            git(folder, "commit", "--quiet", "--all", "--message", "Ada")
            (shop.top / "app.py").write_text("mine\n")
            git(shop.top, "commit", "--quiet", "--all", "--message", "Mine")
            await begin(shop, WorkspaceStep.REBASE)
            with pytest.raises(Exception, match="rebase"):
                git(folder, "rebase", MAIN)
            await restart(shop)
            assert git(folder, "symbolic-ref", "--short", "HEAD") == "muster/Ada"
            assert (folder / "app.py").read_text() == "Ada\n"
            assert shop.workspace().problem

    run(test())


@pytest.mark.parametrize("has_begun", [True, False])
def test_a_discard_that_a_crash_interrupted_is_ended_only_if_it_had_begun(
    tmp_path: Path, has_begun: bool
) -> None:
    async def test() -> None:
        async with a_workshop(tmp_path) as shop:
            folder = await shop.enter()
            (folder / "new.py").write_text("Ada\n")
            await begin(shop, WorkspaceStep.DISCARD, force=True)
            if has_begun:
                folder.rename(folder.with_name(".removed-Ada"))
            await restart(shop)
            expected = WorkspaceState.CLOSED if has_begun else WorkspaceState.OPEN
            assert shop.workspace().state is expected
            assert folder.exists() is not has_begun
            assert not folder.with_name(".removed-Ada").exists()

    run(test())


def test_unmerged_commits_survive_a_worktree_that_its_agent_deleted(tmp_path: Path) -> None:
    async def test() -> None:
        async with a_workshop(tmp_path) as shop:
            folder = await shop.enter()
            (folder / "new.py").write_text("Ada\n")
            git(folder, "add", "--all")
            git(folder, "commit", "--quiet", "--message", "New")
            folder.rename(tmp_path / "gone")
            await begin(shop, WorkspaceStep.DISCARD)
            await restart(shop)
            assert shop.workspace().state is WorkspaceState.OPEN
            assert git(shop.top, "show", "muster/Ada:new.py") == "Ada"
            assert await shop.enter(BEN)

    run(test())
