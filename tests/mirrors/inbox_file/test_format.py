"""Inbox files: nothing is lost between those who lock, those who rename and those who do not."""

import fcntl
import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from muster.errors import Refused
from muster.limits import INBOX_COMMAS_MAX, INBOX_ITEMS_MAX
from muster.mirrors import libc
from muster.mirrors.inbox_file import format as inboxes
from muster.mirrors.inbox_file.format import (
    Items,
    Unsettled,
    adding,
    change,
    inbox_path,
    keys_of,
    marking,
    new_entry,
    restoring,
)
from muster.mirrors.state_file.document import MalformedContent
from muster.regular_files import TooLong
from tests.waits import WAIT_SECONDS

AT = datetime(2025, 10, 15, 22, 39, 14, 372_000, tzinfo=UTC)

LOCKING_WRITER = """
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from muster.mirrors.inbox_file.format import adding, change, new_entry

path, first = Path(sys.argv[1]), int(sys.argv[2])
for seq in range(first, first + 40):
    at = datetime.fromtimestamp(seq, UTC)
    entry = new_entry(sender="writer", text=f"message {seq}", at=at, seq=seq)
    while True:
        try:
            change(path, adding([entry]))
            break
        except BlockingIOError:
            pass
"""

RENAMING_WRITER = """
import json, os, sys
from pathlib import Path

path = Path(sys.argv[1])
aside = path.with_name("theirs.tmp")
for number in range(200):
    items = [item for item in json.loads(path.read_bytes()) if "number" not in item]
    items += [{"from": "other", "text": "x", "number": each} for each in range(number + 1)]
    aside.write_bytes(json.dumps(items).encode())
    os.replace(aside, path)
    for look in range(100_000):  # for an instant it may be on its way
        if any(item.get("number") == number for item in json.loads(path.read_bytes())):
            break
    else:
        sys.exit(f"{number} is lost")
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "inboxes" / "lyra.json"


def entry(seq: int, text: str = "hello") -> inboxes.Entry:
    return new_entry(sender="Marcus", text=text, at=AT, seq=seq)


def there(path: Path) -> Items:
    found = inboxes.read(path)
    assert isinstance(found, list)
    return found


def put(path: Path, content: bytes) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)


def names(path: Path) -> list[str]:
    return sorted(each.name for each in path.parent.iterdir())


# ── names and entries ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("name", "file"),
    [("Lyra", "lyra.json"), ("Lyra 2.0", "lyra 2.0.json"), ("ÉMILE_x-", "émile_x-.json")],
)
def test_a_file_is_named_after_its_owner_in_small_letters(name: str, file: str) -> None:
    assert inbox_path(Path("/in"), name) == Path("/in") / file


@pytest.mark.parametrize(
    "name", ["", "..", ".", "../x", "a/b", "/etc/passwd", "a\0b", "a\nb", " a", "x" * 65, "a:b"]
)
def test_a_name_that_could_leave_the_folder_is_refused(name: str) -> None:
    with pytest.raises(Refused):
        inbox_path(Path("/in"), name)


def test_an_entry_has_the_fields_of_the_seed_and_its_place_in_the_log() -> None:
    assert entry(7, "x" * 100) == {
        "from": "Marcus",
        "text": "x" * 100,
        "summary": "x" * 80,
        "timestamp": "2025-10-15T22:39:14.372Z",
        "read": False,
        "seq": 7,
    }


def test_the_same_words_at_the_same_time_are_one_entry_and_untimed_ones_are_counted() -> None:
    first, second = entry(1), {**entry(1), "read": True}
    assert len(set(keys_of([first, second]))) == 1
    untimed = {"from": "Lyra", "text": "ok"}
    assert len(set(keys_of([untimed, dict(untimed), "ok", "ok", 1]))) == 5


# ── changing ──────────────────────────────────────────────────────────────────────────────────────


def test_a_missing_inbox_is_made_with_its_folder_for_its_owner_only(path: Path) -> None:
    assert inboxes.read(path) is None
    assert change(path, lambda items: items).items == []
    assert path.read_bytes() == b"[]\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert names(path) == [".lyra.json.muster-lock", "lyra.json"]


def test_what_is_there_already_is_not_added_again(path: Path) -> None:
    change(path, adding([entry(1), entry(2)]))
    before = path.stat()
    change(path, adding([entry(2), entry(1)]))
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    other_log = {**entry(1), "timestamp": "2020-01-01T00:00:00.000Z"}
    change(path, adding([other_log]))
    assert there(path) == [entry(1), entry(2), other_log]


def test_unknown_fields_their_order_what_is_no_entry_and_the_mode_stay(path: Path) -> None:
    items = [{"color": "blue", "from": "Ada", "text": "é", "read": False, "x": [1]}, "stray", None]
    put(path, json.dumps(items).encode())
    path.chmod(0o640)
    done = change(path, adding([entry(3)]))
    assert done.late is not None
    done.late.close()
    assert there(path) == [*items, entry(3)]
    assert list(json.loads(path.read_bytes())[0]) == ["color", "from", "text", "read", "x"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_marking_changes_nothing_but_the_mark(path: Path) -> None:
    items: Items = [{"from": "Ada", "text": "a", "more": 1}, {"from": "Ada", "text": "b"}, "stray"]
    put(path, json.dumps(items).encode())
    change(path, marking(frozenset([keys_of(items)[0], keys_of(items)[2]])))
    assert there(path) == [{"from": "Ada", "text": "a", "more": 1, "read": True}, *items[1:]]


def test_half_a_character_survives(path: Path) -> None:
    put(path, b'[{"from": "Ada", "text": "\\ud83d"}]')
    change(path, adding([entry(1)]))
    assert there(path)[0] == {"from": "Ada", "text": "\ud83d"}


@pytest.mark.parametrize(
    "content", [b"{", b'{"from": "x"}', b"[1,", b"\xff\xfe", b"null", b"[" * 100_000]
)
def test_a_malformed_inbox_is_kept_aside_once_it_has_settled(path: Path, content: bytes) -> None:
    put(path, content)
    assert isinstance(inboxes.read(path), MalformedContent)
    with pytest.raises(Unsettled):
        change(path, adding([entry(1)]))
    assert path.read_bytes() == content
    done = change(path, adding([entry(1)]), settled=True)
    assert done.kept == path.with_name("lyra.json.malformed-1")
    assert done.kept is not None
    assert done.kept.read_bytes() == content
    assert done.why
    put(path, content)
    again = change(path, adding([entry(1)]), settled=True)
    assert again.kept == path.with_name("lyra.json.malformed-2")
    assert there(path) == [entry(1)]


def test_an_empty_file_is_unsettled_and_then_an_empty_inbox(path: Path) -> None:
    put(path, b" \n")
    with pytest.raises(Unsettled):
        change(path, adding([entry(1)]))
    assert change(path, adding([entry(1)]), settled=True).kept is None
    assert there(path) == [entry(1)]


def test_a_link_a_folder_or_a_pipe_in_its_place_is_refused(path: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere.json"
    elsewhere.write_bytes(b"[]")
    path.parent.mkdir()
    path.symlink_to(elsewhere)
    with pytest.raises(OSError, match="symbolic links"):
        change(path, adding([entry(1)]))
    assert elsewhere.read_bytes() == b"[]"
    path.unlink()
    path.mkdir()
    with pytest.raises(IsADirectoryError):
        change(path, adding([entry(1)]))
    path.rmdir()
    os.mkfifo(path)
    with pytest.raises(OSError, match="not a regular file"):
        change(path, adding([entry(1)]))


def test_an_inbox_that_is_far_too_long_is_not_read(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inboxes, "INBOX_BYTES_MAX", 100)
    put(path, b"[" + b" " * 100 + b"]")
    with pytest.raises(TooLong):
        change(path, adding([entry(1)]))


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"[" + b"1," * INBOX_COMMAS_MAX + b"1,1]", "more than 200000 commas"),
        (b"[" + b"{}," * INBOX_ITEMS_MAX + b"{}]", "more than 10000 items"),
        (b"[" * 1_000_000, "not JSON"),
    ],
)
def test_an_inbox_with_too_many_values_is_malformed_as_a_whole(
    path: Path, content: bytes, why: str
) -> None:
    put(path, content)
    found = inboxes.read(path)
    assert isinstance(found, MalformedContent)
    assert why in found.why


class Crash(BaseException):
    """The process ends here."""


def test_a_draft_that_a_crash_left_is_removed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(one: Path, other: Path) -> None:
        raise Crash

    change(path, adding([entry(1)]))
    with monkeypatch.context() as patched:
        patched.setattr(libc, "swap", crash)
        with pytest.raises(Crash):
            change(path, adding([entry(2)]))
    assert len(names(path)) == 3
    change(path, adding([entry(3)]))
    assert there(path) == [entry(1), entry(3)]
    assert names(path) == [".lyra.json.muster-lock", "lyra.json"]


def test_a_write_that_a_crash_kept_from_going_back_is_put_back(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs: Items = [entry(1), {"from": "Ada", "text": "quick"}]
    swaps = 0

    def swap(one: Path, other: Path, real: Callable[[Path, Path], None] = libc.swap) -> None:
        nonlocal swaps
        swaps += 1
        if swaps == 2:
            raise Crash
        aside = path.with_name("theirs")
        aside.write_bytes(json.dumps(theirs).encode())
        aside.replace(path)
        real(one, other)

    change(path, adding([entry(1)]))
    with monkeypatch.context() as patched:
        patched.setattr(libc, "swap", swap)
        with pytest.raises(Crash):
            change(path, adding([entry(2)]))
    assert there(path) == [entry(1), entry(2)]
    change(path, adding([entry(3)]))
    assert there(path) == [*theirs, entry(3)]
    assert names(path) == [".lyra.json.muster-lock", "lyra.json"]


def test_a_file_system_that_cannot_exchange_names_will_do(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cannot(one: Path, other: Path) -> None:
        raise OSError(22, "Invalid argument")

    monkeypatch.setattr(libc, "swap", cannot)
    for seq in (1, 2, 3):
        change(path, adding([entry(seq)]))
    assert there(path) == [entry(1), entry(2), entry(3)]
    assert names(path) == [".lyra.json.muster-lock", "lyra.json"]


# ── others ────────────────────────────────────────────────────────────────────────────────────────


def test_who_has_the_lock_is_not_disturbed(path: Path) -> None:
    change(path, adding([entry(1)]))
    with path.with_name(".lyra.json.muster-lock").open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(BlockingIOError):
            change(path, adding([entry(2)]))
    assert change(path, adding([entry(2)])).items == [entry(1), entry(2)]


@pytest.mark.parametrize("early", [True, False])
def test_a_file_that_is_renamed_into_place_meanwhile_is_changed_instead(
    path: Path, monkeypatch: pytest.MonkeyPatch, early: bool
) -> None:
    change(path, adding([entry(1)]))
    theirs: Items = [entry(1), {"from": "Ada", "text": "quick"}]
    renamed = False

    def rename() -> None:
        nonlocal renamed
        if not renamed:
            renamed = True
            aside = path.with_name("theirs")
            aside.write_bytes(json.dumps(theirs).encode())
            aside.replace(path)

    def edit(items: Items) -> Items:
        if early:
            rename()
        return adding([entry(2)])(items)

    def swap(one: Path, other: Path) -> None:
        rename()
        really(one, other)

    really = libc.swap
    monkeypatch.setattr(libc, "swap", swap)
    assert change(path, edit).items == [*theirs, entry(2)]
    assert there(path) == [*theirs, entry(2)]
    assert names(path) == [".lyra.json.muster-lock", "lyra.json"]


def test_what_is_written_late_into_the_file_that_was_taken_away_is_found(path: Path) -> None:
    change(path, adding([entry(1)]))
    with path.open("r+b") as writer:
        late = change(path, adding([entry(2)])).late
        assert late is not None
        assert late.look() == []
        reply = {"from": "Ada", "text": "late"}
        writer.write(json.dumps([entry(1), reply]).encode() + b" " * 200)
        writer.flush()
        assert late.look() == [reply]
        change(path, restoring(late.look()))
        change(path, restoring(late.look()))
        late.close()
        late.close()
        assert late.look() == []
    assert there(path) == [entry(1), entry(2), reply]


def test_a_writer_in_place_that_has_just_emptied_the_file_is_waited_for(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(path, adding([entry(1)]))
    reply = {"from": "Ada", "text": "late"}
    writers: list[int] = []

    def swap(one: Path, other: Path) -> None:
        writers.append(os.open(path, os.O_WRONLY | os.O_TRUNC))
        really(one, other)

    really = libc.swap
    monkeypatch.setattr(libc, "swap", swap)
    late = change(path, adding([entry(2)])).late
    assert late is not None
    assert there(path) == [entry(1), entry(2)]
    (writer,) = writers
    os.write(writer, json.dumps([entry(1), reply]).encode())
    os.close(writer)
    assert late.look() == [reply]
    late.close()


def test_many_processes_that_take_the_lock_lose_nothing(path: Path) -> None:
    writers = [
        subprocess.Popen([sys.executable, "-c", LOCKING_WRITER, str(path), str(first)])
        for first in (1000, 2000, 3000)
    ]
    assert [writer.wait(WAIT_SECONDS) for writer in writers] == [0, 0, 0]
    seqs = sorted(mark[0] for item in there(path) if (mark := inboxes.mark_of(item)))
    assert seqs == [first + each for first in (1000, 2000, 3000) for each in range(40)]


def test_a_process_that_renames_without_the_lock_loses_nothing_to_us(path: Path) -> None:
    change(path, lambda items: items)
    writer = subprocess.Popen([sys.executable, "-c", RENAMING_WRITER, str(path)])
    seq = 0
    while writer.poll() is None:
        seq += 1
        done = change(path, adding([entry(seq)]))
        if done.late is not None:
            done.late.close()
    assert writer.returncode == 0
    numbers = [item["number"] for each in there(path) if "number" in (item := dict(_entry(each)))]
    assert numbers == list(range(200))
    assert seq > 1


def _entry(item: object) -> inboxes.Entry:
    found = inboxes.as_entry(item)
    assert found is not None
    return found
