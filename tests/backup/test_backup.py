"""Backups: made while others write, verified, restored whole or not at all."""

import asyncio
import gzip
import io
import os
import stat
import tarfile
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import msgspec
import pytest

from muster.backup.making import make_backup
from muster.backup.manifest import FORMAT, MANIFEST, BackedUpFile, Manifest
from muster.backup.restoring import Restored, restore_backup
from muster.errors import BackupInvalid, FileUnusable, HomeNotEmpty, LogCorrupt, NoTeam
from muster.home.lock import LOG_FILE
from muster.machines import commands as c
from muster.machines.attachments import stored_path
from muster.machines.events import LogRestored
from muster.machines.vocabulary import Role
from muster.store.codec import decode
from muster.store.reading import LogReader
from muster.store.sqlite import SqliteStore
from muster.store.verifying import verify_log
from muster.testing.clock import ManualClock
from tests.homes import TWO_AGENTS, play
from tests.store.building import event

NOON = datetime(2026, 5, 9, 12, tzinfo=UTC)
TOKEN = c.IssueToken(token_id="t1", role=Role.VIEWER, digest="d" * 64)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with a log, settings, an attached file, output, and secrets of the server."""
    home = tmp_path / "team"
    play(home, *TWO_AGENTS, TOKEN)
    (home / "muster.toml").write_text('[team]\nhuman = "Grace"\n')
    attached = home / stored_path(sha256(b"a picture").hexdigest())
    attached.parent.mkdir(parents=True)
    attached.write_bytes(b"a picture")
    (home / "agents/Ada").mkdir(parents=True)
    (home / "agents/Ada/output.log").write_text("said\n")
    (home / "operator.token").write_text("secret\n")
    (home / "browser-sessions.json").write_text("[]")
    return home


def backed_up(home: Path, target: Path, *, with_output: bool = False) -> Manifest:
    steps: list[str] = []
    made = make_backup(
        home,
        target,
        now=NOON,
        with_output=with_output,
        progress=lambda step, share: steps.append(step),
    )
    assert made.size == target.stat().st_size
    assert {"verifying the log", "packing", "reading it back"} <= set(steps)
    return made.manifest


def restored(source: Path, home: Path) -> Restored:
    return asyncio.run(restore_backup(source, home, ManualClock(), lambda step, share: None))


def test_a_restored_home_has_the_log_the_settings_and_the_files(home: Path, tmp_path: Path) -> None:
    manifest = backed_up(home, tmp_path / "b")

    found = restored(tmp_path / "b", tmp_path / "again")

    again = tmp_path / "again"
    assert found.manifest == manifest
    assert {each.name for each in found.team.agents.values()} == {"Ada", "Bo"}
    assert (again / "muster.toml").read_text() == (home / "muster.toml").read_text()
    assert (again / stored_path(sha256(b"a picture").hexdigest())).read_bytes() == b"a picture"
    with LogReader.open(home / LOG_FILE) as old, LogReader.open(again / LOG_FILE) as new:
        before, after = (log.read(after=0, limit=1000) for log in (old, new))
    assert list(after[:-1]) == list(before)
    told = decode(after[-1].data).fact
    assert told == LogRestored(backup_seq=len(before), made_at=NOON)
    assert verify_log(again / LOG_FILE).damages == ()


def test_no_secret_of_the_server_is_in_a_backup_and_no_token_is_valid_after_it(
    home: Path, tmp_path: Path
) -> None:
    manifest = backed_up(home, tmp_path / "b")

    names = {each.name for each in manifest.files}
    assert names >= {LOG_FILE, "muster.toml"}
    assert not names & {"operator.token", "browser-sessions.json", "agents/Ada/output.log"}
    assert restored(tmp_path / "b", tmp_path / "again").team.tokens == {}


def test_a_backup_is_its_owners_alone_and_so_is_the_restored_home(
    home: Path, tmp_path: Path
) -> None:
    backed_up(home, tmp_path / "b")
    restored(tmp_path / "b", tmp_path / "again")

    made = [tmp_path / "b", tmp_path / "again", *(tmp_path / "again").rglob("*")]
    assert not any(stat.S_IMODE(each.stat().st_mode) & 0o077 for each in made)


def test_the_output_of_programs_is_backed_up_on_request(home: Path, tmp_path: Path) -> None:
    backed_up(home, tmp_path / "b", with_output=True)
    restored(tmp_path / "b", tmp_path / "again")

    assert (tmp_path / "again/agents/Ada/output.log").read_text() == "said\n"


def test_a_backup_under_writes_is_the_log_of_one_commit(tmp_path: Path) -> None:
    async def write_meanwhile() -> Manifest:
        store = await SqliteStore.open(tmp_path / "team")
        await store.append([event(seq) for seq in range(1, 2001)])
        making = asyncio.get_running_loop().run_in_executor(
            None, backed_up, tmp_path / "team", tmp_path / "b"
        )
        seq = 2001
        while not making.done():
            await store.append([event(seq), event(seq + 1)])
            seq += 2
        await store.close()
        return await making

    manifest = asyncio.run(write_meanwhile())

    assert manifest.events >= 2000
    assert manifest.events % 2 == 0
    head = manifest.log_head()
    assert head is not None
    live = verify_log(tmp_path / "team" / LOG_FILE, places=frozenset({head.seq}))
    assert live.links[head.seq] == head.digest


def test_a_damaged_log_is_not_backed_up(home: Path, tmp_path: Path) -> None:
    with (home / LOG_FILE).open("r+b") as file:
        content = file.read()
        file.seek(content.index(b'"type":"agent_enrolled"'))
        file.write(b'"tYpe"')

    with pytest.raises(LogCorrupt, match="event"):
        backed_up(home, tmp_path / "b")
    assert {each.name for each in tmp_path.iterdir()} == {"team"}


def test_a_folder_without_a_team_cannot_be_backed_up(tmp_path: Path) -> None:
    with pytest.raises(NoTeam):
        backed_up(tmp_path, tmp_path / "b")


def test_a_target_that_cannot_be_written_is_named(home: Path, tmp_path: Path) -> None:
    with pytest.raises(FileUnusable, match="nowhere"):
        backed_up(home, tmp_path / "nowhere" / "b")


def test_a_home_that_is_not_empty_is_not_overwritten(home: Path, tmp_path: Path) -> None:
    backed_up(home, tmp_path / "b")
    before = sorted(each.name for each in home.iterdir())

    with pytest.raises(HomeNotEmpty):
        restored(tmp_path / "b", home)

    assert sorted(each.name for each in home.iterdir()) == before


def test_an_empty_folder_and_a_new_path_become_the_home(home: Path, tmp_path: Path) -> None:
    backed_up(home, tmp_path / "b")
    (tmp_path / "empty").mkdir()

    restored(tmp_path / "b", tmp_path / "empty")
    restored(tmp_path / "b", tmp_path / "a/b/c")

    assert (tmp_path / "empty" / LOG_FILE).exists()
    assert (tmp_path / "a/b/c" / LOG_FILE).exists()


@pytest.mark.parametrize("share", [0.0, 0.2, 0.6, 0.9])
def test_a_truncated_backup_is_refused_and_leaves_nothing(
    home: Path, tmp_path: Path, share: float
) -> None:
    backed_up(home, tmp_path / "b")
    os.truncate(tmp_path / "b", int((tmp_path / "b").stat().st_size * share))

    refused(tmp_path)


def test_a_flipped_byte_anywhere_is_refused_and_leaves_nothing(home: Path, tmp_path: Path) -> None:
    backed_up(home, tmp_path / "b")
    content = gzip.decompress((tmp_path / "b").read_bytes())
    place = content.index(b"a picture")
    flipped = content[:place] + b"A" + content[place + 1 :]
    (tmp_path / "b").write_bytes(gzip.compress(flipped))

    refused(tmp_path, saying="damaged in it")


# ── backups that muster did not make ──────────────────────────────────────────────────────────────


def refused(folder: Path, saying: str = "cannot be restored") -> None:
    with pytest.raises(BackupInvalid, match=saying):
        restored(folder / "b", folder / "again")
    assert not (folder / "again").exists()
    assert not list(folder.glob(".again*"))


def forge(target: Path, members: dict[str, bytes], listed: dict[str, bytes] | None = None) -> None:
    """Write a backup by hand; `listed` is what its manifest names, if not its members."""
    files = tuple(
        BackedUpFile(name=name, size=len(content), sha256=sha256(content).hexdigest())
        for name, content in (members if listed is None else listed).items()
    )
    manifest = Manifest(
        format=FORMAT, muster_version="0", made_at=NOON, events=0, head=None, files=files
    )
    pack(target, {MANIFEST: msgspec.json.encode(manifest), **members})


def pack(target: Path, members: dict[str, bytes]) -> None:
    with tarfile.open(target, "w:gz") as tar:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))


@pytest.mark.parametrize(
    "name",
    [
        "../escaped",
        "/tmp/escaped",
        "files/../../escaped",
        "files/aa/../../muster.toml",
        "agents/../output.log",
        "agents/.hidden/output.log",
        "operator.token",
    ],
)
def test_a_name_that_leaves_the_home_is_refused(tmp_path: Path, name: str) -> None:
    forge(tmp_path / "b", {LOG_FILE: b"x", name: b"y"})

    refused(tmp_path, saying="its manifest names a file")


def test_a_file_beside_the_manifest_is_refused(tmp_path: Path) -> None:
    forge(tmp_path / "b", {LOG_FILE: b"x", "muster.toml": b"y"}, listed={LOG_FILE: b"x"})

    refused(tmp_path, saying="beside its manifest")


def test_a_file_that_is_missing_is_named(tmp_path: Path) -> None:
    forge(tmp_path / "b", {LOG_FILE: b"x"}, listed={LOG_FILE: b"x", "muster.toml": b"y"})

    refused(tmp_path, saying="muster.toml is missing")


def test_a_backup_without_a_log_is_refused(tmp_path: Path) -> None:
    forge(tmp_path / "b", {"muster.toml": b"y"})

    refused(tmp_path, saying="no log")


def test_a_link_in_a_backup_is_refused(tmp_path: Path) -> None:
    manifest = Manifest(
        format=FORMAT,
        muster_version="0",
        made_at=NOON,
        events=0,
        head=None,
        files=(BackedUpFile(name=LOG_FILE, size=0, sha256=sha256().hexdigest()),),
    )
    content = msgspec.json.encode(manifest)
    with tarfile.open(tmp_path / "b", "w:gz") as tar:
        first = tarfile.TarInfo(MANIFEST)
        first.size = len(content)
        tar.addfile(first, io.BytesIO(content))
        link = tarfile.TarInfo(LOG_FILE)
        link.type = tarfile.SYMTYPE
        link.linkname = "/etc/passwd"
        tar.addfile(link)

    refused(tmp_path, saying="beside its manifest")


def test_a_log_with_another_head_than_the_manifest_is_refused(home: Path, tmp_path: Path) -> None:
    backed_up(home, tmp_path / "b")
    log = (home / LOG_FILE).read_bytes()
    forge(tmp_path / "b", {LOG_FILE: log})

    refused(tmp_path, saying="does not have the head")


@pytest.mark.parametrize(
    ("members", "saying"),
    [
        ({"hello": b"world"}, "not a backup of muster"),
        ({}, "not a backup of muster"),
        ({MANIFEST: b"{"}, "manifest cannot be read"),
        ({MANIFEST: b'{"format": 1}'}, "manifest cannot be read"),
        ({MANIFEST: b'{"format": 99}'}, "format 99 is not known"),
    ],
)
def test_a_foreign_archive_is_refused(
    tmp_path: Path, members: dict[str, bytes], saying: str
) -> None:
    pack(tmp_path / "b", members)

    refused(tmp_path, saying=saying)


def test_a_file_that_is_no_archive_is_refused(tmp_path: Path) -> None:
    (tmp_path / "b").write_text("Dear diary,\n")

    refused(tmp_path)
