"""Watching: whoever waits for a file is woken by every kind of change, or finds out by looking."""

# ruff: noqa: ASYNC240 - the files are the subject, and local

import asyncio
import errno
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from muster.engine.tasks import background
from muster.limits import FILE_LOOK_SECONDS, FILE_POLL_SECONDS
from muster.mirrors import libc, watch
from muster.mirrors.watch import FileWatcher
from muster.testing.clock import ManualClock
from tests.builders import run, settled
from tests.waits import WAIT_SECONDS


class Waiter:
    """Somebody who waits for one file."""

    def __init__(self, path: Path, *, inotify: bool = True) -> None:
        self.path = path
        self.clock = ManualClock()
        self.woken = asyncio.Event()
        self._inotify = inotify

    @asynccontextmanager
    async def waiting(self) -> AsyncGenerator[FileWatcher]:
        found = FileWatcher(self.clock.sleep, inotify=self._inotify)
        async with background() as tasks:
            tasks.create_task(found.run())
            found.add(self.path, self.woken.set)
            await settled()
            yield found

    async def wakes(self) -> None:
        """Be woken, without any time passing."""
        async with asyncio.timeout(WAIT_SECONDS):
            await self.woken.wait()
        await settled()
        self.woken.clear()

    async def sleeps(self) -> bool:
        """Whether nothing wakes it that the kernel would have noticed by now."""
        await asyncio.to_thread(self.path.parent.exists)
        await settled()
        return not self.woken.is_set()

    async def passes(self, seconds: float) -> None:
        for _ in range(round(seconds / FILE_POLL_SECONDS)):
            self.clock.advance(FILE_POLL_SECONDS)
            await settled()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    folder = tmp_path / "agent"
    folder.mkdir()
    return folder / "state.json"


def test_every_kind_of_change_wakes(path: Path) -> None:
    async def scene() -> None:
        waiter = Waiter(path)
        async with waiter.waiting() as found:
            assert found.polled == frozenset()
            path.write_text("made")
            await waiter.wakes()
            with path.open("a", buffering=1) as file:
                file.write("written, and not closed\n")
                await waiter.wakes()
            await waiter.wakes()
            aside = path.with_name("aside")
            aside.write_text("renamed")
            assert await waiter.sleeps()
            aside.replace(path)
            await waiter.wakes()
            path.chmod(0o600)
            await waiter.wakes()
            path.unlink()
            await waiter.wakes()

    run(scene())


def test_a_change_of_a_file_beside_it_wakes_nobody(path: Path) -> None:
    async def scene() -> None:
        waiter = Waiter(path)
        async with waiter.waiting():
            path.with_name("other.json").write_text("not this one")
            assert await waiter.sleeps()

    run(scene())


def test_a_folder_that_is_replaced_is_watched_again(path: Path) -> None:
    async def scene() -> None:
        waiter = Waiter(path)
        async with waiter.waiting() as found:
            path.parent.rename(path.parent.with_name("away"))
            await waiter.wakes()
            assert found.polled == {path}
            path.parent.mkdir()
            path.write_text("new")
            await waiter.passes(FILE_POLL_SECONDS)
            await waiter.wakes()
            assert found.polled == frozenset()
            path.write_text("newer")
            await waiter.wakes()

    run(scene())


def test_a_folder_whose_parent_is_replaced_is_found_by_looking(path: Path) -> None:
    async def scene() -> None:
        top = path.parent.parent
        deep = top / "a" / "b" / "state.json"
        for each in ("a", "other"):
            (top / each / "b").mkdir(parents=True)
            (top / each / "b" / "state.json").write_text(each)
        waiter = Waiter(deep)
        async with waiter.waiting():
            (top / "a").rename(top / "gone")
            (top / "other").rename(top / "a")
            await waiter.passes(FILE_LOOK_SECONDS)
            await waiter.wakes()
            deep.write_text("seen at once again")
            await waiter.wakes()

    run(scene())


def test_a_folder_that_is_not_there_yet_is_waited_for(path: Path) -> None:
    async def scene() -> None:
        path.parent.rmdir()
        waiter = Waiter(path)
        async with waiter.waiting() as found:
            assert found.polled == {path}
            path.parent.mkdir()
            await waiter.passes(FILE_POLL_SECONDS)
            assert found.polled == frozenset()
            path.write_text("made")
            await waiter.wakes()

    run(scene())


def test_a_link_is_watched_where_it_is_and_where_it_leads(path: Path) -> None:
    async def scene() -> None:
        for name in ("one", "two"):
            (path.parent / name).mkdir()
            (path.parent / name / "real.json").write_text(name)
        path.symlink_to(path.parent / "one" / "real.json")
        waiter = Waiter(path)
        async with waiter.waiting():
            (path.parent / "one" / "real.json").write_text("changed")
            await waiter.wakes()
            link = path.with_name("link")
            link.symlink_to(path.parent / "two" / "real.json")
            link.replace(path)
            await waiter.wakes()
            (path.parent / "two" / "real.json").write_text("changed")
            await waiter.wakes()
            (path.parent / "one" / "real.json").write_text("changed again")
            assert await waiter.sleeps()

    run(scene())


def test_without_inotify_files_are_looked_at_every_second(path: Path) -> None:
    async def scene() -> None:
        waiter = Waiter(path, inotify=False)
        async with waiter.waiting() as found:
            assert found.polled == {path}
            path.write_text("made")
            assert await waiter.sleeps()
            await waiter.passes(FILE_POLL_SECONDS)
            await waiter.wakes()
            await waiter.passes(FILE_POLL_SECONDS)
            assert await waiter.sleeps()

    run(scene())


@pytest.mark.parametrize("call", ["inotify_open", "inotify_add"])
def test_a_limit_that_is_reached_is_said_once_and_files_are_looked_at(
    path: Path, call: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "no more watches")

    async def scene() -> None:
        monkeypatch.setattr(libc, call, full)
        waiter = Waiter(path)
        async with waiter.waiting():
            path.write_text("made")
            await waiter.passes(3 * FILE_POLL_SECONDS)
            await waiter.wakes()

    with caplog.at_level(logging.WARNING):
        run(scene())
    assert [record.getMessage().count("looked at every second") for record in caplog.records] == [1]


def test_where_other_machines_can_write_files_are_looked_at_too(
    path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def scene() -> None:
        monkeypatch.setattr(watch, "_REMOTE", ("",))
        waiter = Waiter(path)
        async with waiter.waiting() as found:
            assert found.polled == {path}

    with caplog.at_level(logging.WARNING):
        run(scene())
    assert "other machines may write" in caplog.text


def test_when_too_much_happens_everybody_looks(path: Path) -> None:
    async def scene() -> None:
        waiter = Waiter(path)
        async with waiter.waiting():
            limit = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
            other, third = path.with_name("other"), path.with_name("third")
            other.write_text("")
            for _ in range(limit // 2 + 10):  # each is two events, and nobody reads them meanwhile
                other.rename(third)
                third.rename(other)
            await waiter.wakes()

    run(scene())


def test_a_look_at_a_file_that_is_watched_and_as_it_was_takes_one_call(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Issue 15: with hundreds of agents, most of an idle muster's time went into such looks."""
    resolved: list[object] = []
    looked: list[Path] = []
    real = watch.os.path.realpath
    look = watch._look  # pyright: ignore[reportPrivateUsage]

    def resolve(each: Path) -> str:
        resolved.append(each)
        return real(each)

    def count(each: Path) -> object:
        looked.append(each)
        return look(each)

    async def scene() -> None:
        path.write_text("{}")
        waiter = Waiter(path)
        async with waiter.waiting():
            monkeypatch.setattr(watch.os.path, "realpath", resolve)
            monkeypatch.setattr(watch, "_look", count)
            await waiter.passes(FILE_LOOK_SECONDS)
            assert (resolved, looked) == ([], [path])
            assert await waiter.sleeps()

    run(scene())
