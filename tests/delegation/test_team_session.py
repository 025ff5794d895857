"""The file that names a team's open session."""

from pathlib import Path

import pytest

from muster.delegation.folder.workspace import STATE_FILE
from muster.delegation.team_session import FILE, forget_lost, placed, team_session, update
from muster.errors import SessionGone
from muster.machines.state import Delegation
from muster.machines.vocabulary import DelegationMode

OPEN = Delegation(mode=DelegationMode.ORCHESTRATOR, path="/a folder\nwith \udcff/session")


def test_the_file_names_the_session_while_it_is_open(tmp_path: Path) -> None:
    (tmp_path / "team.db").touch()
    assert team_session(tmp_path) is None
    update(tmp_path, OPEN)
    assert team_session(tmp_path) == Path(OPEN.path)
    written = (tmp_path / FILE).stat().st_ino
    update(tmp_path, OPEN)
    assert (tmp_path / FILE).stat().st_ino == written
    update(tmp_path, Delegation(path=OPEN.path))
    assert team_session(tmp_path) is None
    assert [each.name for each in tmp_path.iterdir()] == ["team.db"]


def test_a_session_is_found_after_its_project_was_moved(tmp_path: Path) -> None:
    session = tmp_path / "old" / ".claude" / "sessions" / "one"
    home = tmp_path / "old" / ".muster"
    for folder in (session, home):
        folder.mkdir(parents=True)
    (home / "team.db").touch()
    (session / STATE_FILE).touch()
    delegation = Delegation(mode=DelegationMode.ORCHESTRATOR, path=str(session))
    update(home, delegation)
    (tmp_path / "old").rename(tmp_path / "new")
    home, moved = tmp_path / "new" / ".muster", tmp_path / "new" / ".claude" / "sessions" / "one"
    assert team_session(home) == moved
    update(home, delegation)
    assert (home / FILE).read_text() == str(moved)
    (moved / STATE_FILE).unlink()
    assert placed(str(session), home) == session


def test_a_session_whose_log_is_gone_is_in_force_until_it_is_forgotten(tmp_path: Path) -> None:
    update(tmp_path, OPEN)
    with pytest.raises(SessionGone):
        team_session(tmp_path)
    assert forget_lost(tmp_path)
    assert team_session(tmp_path) is None
    assert not forget_lost(tmp_path)
