"""The private folder of a confined program: copies, links, and no way back to the person's."""

from pathlib import Path

from muster.runtimes.acp.presets import PRESETS
from muster.runtimes.prompted.private_folder import PrivateFolder, make_private

QWEN = PRESETS["qwen"].private or PrivateFolder("", "")
GEMINI = PRESETS["gemini"].private or PrivateFolder("", "")


def persons(home: Path, name: str) -> Path:
    folder = home / name
    (folder / "commands").mkdir(parents=True)
    (folder / "tmp").mkdir()
    (folder / "settings.json").write_text("{}")
    (folder / "oauth_creds.json").write_text("secret")
    return folder


def test_files_are_copied_commands_and_credentials_linked_and_the_rest_is_private(
    tmp_path: Path,
) -> None:
    theirs = persons(tmp_path / "home", ".gemini")
    variables = {"HOME": str(tmp_path / "home")}
    own, credentials = make_private(GEMINI, variables, tmp_path / "agent")
    assert own == tmp_path / "agent" / "program" / ".gemini"
    assert credentials == theirs / "oauth_creds.json"
    assert variables["GEMINI_CLI_HOME"] == str(own.parent)
    assert (own / "commands").readlink() == theirs / "commands"
    assert (own / "oauth_creds.json").readlink() == credentials
    assert not (own / "settings.json").is_symlink()
    assert (own / "settings.json").stat().st_mode & 0o777 == 0o600
    assert not (own / "tmp").exists()


def test_each_start_brings_the_persons_settings_back(tmp_path: Path) -> None:
    theirs = persons(tmp_path / "home", ".qwen")
    variables = {"HOME": str(tmp_path / "home")}
    own, _ = make_private(QWEN, dict(variables), tmp_path / "agent")
    (own / "settings.json").unlink()
    (own / "settings.json").symlink_to(theirs / "settings.json")  # an agent that wants to write it
    (own / "commands").unlink()
    (own / "commands").mkdir()
    (own / "commands" / "evil").touch()
    (theirs / "settings.json").write_text('{"new": 1}')
    make_private(QWEN, variables, tmp_path / "agent")
    assert variables["QWEN_HOME"] == str(own)
    assert not (own / "settings.json").is_symlink()
    assert (own / "settings.json").read_text() == '{"new": 1}'
    assert (own / "commands").readlink() == theirs / "commands"


def test_a_folder_that_the_settings_name_is_the_persons(tmp_path: Path) -> None:
    theirs = persons(tmp_path, "elsewhere")
    variables = {"QWEN_HOME": str(theirs)}
    own, credentials = make_private(QWEN, variables, tmp_path / "agent")
    assert (own / "settings.json").exists()
    assert credentials.parent == theirs
    missing = {"HOME": str(tmp_path / "nobody")}
    assert make_private(GEMINI, missing, tmp_path / "other") == [
        tmp_path / "other" / "program" / ".gemini"
    ]
