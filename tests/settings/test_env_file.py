"""Environment files: what a line may be, and errors that never repeat a secret."""

import os
from pathlib import Path

import pytest

from muster.limits import ENV_FILE_BYTES_MAX
from muster.settings.env_file import EnvFileError, parse_env_file, read_env_file

HERE = Path("agent.env")


@pytest.mark.parametrize(
    ("text", "variables"),
    [
        ("", {}),
        ("# a comment\n\n   # another\n", {}),
        ("A=1", {"A": "1"}),
        ("A=", {"A": ""}),
        ("A=1\r\nB=2\r\n", {"A": "1", "B": "2"}),
        ("\ufeffA=1", {"A": "1"}),
        ("export A=1\nexport\tB=2", {"A": "1", "B": "2"}),
        ("  A = 1  ", {"A": "1"}),
        ("A=one two", {"A": "one two"}),
        ("A=b=c==", {"A": "b=c=="}),
        ("A=1 # a comment", {"A": "1"}),
        ("A= # a comment", {"A": ""}),
        ("A=a#b", {"A": "a#b"}),
        ("A=#b", {"A": "#b"}),
        ("A=$HOME `id` \\n", {"A": "$HOME `id` \\n"}),
        ("A='one # two'  # a comment", {"A": "one # two"}),
        ("A='$B \\n \"'", {"A": '$B \\n "'}),
        (r'A="a\nb\tc\rd\"e\\f\$g\h"', {"A": 'a\nb\tc\rd"e\\f$g\\h'}),
        ('A="" ', {"A": ""}),
        ("A=it's", {"A": "it's"}),
        ("A=1\nA=2", {"A": "2"}),
        ("A=ü", {"A": "ü"}),
    ],
)
def test_lines_are_read_as_other_tools_read_them(text: str, variables: dict[str, str]) -> None:
    assert parse_env_file(HERE, text.encode()) == variables


KEPT = "hunter2"


@pytest.mark.parametrize(
    ("line", "what", "remedy"),
    [
        (KEPT, "it is not NAME=VALUE", "Write NAME=VALUE"),
        (f"{KEPT}-x==", "it is not NAME=VALUE", "Write NAME=VALUE"),
        (f"1A={KEPT}", "it is not NAME=VALUE", "Write NAME=VALUE"),
        (f"={KEPT}", "it is not NAME=VALUE", "Write NAME=VALUE"),
        (f"A='{KEPT}", "its quote is not closed", "Close it on the same line"),
        (f'A="{KEPT}', "its quote is not closed", "Close it on the same line"),
        (f'A="{KEPT}\\"', "its quote is not closed", "Close it on the same line"),
        (f"A='x'{KEPT}", "something follows the closing quote", "all of the value in quotes"),
        (f"A={KEPT}\0", "it has a NUL byte in it", "Remove it"),
        (f"MUSTER_TOKEN={KEPT}", "MUSTER_TOKEN is muster's own to set", "Remove the line"),
        (f"A={KEPT}\udcff", "it is not UTF-8", "Save the file as UTF-8."),
    ],
)
def test_a_mistake_names_the_file_and_the_line_and_no_value(
    line: str, what: str, remedy: str
) -> None:
    data = f"# first\nB=1\n{line}\n".encode(errors="surrogateescape")
    with pytest.raises(EnvFileError) as caught:
        parse_env_file(HERE, data)
    assert str(caught.value) == f"env_file agent.env line 3: {what}"
    assert remedy in caught.value.remedy
    shown = f"{caught.value!r}{caught.value.remedy}{caught.value.__cause__}"
    assert KEPT not in shown


@pytest.mark.parametrize("kind", ["missing", "folder", "fifo", "device", "link to a fifo", "long"])
def test_only_a_short_regular_file_is_read_and_nothing_blocks(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "agent.env"
    match kind:
        case "folder":
            path.mkdir()
        case "fifo":
            os.mkfifo(path)
        case "device":
            path.symlink_to("/dev/zero")
        case "link to a fifo":
            os.mkfifo(tmp_path / "pipe")
            path.symlink_to(tmp_path / "pipe")
        case "long":
            path.write_bytes(b"#" * (ENV_FILE_BYTES_MAX + 1))
        case _:
            pass
    with pytest.raises(EnvFileError) as caught:
        read_env_file(path)
    assert str(caught.value).startswith(f"env_file {path}: ")


def test_a_file_of_the_greatest_length_and_a_link_to_a_file_are_read(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.write_bytes(b"A=1\n".ljust(ENV_FILE_BYTES_MAX, b"#"))
    (tmp_path / "agent.env").symlink_to(kept)
    assert read_env_file(tmp_path / "agent.env") == {"A": "1"}
