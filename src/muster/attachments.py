"""Attached files on disk: `files/` in the home. Owns their layout, limits and removal.

    files/ab/cdef...          the content, under its SHA-256
    files/uploads/abcdef...   who uploaded it under which name, until a message names it

The event of a message has the name, size and media type of its files, so an upload's note is needed
only until then. An upload that no message names is removed a day later, and each uploader may have
a limited number of them, so that no agent alone uses up the room of the team.

Every file is its owner's alone (mode 600), is written aside and renamed, and is opened without
following links: nobody can make muster write or serve another file through a link in the folder.
"""

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import suppress
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Final

import msgspec

from muster import limits
from muster.errors import FilesFull, Invalid, NotFound, UploadsFull
from muster.home.disk import HomeDisk
from muster.machines.attachments import (
    FILES_FOLDER,
    check_digest,
    is_image_name,
    media_type_of,
    stored_path,
)
from muster.machines.vocabulary import AttachedFile
from muster.regular_files import open_for_owner_only, read_regular

UPLOADS: Final = "uploads"

UPLOADERS_MAX: Final = 16
"""Uploaders of the same content that are remembered; the oldest makes room."""

CLEANED_MAX: Final = 1000
"""Uploads that one cleaning removes."""

IsNamed = Callable[[str], Awaitable[bool]]
"""Whether a message names the file with this digest."""

log = logging.getLogger(__name__)


class UploadNote(msgspec.Struct, frozen=True):
    """The names under which a file was uploaded, by uploader."""

    names: dict[str, str]
    size: int


class AttachmentFolder:
    """The files of one team."""

    def __init__(self, home: Path) -> None:
        """Keep files in this home; nothing is created before the first one."""
        self._home = home
        self.disk = HomeDisk(home)
        self._folder = home / FILES_FOLDER
        self._lock = asyncio.Lock()
        self._used: int | None = None
        """Bytes of all files; counted when the first one is uploaded."""

        self._unnamed: dict[str, UploadNote] | None = None
        """The notes of uploads, by digest; read when the first file is uploaded."""

    # ── uploads ───────────────────────────────────────────────────────────────────────────────────

    async def keep(self, content: bytes, *, name: str, by: str) -> AttachedFile:
        """Keep an uploaded file, for a message of this uploader to name."""
        if not content:
            raise Invalid(what="the file", why="is empty")
        if len(content) > limits.FILE_BYTES_MAX:
            raise Invalid(what="the file", why=f"is over {limits.FILE_BYTES_MAX} bytes")
        async with self._lock:
            return await asyncio.to_thread(self._keep, content, name, by)

    def _keep(self, content: bytes, name: str, by: str) -> AttachedFile:
        digest, size = sha256(content).hexdigest(), len(content)
        path = self._home / stored_path(digest)
        self._check_quota(digest, size, by)
        if not path.exists():
            self._make_room(size)
        self._folder.mkdir(mode=0o700, exist_ok=True)
        # The note first: content without a note would never be removed.
        earlier = self._note(digest)
        names = {**(earlier.names if earlier else {}), by: name}
        kept = dict(islice(reversed(names.items()), UPLOADERS_MAX))
        note = UploadNote(dict(reversed(kept.items())), size)
        write_private(self._note_path(digest), msgspec.json.encode(note))
        self._notes()[digest] = note
        if not path.exists():
            write_private(path, content)
            self._used = (self._used or 0) + size
        return _file(digest, name, size, content)

    def _make_room(self, size: int) -> None:
        if self._used is None:
            self._used = sum(_sizes(self._folder))
        if self._used + size > limits.FILES_BYTES_MAX:
            raise FilesFull(limit=limits.FILES_BYTES_MAX)
        self.disk.require_room(size)

    def _check_quota(self, digest: str, size: int, by: str) -> None:
        """Refuse an upload beyond the number or the bytes that one uploader may have unnamed."""
        others = self._notes().items()
        sizes = [note.size for each, note in others if each != digest and by in note.names]
        files, bytes_max = limits.UNNAMED_FILES_MAX, limits.UNNAMED_BYTES_MAX
        if len(sizes) >= files or sum(sizes) + size > bytes_max:
            raise UploadsFull(who=by.partition(":")[2] or by, files=files, limit=bytes_max)

    def _notes(self) -> dict[str, UploadNote]:
        if self._unnamed is None:
            with_notes = ((digest, self._note(digest)) for digest in self._digests())
            self._unnamed = {digest: note for digest, note in with_notes if note is not None}
        return self._unnamed

    def _digests(self) -> list[str]:
        with suppress(FileNotFoundError), os.scandir(self._folder / UPLOADS) as entries:
            return [entry.name for entry in entries if _is_digest(entry.name)]
        return []

    def _forget(self, digest: str) -> None:
        self._note_path(digest).unlink(missing_ok=True)
        if self._unnamed is not None:
            self._unnamed.pop(digest, None)

    async def uploaded(self, digest: str, *, by: str) -> AttachedFile | None:
        """A file that this uploader has uploaded and no message names yet."""
        note = await asyncio.to_thread(self._note, digest)
        if note is None or by not in note.names:
            return None
        with suppress(FileNotFoundError):  # a message is about to name it: it is not removed now
            os.utime(self._note_path(digest))
        return await asyncio.to_thread(self._found, digest, note.names[by], note.size)

    def _found(self, digest: str, name: str, size: int) -> AttachedFile:
        content = b""
        if is_image_name(name):  # of other files the name alone says of which type they are
            with suppress(OSError):  # the message that names it is refused later
                content = self._content(digest)
        return _file(digest, name, size, content)

    async def named(self, files: Iterable[AttachedFile]) -> None:
        """Forget the uploads of files that a message in the log now names."""
        async with self._lock:
            for each in files:
                self._forget(each.digest)

    def _note(self, digest: str) -> UploadNote | None:
        with suppress(OSError, msgspec.DecodeError):
            found = read_regular(self._note_path(digest), follow_links=False)
            return msgspec.json.decode(found, type=UploadNote)
        return None

    def _note_path(self, digest: str) -> Path:
        return self._folder / UPLOADS / digest

    # ── reading and removing ──────────────────────────────────────────────────────────────────────

    async def has(self, digest: str) -> bool:
        """Whether the content of a file is here."""
        return await asyncio.to_thread((self._home / stored_path(digest)).is_file)

    async def read(self, digest: str) -> bytes:
        """The content of a file."""
        try:
            return await asyncio.to_thread(self._content, digest)
        except OSError as error:
            raise NotFound(kind="file", name=digest) from error

    def _content(self, digest: str) -> bytes:
        path = self._home / stored_path(digest)
        return read_regular(path, bytes_max=limits.FILE_BYTES_MAX, follow_links=False)

    async def clean(self, now: float, is_named: IsNamed) -> int:
        """Remove old uploads that no message names; the number of removed files."""
        removed = 0
        for digest in await asyncio.to_thread(self._old_uploads, now):
            has_message = await is_named(digest)
            async with self._lock:
                if not self._is_old(digest, now):  # it was uploaded again, or is about to be named
                    continue
                if not has_message:  # else the server died between the message and `named`
                    (self._home / stored_path(digest)).unlink(missing_ok=True)
                    removed += 1
                self._forget(digest)
                self._used = None
        return removed

    def _old_uploads(self, now: float) -> list[str]:
        old = (each for each in self._digests() if self._is_old(each, now))
        return list(islice(old, CLEANED_MAX))

    def _is_old(self, digest: str, now: float) -> bool:
        with suppress(FileNotFoundError):
            changed = os.lstat(self._note_path(digest)).st_mtime
            return changed < now - limits.FILE_UNUSED_SECONDS
        return False


def _file(digest: str, name: str, size: int, content: bytes) -> AttachedFile:
    kind = media_type_of(name, content)
    return AttachedFile(name=name, digest=digest, size=size, media_type=kind)


def _is_digest(name: str) -> bool:
    try:
        check_digest(name)
    except Invalid:
        return False
    return True


def _sizes(folder: Path) -> Iterator[int]:
    for inner, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):
                yield os.lstat(f"{inner}/{name}").st_size


def write_private(path: Path, content: bytes) -> None:
    """Write a file that only its owner can read, atomically and durably."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}.new")
    aside.unlink(missing_ok=True)
    with open(aside, "xb", opener=open_for_owner_only) as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    aside.replace(path)
