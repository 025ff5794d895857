"""Agent files as they are found in the wild: read, or skipped with a reason."""

import json
from pathlib import Path
from typing import Any

import pytest

from muster.errors import NotFound
from muster.routing import agent_files
from muster.routing.agent_files import AgentFile, find_agents, read_agent, read_folders
from tests.routing.teams import DATA

ODD = DATA / "frontmatter"
# any JSON value
EXPECTED: dict[str, dict[str, Any]] = json.loads((ODD / "expected.json").read_text("utf-8"))


def read(folder: Path, text: str | bytes, name: str = "smith.md") -> AgentFile:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    agent, _ = read_agent(path)
    assert agent is not None
    return agent


def told(folder: Path, text: str, name: str = "smith.md") -> list[str]:
    """The warnings about a file, without its path."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return [f"{each.line}: {each.text}" for each in read_agent(path)[1]]


def odd_file(name: str, folder: Path) -> Path:
    """An odd file. The one in cp1252 is stored as UTF-8, because editors would convert it."""
    kept = ODD / f"{Path(name).stem}.utf-8.txt"
    if not kept.exists():
        return ODD / name
    path = folder / name
    path.write_bytes(kept.read_text(encoding="utf-8").encode("cp1252"))
    return path


@pytest.mark.parametrize("name", EXPECTED)
def test_an_odd_agent_file_is_read_as_intended(name: str, tmp_path: Path) -> None:
    wanted = {key: value for key, value in EXPECTED[name].items() if key != "note"}
    agent, warnings = read_agent(odd_file(name, tmp_path))
    if agent is None:
        assert wanted == {"loads": False}
        assert warnings, "what is skipped is told"
        return
    assert {
        "loads": True,
        "name": agent.name,
        "description": " ".join(agent.description.split()),
        "tools": None if agent.tools is None else list(agent.tools),
        "model": agent.model,
        "routable": agent.routable,
    } == wanted


def test_every_agent_of_the_team_is_read() -> None:
    found = read_folders([DATA / "agents"])
    assert len(found.agents) == len(list((DATA / "agents").glob("*.md")))
    assert all(agent.routable and agent.body for agent in found.agents)
    assert [str(each.path.name) for each in found.warnings] == ["docs-writer.md"]


def test_a_warning_names_the_file_and_the_line(tmp_path: Path) -> None:
    head = "---\nname: smith\ndescription: Forges.\nmodel: opus\nname: jones\n---\n"
    assert told(tmp_path, head) == ["5: has 'name' again; the first one is used"]
    path = tmp_path / "smith.md"
    assert str(read_agent(path)[1][0]).startswith(f"{path}:5: ")


def test_front_matter_without_end_and_name_is_read_with_warnings(tmp_path: Path) -> None:
    assert told(tmp_path, "---\ndescription: Forges.\n\nYou forge.\n") == [
        "1: has no name; it is called 'smith' after its file",
        "1: has no line of `---` after its front matter; its end was guessed",
    ]


def test_a_rule_in_the_text_does_not_end_front_matter_without_a_fence(tmp_path: Path) -> None:
    agent = read(tmp_path, "---\nname: smith\ndescription: Forges.\n\n# Smith\n\nHot.\n\n---\nEnd.")
    assert agent.description == "Forges."
    assert agent.body.startswith("# Smith")


def test_an_unknown_key_ends_a_short_value_and_stays_in_a_description(
    tmp_path: Path,
) -> None:
    text = "---\nname: smith\nmodel: opus\nshoe_size: 44\ndescription: Forges.\nuser: hot\n---\n"
    agent = read(tmp_path, text)
    assert (agent.name, agent.model) == ("smith", "opus")
    assert agent.description.split() == ["Forges.", "user:", "hot"]
    assert agent.fields["shoe_size"] == "44"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "cp1252"])
def test_any_usual_encoding_is_read(encoding: str, tmp_path: Path) -> None:
    agent = read(tmp_path, "---\r\nname: smith\r\ndescription: Café.\r\n---\r\n".encode(encoding))
    assert agent.description == "Café."


def test_no_agent_can_be_named_main(tmp_path: Path) -> None:
    assert not read(tmp_path, "---\nname: MAIN\ndescription: All.\n---\n").routable


def test_the_first_folder_takes_precedence_and_the_warning_names_both_files(tmp_path: Path) -> None:
    project, user, given = tmp_path / "project", tmp_path / "user", tmp_path / "given"
    folders = (given, project / ".claude" / "agents", user / ".claude" / "agents")
    for number, folder in enumerate(folders):
        folder.mkdir(parents=True)
        read(folder, f"---\nname: smith\ndescription: Number {number}.\n---\n")
        read(folder, f"---\nname: own-{number}\ndescription: Own.\n---\n", f"own-{number}.md")
    found = find_agents([given], project=project, user=user)
    assert [agent.name for agent in found.agents] == ["own-0", "smith", "own-1", "own-2"]
    assert next(a for a in found.agents if a.name == "smith").description == "Number 0."
    assert len(found.warnings) == 2
    assert all(str(given / "smith.md") in each.text for each in found.warnings)
    assert {each.path for each in found.warnings} == {each / "smith.md" for each in folders[1:]}


def test_default_folders_may_be_missing_and_given_ones_may_not(tmp_path: Path) -> None:
    assert find_agents(project=tmp_path, user=None).agents == ()
    with pytest.raises(NotFound):
        find_agents([tmp_path / "none"], project=None, user=None)


def test_subfolders_are_read_and_a_cycle_of_links_is_followed_once(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    read(tmp_path / "a" / "b", "---\nname: smith\ndescription: Forges.\n---\n")
    (tmp_path / "a" / "b" / "up").symlink_to(tmp_path)
    (tmp_path / "a" / "all").symlink_to("/")
    found = read_folders([tmp_path])
    assert [agent.name for agent in found.agents] == ["smith"]
    assert not found.warnings


def test_an_unreadable_agent_file_is_a_warning(tmp_path: Path) -> None:
    (tmp_path / "smith.md").symlink_to(tmp_path / "nowhere")
    found = read_folders([tmp_path])
    assert not found.agents
    assert "cannot be read" in str(found.warnings[0])


def test_a_file_that_is_not_regular_is_a_warning_and_the_others_are_read(tmp_path: Path) -> None:
    read(tmp_path, "---\nname: smith\ndescription: Forges.\n---\n")
    (tmp_path / "null.md").symlink_to("/dev/null")
    found = read_folders([tmp_path])
    assert [agent.name for agent in found.agents] == ["smith"]
    (warning,) = found.warnings
    assert str(warning) == f"{tmp_path / 'null.md'}:1: cannot be read: not a regular file"


def test_files_and_folders_beyond_the_limit_are_skipped_with_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent_files, "FILES_MAX", 2)
    monkeypatch.setattr(agent_files, "FOLDERS_MAX", 2)
    for name in ("a", "b", "c"):
        (tmp_path / "few").mkdir(exist_ok=True)
        agent = f"---\nname: {name}\ndescription: Forges.\n---\n"
        (tmp_path / "few" / f"{name}.md").write_text(agent)
        (tmp_path / "deep" / name).mkdir(parents=True)
    files = read_folders([tmp_path / "few"])
    assert [agent.name for agent in files.agents] == ["a", "b"]
    assert "there are over 2 files" in str(files.warnings[0])
    folders = read_folders([tmp_path / "deep"])
    assert "there are over 2 folders" in str(folders.warnings[0])


def test_a_file_whose_name_is_not_utf_8_is_skipped_with_a_warning_that_can_be_shown(
    tmp_path: Path,
) -> None:
    agent = b"---\nname: good\ndescription: Sews sails.\n---\n"
    (tmp_path / "fine.md").write_bytes(agent)
    (tmp_path / "valid\udcff.md").write_bytes(agent.replace(b"good", b"odd"))
    found = read_folders([tmp_path])
    assert [each.name for each in found.agents] == ["good"]
    [warned] = found.warnings
    assert "not UTF-8" in str(warned).encode().decode()
