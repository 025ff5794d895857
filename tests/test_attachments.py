"""Attached files on disk: private, bounded, never through a link, and removed when unused."""

import os
import stat
from hashlib import sha256
from pathlib import Path

import pytest

from muster import attachments, limits
from muster.app import TeamOptions, run_team
from muster.attachments import AttachmentFolder
from muster.errors import FilesFull, Invalid, NotFound, UploadsFull
from muster.store.memory import MemoryStore
from muster.testing.clock import ManualClock
from muster.testing.ids import CountingIds
from tests.builders import eventually, run

NOW = 2_000_000_000.0
DAY = 24 * 3600.0


async def nobody(_: str) -> bool:
    return False


async def everybody(_: str) -> bool:
    return True


def files_in(home: Path) -> set[str]:
    return {path.name for path in (home / "files").rglob("*") if path.is_file()}


def aged(home: Path, digest: str, age_s: float) -> None:
    os.utime(home / "files" / "uploads" / digest, (NOW - age_s, NOW - age_s))


def test_each_uploader_has_its_own_name_for_the_same_content(tmp_path: Path) -> None:
    async def scene() -> None:
        folder = AttachmentFolder(tmp_path)
        first = await folder.keep(b"same", name="one.txt", by="person:Grace")
        second = await folder.keep(b"same", name="two.png", by="agent:pm")
        assert first.digest == second.digest == sha256(b"same").hexdigest()
        assert await folder.uploaded(first.digest, by="person:Grace") == first
        assert await folder.uploaded(first.digest, by="agent:pm") == second
        assert await folder.uploaded(first.digest, by="agent:dev") is None
        assert await folder.read(first.digest) == b"same"
        modes = {stat.S_IMODE(each.stat().st_mode) for each in (tmp_path / "files").rglob("*")}
        assert modes | {stat.S_IMODE((tmp_path / "files").stat().st_mode)} == {0o600, 0o700}
        for number in range(attachments.UPLOADERS_MAX):
            await folder.keep(b"same", name="x", by=f"agent:{number}")
        assert await folder.uploaded(first.digest, by="agent:pm") is None  # the oldest made room

    run(scene())


def test_an_upload_is_forgotten_when_a_message_names_it_and_its_content_stays(
    tmp_path: Path,
) -> None:
    async def scene() -> None:
        folder = AttachmentFolder(tmp_path)
        file = await folder.keep(b"x", name="x", by="me")
        await folder.named([file])
        assert await folder.uploaded(file.digest, by="me") is None
        assert await folder.read(file.digest) == b"x"
        assert await folder.clean(NOW + 9 * DAY, nobody) == 0
        assert await folder.read(file.digest) == b"x"

    run(scene())


def test_an_upload_that_no_message_names_is_removed_after_a_day(tmp_path: Path) -> None:
    async def scene() -> None:
        folder = AttachmentFolder(tmp_path)
        assert await folder.clean(NOW, nobody) == 0  # there is no folder yet
        old, new = [await folder.keep(each, name="x", by="me") for each in (b"old", b"new")]
        (tmp_path / "files" / "uploads" / "no digest").touch()
        aged(tmp_path, old.digest, DAY + 1)
        aged(tmp_path, new.digest, DAY - 1)
        assert await folder.clean(NOW, nobody) == 1
        assert files_in(tmp_path) == {new.digest, new.digest[2:], "no digest"}

    run(scene())


def test_an_old_upload_that_a_message_names_is_kept(tmp_path: Path) -> None:
    async def scene() -> None:
        folder = AttachmentFolder(tmp_path)
        file = await folder.keep(b"x", name="x", by="me")
        aged(tmp_path, file.digest, 2 * DAY)
        assert await folder.clean(NOW, everybody) == 0
        assert files_in(tmp_path) == {file.digest[2:]}

    run(scene())


def test_files_have_limits_alone_and_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene() -> None:
        folder = AttachmentFolder(tmp_path)
        for wrong in (b"", bytes(limits.FILE_BYTES_MAX + 1)):
            with pytest.raises(Invalid):
                await folder.keep(wrong, name="x", by="me")
        monkeypatch.setattr(limits, "FILES_BYTES_MAX", 1000)
        await folder.keep(bytes(600), name="x", by="me")
        await folder.keep(bytes(600), name="y", by="me")  # the same content lies there once
        with pytest.raises(FilesFull):
            await folder.keep(b"1" * 600, name="z", by="me")
        again = AttachmentFolder(tmp_path)  # after a restart they are counted again
        with pytest.raises(FilesFull):
            await again.keep(b"1" * 600, name="z", by="me")

    run(scene())


def test_nothing_is_read_or_written_through_a_link(tmp_path: Path) -> None:
    async def scene() -> None:
        folder = AttachmentFolder(tmp_path)
        secret = tmp_path / "secret"
        secret.write_text("secret")
        file = await folder.keep(b"x", name="x", by="me")
        path = tmp_path / "files" / file.digest[:2] / file.digest[2:]
        path.unlink()
        path.symlink_to(secret)
        with pytest.raises(NotFound):
            await folder.read(file.digest)
        other = sha256(b"y").hexdigest()
        aside = tmp_path / "files" / other[:2] / f".{other[2:]}.new"
        aside.parent.mkdir(exist_ok=True)
        aside.symlink_to(secret)
        await folder.keep(b"y", name="y", by="me")
        assert secret.read_text() == "secret"

    run(scene())


def test_the_unnamed_uploads_of_one_uploader_have_a_quota(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "UNNAMED_FILES_MAX", 3)
    monkeypatch.setattr(limits, "UNNAMED_BYTES_MAX", 1000)

    async def scene() -> None:
        folder = AttachmentFolder(tmp_path)
        large = await folder.keep(bytes(900), name="x", by="agent:pm")
        with pytest.raises(UploadsFull, match="'pm' may have 3 uploaded files, or 1000 bytes"):
            await folder.keep(b"1" * 200, name="y", by="agent:pm")
        await folder.keep(bytes(900), name="again", by="agent:pm")  # the same content counts once
        await folder.keep(b"1" * 200, name="y", by="agent:dev")
        await folder.named([large])  # a message names it: it counts no longer
        for content in (b"a", b"b", b"c"):
            await folder.keep(content, name="x", by="agent:pm")
        again = AttachmentFolder(tmp_path)  # after a restart they are counted again
        with pytest.raises(UploadsFull):
            await again.keep(b"d", name="x", by="agent:pm")
        assert await again.clean(NOW, nobody) == 4  # NOW is years later
        await again.keep(b"d", name="x", by="agent:pm")

    run(scene())


def test_an_old_upload_that_a_message_is_about_to_name_is_not_removed(tmp_path: Path) -> None:
    async def scene() -> None:
        folder = AttachmentFolder(tmp_path)
        file = await folder.keep(b"x", name="x", by="me")
        now = (tmp_path / "files" / "uploads" / file.digest).stat().st_mtime
        os.utime(tmp_path / "files" / "uploads" / file.digest, (now - 2 * DAY, now - 2 * DAY))

        async def named_meanwhile(digest: str) -> bool:
            assert await folder.uploaded(digest, by="me") == file
            return False

        assert await folder.clean(now, named_meanwhile) == 0
        assert await folder.read(file.digest) == b"x"

    run(scene())


def test_unused_uploads_are_removed_while_the_server_runs(tmp_path: Path) -> None:
    async def scene() -> None:
        clock, options = ManualClock(), TeamOptions(human="Grace")
        async with run_team(
            MemoryStore(), options, clock=clock, ids=CountingIds("boot"), home=tmp_path
        ) as muster:
            assert muster.files is not None
            file = await muster.files.keep(b"x", name="x", by="me")
            old = clock.now().timestamp() - DAY
            os.utime(tmp_path / "files" / "uploads" / file.digest, (old, old))
            await eventually(lambda: _advance(clock) and not files_in(tmp_path))

    run(scene())


def _advance(clock: ManualClock) -> bool:
    clock.advance(limits.FILE_CLEAN_SECONDS)
    return True
