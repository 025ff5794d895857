"""The agents of a session that was moved, alone or with its project."""

import shutil
from pathlib import Path

import pytest

from muster.delegation.agent_folders import agents_of, usable
from muster.machines.state import Delegation
from muster.routing.agent_files import AgentFile, AgentFolders
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


@pytest.mark.parametrize(
    ("names", "complaint"),
    [
        (("smith", "SMITH"), "SMITH is the name of a state already"),
        (("main",), "main is the name of a state already"),
        (("docs-writer", "d\u043ecs-writer"), "mixes Latin and Cyrillic letters"),
        (("scope", "\u0455\u0441\u043e\u0440\u0435"), "is the name of a state already"),
        (("../smith",), "cannot be a state"),
    ],
)
def test_a_name_that_people_take_for_another_is_no_state(
    names: tuple[str, ...], complaint: str
) -> None:
    found = usable(AgentFolders(tuple(AgentFile(each, SMITH) for each in names), ()))
    assert [each.name for each in found.agents] == list(names[:-1])
    [warned] = found.warnings
    assert complaint in str(warned)
