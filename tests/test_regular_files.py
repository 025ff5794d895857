"""Files that others put in place: only regular ones are read, and nothing is waited for."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from muster.regular_files import TooLong, is_regular, open_regular, read_regular, read_start
from tests.waits import WAIT_SECONDS


def test_a_regular_file_is_read_whole_up_to_a_bound(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"0123456789")
    assert read_regular(path) == b"0123456789"
    assert read_regular(path, bytes_max=10) == b"0123456789"
    assert read_start(path, 4) == b"0123"
    with pytest.raises(TooLong, match="more than 9 bytes"):
        read_regular(path, bytes_max=9)


def test_a_link_to_a_regular_file_is_followed_unless_the_caller_says_otherwise(
    tmp_path: Path,
) -> None:
    (tmp_path / "file").write_bytes(b"here")
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "file")
    assert is_regular(link)
    assert read_regular(link) == b"here"
    with pytest.raises(OSError, match="symbolic links"):
        read_regular(link, follow_links=False)


READERS = {
    "an agent file": "from muster.routing.agent_files import read_agent; read_agent(path)",
    "a policy": "from muster.permissions.policy import load; load(path)",
    "settings": "from muster.settings.file import text_of; text_of(path)",
    "a state file": "from muster.mirrors.exchange import read; read(path)",
    "an inbox": "from muster.mirrors.inbox_file.format import read; read(path)",
    "a dropped message": (
        "from muster.delegation.folder.queue import read_messages; read_messages(path.parent)"
    ),
    "a file that an agent made": (
        "from muster.delegation.folder.file_changes import difference, take_snapshot; "
        "difference(path.parent, {}, take_snapshot(path.parent))"
    ),
    "an address": "from muster.home import address; address.find(path.parent)",
    "an output file": (
        "from muster.runtimes.process.output_file import OutputFile; import asyncio; "
        "asyncio.run(OutputFile(path.parent, kept=1).append(b'word'))"
    ),
}
CHILD = """
import pathlib, sys
from muster.errors import MusterError
from muster.permissions.policy import PolicyError

path = pathlib.Path(sys.argv[1])
try:
    {reads}
except (OSError, MusterError, PolicyError):
    pass
"""
NAMES = {"an address": "server.json", "an output file": "output.log"}


@pytest.mark.parametrize("kind", ["fifo", "device"])
@pytest.mark.parametrize("reader", READERS)
def test_no_reader_waits_for_a_fifo_or_a_device(tmp_path: Path, reader: str, kind: str) -> None:
    path = tmp_path / NAMES.get(reader, "x.md")
    if kind == "fifo":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")  # which never ends
    program = CHILD.format(reads=READERS[reader])
    # In a process of its own: a reader that waits would wait for ever.
    subprocess.run([sys.executable, "-c", program, path], timeout=WAIT_SECONDS, check=True)


@pytest.mark.parametrize("target", ["/dev/null", "/dev/ptmx"])
def test_a_device_is_not_opened(tmp_path: Path, target: str) -> None:
    link = tmp_path / "link"
    link.symlink_to(target)
    assert not is_regular(link)
    with pytest.raises(OSError, match="not a regular file"):
        open_regular(link)


def test_a_folder_is_not_a_regular_file(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        read_regular(tmp_path)
    assert not is_regular(tmp_path / "nowhere")
