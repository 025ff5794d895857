"""State files at a start: an edit that was made while muster was away counts, however it was made.

No clock is compared. muster remembers what it wrote, and may be killed at any step.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from muster.engine.dispatcher import Dispatcher
from muster.engine.system import SystemClock
from muster.engine.tasks import background
from muster.machines.commands import EnrollAgent, SetDesired
from muster.machines.ids import SeatId
from muster.machines.state import RunControl
from muster.machines.vocabulary import Authority, RunMode
from muster.mirrors.state_file.document import Wish
from muster.mirrors.state_file.files import StateFiles, wishes
from muster.mirrors.state_file.memory import FOLDER, WishMemory
from muster.store.sqlite import SqliteStore
from tests.builders import ADA, HUMAN, a_dispatcher, eventually, run
from tests.waits import WAIT_SECONDS

CONTINUOUS, PAUSE, RUN_ONCE, RUN_CLEANUP = RunMode

Fields = dict[str, Any]  # whatever JSON can hold


class Life:
    """One life of muster, with one agent and its state file."""

    def __init__(self, dispatcher: Dispatcher, path: Path, paused: dict[SeatId, str]) -> None:
        self.dispatcher, self.path, self.paused = dispatcher, path, paused

    @property
    def run(self) -> RunControl:
        return self.dispatcher.team.agents[ADA].run

    @property
    def memory(self) -> WishMemory:
        """The memory as it is on disk now."""
        return WishMemory(self.path.parent / "home" / FOLDER, ADA, self.path)

    async def want(self, mode: RunMode) -> None:
        wish = SetDesired(seat=ADA, desired=mode, set_by="human", note="by Mission Control")
        await self.dispatcher.send(wish, actor=HUMAN)

    async def until(self, desired: RunMode) -> None:
        """Wait until log, file and memory agree on what is desired."""

        def agree() -> bool:
            known = self.memory.remembered
            return (
                self.run.desired is desired
                and read(self.path).get("desired_state") == str(desired)
                and known is not None
                and (known.generation, len(known.wishes)) == (self.run.generation, 1)
            )

        try:
            await eventually(agree)
        except TimeoutError:
            raise AssertionError(
                f"{read(self.path)}, {self.run}, {self.memory.remembered}"
            ) from None


def read(path: Path) -> Fields:
    try:
        return cast("Fields", json.loads(path.read_bytes()))
    except (FileNotFoundError, ValueError):
        return {}


@asynccontextmanager
async def a_life(
    folder: Path, *, boot: str, authority: Authority = Authority.MUSTER
) -> AsyncGenerator[Life]:
    """Open the home in a folder, follow its state file, and end in order."""
    home, path, clock = folder / "home", folder / "agent_state.json", SystemClock()
    store = await SqliteStore.open(home)
    try:
        dispatcher = await a_dispatcher(store, clock, boot=boot)
        if ADA not in dispatcher.team.agents:
            await dispatcher.send(EnrollAgent(name="Ada", authority=authority), actor=HUMAN)
        paused = await wishes({ADA: path}, dispatcher.team, clock, home)
        followed = StateFiles(dispatcher, clock, {ADA: path}, home=home)
        async with background() as tasks:
            tasks.create_task(followed.run())
            yield Life(dispatcher, path, paused)
        await followed.close()
    finally:
        await store.close()


# ── ways to edit a file ───────────────────────────────────────────────────────────────────────────


def by_rename(path: Path, **fields: object) -> None:
    """As `jq ... > new && mv new agent_state.json` does."""
    aside = path.with_name("new")
    aside.write_text(json.dumps(read(path) | fields))
    aside.replace(path)


def in_place(path: Path, **fields: object) -> None:
    """As an editor or a redirection does, and with the old time of the file."""
    before = path.stat()
    path.write_text(json.dumps(read(path) | fields, indent=4))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def bare(path: Path, mode: RunMode) -> None:
    """With nothing but the desired state."""
    path.write_text(json.dumps({"desired_state": mode}))


EDITS: dict[str, Callable[[Path, RunMode], None]] = {
    "rename, timestamp left": lambda path, mode: by_rename(path, desired_state=mode),
    "in place, old file time": lambda path, mode: in_place(path, desired_state=mode),
    "new timestamp": lambda path, mode: by_rename(
        path, desired_state=mode, timestamp="2999-01-01T00:00:00.000Z", setBy="me", note="now"
    ),
    "old timestamp": lambda path, mode: by_rename(
        path, desired_state=mode, timestamp="1999-01-01T00:00:00.000Z"
    ),
    "local time without a zone": lambda path, mode: by_rename(
        path, desired_state=mode, timestamp="2026-01-01T04:00:00"
    ),
    "nothing else": lambda path, mode: bare(path, mode),
}


@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize(
    ("before", "after"),
    [(CONTINUOUS, PAUSE), (PAUSE, RUN_ONCE), (PAUSE, CONTINUOUS), (PAUSE, RUN_CLEANUP)],
)
def test_an_edit_while_muster_is_away_is_obeyed_at_the_next_start(
    tmp_path: Path, edit: str, before: RunMode, after: RunMode
) -> None:
    """Issue 15: a pause that left the timestamp as it was got overwritten, and the agent ran."""

    async def scene() -> None:
        async with a_life(tmp_path, boot="boot-1") as life:
            await life.until(PAUSE)
            if before is not PAUSE:
                await life.want(before)
                await life.until(before)
        EDITS[edit](tmp_path / "agent_state.json", after)
        async with a_life(tmp_path, boot="boot-2") as life:
            assert list(life.paused) == ([ADA] if after is PAUSE else [])
            await life.until(after)
            assert life.run.set_by == ("me" if edit == "new timestamp" else life.run.set_by)
            assert life.run.set_by != "muster"

    run(scene())


@pytest.mark.parametrize("mode", [CONTINUOUS, RUN_ONCE])
def test_what_muster_wrote_itself_is_no_edit(tmp_path: Path, mode: RunMode) -> None:
    async def scene() -> None:
        async with a_life(tmp_path, boot="boot-1") as life:
            await life.want(mode)
            await life.until(mode)
            generation = life.run.generation
        async with a_life(tmp_path, boot="boot-2") as life:
            await life.until(mode)
            assert life.run.generation == generation

    run(scene())


def test_the_same_file_copied_into_place_once_more_is_an_edit(tmp_path: Path) -> None:
    """A script copies one file into place each time: the wish before the last one is news again."""

    async def scene() -> None:
        path = tmp_path / "agent_state.json"
        async with a_life(tmp_path, boot="boot-1") as life:
            await life.until(PAUSE)
            by_rename(path, desired_state="continuous", setBy="cron")
            await life.until(CONTINUOUS)
            kept = path.read_bytes()
            await life.want(PAUSE)
            await life.until(PAUSE)
        path.write_bytes(kept)
        async with a_life(tmp_path, boot="boot-2") as life:
            await life.until(CONTINUOUS)
            assert life.run.set_by == "cron"

    run(scene())


@pytest.mark.parametrize(
    ("logged", "in_file", "obeyed"),
    [
        (CONTINUOUS, PAUSE, PAUSE),
        (PAUSE, CONTINUOUS, PAUSE),
        (PAUSE, RUN_ONCE, PAUSE),
        (CONTINUOUS, RUN_ONCE, CONTINUOUS),
    ],
)
def test_a_lost_memory_never_runs_a_paused_agent(
    tmp_path: Path, logged: RunMode, in_file: RunMode, obeyed: RunMode
) -> None:
    async def scene() -> None:
        async with a_life(tmp_path, boot="boot-1") as life:
            await life.want(CONTINUOUS)
            await life.until(CONTINUOUS)
            if logged is PAUSE:
                await life.want(PAUSE)
                await life.until(PAUSE)
        (tmp_path / "home" / FOLDER / f"{ADA}.json").write_bytes(b"{")
        by_rename(tmp_path / "agent_state.json", desired_state=in_file)
        async with a_life(tmp_path, boot="boot-2") as life:
            await life.until(obeyed)

    run(scene())


@pytest.mark.parametrize("mode", list(RunMode))
def test_a_file_that_is_there_before_the_first_start_is_obeyed(
    tmp_path: Path, mode: RunMode
) -> None:
    async def scene() -> None:
        (tmp_path / "agent_state.json").write_text(json.dumps({"desired_state": mode}))
        async with a_life(tmp_path, boot="boot-1") as life:
            await life.until(mode)

    run(scene())


def test_an_edit_of_the_desired_state_alone_is_by_the_file_and_not_by_its_last_author(
    tmp_path: Path,
) -> None:
    async def scene() -> None:
        async with a_life(tmp_path, boot="boot-1") as life:
            await life.until(PAUSE)
            assert read(life.path)["setBy"] == "muster"
            by_rename(life.path, desired_state="run_once")
            await life.until(RUN_ONCE)
            assert (life.run.set_by, life.run.note) == ("file", "")
            await life.want(PAUSE)
            await life.until(PAUSE)
            by_rename(life.path, desired_state="continuous")
            await life.until(CONTINUOUS)
            assert life.run.set_by == "file"  # the words are those of the wish before
            by_rename(life.path, desired_state="pause", setBy="Grace")
            await life.until(PAUSE)
            assert life.run.set_by == "Grace"  # as the file says

    run(scene())


# ── kill -9 ───────────────────────────────────────────────────────────────────────────────────────


def killed_at(folder: Path, step: str, first: RunMode, then: RunMode) -> None:
    """Let a muster live and be killed at a step of writing its file."""
    arguments = [str(folder / "home"), str(folder / "agent_state.json"), step, first, then]
    child = subprocess.run(
        [sys.executable, "-m", "tests.mirrors.state_file.dying_child", *arguments],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        timeout=WAIT_SECONDS,
        check=False,
    )
    assert child.returncode == -signal.SIGKILL


STEPS = ("decided", "planned", "written", "remembered")


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize(("first", "then"), [(CONTINUOUS, PAUSE), (PAUSE, CONTINUOUS)])
def test_a_kill_at_any_step_loses_no_decision(
    tmp_path: Path, step: str, first: RunMode, then: RunMode
) -> None:
    async def scene() -> None:
        await asyncio.to_thread(killed_at, tmp_path, step, first, then)
        async with a_life(tmp_path, boot="boot-2") as life:
            assert life.paused == {}
            await life.until(then)
            assert life.run.note == f"wanted {then}"

    run(scene())


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("edit", [PAUSE, RUN_ONCE])
@pytest.mark.parametrize(("first", "then"), [(CONTINUOUS, RUN_CLEANUP), (RUN_CLEANUP, PAUSE)])
def test_an_edit_after_a_kill_at_any_step_is_obeyed_or_the_agent_is_paused(
    tmp_path: Path, step: str, edit: RunMode, first: RunMode, then: RunMode
) -> None:
    """Only in the instant between the decision and the plan an edit may be taken for an old wish;
    a pause is obeyed even then."""

    async def scene() -> None:
        await asyncio.to_thread(killed_at, tmp_path, step, first, then)
        by_rename(tmp_path / "agent_state.json", desired_state=edit)
        async with a_life(tmp_path, boot="boot-2") as life:
            await life.until(edit if edit is PAUSE or step != "decided" else then)

    run(scene())


# ── links ─────────────────────────────────────────────────────────────────────────────────────────


def test_a_link_that_was_put_there_while_muster_was_away_counts_as_pause(tmp_path: Path) -> None:
    async def scene() -> None:
        async with a_life(tmp_path, boot="boot-1") as life:
            await life.want(CONTINUOUS)
            await life.until(CONTINUOUS)
        foreign = tmp_path / "settings.json"
        foreign.write_text('{"desired_state": "continuous"}')
        life.path.unlink()
        life.path.symlink_to(foreign)
        async with a_life(tmp_path, boot="boot-2") as life:
            assert list(life.paused) == [ADA]
            await eventually(lambda: life.run.desired is PAUSE)
        assert foreign.read_text() == '{"desired_state": "continuous"}'

    run(scene())


def test_no_link_in_the_home_is_followed_even_if_it_was_there_first(tmp_path: Path) -> None:
    home, foreign = tmp_path / "home", tmp_path / "foreign"
    foreign.mkdir()
    (home / "agents").mkdir(parents=True)
    (home / "agents" / "Ada").symlink_to(foreign)
    memory = WishMemory(home / FOLDER, ADA, home / "agents" / "Ada" / "agent_state.json")
    assert memory.target == home / "agents" / "Ada" / "agent_state.json"
    assert not memory.leads_as_before()


def test_without_a_home_the_memory_lasts_as_long_as_the_process(tmp_path: Path) -> None:
    memory = WishMemory(None, ADA, tmp_path / "x")
    memory.remember(1, Wish("pause", "", "", ""))
    assert memory.last == Wish("pause", "", "", "")
