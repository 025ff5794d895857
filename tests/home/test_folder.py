"""Whose a home must be: another user decides what is in it, and so what would run."""

import os
from pathlib import Path

import pytest

from muster.cli.main import run
from muster.client.transport import locate
from muster.errors import HomeOfAnother
from muster.home.folder import require_own
from muster.home.lock import lock_home

SOMEBODY = 65534


@pytest.fixture
def foreign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of another user. Only the administrator can give one away; else we play another."""
    monkeypatch.delenv("SUDO_UID", raising=False)
    if os.geteuid() == 0:
        os.chown(tmp_path, SOMEBODY, -1)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: SOMEBODY)
    return tmp_path


def test_a_home_of_ones_own_or_none_yet_is_used(tmp_path: Path) -> None:
    require_own(tmp_path)
    require_own(tmp_path / "none")


def test_a_home_of_another_user_is_refused_by_every_way_to_it(
    foreign: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(HomeOfAnother):
        locate(None, "mine", foreign, {})
    with pytest.raises(HomeOfAnother):
        lock_home(foreign)  # so does every log that is opened, that of a delegation session too
    for verb in ("status", "up", "send"):
        assert run(["--home", str(foreign), verb, *(["hello"] if verb == "send" else [])]) == 3
        assert f"{foreign} belongs to {foreign.owner()}" in capsys.readouterr().err


def test_the_user_behind_sudo_and_the_administrator_are_trusted(
    foreign: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    with pytest.raises(HomeOfAnother):
        require_own(foreign)
    monkeypatch.setenv("SUDO_UID", str(foreign.stat().st_uid))
    require_own(foreign)
    monkeypatch.setattr(os, "geteuid", lambda: SOMEBODY + 1)
    with pytest.raises(HomeOfAnother):
        require_own(foreign)
