"""The space that is left on the disk of the home, and the reserve that is kept for the log.

SQLite fails when a disk is full, and nothing is lost then; but nobody can stop an agent or answer
one either. So uploads and large requests are refused while some space is left. What needs little
of it goes on.
"""

import os
from pathlib import Path
from typing import NamedTuple

from muster import limits
from muster.errors import DiskLow


class Space(NamedTuple):
    """The bytes of a disk."""

    free: int
    total: int

    @property
    def reserve(self) -> int:
        """The bytes that are kept free: on a small disk, a share of it."""
        return min(limits.DISK_RESERVE_BYTES, int(self.total * limits.DISK_RESERVE_SHARE))

    @property
    def is_low(self) -> bool:
        """Whether less than the reserve is left."""
        return self.free < self.reserve

    @property
    def is_ample(self) -> bool:
        """Whether so much is left that a low disk counts as freed: not at the first byte."""
        return self.free >= self.reserve * limits.DISK_FREED_FACTOR


class HomeDisk:
    """The disk on which a home is."""

    def __init__(self, home: Path) -> None:
        """Measure the disk of this folder."""
        self._home = home
        self.is_low = False
        """Whether it was low when it was last looked at, and has not been freed since."""

    def look(self) -> Space:
        """Measure the space that is left to this user."""
        found = os.statvfs(self._home)
        space = Space(found.f_bavail * found.f_frsize, found.f_blocks * found.f_frsize)
        self.is_low = not space.is_ample if self.is_low else space.is_low
        return space

    def require_room(self, size: int) -> None:
        """Refuse to take so many bytes from the reserve. A few bytes are always taken."""
        if size <= limits.DISK_LOW_WRITE_BYTES:
            return
        space = self.look()
        if self.is_low or space.free - size < space.reserve:
            raise DiskLow(size=size, free=space.free, reserve=space.reserve)
