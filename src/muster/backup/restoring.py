"""Restores a backup into a home that does not exist yet.

Everything is unpacked and verified in a folder beside it, and renamed at the end: a restore that
fails or is killed leaves no half of a home. The restored log gets one event, `log_restored`.
"""

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from muster.backup.manifest import Manifest
from muster.backup.reading import BackupMember, read_backup
from muster.engine.dispatcher import Dispatcher
from muster.engine.loading import load_from
from muster.engine.ports import Clock
from muster.engine.tasks import run_to_completion
from muster.errors import BackupInvalid, HomeNotEmpty
from muster.home.faults import file_fault
from muster.home.lock import LOG_FILE
from muster.machines.commands import RecordRestore
from muster.machines.ids import MUSTER
from muster.machines.state import Team
from muster.regular_files import open_for_owner_only
from muster.store.sqlite import SqliteStore
from muster.store.verifying import verify_log

Progress = Callable[[str, float], object]
"""Receives the step that is under way, and how much of it is done, from 0 to 1."""


class Restored(NamedTuple):
    """A restored home: what the backup contained, and the team in it."""

    manifest: Manifest
    team: Team


async def restore_backup(source: Path, home: Path, clock: Clock, progress: Progress) -> Restored:
    """Restore the backup in the file `source` as the home `home`."""
    require_free(home)
    try:
        home.parent.mkdir(parents=True, exist_ok=True)
        aside = Path(tempfile.mkdtemp(dir=home.parent, prefix=f".{home.name}.restoring-"))
    except OSError as error:
        raise file_fault(error, home) from error
    try:
        manifest = _unpack(source, aside, progress)
        _check_log(source, aside, manifest, progress)
        team = await _record(aside, manifest, clock)
        _place(aside, home)
    except OSError as error:
        raise file_fault(error, home) from error
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return Restored(manifest, team)


def require_free(home: Path) -> None:
    """Raise `HomeNotEmpty` unless the home is missing or an empty folder."""
    if home.is_symlink() or (home.exists() and (not home.is_dir() or any(home.iterdir()))):
        raise HomeNotEmpty(home=str(home))


def _unpack(source: Path, aside: Path, progress: Progress) -> Manifest:
    with read_backup(source) as backup:
        total = max(sum(each.size for each in backup.manifest.files), 1)
        done = 0
        for member in backup.members():
            _write(member, aside)
            done += member.entry.size
            progress("unpacking", done / total)
        return backup.manifest


def _write(member: BackupMember, folder: Path) -> None:
    *parents, name = member.entry.name.split("/")
    for each in parents:
        folder /= each
        folder.mkdir(mode=0o700, exist_ok=True)
    with open(folder / name, "xb", opener=open_for_owner_only) as file:
        file.writelines(member.chunks())
        file.flush()
        os.fsync(file.fileno())


def _check_log(source: Path, aside: Path, manifest: Manifest, progress: Progress) -> None:
    verified = verify_log(
        aside / LOG_FILE, progress=lambda done, of: progress("verifying the log", done / max(of, 1))
    )
    if verified.damages:
        raise BackupInvalid(path=str(source), detail="; ".join(verified.damages))
    if verified.head != manifest.log_head():
        raise BackupInvalid(path=str(source), detail="its log does not have the head it names")


async def _record(aside: Path, manifest: Manifest, clock: Clock) -> Team:
    """Append `log_restored` to the log."""
    store = await SqliteStore.open(aside)
    try:
        loaded = await load_from(store)
        dispatcher = Dispatcher(store, clock, loaded.team, loaded.life)
        restored = RecordRestore(backup_seq=loaded.team.seq, made_at=manifest.made_at)
        await dispatcher.send(restored, actor=MUSTER)
        return dispatcher.team
    finally:
        await run_to_completion(store.close())


def _place(aside: Path, home: Path) -> None:
    require_free(home)
    if home.exists():
        home.rmdir()
    aside.rename(home)
