"""Reads a backup as foreign text: nothing is written that the manifest does not name, and every
byte is checked against it.
"""

import gzip
import tarfile
import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import IO, Final

from muster.backup.manifest import (
    MANIFEST,
    MANIFEST_BYTES_MAX,
    BackedUpFile,
    Manifest,
    read_manifest,
)
from muster.errors import BackupInvalid

CHUNK: Final = 1024 * 1024

_DAMAGE: Final = (tarfile.TarError, gzip.BadGzipFile, EOFError, zlib.error)


class BackupMember:
    """One file of an open backup."""

    def __init__(self, entry: BackedUpFile, file: IO[bytes], path: str) -> None:
        self.entry = entry
        self._file = file
        self._path = path

    def chunks(self) -> Iterator[bytes]:
        """The content, checked against its digest when it has been read to the end."""
        digest = sha256()
        while chunk := self._file.read(CHUNK):
            digest.update(chunk)
            yield chunk
        if digest.hexdigest() != self.entry.sha256:
            raise BackupInvalid(path=self._path, detail=f"{self.entry.name} is damaged in it")


class OpenBackup:
    """A backup whose manifest has been read."""

    def __init__(self, tar: tarfile.TarFile, path: str) -> None:
        self._tar = tar
        self._path = path
        self.manifest: Manifest = read_manifest(self._first(), path)

    def members(self) -> Iterator[BackupMember]:
        """Every file that the manifest names, once. Each is read before the next one is asked."""
        missing = {each.name: each for each in self.manifest.files}
        while (member := self._tar.next()) is not None:
            entry = missing.pop(member.name, None)
            if entry is None or not member.isreg() or member.size != entry.size:
                raise self._invalid(f"it contains {member.name!r} beside its manifest")
            yield BackupMember(entry, self._content(member), self._path)
        if missing:
            raise self._invalid(f"{min(missing)} is missing in it")

    def _first(self) -> bytes:
        member = self._tar.next()
        if member is None or member.name != MANIFEST or member.size > MANIFEST_BYTES_MAX:
            raise self._invalid("it is not a backup of muster")
        return self._content(member).read()

    def _content(self, member: tarfile.TarInfo) -> IO[bytes]:
        content = self._tar.extractfile(member)
        if content is None:
            raise self._invalid(f"{member.name!r} in it is not a file")
        return content

    def _invalid(self, detail: str) -> BackupInvalid:
        return BackupInvalid(path=self._path, detail=detail)


@contextmanager
def read_backup(path: Path) -> Generator[OpenBackup]:
    """Open a backup. Damage is raised as `BackupInvalid`, wherever it is found."""
    try:
        with tarfile.open(path, mode="r|gz") as tar:
            yield OpenBackup(tar, str(path))
    except _DAMAGE as error:
        raise BackupInvalid(path=str(path), detail=f"it is damaged ({error})") from error
