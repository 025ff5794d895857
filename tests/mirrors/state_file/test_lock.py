"""One file, one master: what muster does with a state file that it cannot have for itself."""

import errno
import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from muster.engine.system import SystemClock
from muster.engine.tasks import background
from muster.errors import StateFileInUse, StateFileNotLocked
from muster.home.file_lock import FileLock, lock_beside
from muster.machines.ids import SeatId
from muster.machines.vocabulary import RunMode
from muster.mirrors.state_file import files
from muster.mirrors.state_file.document import Wish
from muster.mirrors.state_file.files import StateFiles, wishes
from muster.mirrors.state_file.lock import lock_state_file
from muster.mirrors.state_file.memory import FOLDER, WishMemory
from muster.store.memory import MemoryStore
from tests.builders import ADA, a_dispatcher, eventually, run, want, with_program
from tests.mirrors.state_file.test_memory import Life, a_life, read

CONTINUOUS, PAUSE = RunMode.CONTINUOUS, RunMode.PAUSE
BOB = SeatId(ADA + 1)


async def until_held_back(life: Life, why: str) -> None:
    """Wait until the agent is paused because of its file, and the reason is shown."""
    await eventually(lambda: not life.run.is_file_readable and life.run.desired is PAUSE)
    assert why in life.run.file_problem


def test_the_agent_of_a_file_that_another_muster_follows_is_paused_with_the_holders_name(
    tmp_path: Path,
) -> None:
    """Issue 15: two homes ran two sessions for one wish in one file."""

    async def scene() -> None:
        async with a_life(tmp_path, boot="boot-1") as life:
            await life.want(CONTINUOUS)
            await life.until(CONTINUOUS)
        with lock_state_file(life.path, holder="muster run") or pytest.fail("not locked"):
            async with a_life(tmp_path, boot="boot-2") as life:
                assert list(life.paused) == [ADA]
                await until_held_back(life, f"is followed by muster run (process {os.getpid()})")
                assert read(life.path)["desired_state"] == "continuous"  # nothing is written
        async with a_life(tmp_path, boot="boot-3") as life:
            assert life.paused == {}
            await eventually(lambda: life.run.is_file_readable)

    run(scene())


@pytest.mark.parametrize("name", ["agent_state.json", "link.json", "home/../agent_state.json"])
def test_every_name_of_a_file_leads_to_its_one_lock(tmp_path: Path, name: str) -> None:
    async def scene() -> None:
        async with a_life(tmp_path, boot="boot-1") as life:
            (tmp_path / "link.json").symlink_to(life.path)
            with pytest.raises(StateFileInUse, match="agent 'Ada' of the team in"):
                lock_state_file(tmp_path / name)
        released = lock_state_file(tmp_path / name)
        assert released is not None
        released.release()

    run(scene())


def folder(path: Path) -> None:
    path.mkdir()


def fifo(path: Path) -> None:
    os.mkfifo(path)


def link(path: Path) -> None:
    path.symlink_to(path.parent / "victim")


def replace(path: Path, put: Callable[[Path], None]) -> None:
    """Put something in the place of a file, which muster may have made anew meanwhile."""
    while True:
        path.unlink(missing_ok=True)
        with suppress(FileExistsError):
            return put(path)


def stolen_lock(path: Path) -> FileLock:
    """The lock of a file, taken from a muster that holds it, as soon as one is quicker than it."""
    while True:
        lock_beside(path).unlink(missing_ok=True)
        with suppress(StateFileInUse):
            return lock_state_file(path, holder="muster run") or pytest.fail("not locked")


def removed(path: Path) -> None:
    path.rmdir() if path.is_dir() else path.unlink()


@pytest.mark.parametrize(
    ("put", "why"), [(folder, "a folder"), (fifo, "no regular file"), (link, "a link")]
)
def test_an_agent_whose_lock_cannot_be_taken_is_paused_until_it_can_be(
    tmp_path: Path, put: Callable[[Path], None], why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """muster followed the file without the lock, and nobody was told: two masters."""
    monkeypatch.setattr(files, "FILE_LOOK_SECONDS", 0.05)
    lock = lock_beside(tmp_path / "agent_state.json")

    async def scene() -> None:
        async with a_life(tmp_path, boot="boot-1") as life:
            await life.want(CONTINUOUS)
            await life.until(CONTINUOUS)
            replace(lock, put)
            await until_held_back(life, f"its lock {lock} is not usable ({why})")
            with pytest.raises(StateFileNotLocked):  # as `muster run` takes it
                lock_state_file(life.path)
            removed(lock)
            await life.until(CONTINUOUS)
            assert life.run.is_file_readable
        replace(lock, put)
        async with a_life(tmp_path, boot="boot-2") as life:
            assert list(life.paused) == [ADA]
        assert not (tmp_path / "victim").exists()

    run(scene())


def test_a_lock_that_is_removed_under_muster_is_taken_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing else needs to happen; another program that is quicker has the file for itself."""
    monkeypatch.setattr(files, "FILE_LOOK_SECONDS", 0.05)

    async def scene() -> None:
        async with a_life(tmp_path, boot="boot-1") as life:
            await life.until(PAUSE)
            lock = lock_beside(life.path)
            lock.unlink()
            await eventually(lambda: lock.exists() and lock.stat().st_size)
            with pytest.raises(StateFileInUse):
                lock_state_file(life.path)
            with stolen_lock(life.path):
                await until_held_back(life, "is followed by muster run")

    run(scene())


@pytest.mark.parametrize("order", [(ADA, BOB), (BOB, ADA)])
def test_a_link_to_the_file_of_another_agent_pauses_only_the_agent_with_the_link(
    tmp_path: Path, order: tuple[SeatId, ...]
) -> None:
    """A state file like this kept the whole team from starting; nor may it take the file away."""
    paths = {ADA: tmp_path / "ada.json", BOB: tmp_path / "bob.json"}
    paths[BOB].symlink_to("ada.json")
    named, home, clock = {seat: paths[seat] for seat in order}, tmp_path / "home", SystemClock()

    async def scene() -> None:
        dispatcher = await a_dispatcher(MemoryStore(), clock)
        for name in ("Ada", "Bob"):
            await with_program(dispatcher, name)
        for seat in named:
            await want(dispatcher, seat, CONTINUOUS)
        paused = await wishes(named, dispatcher.team, clock, home)
        assert list(paused) == [BOB]
        assert "is followed by" in paused[BOB]
        followed = StateFiles(dispatcher, clock, named, home=home)
        async with background() as tasks:
            tasks.create_task(followed.run())
            await eventually(lambda: not dispatcher.team.agents[BOB].run.is_file_readable)
        await followed.close()
        ada, bob = (dispatcher.team.agents[seat].run for seat in (ADA, BOB))
        assert "is followed by agent 'Ada'" in bob.file_problem
        assert (bob.desired, ada.desired, ada.file_problem) == (PAUSE, CONTINUOUS, "")

    run(scene())


@pytest.mark.parametrize("target", ["muster.toml", "agents/Ada/agent_state.json"])
def test_a_link_into_the_home_is_not_followed_even_if_it_was_there_first(
    tmp_path: Path, target: str
) -> None:
    """A state file is written, and what lies in the home is muster's own."""
    content = '{"desired_state": "continuous"}'
    (tmp_path / "home" / target).parent.mkdir(parents=True)
    (tmp_path / "home" / target).write_text(content)
    (tmp_path / "agent_state.json").symlink_to(Path("home", target))

    async def scene() -> None:
        async with a_life(tmp_path, boot="boot-1") as life:
            await eventually(lambda: not life.run.is_file_readable)
            assert "which is a file of muster's own" in life.run.file_problem
        assert (tmp_path / "home" / target).read_text() == content

    run(scene())


def test_a_link_in_place_of_a_folder_is_not_followed_even_after_a_restart(tmp_path: Path) -> None:
    """The file of an agent that another team follows could be written by it."""
    folder, other = tmp_path / "project" / "w" / "sub", tmp_path / "other"
    home, path = tmp_path / "project" / ".muster" / FOLDER, folder / "agent_state.json"
    folder.mkdir(parents=True)
    WishMemory(home, ADA, path).remember(1, Wish("pause", "", "", ""))
    folder.rename(other)
    folder.symlink_to(other)
    memory = WishMemory(home, ADA, path)
    assert not memory.leads_as_before()
    assert memory.target == path
    folder.unlink()
    assert memory.leads_as_before()


def test_a_project_behind_a_link_may_move_with_its_state_files(tmp_path: Path) -> None:
    """As deployments do: `current` is a link to the newest release."""
    current = tmp_path / "current"
    for release in ("one", "two"):
        (tmp_path / release / "w").mkdir(parents=True)
        current.unlink(missing_ok=True)
        current.symlink_to(release)
        path = current / "w" / "agent_state.json"
        memory = WishMemory(current / ".muster" / FOLDER, ADA, path)
        assert memory.leads_as_before()
        assert memory.target == tmp_path / release / "w" / "agent_state.json"
        memory.remember(1, Wish("pause", "", "", ""))
        kept = current / ".muster" / FOLDER
        if release == "one":
            (tmp_path / "two" / ".muster").mkdir(parents=True)
            shutil.copytree(kept, tmp_path / "two" / ".muster" / FOLDER)
    assert memory.remembered is not None


def test_a_file_in_the_home_may_be_named_by_any_name_of_the_home(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "alias").symlink_to("home")
    memory = WishMemory(tmp_path / "alias" / FOLDER, ADA, tmp_path / "home" / "agents" / "a.json")
    assert memory.leads_as_before()
    assert memory.target == tmp_path / "home" / "agents" / "a.json"


def test_in_a_folder_that_cannot_be_written_the_file_itself_is_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In such a folder nobody can replace the file, so that its lock stays with it."""

    def refuse(path: Path, *, label: str) -> FileLock:
        raise PermissionError(errno.EACCES, label, str(path))

    monkeypatch.setattr(FileLock, "take", refuse)
    path = tmp_path / "agent_state.json"
    assert lock_state_file(path) is None  # there is nothing to follow either
    path.write_text('{\n"desired_state": "pause"\n}')
    with lock_state_file(path) or pytest.fail("not locked") as held:
        assert held.is_in_place()
        with pytest.raises(StateFileInUse, match="another muster"):
            lock_state_file(path)
    assert not held.is_in_place()
