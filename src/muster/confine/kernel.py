"""The kernel's means of confinement: the version of Landlock, seccomp, and what is missing.

Landlock restricts writing, TCP, signals and abstract sockets, without privileges. Each version of
its interface (ABI) added something; what an older kernel lacks is named in `Support.lacks`.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Sequence

ABI_MAX = 6
"""The newest version that the plan uses; later ones add nothing that it needs."""

WRITE_FILE = 1 << 1
REMOVE_DIR = 1 << 4
REMOVE_FILE = 1 << 5
MAKE_CHAR = 1 << 6
MAKE_DIR = 1 << 7
MAKE_REG = 1 << 8
MAKE_SOCK = 1 << 9
MAKE_FIFO = 1 << 10
MAKE_BLOCK = 1 << 11
MAKE_SYM = 1 << 12
REFER = 1 << 13
TRUNCATE = 1 << 14
IOCTL_DEV = 1 << 15

_WRITING = (
    *(WRITE_FILE, REMOVE_DIR, REMOVE_FILE, MAKE_CHAR, MAKE_DIR, MAKE_REG, MAKE_SOCK, MAKE_FIFO),
    *(MAKE_BLOCK, MAKE_SYM),
)
_ADDED = ((2, REFER), (3, TRUNCATE), (5, IOCTL_DEV))
"""Rights of writing that a later version added."""

NETWORK = 0b11  # bind and connect, TCP
SCOPES = 0b11  # abstract sockets and signals

LANDLOCK_CALLS = (444, 445, 446)
"""The system calls of Landlock, which have the same numbers on every architecture."""

_LACKS = (
    (2, "files cannot be moved between folders (Linux 5.19)"),
    (3, "files elsewhere can be truncated (Linux 6.2)"),
    (5, "devices can be controlled (Linux 6.10)"),
    (6, "signals and abstract sockets are not restricted (Linux 6.12)"),
)


class Support:
    """How commands can be confined on this machine."""

    __slots__ = ("abi", "bubblewrap", "seccomp", "why")

    def __init__(
        self, abi: int, *, seccomp: bool = True, bubblewrap: str | None = None, why: str = ""
    ) -> None:
        self.abi = abi
        """The version of Landlock; 0 without it."""
        self.seccomp = seccomp
        """Whether what Landlock does not cover can be refused."""
        self.bubblewrap = bubblewrap
        """The path of the program `bwrap`, if it is installed."""
        self.why = why
        """The reason why there is no Landlock."""

    @property
    def way(self) -> str:
        """`landlock`, `bubblewrap` or `none`."""
        if self.abi:
            return "landlock"
        return "bubblewrap" if self.bubblewrap else "none"

    @property
    def lacks(self) -> Sequence[str]:
        """The features that the kernel lacks, in words."""
        if self.way != "landlock":
            return ()
        missing = [text for version, text in _LACKS if self.abi < version]
        if not self.seccomp:
            missing.append(
                "modes, owners and times of files and priorities of other programs can be changed, "
                "and TCP is not fully restricted (no seccomp filter)"
            )
        return missing

    @property
    def sentence(self) -> str:
        """One sentence for status, page and doctor."""
        if self.way == "landlock":
            lacks = f"; {'; '.join(self.lacks)}" if self.lacks else ""
            return f"confined by Landlock (ABI {self.abi}){lacks}"
        if self.way == "bubblewrap":
            return f"confined by bubblewrap ({self.why})"
        return (
            f"not confined: {self.why}, and bubblewrap is not installed; only the judge of command "
            "lines decides"
        )


def writing(abi: int) -> int:
    """Every right of writing that a version of Landlock knows."""
    return sum(_WRITING) + sum(right for version, right in _ADDED if abi >= version)


def support() -> Support:
    """Ask the kernel, and look for bubblewrap."""
    abi, why = landlock_abi()
    machine = os.uname().machine if hasattr(os, "uname") else ""
    return Support(
        abi,
        seccomp=machine in ("x86_64", "aarch64"),
        bubblewrap=None if abi else on_path("bwrap"),
        why=why,
    )


def landlock_abi() -> tuple[int, str]:
    """The version of Landlock, or 0 and the reason why there is none."""
    import ctypes  # imported late: only a new plan needs it
    import errno
    import sys

    if sys.platform != "linux":
        return 0, f"{sys.platform} has no Landlock"
    libc = ctypes.CDLL(None, use_errno=True)
    found = int(libc.syscall(LANDLOCK_CALLS[0], None, 0, 1))
    if found > 0:
        return found, ""
    code = ctypes.get_errno()
    if code == errno.EOPNOTSUPP:
        return 0, "Landlock is switched off in this kernel (boot option lsm=)"
    return 0, f"this kernel has no Landlock (Linux 5.13 or later; {os.strerror(code)})"


def on_path(name: str) -> str | None:
    """The path of a program, if it is installed."""
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        path = os.path.join(folder, name)  # noqa: PTH118  (pathlib costs a hook its time)
        if folder.startswith("/") and os.access(path, os.X_OK):
            return path
    return None
