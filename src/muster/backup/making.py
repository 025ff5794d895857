"""Makes a backup of a home, also while a server writes to it.

The log is copied in one read transaction, so the copy is the log as it was at one commit, and no
writer waits; the log of a team in a database is copied into a file as well. The copy is verified
before it is packed, and the finished file is read back before it gets its name: a backup that
exists can be restored.
"""

import gzip
import io
import os
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from datetime import datetime
from hashlib import file_digest, sha256
from pathlib import Path
from typing import IO, Final, NamedTuple

import msgspec

from muster.backup.manifest import FORMAT, MANIFEST, BackedUpFile, Manifest
from muster.backup.reading import read_backup
from muster.errors import LogCorrupt, NoTeam
from muster.home.database import has_log
from muster.home.faults import file_fault
from muster.home.lock import LOG_FILE
from muster.machines.attachments import FILES_FOLDER
from muster.regular_files import open_for_owner_only, open_regular
from muster.settings.model import SETTINGS_FILE
from muster.store.opening import copy_home_log
from muster.store.verifying import Verified, verify_log
from muster.version import __version__

COMPRESSION: Final = 4
"""gzip's level: most of the saving of the default (6) in half of its time."""

Progress = Callable[[str, float], object]
"""Receives the step that is under way, and how much of it is done, from 0 to 1."""


class MadeBackup(NamedTuple):
    """A finished backup."""

    manifest: Manifest
    size: int


class _Source(NamedTuple):
    name: str
    path: Path


def make_backup(
    home: Path, target: Path, *, now: datetime, with_output: bool, progress: Progress
) -> MadeBackup:
    """Back the home up into the file `target`, which is replaced once the backup is complete."""
    if not has_log(home):
        raise NoTeam(home=str(home))
    try:
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.") as folder:
            aside = Path(folder)
            verified = _copy_log(home, aside / LOG_FILE, progress)
            sources = [_Source(LOG_FILE, aside / LOG_FILE), *_others(home, with_output=with_output)]
            manifest = _manifest(sources, verified, now)
            packed = aside / "packed"
            _pack(packed, manifest, sources, progress)
            _read_back(packed, manifest, progress)
            packed.replace(target)
    except OSError as error:
        raise file_fault(error, target) from error
    return MadeBackup(manifest, target.stat().st_size)


def _copy_log(home: Path, copy: Path, progress: Progress) -> Verified:
    """Copy the log as it is now, and verify the copy."""
    copy_home_log(home, copy, lambda share: progress("copying the log", share))
    verified = verify_log(
        copy, progress=lambda done, of: progress("verifying the log", done / max(of, 1))
    )
    if verified.damages:
        raise LogCorrupt(path=str(home), detail="; ".join(verified.damages))
    return verified


def _others(home: Path, *, with_output: bool) -> Iterator[_Source]:
    """The files beside the log. Attachments never change once they have their name."""
    patterns = [SETTINGS_FILE, f"{FILES_FOLDER}/[0-9a-f][0-9a-f]/*"]
    if with_output:
        patterns.append("agents/*/output.log*")
    for pattern in patterns:
        for path in sorted(home.glob(pattern)):
            if path.is_file() and not path.is_symlink():
                yield _Source(path.relative_to(home).as_posix(), path)


def _manifest(sources: list[_Source], verified: Verified, now: datetime) -> Manifest:
    return Manifest(
        format=FORMAT,
        muster_version=__version__,
        made_at=now,
        events=verified.events,
        head=None if verified.head is None else str(verified.head),
        files=tuple(map(_measured, sources)),
    )


def _measured(source: _Source) -> BackedUpFile:
    with os.fdopen(open_regular(source.path, follow_links=False), "rb") as file:
        digest = file_digest(file, sha256).hexdigest()
        return BackedUpFile(name=source.name, size=file.tell(), sha256=digest)


def _pack(packed: Path, manifest: Manifest, sources: list[_Source], progress: Progress) -> None:
    total = max(sum(each.size for each in manifest.files), 1)
    done = 0

    def report(count: int) -> None:
        nonlocal done
        done += count
        progress("packing", min(done / total, 1.0))

    with (
        open(packed, "xb", opener=open_for_owner_only) as raw,
        gzip.GzipFile(fileobj=raw, mode="wb", compresslevel=COMPRESSION, mtime=0) as zipped,
        tarfile.open(fileobj=zipped, mode="w|", format=tarfile.PAX_FORMAT) as tar,
    ):
        content = msgspec.json.encode(manifest)
        tar.addfile(_member(MANIFEST, len(content), manifest), io.BytesIO(content))
        for source, each in zip(sources, manifest.files, strict=True):
            with os.fdopen(open_regular(source.path, follow_links=False), "rb") as file:
                # a file that grew since it was measured is packed up to its measured size
                member = _member(each.name, each.size, manifest)
                tar.addfile(member, _Counting(file, report))
    with packed.open("rb") as file:
        os.fsync(file.fileno())


class _Counting:
    """A file that reports how much of it was read."""

    def __init__(self, file: IO[bytes], report: Callable[[int], object]) -> None:
        self._file = file
        self._report = report

    def read(self, size: int = -1) -> bytes:
        """The next bytes."""
        chunk = self._file.read(size)
        self._report(len(chunk))
        return chunk


def _member(name: str, size: int, manifest: Manifest) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.size = size
    member.mode = 0o600
    member.mtime = int(manifest.made_at.timestamp())
    return member


def _read_back(packed: Path, manifest: Manifest, progress: Progress) -> None:
    """Read the finished file as a restore would."""
    total = max(sum(each.size for each in manifest.files), 1)
    done = 0
    with read_backup(packed) as backup:
        for member in backup.members():
            for chunk in member.chunks():
                done += len(chunk)
                progress("reading it back", done / total)
