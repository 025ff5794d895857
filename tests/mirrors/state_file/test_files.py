"""State files: what is wished there is obeyed, what is done is said there, nothing is lost."""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import pytest

from muster.engine.dispatcher import Dispatcher
from muster.engine.system import SystemClock
from muster.engine.tasks import background
from muster.errors import StateFileUnreadable
from muster.limits import FILE_UNWRITTEN_SECONDS_MAX
from muster.machines.commands import (
    EnrollAgent,
    ReportSessionEnded,
    ReportSessionStarted,
    SetDesired,
)
from muster.machines.events import DesiredSet, WarningLogged
from muster.machines.identity import loops
from muster.machines.ids import MUSTER
from muster.machines.state import RunControl, Status
from muster.machines.vocabulary import Authority, Outcome, RunMode
from muster.mirrors import exchange as files
from muster.mirrors.state_file import link as state_file_link
from muster.mirrors.state_file.document import timestamp
from muster.mirrors.state_file.files import StateFiles, wishes
from muster.store.memory import MemoryStore
from tests.builders import ADA, HUMAN, a_dispatcher, eventually, logged, run, settled
from tests.waits import WAIT_SECONDS, until_async

CONTINUOUS, PAUSE, RUN_ONCE, RUN_CLEANUP = RunMode

Fields = dict[str, Any]  # whatever JSON can hold


class Desk:
    """An agent, its state file, and a person who writes to it."""

    def __init__(self, path: Path, authority: Authority) -> None:
        self.path = path
        self.authority = authority
        self.store = MemoryStore()
        self.clock = SystemClock()
        self.dispatcher: Dispatcher

    async def prepare(self) -> None:
        self.dispatcher = await a_dispatcher(self.store, self.clock)
        await self.dispatcher.send(EnrollAgent(name="Ada", authority=self.authority), actor=HUMAN)

    @asynccontextmanager
    async def followed(self, *, pause_if_removed: bool = False) -> AsyncGenerator[StateFiles]:
        """Follow the file while the body runs, and close in order."""
        found = StateFiles(
            self.dispatcher, self.clock, {ADA: self.path}, pause_if_removed=pause_if_removed
        )
        async with background() as tasks:
            tasks.create_task(found.run())
            await asyncio.sleep(0)
            yield found
        await found.close()

    @property
    def run(self) -> RunControl:
        return self.dispatcher.team.agents[ADA].run

    async def want(self, mode: RunMode, *, note: str = "") -> None:
        wish = SetDesired(seat=ADA, desired=mode, set_by="Marcus", note=note)
        await self.dispatcher.send(wish, actor=HUMAN)

    async def session_starts(self) -> None:
        await self.until(lambda: self.dispatcher.team.agents[ADA].session)
        session = self.dispatcher.team.agents[ADA].session
        assert session is not None
        await self.dispatcher.send(ReportSessionStarted(session=session), actor=MUSTER)

    async def session_ends(self, outcome: Outcome = Outcome.COMPLETED, reason: str = "") -> None:
        session = self.dispatcher.team.agents[ADA].session
        assert session is not None
        ended = ReportSessionEnded(session=session, outcome=outcome, reason=reason)
        await self.dispatcher.send(ended, actor=MUSTER)

    # ── the file ──────────────────────────────────────────────────────────────────────────────────

    def fields(self) -> Fields:
        try:
            found = json.loads(self.path.read_bytes())
        except (OSError, ValueError):
            return {}
        return cast("Fields", found) if isinstance(found, dict) else {}

    def states(self) -> tuple[str | None, str | None]:
        fields = self.fields()
        return fields.get("desired_state"), fields.get("current_state")

    def rename(self, content: bytes) -> None:
        """Write as a careful person's program does."""
        aside = self.path.with_name("person.tmp")
        aside.write_bytes(content)
        aside.replace(self.path)

    def wish(self, desired: str, **more: object) -> None:
        """Change what is desired, as Mission Control does."""
        fields = self.fields() | {
            "desired_state": desired,
            "timestamp": timestamp(self.clock.now()),
            "setBy": "human",
            "note": f"asked for {desired}",
        }
        self.rename(json.dumps(fields | more).encode())

    async def until(self, condition: Callable[[], object]) -> None:
        await eventually(condition)

    async def until_states(self, desired: str, current: str) -> None:
        try:
            await self.until(lambda: self.states() == (desired, current))
        except TimeoutError:
            raise AssertionError(f"{self.fields()} and {self.run}") from None

    async def warnings(self) -> list[str]:
        facts = [event.fact for event in await logged(self.store, WarningLogged)]
        return [fact.text for fact in facts if isinstance(fact, WarningLogged)]

    async def first_warning(self) -> str:
        """The first warning, when there is one."""
        return (await until_async(self.warnings))[0]

    def names(self) -> list[str]:
        return sorted(each.name for each in self.path.parent.iterdir())


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path / "agent_state.json", Authority.MUSTER)


@pytest.fixture
def loop_desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path / "agent_state.json", Authority.FILE)


# ── muster is the agent ───────────────────────────────────────────────────────────────────────────


def test_a_missing_file_is_made_with_pause_and_pause(desk: Desk) -> None:
    async def scene() -> None:
        desk.path = desk.path.parent / "agents" / "ada" / "agent_state.json"
        await desk.prepare()
        async with desk.followed():
            await desk.until_states("pause", "pause")
            assert list(desk.fields()) == [
                *("desired_state", "current_state", "timestamp", "setBy", "note")
            ]

    run(scene())


def test_a_missing_file_is_made_as_the_log_has_it(desk: Desk) -> None:
    async def scene() -> None:
        await desk.prepare()
        await desk.want(CONTINUOUS, note="go")
        async with desk.followed():
            await desk.until_states("continuous", "pause")
            assert (desk.fields()["setBy"], desk.fields()["note"]) == ("Marcus", "go")
            desk.path.unlink()
            await desk.until_states("continuous", "pause")

    run(scene())


def test_a_file_that_is_the_only_truth_says_pause_when_it_is_removed(desk: Desk) -> None:
    async def scene() -> None:
        await desk.prepare()
        async with desk.followed(pause_if_removed=True):
            await desk.until_states("pause", "pause")
            desk.wish("continuous")
            await desk.until(lambda: desk.run.desired is CONTINUOUS)
            desk.path.unlink()
            await desk.until_states("pause", "pause")
            assert desk.run.desired is PAUSE

    run(scene())


def test_a_wish_in_the_file_is_obeyed_and_what_is_done_is_said_there(desk: Desk) -> None:
    async def scene() -> None:
        await desk.prepare()
        async with desk.followed():
            await desk.until_states("pause", "pause")
            desk.wish("continuous", colour="blue")
            await desk.session_starts()
            await desk.until_states("continuous", "continuous")
            assert (desk.run.set_by, desk.run.note) == ("human", "asked for continuous")
            fields = desk.fields()
            assert fields["colour"] == "blue"
            assert (fields["setBy"], fields["note"]) == ("human", "asked for continuous")
            desk.wish("pause")
            await desk.until(lambda: desk.run.desired is PAUSE)
            await desk.until_states("pause", "continuous")
            await desk.session_ends()
            await desk.until_states("pause", "pause")
        assert desk.names() == ["agent_state.json"]

    run(scene())


def test_a_pause_that_is_written_again_right_after_a_start_counts(desk: Desk) -> None:
    """Issue 15: the words are those of the pause before the start, and it was overwritten."""
    plain = b'{"desired_state": "pause"}'

    async def scene() -> None:
        await desk.prepare()
        desk.path.write_bytes(plain)
        async with desk.followed():
            for number in range(1, 6):
                await desk.until_states("pause", "pause")
                await desk.want(CONTINUOUS, note=f"start {number}")
                desk.rename(plain)
                await desk.until(lambda: desk.run.desired is PAUSE)
                assert desk.run.set_by == "file"
                session = desk.dispatcher.team.agents[ADA].session
                if session is not None:
                    await desk.session_ends()

    run(scene())


@pytest.mark.parametrize("mode", [RUN_ONCE, RUN_CLEANUP])
def test_after_a_one_shot_the_file_says_pause_twice_and_the_human_keeps_the_words(
    desk: Desk, mode: RunMode
) -> None:
    async def scene() -> None:
        await desk.prepare()
        async with desk.followed():
            await desk.until_states("pause", "pause")
            desk.wish(mode)
            await desk.session_starts()
            await desk.until_states(mode, mode)
            await desk.session_ends()
            await desk.until_states("pause", "pause")
            assert (desk.fields()["setBy"], desk.fields()["note"]) == ("human", f"asked for {mode}")

    run(scene())


def test_a_one_shot_that_fails_says_why_in_its_note(desk: Desk) -> None:
    async def scene() -> None:
        await desk.prepare()
        async with desk.followed():
            await desk.until_states("pause", "pause")
            desk.wish("run_once")
            await desk.session_starts()
            await desk.session_ends(Outcome.FAILED, "exit code 3")
            await desk.until_states("pause", "pause")
            fields = desk.fields()
            assert (fields["setBy"], fields["note"]) == ("muster", "run_once failed: exit code 3")

    run(scene())


def test_what_is_asked_for_in_muster_comes_into_the_file_with_who_and_why(desk: Desk) -> None:
    async def scene() -> None:
        await desk.prepare()
        async with desk.followed():
            await desk.until_states("pause", "pause")
            await desk.want(RUN_ONCE, note="by the command line")
            await desk.until_states("run_once", "pause")
            fields = desk.fields()
            assert (fields["setBy"], fields["note"]) == ("Marcus", "by the command line")

    run(scene())


def test_a_file_that_says_pause_or_nothing_keeps_its_agent_from_starting(desk: Desk) -> None:
    """Without a memory of the file, as after a loss, a pause counts and nothing else does."""

    async def scene() -> None:
        await desk.prepare()
        await desk.want(CONTINUOUS)
        paths, team = {ADA: desk.path}, desk.dispatcher.team
        desk.wish("pause")
        assert await wishes(paths, team, desk.clock) == {ADA: ""}
        desk.wish("run_once")
        assert await wishes(paths, team, desk.clock) == {}
        desk.rename(b"{")
        assert "it is not JSON" in (await wishes(paths, team, desk.clock))[ADA]
        desk.path.unlink()
        assert await wishes(paths, team, desk.clock) == {}
        desk.path.mkdir()
        assert "cannot be read: Is a directory" in (await wishes(paths, team, desk.clock))[ADA]

    run(scene())


def test_two_programs_that_correct_each_other_do_not_go_on_for_ever(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Issue 15: two masters of one file rewrote it a hundred times a second."""
    monkeypatch.setattr(state_file_link, "FILE_CORRECTIONS_MAX", 5)

    async def scene() -> None:
        await desk.prepare()
        async with desk.followed():
            await desk.until_states("pause", "pause")
            for _ in range(6):  # the first is no correction, but the first word on this state
                desk.rename(json.dumps(desk.fields() | {"current_state": "continuous"}).encode())
                await desk.until_states("pause", "pause")
            desk.rename(json.dumps(desk.fields() | {"current_state": "continuous"}).encode())
            warning = await desk.first_warning()
            assert desk.states() == ("pause", "continuous")
            assert "another program keeps changing what muster writes" in warning
            desk.wish("run_once")  # wishes count all the same
            await desk.until(lambda: desk.run.desired is RUN_ONCE)

    run(scene())


def test_a_malformed_file_counts_as_pause_is_kept_and_made_anew(desk: Desk) -> None:
    async def scene() -> None:
        await desk.prepare()
        async with desk.followed():
            await desk.until_states("pause", "pause")
            desk.wish("continuous")
            await desk.until(lambda: desk.run.desired is CONTINUOUS)
            desk.path.with_name("person.tmp").touch(mode=0o600)
            desk.rename(b'{"desired_state": "contin')
            await desk.until_states("pause", "pause")
            assert desk.run.desired is PAUSE
            kept = desk.path.with_name("agent_state.json.malformed-1")
            assert kept.read_bytes() == b'{"desired_state": "contin'
            assert kept.stat().st_mode & 0o777 == 0o600  # as private as it was
            assert "counts as pause" in desk.fields()["note"]
            assert len(await desk.warnings()) == 1
            desk.rename(b"[1]")
            await desk.until(lambda: "agent_state.json.malformed-2" in desk.names())
            await desk.until_states("pause", "pause")
            desk.wish("run_once")
            await desk.until(lambda: desk.run.desired is RUN_ONCE)

    run(scene())


def test_a_writer_in_place_who_is_slow_is_waited_for(desk: Desk) -> None:
    async def scene() -> None:
        await desk.prepare()
        async with desk.followed():
            await desk.until_states("pause", "pause")
            with desk.path.open("r+b", buffering=0) as slow:
                slow.truncate()
                await settled()  # muster has seen that it is empty
                slow.write(b'{"desired_state": ')
                await settled()
                slow.write(b'"continuous"}')
            await desk.until(lambda: desk.run.desired is CONTINUOUS)
            assert await desk.warnings() == []
            assert not [name for name in desk.names() if "malformed" in name]

    run(scene())


def test_an_unknown_state_counts_as_pause_and_is_left_as_it_is_written(desk: Desk) -> None:
    async def scene() -> None:
        await desk.prepare()
        async with desk.followed():
            await desk.until_states("pause", "pause")
            desk.wish("continuous")
            await desk.until(lambda: desk.run.desired is CONTINUOUS)
            desk.wish("dance", current_state="sing")
            await desk.until(lambda: desk.run.desired is PAUSE)
            await desk.until_states("dance", "pause")
            (warning,) = await desk.warnings()
            assert '"dance"' in warning

    run(scene())


def test_a_wish_with_half_of_a_character_in_its_words_is_obeyed(desk: Desk) -> None:
    async def scene() -> None:
        await desk.prepare()
        async with desk.followed():
            await desk.until_states("pause", "pause")
            desk.rename(b'{"desired_state": "continuous", "setBy": "\\ud800", "note": "\\udfff!"}')
            await desk.until(lambda: desk.run.desired is CONTINUOUS)
            assert (desk.run.set_by, desk.run.note) == ("?", "?!")
            assert await desk.warnings() == []

    run(scene())


def test_missing_fields_have_their_defaults(desk: Desk) -> None:
    async def scene() -> None:
        await desk.prepare()
        desk.path.write_text("{}")
        async with desk.followed():
            await desk.until(lambda: desk.fields() == {"current_state": "pause"})
            desk.rename(b'{"desired_state": "continuous"}')
            await desk.until(lambda: desk.run.desired is CONTINUOUS)
            assert (desk.run.set_by, desk.run.note) == ("file", "")

    run(scene())


def test_what_cannot_be_read_counts_as_pause_until_it_can(desk: Desk) -> None:
    async def scene() -> None:
        await desk.prepare()
        async with desk.followed():
            await desk.until_states("pause", "pause")
            desk.wish("continuous")
            await desk.until(lambda: desk.run.desired is CONTINUOUS)
            away = desk.path.with_name("away.json")
            desk.path.rename(away)
            desk.path.mkdir()
            await desk.until(lambda: desk.run.desired is PAUSE)
            assert "cannot be read" in desk.run.note
            desk.path.rmdir()
            away.rename(desk.path)
            await desk.until(lambda: desk.run.desired is CONTINUOUS)
            _, mended = await desk.warnings()
            assert mended == f"{desk.path} can be read again"

    run(scene())


@pytest.mark.parametrize("is_made_anew", [False, True], ids=["at once", "after a new one"])
def test_a_persons_stop_stands_when_the_file_can_be_read_again(
    desk: Desk, *, is_made_anew: bool
) -> None:
    async def scene() -> None:
        await desk.prepare()
        async with desk.followed():
            await desk.until_states("pause", "pause")
            desk.wish("continuous")
            await desk.until(lambda: desk.run.desired is CONTINUOUS)
            away = desk.path.with_name("away.json")
            desk.path.rename(away)
            desk.path.mkdir()
            await desk.until(lambda: desk.run.desired is PAUSE)
            await desk.want(PAUSE, note="stay off")
            assert desk.run.note == "stay off"
            desk.path.rmdir()
            if is_made_anew:
                await desk.until(desk.path.is_file)
            away.rename(desk.path)
            await desk.until(lambda: desk.fields().get("desired_state") == "pause")
            assert desk.run.desired is PAUSE
            desk.wish("continuous")  # an edit of the file as it is now counts
            await desk.until(lambda: desk.run.desired is CONTINUOUS)

    run(scene())


READ_ONLY = """
import asyncio, concurrent.futures.thread, os, sys
from pathlib import Path
from tests.mirrors.state_file.test_files import read_only_scene

folder = Path(sys.argv[1])
if os.getuid() == 0:
    os.setuid(65534)  # nobody: even a read-only folder is not read-only to root
asyncio.run(read_only_scene(folder))
"""


async def read_only_scene(folder: Path) -> None:
    """What happens in a folder that nobody may write to."""
    own = folder / "own"
    own.mkdir()
    desk = Desk(own / "agent_state.json", Authority.MUSTER)
    await desk.prepare()
    async with desk.followed():
        await desk.until_states("pause", "pause")
        desk.wish("continuous")
        await desk.until_states("continuous", "pause")
        desk.path.parent.chmod(0o555)
        await desk.session_starts()
        assert "cannot be written" in await desk.first_warning()
        desk.path.write_text('{"desired_state": "run_once"}')  # the file itself is not read-only
        await desk.until(lambda: desk.run.desired is RUN_ONCE)
        desk.path.chmod(0o000)
        await desk.until(lambda: desk.run.desired is PAUSE)
        desk.path.chmod(0o444)
        await desk.until(lambda: desk.run.desired is RUN_ONCE)
        desk.path.parent.chmod(0o755)
        await desk.until_states("run_once", "continuous")
        said = [each for each in await desk.warnings() if "again" not in each]
        assert len(said) == 2
        await desk.want(PAUSE)
        await desk.session_ends()
        await desk.until_states("pause", "pause")
        assert desk.path.stat().st_mode & 0o777 == 0o444


def test_a_read_only_folder_is_said_once_wishes_count_and_all_is_well_when_it_is_over() -> None:
    with TemporaryDirectory() as folder:  # one that somebody else can get at
        Path(folder).chmod(0o777)
        subprocess.run(
            [sys.executable, "-c", READ_ONLY, folder], check=True, timeout=4 * WAIT_SECONDS
        )


def test_a_start_is_refused_while_the_file_cannot_be_read(desk: Desk) -> None:
    """One session ran before muster looked at the file again."""

    async def scene() -> None:
        await desk.prepare()
        async with desk.followed():
            await desk.until_states("pause", "pause")
            content = desk.path.read_bytes()
            desk.path.unlink()
            desk.path.mkdir()
            await desk.until(lambda: not desk.run.is_file_readable)
            with pytest.raises(StateFileUnreadable, match="Is a directory"):
                await desk.want(CONTINUOUS)
            desk.path.rmdir()
            desk.path.write_bytes(content)
            await desk.until(lambda: desk.run.is_file_readable)
            await desk.want(CONTINUOUS)
            await desk.session_starts()
            await desk.until_states("continuous", "continuous")

    run(scene())


def test_a_file_that_stays_unwritable_is_tried_less_and_less_and_said_once(desk: Desk) -> None:
    """Issue 15: an immutable file was tried every second, each time with a draft beside it."""

    async def scene() -> None:
        await desk.prepare()
        link = state_file_link.StateFileLink(desk.dispatcher, desk.clock, ADA, desk.path)
        refused = OSError(1, "Operation not permitted")
        pauses = [await link.not_written(refused) for _ in range(9)]
        assert pauses == sorted(pauses)
        assert (pauses[0], pauses[-1]) == (1.0, FILE_UNWRITTEN_SECONDS_MAX)
        [said] = await desk.warnings()
        assert "agent_state.json cannot be written: Operation not permitted. The log has" in said
        assert desk.run.file_problem == f"{desk.path} cannot be written: Operation not permitted"
        for _ in range(2):
            await link.written()
        assert desk.run.file_problem == ""
        assert [each for each in await desk.warnings() if "again" in each] == [
            f"{desk.path} can be written again"
        ]
        assert await link.not_written(refused) == pauses[0]

    run(scene())


def test_a_note_that_is_a_book_is_cut_in_the_log_and_whole_in_the_file(desk: Desk) -> None:
    async def scene() -> None:
        await desk.prepare()
        async with desk.followed():
            await desk.until_states("pause", "pause")
            desk.wish("run_once", note="n" * 10_000, setBy="h" * 1000)
            await desk.session_starts()
            await desk.until_states("run_once", "run_once")
            assert desk.run.note.endswith("…")
            assert desk.fields()["note"] == "n" * 10_000

    run(scene())


def test_a_wish_that_comes_while_muster_writes_is_neither_lost_nor_overlooked(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene() -> None:
        await desk.prepare()
        async with desk.followed():
            await desk.until_states("pause", "pause")
            desk.wish("continuous")
            await desk.until(lambda: desk.run.desired is CONTINUOUS)
            real = files.libc.swap

            def swap(one: Path, other: Path) -> None:
                monkeypatch.setattr(files.libc, "swap", real)
                desk.wish("run_cleanup")
                real(one, other)

            monkeypatch.setattr(files.libc, "swap", swap)
            await desk.session_starts()
            await desk.until(lambda: desk.run.desired is RUN_CLEANUP)
            await desk.until_states("run_cleanup", "continuous")

    run(scene())


def test_a_wish_that_a_writer_in_place_wrote_into_a_file_that_was_taken_away_is_found(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene() -> None:
        await desk.prepare()
        async with desk.followed():
            await desk.until_states("pause", "pause")
            desk.wish("continuous")
            await desk.until(lambda: desk.run.desired is CONTINUOUS)
            with desk.path.open("r+b") as slow:
                await desk.session_starts()
                await desk.until_states("continuous", "continuous")
                slow.truncate()
                slow.write(b'{"desired_state": "pause", "setBy": "late"}')
            await desk.until(lambda: desk.run.desired is PAUSE)
            await desk.until_states("pause", "continuous")
            assert desk.fields()["setBy"] == "late"

    run(scene())


def test_the_same_wish_once_more_lets_one_try_now_that_rests_after_a_failure(desk: Desk) -> None:
    async def scene() -> None:
        await desk.prepare()
        async with desk.followed():
            await desk.until_states("pause", "pause")
            desk.wish("continuous")
            await desk.session_starts()
            await desk.session_ends(Outcome.FAILED)
            assert desk.run.retry_at is not None
            await desk.until_states("continuous", "pause")
            later = timestamp(desk.clock.now() + timedelta(seconds=1))
            desk.wish("continuous", note="again", timestamp=later)
            await desk.session_starts()
            await desk.until_states("continuous", "continuous")

    run(scene())


def test_a_link_that_was_there_is_followed_and_stays(desk: Desk) -> None:
    async def scene() -> None:
        await desk.prepare()
        real = desk.path.parent / "one" / "state.json"
        real.parent.mkdir()
        real.write_text("{}")
        desk.path.symlink_to(real)
        async with desk.followed():
            await desk.until(lambda: desk.fields().get("current_state") == "pause")
            real.write_text('{"desired_state": "continuous"}')
            await desk.until(lambda: desk.run.desired is CONTINUOUS)
            assert desk.path.is_symlink()

    run(scene())


@pytest.mark.parametrize("was_link", [True, False], ids=["another link", "a file before"])
@pytest.mark.parametrize(
    "content", ["root:x:0:0::/root:/bin/sh", '{"desired_state": "continuous", "a": 1}', None]
)
def test_a_link_that_comes_later_is_not_followed(
    desk: Desk, content: str | None, *, was_link: bool
) -> None:
    """muster wrote a state file over whatever file such a link led to."""

    async def scene() -> None:
        await desk.prepare()
        foreign = desk.path.parent / "etc" / "passwd"
        foreign.parent.mkdir()
        if content is not None:
            foreign.write_text(content)
        if was_link:
            desk.path.symlink_to(desk.path.parent / "real.json")
        async with desk.followed():
            await desk.until_states("pause", "pause")
            desk.wish("continuous")
            await desk.session_starts()
            await desk.until_states("continuous", "continuous")
            link = desk.path.with_name("new_link")
            link.symlink_to(foreign)
            link.replace(desk.path)
            await desk.until(lambda: desk.run.desired is PAUSE)
            assert f"is a link to {foreign} now" in desk.run.note
            await desk.session_ends()
        names = [each.name for each in foreign.parent.iterdir()]
        assert (foreign.read_text() if names else None) == content
        assert names in ([], ["passwd"])

    run(scene())


def test_a_malformed_file_behind_a_link_is_left_alone(desk: Desk) -> None:
    async def scene() -> None:
        await desk.prepare()
        foreign = desk.path.with_name("foreign")
        foreign.write_text("my notes")
        desk.path.symlink_to(foreign)
        async with desk.followed():
            assert "it is not JSON" in await desk.first_warning()
        assert foreign.read_text() == "my notes"
        assert desk.names() == sorted([desk.path.name, "foreign"])

    run(scene())


def test_at_the_end_the_file_says_pause_and_keeps_what_is_wanted(desk: Desk) -> None:
    async def scene() -> None:
        await desk.prepare()
        async with desk.followed() as state_files:
            await desk.until_states("pause", "pause")
            desk.wish("continuous")
            await desk.session_starts()
            await desk.until_states("continuous", "continuous")
        await desk.want(PAUSE)
        await desk.session_ends()
        desk.wish("run_once")
        await state_files.close()
        assert desk.states() == ("run_once", "pause")

    run(scene())


# ── muster is Mission Control ─────────────────────────────────────────────────────────────────────


def test_a_loop_without_a_file_gets_one_when_somebody_wants_something(loop_desk: Desk) -> None:
    async def scene() -> None:
        await loop_desk.prepare()
        async with loop_desk.followed():
            await loop_desk.want(RUN_ONCE, note="please")
            await loop_desk.until_states("run_once", "pause")
            assert loop_desk.fields()["note"] == "please"
            await loop_desk.want(PAUSE)
            await loop_desk.until_states("pause", "pause")

    run(scene())


def test_a_file_of_a_loop_is_not_made_while_nobody_wants_anything(loop_desk: Desk) -> None:
    async def scene() -> None:
        await loop_desk.prepare()
        async with loop_desk.followed():
            await asyncio.to_thread(loop_desk.names)  # it has looked before us
            await settled()
            assert loop_desk.names() == []

    run(scene())


def in_place(desk: Desk, **fields: object) -> None:
    """Write as the loop does: read, change, write the whole file in place."""
    desk.path.write_text(json.dumps(desk.fields() | fields, indent=2))


def test_what_a_loop_writes_shows_what_it_does_and_that_it_is_here(loop_desk: Desk) -> None:
    async def scene() -> None:
        await loop_desk.prepare()
        in_place(loop_desk, desired_state="pause", current_state="pause", model="small")
        async with loop_desk.followed():
            await loop_desk.want(CONTINUOUS)
            await loop_desk.until_states("continuous", "pause")
            agent = loop_desk.dispatcher.team.agents[ADA]
            assert agent.status is Status.SLEEPING
            in_place(loop_desk, current_state="continuous")
            await loop_desk.until(lambda: loop_desk.run.current is CONTINUOUS)
            assert loop_desk.dispatcher.team.agents[ADA].status is Status.ALIVE
            await loop_desk.want(PAUSE)
            await loop_desk.until_states("pause", "continuous")
            assert loop_desk.fields()["model"] == "small"
            in_place(loop_desk, current_state="humming")
            await loop_desk.until(lambda: loop_desk.run.current is PAUSE)
            assert '"humming"' in (await loop_desk.warnings())[0]
            assert loop_desk.states() == ("pause", "humming")

    run(scene())


def test_every_write_of_a_loop_renews_the_evidence_that_it_lives(
    loop_desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Issue 15: only the first write of a loop counted, and a dead one was alive for ever."""
    monkeypatch.setattr(loops, "LOOP_EVIDENCE_SECONDS", 0.0)

    def seen() -> tuple[str, int]:
        evidence = loop_desk.dispatcher.team.agents[ADA].evidence
        assert evidence is not None
        return evidence.kind, evidence.seq

    async def scene() -> None:
        await loop_desk.prepare()
        in_place(loop_desk, desired_state="continuous", current_state="continuous")
        async with loop_desk.followed():
            await loop_desk.until(lambda: loop_desk.run.current is CONTINUOUS)
            assert seen()[0] == "settings"  # the file as it was found is no sign of life
            in_place(loop_desk, timestamp="a")
            await loop_desk.until(lambda: seen()[0] == "file")
            first = seen()
            in_place(loop_desk, timestamp="b")
            await loop_desk.until(lambda: seen() > first)
            second, same = seen(), loop_desk.path.read_bytes()
            loop_desk.path.write_bytes(same)
            await loop_desk.until(lambda: seen() > second)
            third, aside = seen(), loop_desk.path.with_name("aside")
            aside.write_bytes(same)
            aside.replace(loop_desk.path)
            await loop_desk.until(lambda: seen() > third)

    run(scene())


def test_the_pause_of_a_loop_after_a_one_shot_is_taken_in(loop_desk: Desk) -> None:
    async def scene() -> None:
        await loop_desk.prepare()
        async with loop_desk.followed():
            await loop_desk.want(RUN_ONCE)
            await loop_desk.until_states("run_once", "pause")
            in_place(loop_desk, current_state="run_once", timestamp="a")
            await loop_desk.until(lambda: loop_desk.run.current is RUN_ONCE)
            in_place(loop_desk, desired_state="pause", current_state="pause", timestamp="b")
            await loop_desk.until(lambda: loop_desk.run.desired is PAUSE)
            assert loop_desk.run.set_by == "agent"
            await loop_desk.until(lambda: loop_desk.run.current is PAUSE)

    run(scene())


def test_a_wish_that_a_loop_overwrote_with_what_it_had_read_before_is_written_again(
    loop_desk: Desk,
) -> None:
    async def scene() -> None:
        await loop_desk.prepare()
        in_place(loop_desk, desired_state="pause", current_state="pause", setBy="human", note="old")
        async with loop_desk.followed():
            stale = loop_desk.fields()
            await loop_desk.want(CONTINUOUS)
            await loop_desk.until_states("continuous", "pause")
            loop_desk.path.write_text(json.dumps(stale | {"timestamp": "later"}))
            await loop_desk.until_states("continuous", "pause")
            assert loop_desk.run.desired is CONTINUOUS
            assert loop_desk.fields()["setBy"] == "Marcus"

    run(scene())


def test_the_pause_after_a_one_shot_that_was_replaced_does_not_undo_the_newer_wish(
    loop_desk: Desk,
) -> None:
    async def scene() -> None:
        await loop_desk.prepare()
        async with loop_desk.followed():
            await loop_desk.want(RUN_ONCE)
            await loop_desk.until_states("run_once", "pause")
            in_place(loop_desk, current_state="run_once")
            await loop_desk.until(lambda: loop_desk.run.current is RUN_ONCE)
            await loop_desk.want(CONTINUOUS, note="go on")
            await loop_desk.until_states("continuous", "run_once")
            in_place(loop_desk, desired_state="pause", current_state="pause")
            await loop_desk.until_states("continuous", "pause")
            assert loop_desk.run.desired is CONTINUOUS
            in_place(loop_desk, current_state="continuous")
            await loop_desk.until(lambda: loop_desk.run.current is CONTINUOUS)
            in_place(loop_desk, desired_state="pause", current_state="pause")
            await loop_desk.until(lambda: loop_desk.run.desired is PAUSE)

    run(scene())


def test_a_person_who_writes_into_the_file_of_a_loop_is_heard_too(loop_desk: Desk) -> None:
    async def scene() -> None:
        await loop_desk.prepare()
        in_place(loop_desk, desired_state="pause", current_state="pause")
        async with loop_desk.followed():
            await loop_desk.until(lambda: loop_desk.run.current is PAUSE)
            loop_desk.wish("run_cleanup")
            await loop_desk.until(lambda: loop_desk.run.desired is RUN_CLEANUP)
            assert (loop_desk.run.set_by, loop_desk.run.note) == (
                *("human", "asked for run_cleanup"),
            )

    run(scene())


def test_a_malformed_file_of_a_loop_is_said_and_left_alone(loop_desk: Desk) -> None:
    async def scene() -> None:
        await loop_desk.prepare()
        in_place(loop_desk, desired_state="continuous", current_state="continuous")
        async with loop_desk.followed():
            await loop_desk.until(lambda: loop_desk.run.current is CONTINUOUS)
            loop_desk.path.write_text("{")
            assert "not JSON" in await loop_desk.first_warning()
            assert loop_desk.path.read_text() == "{"
            assert loop_desk.run.desired is CONTINUOUS
            assert loop_desk.names() == ["agent_state.json"]

    run(scene())


LOOP = '''
"""A loop that knows nothing of muster: it polls, and rewrites the whole file in place.
Its sessions end when they are let."""

import json, os, sys, time, datetime

path, log, finish = sys.argv[1], open(sys.argv[2], "a", buffering=1), sys.argv[3]

def read():
    with open(path) as file:
        return json.load(file)

def write(**changes):
    state = read()
    state.update(changes)
    state["timestamp"] = datetime.datetime.now(datetime.timezone.utc).isoformat()
    with open(path, "w") as file:
        json.dump(state, file, indent=2)

def session(mode):
    write(current_state=mode)
    log.write(f"begin {mode}\\n")
    while not os.path.exists(finish):
        time.sleep(0.05)
    log.write(f"end {mode}\\n")

while True:
    try:
        wanted = read()["desired_state"]
    except (OSError, ValueError, KeyError):
        wanted = "pause"
    if wanted == "continuous":
        session("continuous")
    elif wanted in ("run_once", "run_cleanup"):
        session(wanted)
        write(desired_state="pause", current_state="pause")
    else:
        try:
            write(current_state="pause")
        except (OSError, ValueError):
            pass
        time.sleep(0.2)
'''


def test_a_foreign_loop_works_under_muster_unchanged(loop_desk: Desk) -> None:
    async def scene() -> None:
        log, finish = loop_desk.path.with_name("log.txt"), loop_desk.path.with_name("finish")
        await loop_desk.prepare()
        in_place(loop_desk, desired_state="pause", current_state="pause")
        loop = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", LOOP, str(loop_desk.path), str(log), str(finish))
        )
        try:
            async with loop_desk.followed():
                await loop_desk.until(
                    lambda: loop_desk.dispatcher.team.agents[ADA].status is Status.ALIVE
                )
                for mode in (RUN_ONCE, RUN_CLEANUP):
                    await loop_desk.want(mode)
                    await loop_desk.until(lambda: loop_desk.run.current is mode)  # noqa: B023
                    finish.touch()
                    await loop_desk.until(lambda: loop_desk.run.desired is PAUSE)
                    await loop_desk.until(lambda: loop_desk.run.current is PAUSE)
                    assert log.read_text().splitlines() == [f"begin {mode}", f"end {mode}"]
                    log.write_text("")
                    finish.unlink()
                await loop_desk.want(CONTINUOUS)
                await loop_desk.until(lambda: loop_desk.run.current is CONTINUOUS)
                finish.touch()
                await loop_desk.until(lambda: log.read_text().count("begin continuous") > 2)
                await loop_desk.want(PAUSE)
                await loop_desk.until(lambda: loop_desk.run.current is PAUSE)
                assert log.read_text().count("begin") == log.read_text().count("end")
                wanted = [
                    event.fact.desired
                    for event in await logged(loop_desk.store, DesiredSet)
                    if isinstance(event.fact, DesiredSet)
                ]
                assert wanted == [RUN_ONCE, PAUSE, RUN_CLEANUP, PAUSE, CONTINUOUS, PAUSE]
        finally:
            loop.kill()
            await loop.wait()

    run(scene())
