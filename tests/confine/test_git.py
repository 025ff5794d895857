"""git in MAIN's lines: a repository whose configuration names programs everywhere it can."""

import os
import subprocess
from pathlib import Path

import pytest

from muster.confine import session
from tests.confine.test_session import carry_out, wrapped

NAMED = (
    "diff.external",
    "diff.shown.textconv",
    "diff.shown.command",
    "filter.shown.clean",
    "filter.shown.smudge",
    "filter.run.process",
    "alias.lfs",
    "core.fsmonitor",
    "core.pager",
    "pager.log",
    "pager.diff",
    "core.sshCommand",
    "core.askPass",
    "core.editor",
    "credential.helper",
    "credential.https://localhost:1.helper",
    "gpg.program",
    "remote.origin.uploadpack",
    "man.shown.cmd",
    "merge.shown.driver",
    "uploadpack.packObjectsHook",
)
LINES = (
    "git status",
    "git status -sb",
    "git diff",
    "git diff HEAD~1",
    "git diff --stat HEAD~1",
    "git diff --cached",
    "git diff --no-index a.txt b.run",
    "git log -p",
    "git log --oneline --graph --all",
    "git -p log",
    "git show",
    "git show HEAD:a.txt",
    "git blame a.txt",
    "git annotate a.txt",
    "git grep one",
    "git diff-index -p HEAD",
    "git diff-files -p",
    "git diff-tree -p HEAD",
    "git ls-files -m --eol",
    "git cat-file -p HEAD:a.txt",
    "git stash list -p",
    "git stash show -p",
    "git whatchanged -p",
    "git range-diff HEAD~1..HEAD HEAD~1..HEAD",
    "git reflog -p",
    "git describe --always --dirty",
    "git ls-remote",
    "git ls-remote origin",
    "git remote show origin",
    "git ls-remote other",
    "git branch -vv",
    "git lfs status",
    "git help log",
    "git -C . diff",
    "git --git-dir=.git diff",
    "find . -maxdepth 1 -name a.txt -exec git diff ';'",
    "nice git diff",
    "timeout 60 git diff",
    "command git diff",
    "cd inner && git diff",
    "git submodule status",
    "git submodule summary",
    "git fsck",
)


def program(place: Path, name: str) -> str:
    """A value that leaves a trace, as each kind of setting takes it."""
    if name.startswith(("alias.", "credential.")):
        return f"!touch '{place}/{name}'; true"
    if name.startswith("remote."):
        return f"touch '{place}/{name}'; true #"
    return f"touch '{place}/{name}' && cat #"


def git(folder: Path, *arguments: str) -> None:
    signed = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
    for who in ("AUTHOR", "COMMITTER"):
        signed |= {f"GIT_{who}_NAME": "Ada", f"GIT_{who}_EMAIL": "ada@example.org"}
    subprocess.run(
        ["git", *arguments], cwd=folder, check=True, capture_output=True, env=os.environ | signed
    )


@pytest.fixture
def outputs(tmp_path: Path) -> Path:
    found = tmp_path / "session" / "conversations" / "conv_001" / "outputs"
    found.mkdir(parents=True)
    return found


@pytest.fixture
def project(tmp_path: Path, outputs: Path) -> Path:
    """A repository with two commits, a stash and changed files, and then the configuration."""
    found = tmp_path / "project"
    for folder in (found, found / "inner"):
        folder.mkdir()
        git(folder, "init", "-q", "-b", "main")
        (folder / "a.txt").write_text("one\n")
        (folder / "b.run").write_text("one\n")
        (folder / ".gitattributes").write_text(
            "*.txt diff=shown filter=shown merge=shown\n*.run filter=run\n"
        )
        git(folder, "add", "a.txt", "b.run", ".gitattributes")
        git(folder, "commit", "-qm", "one")
        (folder / "a.txt").write_text("two\n")
        git(folder, "commit", "-qam", "two")
        (folder / "a.txt").write_text("three\n")
        git(folder, "stash")
        (folder / "a.txt").write_text("four\n")
        (folder / "b.run").write_text("four\n")
        git(folder, "config", "remote.origin.url", str(found / "inner"))
        git(folder, "config", "extensions.worktreeConfig", "true")
        git(folder, "config", "include.path", "../more")
        git(folder, "config", "remote.other.url", f"sh -c touch% {outputs}/remote.other.vcs")
        git(folder, "config", "remote.other.vcs", "ext")
        git(folder, "config", "protocol.ext.allow", "always")
        for number, name in enumerate(NAMED):
            place = (["--local"], ["--worktree"], ["--file", "more"])[number % 3]
            git(folder, "config", *place, name, program(outputs, name.replace("/", "_")))
    return found


def test_git_shows_a_change_and_runs_no_program_that_the_repository_names(
    project: Path, outputs: Path, tmp_path: Path
) -> None:
    root = tmp_path / "session"
    ran: list[str] = []
    for line in LINES:
        carry_out(wrapped(line, root, project), project)
        ran += [f"{line}: {each.name}" for each in outputs.iterdir()]
        for each in outputs.iterdir():
            each.unlink()
    assert ran == []
    shown = carry_out(wrapped("git diff", root, project), project)
    assert "-two\n+four" in shown.stdout, shown.stderr
    shown = carry_out(wrapped("git log -p -1", root, project), project)
    assert "-one\n+two" in shown.stdout, shown.stderr


def test_the_same_lines_run_those_programs_without_the_confinement(
    project: Path, outputs: Path
) -> None:
    for line in LINES:
        carry_out(line, project)
    ran = {each.name for each in outputs.iterdir()}
    assert {
        "alias.lfs",
        "core.fsmonitor",
        "diff.external",
        "diff.shown.command",
        "diff.shown.textconv",
        "filter.run.process",
        "filter.shown.clean",
        "remote.origin.uploadpack",
        "remote.other.vcs",
    } <= ran


def test_settings_of_the_user_stay(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = tmp_path / "gitconfig"
    mine.write_text('[diff "shown"]\ntextconv = sed s/^/mine:/\n[alias]\nlfs = version\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(mine))
    git(project, "config", "--worktree", "--unset", "diff.shown.textconv")
    shown = carry_out(wrapped("git diff", tmp_path / "session", project), project)
    assert "-mine:two\n+mine:four" in shown.stdout, shown.stderr


def test_git_without_its_own_place_in_the_path_runs_nothing(project: Path, tmp_path: Path) -> None:
    root = tmp_path / "session"
    wrapped("git status", root, project)
    own = root / session.FOLDER / session.PROGRAMS / "git"
    found = carry_out(f"{own} status", project)
    assert found.returncode == 126
    assert "the PATH of this line was changed" in found.stderr


def test_git_runs_no_program_that_a_submodule_names(tmp_path: Path, outputs: Path) -> None:
    module, project = tmp_path / "module", tmp_path / "project"
    for folder in (module, project):
        folder.mkdir()
        git(folder, "init", "-q", "-b", "main")
    (module / "a.txt").write_text("one\n")
    (module / ".gitattributes").write_text("*.txt filter=shown diff=shown\n")
    git(module, "add", ".")
    git(module, "commit", "-qm", "one")
    git(project, "-c", "protocol.file.allow=always", "submodule", "add", str(module), "inner")
    git(project, "config", "-f", ".gitmodules", "submodule.inner.ignore", "none")
    git(project, "config", "diff.submodule", "diff")
    git(project, "add", ".")
    git(project, "commit", "-qm", "with a module")
    (project / "inner" / "a.txt").write_text("two\n")
    for name in ("filter.shown.clean", "diff.shown.textconv", "core.fsmonitor", "diff.external"):
        git(project / "inner", "config", name, program(outputs, name))
    lines = (
        "git status",
        "git diff HEAD",
        "git log -p",
        "git grep --recurse-submodules one",
        "git describe --always --dirty",
    )
    for line in lines:
        carry_out(wrapped(line, tmp_path / "session", project), project)
    assert list(outputs.iterdir()) == []
    for line in lines:
        carry_out(line, project)
    assert {"filter.shown.clean", "core.fsmonitor"} <= {each.name for each in outputs.iterdir()}
