"""Exchange: a file that others rename to is changed without losing what they wrote."""

import errno
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from muster.limits import STATE_FILE_BYTES_MAX
from muster.mirrors import exchange as e
from muster.mirrors import libc
from muster.mirrors.exchange import DisplacedFile, create, exchange, read, recover, write
from muster.regular_files import TooLong
from tests.waits import WAIT_SECONDS


def renamed(path: Path, content: bytes) -> None:
    """What a careful writer of another program does."""
    aside = path.with_name(f"{path.name}.tmp")
    aside.write_bytes(content)
    aside.replace(path)


def append(text: bytes) -> e.Change:
    return lambda base: base if base.endswith(text) else base + text


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


def done(found: e.Exchanged) -> bytes:
    """The content, when nobody waits for late writers."""
    if found.late is not None:
        found.late.close()
    return found.content


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "state.json"
    path.write_bytes(b"old")
    return path


class Meddling:
    """A change in whose midst somebody else renames files to the same name."""

    def __init__(self, path: Path, *contents: bytes) -> None:
        self._path = path
        self._contents = list(contents)

    def __call__(self, base: bytes) -> bytes:
        if self._contents:
            renamed(self._path, self._contents.pop(0))
        return base + b"+ours"


@pytest.fixture
def no_swap(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system that cannot exchange names."""

    def cannot(one: Path, other: Path) -> None:
        raise OSError(errno.EINVAL, "cannot exchange")

    monkeypatch.setattr(libc, "swap", cannot)


def test_a_change_is_written_and_nothing_else_is_left(file: Path) -> None:
    assert done(exchange(file, append(b"+ours"))) == b"old+ours"
    assert file.read_bytes() == b"old+ours"
    assert names(file.parent) == ["state.json"]


def test_a_change_that_changes_nothing_writes_nothing(file: Path) -> None:
    before = file.stat()
    found = exchange(file, lambda base: base)
    assert (found.content, found.late) == (b"old", None)
    assert file.stat() == before


def test_what_others_rename_in_between_is_changed_instead_and_not_lost(file: Path) -> None:
    assert done(exchange(file, Meddling(file, b"first", b"second"))) == b"second+ours"
    assert file.read_bytes() == b"second+ours"
    assert names(file.parent) == ["state.json"]


def test_a_change_can_step_back_before_what_others_wrote(file: Path) -> None:
    def only_old(base: bytes) -> bytes:
        if base == b"old":
            renamed(file, b"theirs")
            return b"ours"
        return base

    assert done(exchange(file, only_old)) == b"theirs"
    assert file.read_bytes() == b"theirs"
    assert names(file.parent) == ["state.json"]


def swapping(monkeypatch: pytest.MonkeyPatch, after: Callable[[int], None]) -> None:
    """Have something happen after each swap, which is given its number."""
    count = 0

    def swap(one: Path, other: Path, real: Callable[[Path, Path], None] = libc.swap) -> None:
        nonlocal count
        real(one, other)
        count += 1
        after(count)

    monkeypatch.setattr(libc, "swap", swap)


def test_what_is_renamed_while_something_is_put_back_wins(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    later = iter([b"second", b"third"])

    def rename_again(_: int) -> None:
        for content in later:
            renamed(file, content)
            return

    swapping(monkeypatch, rename_again)
    assert done(exchange(file, Meddling(file, b"first"))) == b"third+ours"
    assert file.read_bytes() == b"third+ours"
    assert names(file.parent) == ["state.json"]


def test_whoever_removes_the_file_meanwhile_has_the_last_word(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    swapping(monkeypatch, lambda _: file.unlink())
    with pytest.raises(FileNotFoundError):
        exchange(file, Meddling(file, b"theirs"))
    assert names(file.parent) == []


def test_a_folder_that_takes_the_place_of_the_file_stays(file: Path) -> None:
    def place_folder(base: bytes) -> bytes:
        file.unlink()
        file.mkdir()
        return base + b"+ours"

    with pytest.raises(IsADirectoryError):
        exchange(file, place_folder)
    assert file.is_dir()
    assert names(file.parent) == ["state.json"]


def test_mode_and_owner_stay(file: Path) -> None:
    file.chmod(0o640)
    before = file.stat()
    done(exchange(file, append(b"+ours")))
    after = file.stat()
    assert stat.S_IMODE(after.st_mode) == 0o640
    assert (after.st_uid, after.st_gid) == (before.st_uid, before.st_gid)


def test_a_link_is_followed_and_stays_a_link(file: Path) -> None:
    link = file.parent / "elsewhere" / "link.json"
    link.parent.mkdir()
    link.symlink_to(file)
    done(exchange(link, append(b"+ours")))
    assert link.is_symlink()
    assert file.read_bytes() == b"old+ours"
    assert names(link.parent) == ["link.json"]


def test_without_an_exchange_of_names_the_file_is_compared_and_replaced(
    file: Path, no_swap: None
) -> None:
    assert done(exchange(file, append(b"+ours"))) == b"old+ours"
    assert done(exchange(file, Meddling(file, b"theirs"))) == b"theirs+ours"
    assert names(file.parent) == ["state.json"]


def test_who_writes_in_place_into_what_was_taken_away_is_heard(file: Path) -> None:
    with file.open("wb") as late:
        file.write_bytes(b"old")
        found = exchange(file, append(b"+ours"))
        assert found.late is not None
        assert found.late.look() is None
        late.write(b"late")
    assert found.late.look() == b"late"
    found.late.close()
    found.late.close()
    assert found.late.look() is None


def test_what_cannot_be_read_is_never_taken_for_ours(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    taken = DisplacedFile(pipe)
    assert taken.content.startswith(b"\0")
    assert taken.look() is None
    taken.close()
    with pytest.raises(OSError, match="not a regular file"):
        read(pipe)


def test_a_file_that_is_too_long_is_not_read(file: Path) -> None:
    file.write_bytes(b" " * (STATE_FILE_BYTES_MAX + 1))
    with pytest.raises(TooLong):
        read(file)


def test_creating_never_replaces_anything(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    create(path, b"new", mode=0o600)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(FileExistsError):
        create(path, b"newer")
    assert path.read_bytes() == b"new"
    assert names(tmp_path) == ["state.json"]


def test_a_file_system_without_links_can_have_new_files_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cannot(*_: object, **__: object) -> None:
        raise OSError(errno.EPERM, "no links here")

    monkeypatch.setattr(os, "link", cannot)
    create(tmp_path / "state.json", b"new")
    with pytest.raises(FileExistsError):
        create(tmp_path / "state.json", b"newer")
    assert (tmp_path / "state.json").read_bytes() == b"new"
    assert names(tmp_path) == ["state.json"]


def test_writing_replaces_whatever_is_there_and_leaves_nothing_where_it_cannot(
    tmp_path: Path,
) -> None:
    path = tmp_path / "copy.json"
    write(path, b"one")
    write(path, b"two")
    assert path.read_bytes() == b"two"
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError):
        write(tmp_path / "folder", b"three")
    assert names(tmp_path) == ["copy.json", "folder"]


# ── crashes ───────────────────────────────────────────────────────────────────────────────────────

CRASHING = """
import os, sys
from pathlib import Path
from muster.mirrors import exchange as e, libc

folder, first, last, foreign = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]
steps = 0

def rename(content):
    aside = path.with_name("aside.tmp")
    aside.write_bytes(content.encode())
    aside.replace(path)
    path.parent.with_suffix(".last").write_bytes(content.encode())

def step(real):
    # every step that touches a name may be the last one of the process, before or after it
    def stepping(*args, **kwargs):
        global steps
        steps += 1
        if steps == wanted:
            os._exit(9)
        result = real(*args, **kwargs)
        if real is swap and foreign:
            rename(foreign.pop(0))
        steps += 1
        if steps == wanted:
            os._exit(9)
        return result
    return stepping

swap = libc.swap
libc.swap = step(libc.swap)
Path.unlink = step(Path.unlink)
Path.rename = step(Path.rename)
os.fsync = step(os.fsync)

def change(base):
    if foreign:
        rename(foreign.pop(0))
    return base + b"+ours"

for wanted in range(first, last + 1):
    path = folder / f"{wanted}" / "state.json"
    child = os.fork()  # starting Python for each step would take longer than all of the rest
    if child == 0:
        e.exchange(path, change)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(code)
    if code != 9:
        break
"""


def crashed(folder: Path, steps: range, foreign: tuple[str, ...]) -> int:
    """Exchange in processes that end in its midst, each at one step; the number that did.

    The process after those got to the end of its exchange.
    """
    for step in steps:
        path = folder / f"{step}" / "state.json"
        path.parent.mkdir()
        path.write_bytes(b"old")
        path.parent.with_suffix(".last").write_bytes(b"old")
    child = subprocess.run(
        [sys.executable, "-c", CRASHING, str(folder), f"{steps[0]}", f"{steps[-1]}", *foreign],
        check=True,
        timeout=WAIT_SECONDS,
        capture_output=True,
        text=True,
    )
    *before, last = child.stdout.split()
    assert set(before) <= {"9"}
    assert last in {"0", "9"}
    return len(before) + (last == "9")


@pytest.mark.parametrize("foreign", [(), ("F1",), ("F1", "F2"), ("F1", "F2", "F3")])
def test_a_crash_at_any_step_loses_nothing_that_others_wrote(
    tmp_path: Path, foreign: tuple[str, ...]
) -> None:
    steps = range(1, 100)
    crashes = crashed(tmp_path, steps, foreign)
    assert 0 < crashes < len(steps), "it never came to its end"
    for step in steps[: crashes + 1]:
        path = tmp_path / f"{step}" / "state.json"
        before = read(path)
        put_back = recover(path)
        now = read(path)
        assert put_back == (now != before)
        assert names(path.parent) == ["state.json"]
        done(exchange(path, append(b"+after")))
        assert now.removesuffix(b"+ours") == path.parent.with_suffix(".last").read_bytes()
        if step == steps[crashes]:
            assert now == (foreign[-1] if foreign else "old").encode() + b"+ours"


def test_what_is_left_of_a_file_that_was_removed_is_cleared_away(tmp_path: Path) -> None:
    assert crashed(tmp_path, range(5, 6), ("theirs",)) == 1
    file = tmp_path / "5" / "state.json"
    assert len(names(file.parent)) == 2
    file.unlink()
    assert not recover(file)
    assert names(file.parent) == []


# ── any sequence ──────────────────────────────────────────────────────────────────────────────────


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(contents=st.lists(st.binary(max_size=40), max_size=6), ours=st.binary(min_size=1))
def test_the_last_write_of_others_is_what_our_change_is_made_to(
    tmp_path: Path, contents: list[bytes], ours: bytes
) -> None:
    path = tmp_path / "state[1]*.json"
    path.write_bytes(b"first")
    waiting = list(contents)

    def change(base: bytes) -> bytes:
        if waiting:
            renamed(path, waiting.pop(0))
        return base + ours

    last = ([b"first", *contents])[-1]
    found = done(exchange(path, change))
    assert read(path) == found
    assert found.removesuffix(ours) in [b"first", *contents]
    assert waiting or found == last + ours
    assert names(tmp_path) == [path.name]
