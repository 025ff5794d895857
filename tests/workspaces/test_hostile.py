"""Hostile agents and repositories: nothing of theirs is run or followed, and no work is lost."""

import os
from pathlib import Path

import pytest

from muster.errors import CannotChangeWorkspace, GitFailed, NotFound
from muster.limits import DIFF_BYTES_MAX, DIFF_LINE_CHARS_MAX
from muster.machines.ids import WorkspaceId
from muster.machines.vocabulary import FileChange
from muster.views.answers.workspaces import ChangedFileView
from muster.workspaces import git as git_module
from muster.workspaces.git import Git
from muster.workspaces.reading import (
    diff_shared,
    diff_worktree,
    is_unmerged,
    read_shared,
    read_worktree,
)
from tests.builders import BEN, HUMAN, run
from tests.workspaces.repositories import MAIN, Workshop, a_repository, a_workshop, git

NAME = WorkspaceId("Ada")


def files_of(shop: Workshop) -> dict[str, ChangedFileView]:
    return {each.path: each for each in read_worktree(shop.workspace()).files}


def lock_of(shop: Workshop) -> Path:
    lock = Path(shop.workspace().git_dir, "index.lock")
    lock.touch()
    return lock


def unlock(lock: Path) -> None:
    lock.unlink()


def names_in(folder: Path) -> set[bytes]:
    return {os.fsencode(each.name) for each in folder.iterdir()}


def write(folder: Path, name: bytes, text: str = "hello\n") -> None:
    (folder / os.fsdecode(name)).write_text(text)


# ── names ─────────────────────────────────────────────────────────────────────────────────────────

NAMES = (
    b"-rf",
    b"two\nlines",
    b"tab\there",
    b"quote\"'`$(touch pwned)",
    b":(exclude)x",
    b"*",
    b"\xff\xfe not utf-8",
    "umläut 😀".encode(),
    b"x" * 255,
)


def test_files_with_any_name_are_listed_compared_and_merged(tmp_path: Path) -> None:
    async def test() -> None:
        async with a_workshop(tmp_path) as shop:
            folder = await shop.enter()
            for name in NAMES:
                write(folder, name)
            found = read_worktree(shop.workspace())
            assert {each.path for each in found.files} == {
                name.decode("utf-8", "replace") for name in NAMES
            }
            for each in found.files:
                [hunk] = diff_worktree(shop.workspace(), each.file).hunks
                assert [line.text for line in hunk.lines] == ["hello"]
            await shop.service.merge(NAME, actor=HUMAN)
            assert set(NAMES) <= names_in(shop.top)
            with pytest.raises(NotFound):
                diff_worktree(shop.workspace(), "../../etc/passwd")

    run(test())


def test_a_conflict_in_a_file_whose_name_is_no_text_is_told(tmp_path: Path) -> None:
    async def test() -> None:
        async with a_workshop(tmp_path) as shop:
            folder, name = await shop.enter(), os.fsdecode(b"\xff\nx")
            (folder / name).write_text("Ada\n")
            (shop.top / name).write_text("mine\n")
            git(shop.top, "add", "--all")
            git(shop.top, "commit", "--quiet", "--message", "Mine")
            with pytest.raises(CannotChangeWorkspace, match="conflicts"):
                await shop.service.merge(NAME, actor=HUMAN)
            assert shop.workspace().conflict == ("\ufffd\nx",)

    run(test())


# ── content ───────────────────────────────────────────────────────────────────────────────────────


def test_binary_huge_renamed_and_deleted_files_and_links_are_said(tmp_path: Path) -> None:
    async def test() -> None:
        long = "".join(f"line {number}\n" for number in range(40))
        top = a_repository(tmp_path / "project", **{"old.py": long, "gone.py": "bye\n"})
        async with a_workshop(tmp_path, top) as shop:
            folder = await shop.enter()
            (folder / "image.png").write_bytes(b"\x89PNG\0\0\0" * 100)
            (folder / "huge.txt").write_text("0123456789\n" * (DIFF_BYTES_MAX // 10))
            (folder / "wide.txt").write_text("x" * (10 * DIFF_LINE_CHARS_MAX))
            (folder / "old.py").rename(folder / "new.py")
            (folder / "gone.py").unlink()
            (folder / "link").symlink_to("/etc/passwd")
            found = files_of(shop)
            assert found["image.png"].binary
            assert "binary" in diff_worktree(shop.workspace(), found["image.png"].file).note
            huge = diff_worktree(shop.workspace(), found["huge.txt"].file)
            assert "cut after" in huge.note
            assert huge.hunks
            wide = diff_worktree(shop.workspace(), found["wide.txt"].file)
            assert len(wide.hunks[0].lines[0].text) == DIFF_LINE_CHARS_MAX + 1
            assert found["new.py"].before == "old.py"
            assert "only its name" in diff_worktree(shop.workspace(), found["new.py"].file).note
            assert found["gone.py"].change is FileChange.DELETED
            assert found["link"].link
            [hunk] = diff_worktree(shop.workspace(), found["link"].file).hunks
            assert [line.text for line in hunk.lines] == ["/etc/passwd"]  # where it leads, unread

    run(test())


def test_a_file_too_large_to_compare_is_only_named(tmp_path: Path) -> None:
    async def test() -> None:
        async with a_workshop(tmp_path) as shop:
            folder = await shop.enter()
            (folder / "data.txt").write_text("0123456789\n" * 500_000)
            found = files_of(shop)["data.txt"]
            diff = diff_worktree(shop.workspace(), found.file)
            assert not diff.hunks
            assert "huge" in diff.note

    run(test())


def test_other_workspaces_that_change_the_same_file_are_named(tmp_path: Path) -> None:
    async def test() -> None:
        async with a_workshop(tmp_path) as shop:
            for seat in (9, BEN):
                (await shop.enter(seat) / "app.py").write_text(f"{seat}\n")
            read = read_worktree(shop.workspace(), [shop.workspace("Ben")])
            assert [each.others for each in read.files] == [("Ben",)]

    run(test())


# ── programs of a repository ──────────────────────────────────────────────────────────────────────


def test_no_program_of_a_repository_is_run(tmp_path: Path) -> None:
    async def test() -> None:
        async with a_workshop(tmp_path) as shop:
            folder, ran = await shop.enter(), tmp_path / "ran"
            program = tmp_path / "evil"
            program.write_text(f"#!/bin/sh\necho $0 $@ >> {ran}\ncat\n")
            program.chmod(0o755)
            hooks = shop.top / ".git" / "hooks"
            hooks.mkdir(exist_ok=True)
            for hook in ("pre-commit", "post-checkout", "post-merge", "reference-transaction"):
                (hooks / hook).symlink_to(program)
            (hooks / "post-index-change").symlink_to(program)
            for key in (
                "core.fsmonitor",
                "core.pager",
                "core.editor",
                "diff.external",
                "diff.bad.command",
                "diff.bad.textconv",
                "filter.bad.clean",
                "filter.bad.smudge",
                "merge.bad.driver",
                "gpg.program",
            ):
                git(shop.top, "config", key, str(program))
            for key in ("commit.gpgSign", "filter.bad.required"):
                git(shop.top, "config", key, "true")
            (folder / ".gitattributes").write_text("* diff=bad filter=bad merge=bad\n")
            (folder / "app.py").write_text("changed\n")
            (folder / "new.py").write_text("new\n")
            for each in read_worktree(shop.workspace()).files:
                diff_worktree(shop.workspace(), each.file)
            read_shared(shop.top, None, ())
            await shop.service.rebase(NAME, actor=HUMAN)
            await shop.service.merge(NAME, actor=HUMAN)
            assert (shop.top / "app.py").read_text() == "changed\n"
            await shop.service.discard(NAME, actor=HUMAN)
            assert not ran.exists(), ran.read_text()

    run(test())


def test_variables_of_muster_do_not_lead_git_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    top = a_repository(tmp_path / "project")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    assert Git(top).ok("rev-parse", "--show-toplevel").text == str(top)


def test_git_that_takes_too_long_or_says_too_much_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    top = a_repository(tmp_path / "project", **{"big.txt": "x\n" * 5000})
    monkeypatch.setattr(git_module, "GIT_BYTES_MAX", 1000)
    assert Git(top).run("cat-file", "-p", "HEAD:big.txt").cut
    monkeypatch.setattr(git_module, "GIT_SECONDS", 0.2)
    waiting = Git(top)
    waiting.run("version")
    with pytest.raises(GitFailed, match="longer than"):
        waiting.run("-c", "alias.wait=!sleep 60", "wait")


def test_without_git_the_reason_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(GitFailed, match="not installed"):
        Git(tmp_path).run("version")


# ── agents ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("is_replaced", [True, False])
def test_a_git_file_that_the_agent_deleted_or_replaced_changes_nothing(
    tmp_path: Path, is_replaced: bool
) -> None:
    async def test() -> None:
        async with a_workshop(tmp_path) as shop:
            folder = await shop.enter()
            (folder / "new.py").write_text("Ada\n")
            (folder / ".git").unlink()
            if is_replaced:
                other = a_repository(tmp_path / "other")
                (folder / ".git").write_text(f"gitdir: {other}/.git\n")
            assert set(files_of(shop)) == {"new.py"}
            await shop.service.merge(NAME, actor=HUMAN)
            assert (shop.top / "new.py").read_text() == "Ada\n"

    run(test())


@pytest.mark.parametrize("how", ["branch", "detached"])
def test_work_on_another_branch_is_told_and_never_lost(tmp_path: Path, how: str) -> None:
    async def test() -> None:
        async with a_workshop(tmp_path) as shop:
            folder = await shop.enter()
            git(
                folder,
                "checkout",
                "--quiet",
                *(("-b", "feature") if how == "branch" else ("--detach",)),
            )
            (folder / "new.py").write_text("Ada\n")
            git(folder, "add", "--all")
            git(folder, "commit", "--quiet", "--message", "New")
            assert "checked out" in read_worktree(shop.workspace()).note
            assert set(files_of(shop)) == {"new.py"}
            with pytest.raises(CannotChangeWorkspace, match="not on muster/Ada"):
                await shop.service.merge(NAME, actor=HUMAN)
            assert is_unmerged(shop.workspace())
            with pytest.raises(CannotChangeWorkspace, match="not merged"):
                await shop.service.discard(NAME, actor=HUMAN)

    run(test())


def test_a_locked_index_stops_a_merge_and_not_the_look(tmp_path: Path) -> None:
    async def test() -> None:
        async with a_workshop(tmp_path) as shop:
            folder = await shop.enter()
            (folder / "new.py").write_text("Ada\n")
            lock = lock_of(shop)
            assert set(files_of(shop)) == {"new.py"}
            with pytest.raises(CannotChangeWorkspace, match=r"index\.lock"):
                await shop.service.merge(NAME, actor=HUMAN)
            unlock(lock)
            await shop.service.merge(NAME, actor=HUMAN)

    run(test())


def test_a_repository_in_the_worktree_is_not_merged_as_an_empty_link(tmp_path: Path) -> None:
    async def test() -> None:
        async with a_workshop(tmp_path) as shop:
            folder = await shop.enter()
            a_repository(folder / "nested")
            with pytest.raises(CannotChangeWorkspace, match=r"nested .*is a git repository"):
                await shop.service.merge(NAME, actor=HUMAN)
            assert is_unmerged(shop.workspace())

    run(test())


def test_conflicts_that_an_agent_has_not_resolved_are_not_committed(tmp_path: Path) -> None:
    async def test() -> None:
        async with a_workshop(tmp_path) as shop:
            folder = await shop.enter()
            (folder / "app.py").write_text("Ada\n")
            git(folder, "commit", "--quiet", "--all", "--message", "Ada")
            (shop.top / "app.py").write_text("mine\n")
            git(shop.top, "commit", "--quiet", "--all", "--message", "Mine")
            with pytest.raises(Exception, match="merge"):
                git(folder, "merge", MAIN)
            with pytest.raises(CannotChangeWorkspace, match="resolving conflicts"):
                await shop.service.merge(NAME, actor=HUMAN)

    run(test())


def test_looking_writes_nothing_into_the_repository(tmp_path: Path) -> None:
    async def test() -> None:
        async with a_workshop(tmp_path) as shop:
            folder = await shop.enter()
            (folder / "new.py").write_text("Ada\n")
            objects = sorted((shop.top / ".git" / "objects").rglob("*"))
            read_worktree(shop.workspace())
            assert sorted((shop.top / ".git" / "objects").rglob("*")) == objects
            assert git(folder, "status", "--porcelain") == "?? new.py"

    run(test())


def test_a_worktree_that_is_gone_shows_what_was_committed(tmp_path: Path) -> None:
    async def test() -> None:
        async with a_workshop(tmp_path) as shop:
            folder = await shop.enter()
            (folder / "new.py").write_text("Ada\n")
            git(folder, "add", "--all")
            git(folder, "commit", "--quiet", "--message", "New")
            folder.rename(tmp_path / "gone")
            read = read_worktree(shop.workspace())
            assert "is gone" in read.note
            assert [each.path for each in read.files] == ["new.py"]

    run(test())


def test_a_closed_workspace_still_shows_what_it_had_changed(tmp_path: Path) -> None:
    async def test() -> None:
        async with a_workshop(tmp_path) as shop:
            folder = await shop.enter()
            (folder / "new.py").write_text("Ada\n")
            await shop.service.merge(NAME, actor=HUMAN)
            await shop.service.discard(NAME, actor=HUMAN)
            assert set(files_of(shop)) == {"new.py"}

    run(test())


# ── shared folders ────────────────────────────────────────────────────────────────────────────────


def test_a_shared_folder_shows_what_git_sees_and_which_files_tool_calls_named(
    tmp_path: Path,
) -> None:
    top = a_repository(tmp_path / "project")
    home = top / ".muster"
    home.mkdir()
    (home / "team.db").write_bytes(b"private")
    (top / "app.py").write_text("changed\n")
    (top / "new.py").write_text("new\n")
    read = read_shared(top, home, ["new.py"])
    assert read.kind == "shared"
    assert "whoever changed it" in read.note
    assert {each.path: each.touched for each in read.files} == {"app.py": False, "new.py": True}
    [hunk] = diff_shared(top, home, read.files[0].file).hunks
    assert hunk.lines[-1].text == "changed"
    assert git(top, "status", "--porcelain", "--untracked-files=no") == " M app.py"


def test_a_folder_without_git_or_without_a_commit_says_so(tmp_path: Path) -> None:
    assert read_shared(tmp_path, None, ()).kind == "none"
    with pytest.raises(GitFailed):
        diff_shared(tmp_path, None, "x")
    git(tmp_path, "init", "--quiet")
    (tmp_path / "new.py").write_text("new\n")
    assert [each.path for each in read_shared(tmp_path, None, ()).files] == ["new.py"]
