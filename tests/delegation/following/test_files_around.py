"""Files that commands of a followed program make in the project, outside of the outputs."""

from pathlib import Path

import pytest

from muster.delegation.folder import file_changes
from muster.delegation.following.notes import NotesStore
from muster.delegation.session_folder import SESSIONS_FOLDER
from muster.machines.vocabulary import Remark
from muster.views.answers.conversations import FileView
from tests.builders import run
from tests.delegation.following.test_record import ENGINEER, ONE, OURS, PYTHON, Followed
from tests.waits import until


class Project(Followed):
    """A followed session in a project that has files already."""

    def __init__(self, base: Path) -> None:
        super().__init__(base)
        (self.project / "old.py").write_text("old")
        old = (self.project / "old.py").stat().st_ctime_ns
        until(lambda: file_changes.filesystem_time(base) > old)

    async def end_work(self) -> None:
        await self.following.stopped(OURS, "a1", ENGINEER, "Built.", project=self.project)

    async def end(self) -> None:
        await self.following.closed(OURS, "Done.", (), project=self.project)

    async def around(self) -> list[FileView]:
        return [each for each in (await self.view()).files if each.outside]


def test_a_file_that_a_command_of_an_agent_makes_is_recorded_once(tmp_path: Path) -> None:
    async def play() -> None:
        stage = Project(tmp_path)
        await stage.start()
        await stage.hear()
        await stage.work()
        made = stage.project / "made.py"
        made.write_text("made")
        await stage.end_work()
        await stage.end()
        [file] = await stage.around()
        assert (file.path, file.by, file.size) == (str(made), ENGINEER, 4)
        [note] = await stage.remarks(Remark.NOTE)
        assert note == f"changed outside of the outputs while {ENGINEER} worked: {made}"

    run(play())


def test_a_file_that_main_changes_is_recorded_and_one_that_the_request_names_is_named(
    tmp_path: Path,
) -> None:
    async def play() -> None:
        stage = Project(tmp_path)
        await stage.start()
        await stage.hear(f"{PYTHON} into old.py")
        (stage.project / "old.py").write_text("new")
        await stage.end()
        [file] = await stage.around()
        assert (Path(file.path).name, file.by, file.named) == ("old.py", "MAIN", True)

    run(play())


def test_a_file_that_a_tool_wrote_is_not_recorded_again_unless_it_changed(tmp_path: Path) -> None:
    async def play() -> None:
        stage = Project(tmp_path)
        await stage.start()
        await stage.hear()
        for name in ("kept.py", "grown.py"):
            path = stage.project / name
            path.write_text("tool")
            await stage.following.wrote(OURS, "", path, project=stage.project, created=True)
        (stage.project / "grown.py").write_text("tool and command")
        await stage.end()
        names = [Path(each.path).name for each in await stage.around()]
        assert sorted(names) == ["grown.py", "grown.py", "kept.py"]

    run(play())


def test_files_of_sessions_and_of_the_home_are_not_of_the_project(tmp_path: Path) -> None:
    async def play() -> None:
        stage = Project(tmp_path)
        await stage.start()
        await stage.hear()
        for folder in (SESSIONS_FOLDER / "other", Path(".git"), Path("node_modules")):
            (stage.project / folder).mkdir(parents=True)
            (stage.project / folder / "file").write_text("x")
        await stage.end()
        assert await stage.around() == []

    run(play())


def test_a_project_with_too_many_files_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def play() -> None:
        stage = Project(tmp_path)
        await stage.start()
        await stage.hear()
        (stage.project / "made.py").write_text("made")
        monkeypatch.setattr(file_changes, "FILES_MAX", 1)
        await stage.end()
        assert await stage.around() == []
        [note] = await stage.remarks(Remark.NOTE)
        assert note == f"{stage.project} has too many files to see what else was written."

    run(play())


def test_without_a_time_of_the_file_system_nothing_is_looked_for(tmp_path: Path) -> None:
    async def play() -> None:
        stage = Project(tmp_path)
        await stage.start()
        await stage.hear()
        notes = stage.notes()
        notes.since[ONE] = file_changes.filesystem_time(tmp_path / "gone")
        NotesStore(stage.log_provider.home).write(OURS.session, notes)
        (stage.project / "made.py").write_text("made")
        await stage.end()
        assert await stage.around() == []

    run(play())


def test_many_changed_files_are_recorded_and_the_first_are_named(tmp_path: Path) -> None:
    async def play() -> None:
        stage = Project(tmp_path)
        await stage.start()
        await stage.hear()
        for number in range(12):
            (stage.project / f"{number:02d}.py").write_text("x")
        await stage.end()
        assert len((await stage.view(ONE)).files) == 12
        [note] = await stage.remarks(Remark.NOTE)
        assert note.endswith("09.py and 2 more")

    run(play())
