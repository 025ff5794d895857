"""Wakes waiters when a file changes, however the change is made.

One inotify instance serves all files. What is watched is the folder, because whoever renames brings
a new file: renames, writes in place (closed or not), creation, removal and new permissions are seen
there. A link is watched where it is and where it leads.

Notifications only wake. Underneath, every file is looked at now and then, and every second where
its folder cannot be watched: it is not there yet, the limit of watches is reached, other machines
write to it (NFS), or the system has no inotify. That is said once for each reason.
"""

import asyncio
import logging
import os
import struct
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from muster.limits import FILE_LOOK_SECONDS, FILE_POLL_SECONDS
from muster.mirrors import libc

log = logging.getLogger(__name__)

_EVENT: Final = struct.Struct("iIII")
_READ_BYTES: Final = 64 * 1024

_IN_MODIFY: Final = 0x2
_IN_ATTRIB: Final = 0x4
_IN_CLOSE_WRITE: Final = 0x8
_IN_MOVED_FROM: Final = 0x40
_IN_MOVED_TO: Final = 0x80
_IN_CREATE: Final = 0x100
_IN_DELETE: Final = 0x200
_IN_DELETE_SELF: Final = 0x400
_IN_MOVE_SELF: Final = 0x800
_IN_Q_OVERFLOW: Final = 0x4000
_IN_IGNORED: Final = 0x8000
_IN_ONLYDIR: Final = 0x01000000

_CHANGES: Final = (
    _IN_MODIFY
    | _IN_ATTRIB
    | _IN_CLOSE_WRITE
    | _IN_MOVED_FROM
    | _IN_MOVED_TO
    | _IN_CREATE
    | _IN_DELETE
)
"""Changes of a file in the folder."""

_FOLDER_GONE: Final = _IN_DELETE_SELF | _IN_MOVE_SELF
"""The name of the folder may lead elsewhere now."""

_MASK: Final = _CHANGES | _FOLDER_GONE | _IN_ONLYDIR
"""Watch nothing but a folder."""

_REMOTE: Final = (
    "nfs",
    "cifs",
    "smb",
    "9p",
    "afs",
    "ceph",
    "fuse",
    "glusterfs",
    "lustre",
    "vboxsf",
)
"""File systems on which others may write without this kernel noticing."""

Wake = Callable[[], object]
Sleep = Callable[[float], Awaitable[None]]
Look = tuple[int, int, int, int] | None
"""Inode, size, time and mode, which tell two versions apart; `None` without a file."""


class _Watched:
    """A file with a waiter."""

    def __init__(self, path: Path, wake: Wake) -> None:
        self.path = path
        self.wake = wake
        self.look = _look(path)
        self.places: frozenset[Path] = frozenset()
        """Its path, and the path that its links lead to."""


class FileWatcher:
    """Every file with a waiter."""

    def __init__(self, sleep: Sleep, *, inotify: bool = True) -> None:
        """Begin with none. Without `inotify` all files are polled."""
        self._sleep = sleep
        self._inotify: int | None = None
        self._files: list[_Watched] = []
        self._at: dict[Path, set[_Watched]] = {}  # by their places
        self._folders: dict[Path, int] = {}  # what is watched, and the number of its watch
        self._polled: set[_Watched] = set()
        self._said: set[str] = set()
        if inotify:
            self._open()

    @property
    def polled(self) -> frozenset[Path]:
        """The files whose folder cannot be watched now."""
        return frozenset(file.path for file in self._polled)

    def add(self, path: Path, wake: Wake) -> None:
        """Wake somebody at every change of a file from now on. An early look is theirs to take."""
        file = _Watched(path, wake)
        self._files.append(file)
        self._watch(file)

    def remove(self, path: Path, wake: Wake) -> None:
        """Wake nobody any more for this file; its folder may have others."""
        for file in [each for each in self._files if (each.path, each.wake) == (path, wake)]:
            self._files.remove(file)
            self._polled.discard(file)
            for place in file.places:
                self._at[place].discard(file)

    async def run(self) -> None:
        """Look at files now and then, for ever; watching goes on beside it."""
        rounds = 0
        try:
            while True:
                await self._sleep(FILE_POLL_SECONDS)
                rounds += 1
                all_of_them = rounds % round(FILE_LOOK_SECONDS / FILE_POLL_SECONDS) == 0
                for file in tuple(self._files if all_of_them else self._polled):
                    self._look_at(file)
        finally:
            self.close()

    def close(self) -> None:
        """Watch nothing any more. Twice is harmless."""
        inotify, self._inotify = self._inotify, None
        if inotify is not None:
            asyncio.get_running_loop().remove_reader(inotify)
            os.close(inotify)

    def _look_at(self, file: _Watched) -> None:
        """Look at a file, and wake where it is another; try again to watch it.

        A file that is watched and as it was takes one system call: there may be hundreds.
        """
        changed = _look(file.path) != file.look
        if not changed and file not in self._polled:
            return
        if changed:
            for place in file.places:
                self._folders.pop(place.parent, None)
        self._watch(file)
        if changed or _look(file.path) != file.look:
            self._wake(file)

    def _wake(self, file: _Watched) -> None:
        file.look = _look(file.path)
        file.wake()

    # ── watching ──────────────────────────────────────────────────────────────────────────────────

    def _open(self) -> None:
        try:
            self._inotify = libc.inotify_open()
        except OSError as error:
            self._say(f"files are not watched but looked at every second: {error}")
        else:
            asyncio.get_running_loop().add_reader(self._inotify, self._read)

    def _watch(self, file: _Watched) -> None:
        """Watch the folder of a file, and the folder of what it links to."""
        places = frozenset({file.path, Path(os.path.realpath(file.path))})
        for place in file.places - places:
            self._at[place].discard(file)
        for place in places - file.places:
            self._at.setdefault(place, set()).add(file)
        file.places = places
        watched = [self._watch_folder(folder) for folder in {place.parent for place in places}]
        if all(watched):
            self._polled.discard(file)
        else:
            self._polled.add(file)

    def _watch_folder(self, folder: Path) -> bool:
        """Watch a folder, unless that is done; say whether that is enough."""
        if self._inotify is None:
            return False
        if folder in self._folders:
            return True
        try:
            number = libc.inotify_add(self._inotify, folder, _MASK)
        except (FileNotFoundError, NotADirectoryError):
            return False  # it may come
        except OSError as error:
            self._say(f"{folder} is not watched but looked at every second: {error}")
            return False
        remote = _remote_kind(folder)
        if remote is not None:
            why = f"other machines may write to a file system of kind {remote}"
            self._say(f"{folder} is looked at every second: {why}")
            return False
        self._folders[folder] = number
        return True

    def _read(self) -> None:
        """Take in what the kernel has noticed, and wake whom it concerns."""
        if self._inotify is None:
            return
        try:
            data = os.read(self._inotify, _READ_BYTES)
        except BlockingIOError:
            return
        for file in self._concerned(data):
            self._watch(file)  # a link may lead elsewhere by now
            self._wake(file)

    def _concerned(self, data: bytes) -> set[_Watched]:
        """The files that some events are about."""
        changed: set[_Watched] = set()
        offset = 0
        while offset < len(data):
            number, mask, _, length = _EVENT.unpack_from(data, offset)
            start = offset + _EVENT.size
            offset = start + length
            if mask & _IN_Q_OVERFLOW:
                return set(self._files)
            folders = [folder for folder, each in self._folders.items() if each == number]
            if mask & (_FOLDER_GONE | _IN_IGNORED):
                changed |= self._lost(number, folders)
            else:
                name = os.fsdecode(data[start:offset].rstrip(b"\0"))
                for folder in folders:
                    changed |= self._at.get(folder / name, set())
        return changed

    def _lost(self, number: int, folders: list[Path]) -> set[_Watched]:
        """Give up a folder whose name may lead to another now, and say whom that concerns."""
        for folder in folders:
            del self._folders[folder]
        if folders and self._inotify is not None:
            with suppress(OSError):
                libc.inotify_remove(self._inotify, number)
        return {
            file for place, files in self._at.items() if place.parent in folders for file in files
        }

    def _say(self, text: str) -> None:
        """Say something once."""
        if text not in self._said:
            self._said.add(text)
            log.warning("%s", text, extra={"action": "file_polled"})


def _look(path: Path) -> Look:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_mode


def _remote_kind(folder: Path) -> str | None:
    """The kind of the file system that a folder is on, if other machines can write to it."""
    try:
        mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace")
        device = folder.stat().st_dev
    except OSError:
        return None
    wanted = f"{os.major(device)}:{os.minor(device)}"
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        if before.split()[2:3] == [wanted] and after.startswith(_REMOTE):
            return after.split()[0]
    return None
