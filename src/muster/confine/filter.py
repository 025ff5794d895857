"""The seccomp filter: what Landlock does not cover is refused with EPERM.

Refused are changes of modes, owners, times, extended attributes and inode flags, system calls that
would go around the filter or around Landlock (io_uring, opening by handle), changes of the machine
itself, which a command of root could make (its clock, its name, its kernel, swap, a reboot), and
typing into the terminal of other programs. A program for another architecture gets no system call
at all.
"""

from __future__ import annotations

_LOAD, _EQUAL, _AND, _RETURN = 0x20, 0x15, 0x54, 0x06
_ALLOW = 0x7FFF0000
_REFUSE = 0x00050000 | 1  # EPERM

_NUMBER_AT, _ARCH_AT, _ARGUMENTS_AT = 0, 4, 16

_LATER = (452, 463, 466, 469)
"""fchmodat2, setxattrat, removexattrat, file_setattr: the same numbers everywhere."""

_IO_URING_SETUP = 425
_X32_BIT = 0x40000000

_METADATA = {
    "x86_64": (
        *(90, 91, 268),  # chmod fchmod fchmodat
        *(92, 93, 94, 260),  # chown fchown lchown fchownat
        *(132, 235, 261),  # utime utimes futimesat
        *(188, 189, 190, 197, 198, 199),  # setxattr and removexattr, each in three forms
        *_LATER,
    ),
    "aarch64": (
        *(52, 53),  # fchmod fchmodat
        *(54, 55),  # fchownat fchown
        *(5, 6, 7, 14, 15, 16),
        *_LATER,
    ),
}
_AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_MACHINE = {
    "x86_64": (
        *(159, 164, 227, 305),  # adjtimex settimeofday clock_settime clock_adjtime
        *(163, 167, 168, 179, 443),  # acct swapon swapoff quotactl quotactl_fd
        *(169, 170, 171, 172, 173),  # reboot sethostname setdomainname iopl ioperm
        *(175, 176, 246, 313, 320, 321),  # kernel modules, kexec, bpf
    ),
    "aarch64": (
        *(171, 170, 112, 266),
        *(89, 224, 225, 60, 443),
        *(142, 161, 162),
        *(105, 106, 104, 273, 294, 280),
    ),
}
"""Calls that change the machine and no file. Landlock itself refuses mounts."""

_ALWAYS = {
    "x86_64": (_IO_URING_SETUP, 304, *_MACHINE["x86_64"]),  # open_by_handle_at
    "aarch64": (_IO_URING_SETUP, 265, *_MACHINE["aarch64"]),
}
_TRUNCATE = {"x86_64": 76, "aarch64": 45}
_UTIMENSAT = {"x86_64": 280, "aarch64": 88}
_IOCTL = {"x86_64": 16, "aarch64": 29}
_INODE_FLAGS = (0x40086602, 0x40046602, 0x401C5820)
_TERMINAL = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX

CALLS = {"x86_64": (157, 317), "aarch64": (167, 277)}
"""The numbers of prctl and seccomp."""


def program(machine: str, *, metadata: bool, truncate: bool) -> bytes:
    """The filter for an architecture, as an array of `struct sock_filter`; empty if unknown.

    `metadata` and `truncate` allow changes of modes, owners and times, and truncation.
    """
    if machine not in _AUDIT:
        return b""
    rules = _Rules()
    rules.load(_ARCH_AT)
    rules.refuse_unless(_AUDIT[machine])
    rules.load(_NUMBER_AT)
    if machine == "x86_64":
        rules.refuse_masked(_X32_BIT)
        rules.load(_NUMBER_AT)
    refused = _ALWAYS[machine] + (() if metadata else _METADATA[machine])
    for number in refused + (() if truncate else (_TRUNCATE[machine],)):
        rules.refuse_if(number)
    flags = () if metadata else _INODE_FLAGS
    rules.refuse_argument(_IOCTL[machine], _TERMINAL + flags)
    if not metadata:
        rules.only_now(_UTIMENSAT[machine])
    rules.add(_RETURN, _ALLOW)
    return rules.data


class _Rules:
    """Writes the instructions of a filter."""

    def __init__(self) -> None:
        self.data = b""

    def add(self, code: int, value: int, then: int = 0, otherwise: int = 0) -> None:
        jumps = bytes((then, otherwise))
        self.data += code.to_bytes(2, "little") + jumps + value.to_bytes(4, "little")

    def load(self, at: int) -> None:
        self.add(_LOAD, at)

    def refuse_if(self, value: int) -> None:
        self.add(_EQUAL, value, 0, 1)
        self.add(_RETURN, _REFUSE)

    def refuse_unless(self, value: int) -> None:
        self.add(_EQUAL, value, 1, 0)
        self.add(_RETURN, _REFUSE)

    def refuse_masked(self, bit: int) -> None:
        self.add(_AND, bit)
        self.add(_EQUAL, 0, 1, 0)
        self.add(_RETURN, _REFUSE)

    def refuse_argument(self, call: int, values: tuple[int, ...]) -> None:
        """Refuse a call whose second argument is one of these."""
        self.add(_EQUAL, call, 0, 2 * len(values) + 2)
        self.load(_ARGUMENTS_AT + 8)
        for value in values:
            self.refuse_if(value)
        self.load(_NUMBER_AT)

    def only_now(self, call: int) -> None:
        """Refuse to set times, unless an open file gets the current one, as `touch` does.

        Then the path and the times are null pointers, each of which is two words.
        """
        words = [_ARGUMENTS_AT + 8 * argument + half for argument in (1, 2) for half in (0, 4)]
        self.add(_EQUAL, call, 0, 3 * len(words))
        for at in words:
            self.load(at)
            self.refuse_unless(0)
