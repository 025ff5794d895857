"""Messages that other programs put into a session's queue."""

from pathlib import Path

import pytest

from muster.delegation.folder.queue import read_messages, reject
from muster.limits import MESSAGE_BYTES_MAX


def test_a_message_is_json_with_its_speaker_or_plain_text(tmp_path: Path) -> None:
    (tmp_path / "1.txt").write_text("hello\n")
    (tmp_path / "2.json").write_text('{"text": "hi", "from": "Ada", "more": 1}')
    (tmp_path / "3.json").write_text('{"text": "anybody?"}')
    assert [(each.text, each.speaker, each.wrong) for each in read_messages(tmp_path)] == [
        ("hello", "queue", ""),
        ("hi", "Ada", ""),
        ("anybody?", "queue", ""),
    ]


def test_our_own_files_hidden_ones_and_folders_are_no_messages(tmp_path: Path) -> None:
    for name in ("001.json", "1000.json", ".new.txt", "old.txt.rejected"):
        (tmp_path / name).write_text("{}")
    (tmp_path / "done").mkdir()
    assert read_messages(tmp_path) == []
    assert read_messages(tmp_path / "nowhere") == []


@pytest.mark.parametrize("name", ["link", "link.json"])
@pytest.mark.parametrize("target", ["secret.txt", "nowhere", "."])
def test_a_symbolic_link_is_not_followed(tmp_path: Path, name: str, target: str) -> None:
    queue = tmp_path / "queue"
    queue.mkdir()
    (tmp_path / "secret.txt").write_text('{"text": "secret"}')
    (queue / name).symlink_to(tmp_path / target)
    [found] = read_messages(queue)
    assert (found.text, found.wrong) == ("", "is a symbolic link")
    reject(found)
    assert read_messages(queue) == []
    assert (tmp_path / "secret.txt").read_text() == '{"text": "secret"}'


@pytest.mark.parametrize(
    ("name", "data", "why"),
    [
        ("a.json", b"{", "cannot be read"),
        ("a.json", b'{"text": 1}', "cannot be read"),
        ("a.txt", b"\xff", "cannot be read"),
        ("a.txt", b" \n", "says nothing"),
        ("a.txt", b"x" * (MESSAGE_BYTES_MAX + 1), "is over"),
    ],
)
def test_an_invalid_message_has_its_reason_and_can_be_renamed(
    tmp_path: Path, name: str, data: bytes, why: str
) -> None:
    (tmp_path / name).write_bytes(data)
    [found] = read_messages(tmp_path)
    assert found.wrong.startswith(why)
    reject(found)
    assert read_messages(tmp_path) == []
    assert (tmp_path / f"{name}.rejected").read_bytes() == data
