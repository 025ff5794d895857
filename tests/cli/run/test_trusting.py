"""A home that came with a repository runs nothing before its user approves it."""

import os
import subprocess
from pathlib import Path

import pytest

from muster.cli.run.trusted_homes import approve, came_with_repository, is_approved
from muster.cli.run.trusting import require_trust
from muster.errors import HomeNotTrusted
from muster.settings.model import load_settings
from tests.homes import muster

SETTINGS = """
[agents.helper]
command = ["sh", "-c", "touch HIT"]
[delegation]
command = ["sh", "evil.sh"]
[notify.me]
kind = "command"
command = ["tell-me"]
"""


def a_clone(folder: Path) -> Path:
    """The home in a clone of a repository that holds one."""
    source = folder / "source"
    home = source / ".muster"
    home.mkdir(parents=True)
    (home / "muster.toml").write_text(SETTINGS)
    git(source, "init", "-q")
    git(source, "add", "-f", ".muster")
    git(source, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x")
    git(folder, "clone", "-q", "source", "clone")
    return folder / "clone" / ".muster"


def git(folder: Path, *words: str) -> None:
    environ = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    subprocess.run(["git", *words], cwd=folder, env=environ, check=True)


def test_a_cloned_home_runs_nothing_until_it_is_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = a_clone(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    ran = muster("up", "--home", str(home), "--port", "0", XDG_STATE_HOME=str(tmp_path / "state"))
    assert ran.returncode != 0
    for program in ("sh -c touch HIT", "sh evil.sh", "tell-me", "muster up --trust"):
        assert program in ran.stderr
    assert sorted(each.name for each in home.iterdir()) == ["muster.toml"]
    require_trust(home, load_settings(home, {}), is_given=True)
    require_trust(home, load_settings(home, {}))  # it is remembered


def test_another_clone_in_the_same_place_is_another_home(tmp_path: Path) -> None:
    home, environ = a_clone(tmp_path), {"XDG_STATE_HOME": str(tmp_path / "state")}
    approve(home, environ)
    assert is_approved(home, environ)
    home.rename(home.with_name("aside"))
    home.mkdir()
    assert not is_approved(home, environ)


def test_a_home_that_git_does_not_track_is_the_users_own(tmp_path: Path) -> None:
    home = tmp_path / ".muster"
    assert not came_with_repository(home)
    home.mkdir()
    (home / "muster.toml").write_text(SETTINGS)
    assert not came_with_repository(home)
    git(tmp_path, "init", "-q")
    assert not came_with_repository(home)
    (home / ".gitignore").write_text("*")
    git(tmp_path, "add", "-f", ".muster/.gitignore")
    assert not came_with_repository(home)
    git(tmp_path, "add", "-f", ".muster/muster.toml")
    assert came_with_repository(home)


def test_a_repository_that_git_cannot_read_is_not_trusted(tmp_path: Path) -> None:
    home = tmp_path / ".muster"
    home.mkdir()
    (tmp_path / ".git").write_text("gitdir: /nowhere")
    assert came_with_repository(home)
    with pytest.raises(HomeNotTrusted, match="folder says"):
        require_trust(home, load_settings(home, {}))


def test_an_approval_that_cannot_be_kept_counts_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home = a_clone(tmp_path)
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    require_trust(home, load_settings(home, {}), is_given=True)
    assert "cannot be kept" in capsys.readouterr().err
