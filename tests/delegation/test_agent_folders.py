"""The agents of a session that was moved, alone or with its project."""

import shutil
from pathlib import Path

import pytest

from muster.delegation.agent_folders import agents_of
from muster.machines.state import Delegation
from tests.delegation.stage import agent_file

SMITH = "Forges iron."


def opened(project: Path, session: str, *folders: Path) -> Delegation:
    agent_file(project / ".claude" / "agents", "smith", SMITH)
    every = (project / ".claude" / "agents", *folders)
    return Delegation(
        path=str(project / session), agents=("smith",), folders=tuple(map(str, every))
    )


@pytest.mark.parametrize("session", ["sess", ".claude/agent-state-machine/20260204_211500"])
def test_a_session_finds_its_agents_after_its_project_was_moved(
    tmp_path: Path, session: str
) -> None:
    delegation = opened(tmp_path / "old", session)
    (tmp_path / "old").rename(tmp_path / "new")
    found = agents_of(delegation, tmp_path / "new" / session)
    assert found["smith"].description == SMITH


def test_a_copied_project_has_agents_of_its_own(tmp_path: Path) -> None:
    delegation = opened(tmp_path / "old", "sess")
    shutil.copytree(tmp_path / "old", tmp_path / "copy")
    agent_file(tmp_path / "copy" / ".claude" / "agents", "smith", "Forges copper.")
    assert agents_of(delegation, tmp_path / "copy/sess")["smith"].description == "Forges copper."
    assert agents_of(delegation, tmp_path / "old/sess")["smith"].description == SMITH


def test_a_session_that_moved_alone_finds_the_agents_where_they_were(tmp_path: Path) -> None:
    delegation = opened(tmp_path / "project", "sess")
    found = agents_of(delegation, tmp_path / "elsewhere" / "sess")
    assert found["smith"].description == SMITH


def test_folders_elsewhere_stay_and_one_that_is_gone_is_left_out(tmp_path: Path) -> None:
    agent_file(tmp_path / "shared", "tinker", "Mends pots.")
    delegation = opened(tmp_path / "old", "sess", tmp_path / "shared", tmp_path / "gone")
    (tmp_path / "old").rename(tmp_path / "new")
    known = Delegation(path=delegation.path, agents=("smith", "tinker"), folders=delegation.folders)
    found = agents_of(known, tmp_path / "new/sess")
    assert [each.description for each in found.values()] == [SMITH, "Mends pots."]
