"""Worktrees are made before a session starts, or the start fails with the reason."""

from collections.abc import Callable
from pathlib import Path

import pytest

from muster.errors import CannotMakeWorkspace
from muster.machines import commands as c
from muster.machines.ids import MUSTER, ConversationId, WorkspaceId
from muster.machines.vocabulary import WorkspaceState
from muster.workspaces.rules import task_name
from tests.builders import ADA, BEN, run
from tests.workspaces.repositories import MAIN, a_repository, a_workshop, git


def test_an_agent_gets_a_worktree_on_a_branch_of_its_own_and_the_same_one_again(
    tmp_path: Path,
) -> None:
    async def test() -> None:
        async with a_workshop(tmp_path) as shop:
            folder = await shop.enter()
            assert folder == shop.home / "worktrees" / "Ada"
            assert git(folder, "symbolic-ref", "--short", "HEAD") == "muster/Ada"
            assert (folder / "app.py").read_text() == "one\ntwo\nthree\n"
            assert shop.workspace().state is WorkspaceState.OPEN
            assert (shop.workspace().target, shop.workspace().seat) == (MAIN, ADA)
            (folder / "app.py").write_text("changed\n")
            assert await shop.enter() == folder
            assert (folder / "app.py").read_text() == "changed\n"
            assert await shop.enter(BEN) == shop.home / "worktrees" / "Ben"

    run(test())


def test_a_home_in_the_work_tree_does_not_show_its_worktrees_to_git(tmp_path: Path) -> None:
    async def test() -> None:
        top = a_repository(tmp_path / "home")  # the home is in the work tree
        async with a_workshop(tmp_path, top) as shop:
            await shop.enter()
            assert git(top, "status", "--porcelain") == ""

    run(test())


def test_the_agents_of_a_conversation_share_one_worktree(tmp_path: Path) -> None:
    async def test() -> None:
        async with a_workshop(tmp_path) as shop:
            task, agents = ConversationId("conv_012"), shop.dispatcher.team.agents
            first = await shop.service.of_task(task, agents[ADA])
            second = await shop.service.of_task(task, agents[BEN])
            assert first == second
            assert first is not None
            assert first.branch == "muster/task-12"

    run(test())


@pytest.mark.parametrize(
    ("conversation", "name"), [("conv_001", "task-1"), ("conv_000", "task-000"), ("x", "task-x")]
)
def test_a_task_is_called_by_its_number(conversation: str, name: str) -> None:
    assert task_name(ConversationId(conversation)) == name


def test_a_branch_or_a_folder_that_exists_is_never_used(tmp_path: Path) -> None:
    async def test() -> None:
        async with a_workshop(tmp_path) as shop:
            git(shop.top, "branch", "muster/Ada")
            (shop.home / "worktrees" / "Ada-2").mkdir(parents=True)
            assert await shop.enter() == shop.home / "worktrees" / "Ada-3"

    run(test())


def test_an_agent_that_takes_the_former_name_of_another_gets_a_branch_of_its_own(
    tmp_path: Path,
) -> None:
    async def test() -> None:
        async with a_workshop(tmp_path) as shop:
            folder = await shop.enter()
            rename = c.RenameAgent(seat=ADA, name="Grace")
            await shop.dispatcher.send(rename, actor="person:Marcus")
            again = c.RenameAgent(seat=BEN, name="Ada")
            await shop.dispatcher.send(again, actor="person:Marcus")
            assert await shop.enter() == folder
            other = await shop.enter(BEN)
            assert other != folder
            assert git(other, "symbolic-ref", "--short", "HEAD") != "muster/Ada"

    run(test())


def test_the_working_directory_in_a_repository_is_the_same_in_the_worktree(tmp_path: Path) -> None:
    async def test() -> None:
        top = a_repository(tmp_path / "project")
        (top / "web").mkdir()
        (top / "web" / "page.html").write_text("hello")
        git(top, "add", "--all")
        git(top, "commit", "--quiet", "--message", "Second")
        async with a_workshop(tmp_path, top / "web") as shop:
            folder = await shop.enter()
            assert folder == shop.home / "worktrees" / "Ada" / "web"
            assert (folder / "page.html").exists()

    run(test())


def _no_repository(folder: Path) -> Path:
    folder.mkdir()
    return folder


def _no_folder(folder: Path) -> Path:
    return folder


def _no_commit(folder: Path) -> Path:
    folder.mkdir()
    git(folder, "init", "--quiet")
    return folder


def _uncommitted_folder(folder: Path) -> Path:
    (a_repository(folder) / "new").mkdir()
    return folder / "new"


def _branch_in_the_way(folder: Path) -> Path:
    git(a_repository(folder), "branch", "muster")  # no branch can be below it
    return folder


@pytest.mark.parametrize(
    ("make", "why", "remedy"),
    [
        (_no_repository, "in no git work tree", "git init"),
        (_no_commit, "has no commit", "Commit something"),
        (_uncommitted_folder, "new is not in the last commit", "correct cwd"),
        (_branch_in_the_way, "git cannot make it", "start it again"),
        (_no_folder, "no such folder", "start it again"),
    ],
)
def test_a_worktree_that_cannot_be_made_says_why_and_leaves_nothing(
    tmp_path: Path, make: Callable[[Path], Path], why: str, remedy: str
) -> None:
    async def test() -> None:
        top = make(tmp_path / "project")
        async with a_workshop(tmp_path, top) as shop:
            with pytest.raises(CannotMakeWorkspace) as failed:
                await shop.enter()
            assert why in str(failed.value)
            assert remedy in str(failed.value)
            assert not shop.dispatcher.team.workspaces
            assert not (shop.home / "worktrees" / "Ada").exists()

    run(test())


def test_a_detached_head_is_a_beginning_without_a_target(tmp_path: Path) -> None:
    async def test() -> None:
        async with a_workshop(tmp_path) as shop:
            git(shop.top, "checkout", "--quiet", "--detach")
            await shop.enter()
            assert shop.workspace().target == ""

    run(test())


def test_a_worktree_that_its_agent_deleted_is_no_working_directory(tmp_path: Path) -> None:
    async def test() -> None:
        async with a_workshop(tmp_path) as shop:
            (await shop.enter()).rename(tmp_path / "elsewhere")
            with pytest.raises(CannotMakeWorkspace, match=r"is gone.*discard Ada --force"):
                await shop.enter()

    run(test())


@pytest.mark.parametrize("step", ["nothing", "folder", "all"])
def test_a_worktree_that_was_half_made_at_a_crash_is_made_again(tmp_path: Path, step: str) -> None:
    async def test() -> None:
        async with a_workshop(tmp_path) as shop:
            folder, branch = shop.home / "worktrees" / "Ada", "muster/Ada"
            planned = c.PlanWorkspace(
                workspace=WorkspaceId("Ada"),
                repository=str(shop.top),
                folder=str(folder),
                branch=branch,
                base=git(shop.top, "rev-parse", "HEAD"),
                target=MAIN,
                seat=ADA,
                agent_name="Ada",
            )
            await shop.dispatcher.send(planned, actor=MUSTER)
            if step == "folder":
                folder.mkdir(parents=True)
                (folder / "half").write_text("")
            elif step == "all":
                git(shop.top, "worktree", "add", "--quiet", "-b", branch, str(folder))
            assert await (await shop.restarted()).enter() == folder
            assert git(folder, "status", "--porcelain") == ""
            assert shop.workspace().state is WorkspaceState.OPEN

    run(test())
