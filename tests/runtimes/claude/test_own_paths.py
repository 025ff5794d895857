"""The folder of settings of a confined Claude Code: its own, with links to the person's."""

from pathlib import Path

from muster.runtimes.claude.own_paths import CONFIG_VARIABLE, with_own_folder
from muster.runtimes.process.confined import WritablePaths


def a_person(home: Path) -> Path:
    config = home / ".claude"
    (config / "plugins" / "data").mkdir(parents=True)
    (config / "plugins" / "installed.json").write_text("{}")
    (config / "shell-snapshots").mkdir()
    for name in ("settings.json", ".credentials.json", "history.jsonl"):
        (config / name).write_text(name)
    (home / ".claude.json").write_text("account")
    return config


def test_a_confined_session_reads_the_persons_settings_and_writes_its_own_folder(
    tmp_path: Path,
) -> None:
    config, agent = a_person(tmp_path), tmp_path / "agents" / "Ada"
    env = {"HOME": str(tmp_path)}
    paths = with_own_folder(WritablePaths(), env, agent)
    own = Path(env[CONFIG_VARIABLE])
    assert own == agent / "claude"
    assert (own / "settings.json").read_text() == "settings.json"
    assert (own / ".claude.json").read_text() == "account"
    assert (own / "plugins" / "installed.json").read_text() == "{}"
    assert (own / "history.jsonl").read_text() == ""
    theirs = [each for each in paths.outputs if not each.is_relative_to(own)]
    assert theirs == [config / ".credentials.json"]
    assert not any((own / each).is_symlink() for each in paths.outputs if each not in theirs)
    assert own not in paths.outputs


def test_links_follow_the_persons_files_at_each_start(tmp_path: Path) -> None:
    config, agent = a_person(tmp_path), tmp_path / "agents" / "Ada"
    moved = {"HOME": str(tmp_path), CONFIG_VARIABLE: str(tmp_path / "moved")}
    with_own_folder(WritablePaths(), moved, agent)
    assert not (agent / "claude" / "settings.json").exists()
    env = {"HOME": str(tmp_path)}
    with_own_folder(WritablePaths(), env, agent)
    (config / "settings.json").write_text("changed")
    (config / "CLAUDE.md").write_text("rules")
    with_own_folder(WritablePaths(), {"HOME": str(tmp_path)}, agent)
    assert (agent / "claude" / "settings.json").read_text() == "changed"
    assert (agent / "claude" / "CLAUDE.md").read_text() == "rules"


def test_without_a_folder_of_the_agent_nothing_is_given(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path)}
    assert with_own_folder(WritablePaths(), env, None) == WritablePaths()
    assert CONFIG_VARIABLE not in env
