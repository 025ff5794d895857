"""Two agents with one state file are refused, as far as the settings alone tell it."""

from pathlib import Path

import pytest

from muster.errors import BadSettings
from muster.settings.model import load_settings


def home_with(folder: Path, other: str) -> Path:
    """A home whose agents `a` and `b` have the state files `one.json` and another."""
    home = folder / ".muster"
    home.mkdir()
    (home / "muster.toml").write_text(
        '[agents.a]\ncommand = ["true"]\nstate_file = "one.json"\n'
        f'[agents.b]\ncommand = ["true"]\nstate_file = "{other}"\n'
    )
    return home


@pytest.mark.parametrize("other", ["one.json", "./sub/../one.json", "{folder}/one.json"])
def test_two_agents_with_one_state_file_are_refused_with_the_line(
    tmp_path: Path, other: str
) -> None:
    """Issue 15: one wish ran two agents, and they overwrote each other without end."""
    home = home_with(tmp_path, other.format(folder=tmp_path))
    with pytest.raises(BadSettings) as refused:
        load_settings(home, {})
    assert "agents.b.state_file is the file of agents.a" in str(refused.value)
    assert ":6" in str(refused.value) or "line 6" in str(refused.value)


def test_a_project_behind_a_link_has_one_name(tmp_path: Path) -> None:
    """Folders above the project are the user's: no agent changes where they lead."""
    (tmp_path / "real").mkdir()
    (tmp_path / "alias").symlink_to("real")
    home_with(tmp_path / "real", f"{tmp_path}/real/one.json")
    with pytest.raises(BadSettings):
        load_settings(tmp_path / "alias" / ".muster", {})


@pytest.mark.parametrize("target", ["one.json", ".muster/team.db", ".muster/agents/a/x.json"])
@pytest.mark.parametrize("other", ["link.json", "hard.json", "linked/x.json"])
def test_a_link_that_an_agent_can_make_is_no_mistake_of_the_settings(
    tmp_path: Path, other: str, target: str
) -> None:
    """One agent's link in place of its own state file kept the whole team from starting."""
    home = home_with(tmp_path, other)
    (tmp_path / target).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / target).write_text("{}")
    (tmp_path / "link.json").symlink_to(target)
    (tmp_path / "hard.json").hardlink_to(tmp_path / target)
    (tmp_path / "linked").symlink_to(str(Path(target).parent))
    assert set(load_settings(home, {}).agents) == {"a", "b"}


def test_a_file_of_its_own_is_accepted(tmp_path: Path) -> None:
    assert set(load_settings(home_with(tmp_path, "two.json"), {}).agents) == {"a", "b"}


@pytest.mark.parametrize(
    "other",
    [
        ".muster/team.db",
        ".muster/muster.toml",
        ".muster/operator.token",
        ".muster/state-files/1.json",
        ".muster/agents/../muster.lock",
        ".muster",
        "{folder}/.muster/team.db",
    ],
)
def test_a_file_of_musters_own_is_refused_with_the_line(tmp_path: Path, other: str) -> None:
    """Issue 15: muster moved its own log, settings or token aside and wrote a state file there."""
    home = home_with(tmp_path, other.format(folder=tmp_path))
    with pytest.raises(BadSettings) as refused:
        load_settings(home, {})
    assert "agents.b.state_file is a file of muster's own" in str(refused.value)
    assert ":6" in str(refused.value) or "line 6" in str(refused.value)


@pytest.mark.parametrize("target", ["muster.toml", "agents/b/agent_state.json"])
def test_a_link_that_an_agent_put_into_the_home_is_no_mistake_of_the_settings(
    tmp_path: Path, target: str
) -> None:
    """It kept muster from starting, and every change of the settings from being taken up."""
    home = tmp_path / ".muster"
    for name in "ab":
        (home / "agents" / name).mkdir(parents=True)
    (home / "agents" / "b" / "agent_state.json").write_text("{}")
    (home / "agents" / "a" / "agent_state.json").symlink_to(home / target)
    (home / "muster.toml").write_text(
        '[agents.a]\ncommand = ["true"]\n[agents.b]\ncommand = ["true"]\n'
    )
    assert set(load_settings(home, {}).agents) == {"a", "b"}


def test_the_file_of_another_agent_in_the_home_cannot_be_named(tmp_path: Path) -> None:
    home = tmp_path / ".muster"
    home.mkdir()
    (home / "muster.toml").write_text(
        '[agents.a]\ncommand = ["true"]\n[agents.b]\ncommand = ["true"]\n'
        'state_file = ".muster/agents/a/agent_state.json"\n'
    )
    with pytest.raises(BadSettings, match=r"agents\.b\.state_file is the file of agents\.a"):
        load_settings(home, {})


def test_a_file_in_the_folder_of_an_agent_is_accepted(tmp_path: Path) -> None:
    home = home_with(tmp_path, ".muster/agents/b/state.json")
    assert set(load_settings(home, {}).agents) == {"a", "b"}
