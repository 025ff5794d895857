"""MAIN's lines in a session: wrapped, run by a real bash, and confined to what was judged."""

import subprocess
from pathlib import Path

import pytest

from muster.confine import kernel, session
from muster.confine.kernel import Support
from muster.permissions.judge import judge
from tests.waits import WAIT_SECONDS


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("conv_001", "conv_002"):
        (tmp_path / "session" / "conversations" / name / "outputs").mkdir(parents=True)
    (tmp_path / "project").mkdir()
    return tmp_path / "session"


def wrapped(line: str, root: Path, project: Path) -> str:
    verdict = judge("MAIN", "Bash", {"command": line}, cwd=str(project))
    assert verdict.allowed, verdict.reason
    assert verdict.grants is not None
    confined = session.confinement(str(root))
    assert confined is not None, kernel.support().sentence
    grants = verdict.grants
    return confined.wrapped(
        line, files=grants.files, folders=grants.folders, network=grants.network
    )


def carry_out(line: str, project: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", line],
        cwd=project,
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
        check=False,
    )


@pytest.mark.parametrize(
    "line",
    [
        "ls",
        "echo \"it's\" 'a b' $((1 + 2))",
        "cat <<'E'\nit's\nE",
        "echo hi > notes.md && cat notes.md",
        "mkdir -p docs/plans && ls docs",
        "touch new.md && ls",
        "git --version | head -1",
        "sort <<< b",
    ],
)
def test_a_judged_line_does_what_it_does_unconfined(line: str, root: Path, tmp_path: Path) -> None:
    plain, confined = tmp_path / "plain", tmp_path / "project"
    plain.mkdir()
    expected = carry_out(line, plain)
    found = carry_out(wrapped(line, root, confined), confined)
    assert (found.stdout, found.stderr, found.returncode) == (
        expected.stdout,
        expected.stderr,
        expected.returncode,
    )
    assert sorted(each.name for each in confined.iterdir()) == sorted(
        each.name for each in plain.iterdir()
    )


def test_a_line_writes_the_outputs_and_its_documents_and_nothing_else(
    root: Path, tmp_path: Path
) -> None:
    project = tmp_path / "project"
    line = "echo hi > notes.md"
    confined = wrapped(line, root, project).replace("echo hi", "touch evil.py; echo hi")
    ran = carry_out(confined, project)
    assert "Permission denied" in ran.stderr
    assert [each.name for each in project.iterdir()] == ["notes.md"]
    outputs = root / "conversations" / "conv_002" / "outputs"
    assert carry_out(wrapped(f"ls > {outputs}/list.txt", root, project), project).returncode == 0


def test_git_runs_no_program_that_a_folder_of_a_clone_names(root: Path, tmp_path: Path) -> None:
    project, ran = tmp_path / "project", root / "conversations" / "conv_002" / "outputs" / "ran"
    hidden = project / "vendor" / "x"
    for each in ("objects", "refs/heads"):
        (hidden / each).mkdir(parents=True)
    (hidden / "HEAD").write_text("ref: refs/heads/main\n")
    named = f'[core]\nbare = false\nworktree = .\nfsmonitor = "touch {ran}; true"\n'
    (hidden / "config").write_text(named)
    subprocess.run(["git", "init", "-q", str(project / "own")], check=True)
    (project / "own" / ".git" / "config").write_text(f'[core]\nfsmonitor = "touch {ran}; true"\n')
    found = carry_out(wrapped("cd vendor/x && git status", root, project), project)
    assert "bare repository" in found.stderr
    found = carry_out(wrapped("git -C own status", root, project), project)
    assert (found.returncode, found.stderr) == (0, "")
    assert not ran.exists()
    cleared = {"command": "env -i git status"}
    assert not judge("MAIN", "Bash", cleared, cwd=str(project)).allowed


def test_a_folder_with_a_colon_brings_no_other_folder_into_the_path(tmp_path: Path) -> None:
    root = tmp_path / "with:bin" / "session"
    (root / "conversations" / "conv_001" / "outputs").mkdir(parents=True)
    found = carry_out(wrapped("echo $PATH", root, tmp_path), tmp_path)
    assert str(tmp_path) not in found.stdout


def test_a_plan_is_made_once_and_again_for_another_kernel(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert session.confinement(str(root)) is not None
    plan = root / session.FOLDER / session.PLAN
    made = plan.stat().st_ino
    session.confinement(str(root))
    assert plan.stat().st_ino == made
    plan.write_text(plan.read_text().replace("muster-confine 2 ", "muster-confine 2 old-"))
    session.confinement(str(root))
    assert plan.read_text().splitlines()[0] == session.head()

    monkeypatch.setattr(kernel, "support", lambda: Support(0, why="no Landlock"))
    plan.unlink()
    assert session.confinement(str(root)) is None
    wrapped_by = Support(0, bubblewrap="/usr/bin/bwrap", why="no Landlock")
    monkeypatch.setattr(kernel, "support", lambda: wrapped_by)
    plan.unlink()
    confined = session.confinement(str(root))
    assert confined is not None
    notes = root / "notes.md"
    line = confined.wrapped("ls", files=[str(notes)], folders=[], network=False)
    assert line.startswith("'/usr/bin/bwrap' ")
    assert f"'--bind' '{notes}' '{notes}'" in line
    assert notes.exists()


def test_only_the_newest_outputs_may_be_written(root: Path) -> None:
    for number in range(3, 12):
        (root / "conversations" / f"conv_{number:03}" / "outputs").mkdir(parents=True)
    (root / "conversations" / "conv_1000" / "outputs").mkdir(parents=True)
    names = [Path(each).parent.name for each in session.newest_outputs(str(root))]
    assert names == ["conv_010", "conv_011", "conv_1000"]
    assert session.newest_outputs(str(root / "gone")) == []
