"""The seccomp filters: what Landlock does not cover is refused.

Refused with EPERM are changes of modes, owners, times, extended attributes and inode flags, files
that run as their owner (`set_id.py`), system calls that would go around the filter or around
Landlock (io_uring, opening by handle), changes of the machine itself, which a command of root could
make (its clock, its name, its kernel, swap, a reboot, its filesystems: `requests.py`), changes of
the limits and priorities of other programs, and typing into their terminal. A program for another
architecture gets no system call at all.

Some programs do not start where they cannot set the mode of a file of their own. A filter sees no
path, so for those the change of modes, owners and times is ignored wherever the file is: the call
reports success and changes nothing.

A second filter refuses sockets with EACCES, for a command without a network; a third one refuses
Unix sockets, for a command that may reach the network but no daemon of this machine, and the
memory, queues and keys that an account's programs share without a path (System V, POSIX, keyrings).
"""

from __future__ import annotations

from muster.confine.bpf import ARCH_AT, NUMBER_AT, CallRules, argument_at
from muster.confine.requests import control_rules
from muster.confine.set_id import keep_from_changing, keep_from_making

_IGNORED, _EPERM, _EACCES = 0, 1, 13

_FCHMODAT2 = 452
_LATER = (463, 466, 469)
"""setxattrat, removexattrat, file_setattr: the same numbers everywhere."""

_IO_URING_SETUP = 425
_MOUNT_SETATTR = 442
_X32_BIT = 0x40000000

_MODES = {
    "x86_64": (
        *(90, 91, 268, _FCHMODAT2),  # chmod fchmod fchmodat
        *(92, 93, 94, 260),  # chown fchown lchown fchownat
        *(132, 235, 261),  # utime utimes futimesat
    ),
    "aarch64": (
        *(52, 53, _FCHMODAT2),  # fchmod fchmodat
        *(54, 55),  # fchownat fchown
    ),
}
_ATTRIBUTES = {
    "x86_64": (188, 189, 190, 197, 198, 199, *_LATER),
    "aarch64": (5, 6, 7, 14, 15, 16, *_LATER),
}
"""setxattr and removexattr, each in three forms."""

_AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_MACHINE = {
    "x86_64": (
        *(159, 164, 227, 305),  # adjtimex settimeofday clock_settime clock_adjtime
        *(163, 167, 168, 179, 443),  # acct swapon swapoff quotactl quotactl_fd
        *(169, 170, 171, 172, 173),  # reboot sethostname setdomainname iopl ioperm
        *(175, 176, 246, 313, 320, 321, 300),  # kernel modules, kexec, bpf, fanotify
        *(103, _MOUNT_SETATTR),  # syslog: the level of the console, the kernel's log
    ),
    "aarch64": (
        *(171, 170, 112, 266),
        *(89, 224, 225, 60, 443),
        *(142, 161, 162),
        *(105, 106, 104, 273, 294, 280, 262),
        *(116, _MOUNT_SETATTR),
    ),
}
"""Calls that change the machine and no file. Landlock itself refuses mounts, but not changes of
their attributes."""

_ALWAYS = {
    "x86_64": (_IO_URING_SETUP, 304, *_MACHINE["x86_64"]),  # open_by_handle_at
    "aarch64": (_IO_URING_SETUP, 265, *_MACHINE["aarch64"]),
}
_TRUNCATE = {"x86_64": 76, "aarch64": 45}
_UTIMENSAT = {"x86_64": 280, "aarch64": 88}
_IOCTL = {"x86_64": 16, "aarch64": 29}

_PRLIMIT = {"x86_64": 302, "aarch64": 261}
_SCHEDULING = {"x86_64": (142, 144, 203, 314), "aarch64": (118, 119, 122, 274)}
"""sched_setparam, sched_setscheduler, sched_setaffinity, sched_setattr: the process comes first."""

_PRIORITIES = {"x86_64": ((141, 0), (251, 1)), "aarch64": ((140, 0), (30, 1))}
"""setpriority and ioprio_set, each with the value that means one process, not a group or a user."""

_SOCKET = {"x86_64": 41, "aarch64": 198}
_SOCKET_PAIR = {"x86_64": 53, "aarch64": 199}
_SHARED = {
    "x86_64": (
        *(29, 30, 31, 64, 65, 66, 220),  # shmget shmat shmctl semget semop semctl semtimedop
        *(68, 69, 70, 71),  # msgget msgsnd msgrcv msgctl
        *range(240, 246),  # mq_open and the other calls of queues
        *(248, 249, 250),  # add_key request_key keyctl
    ),
    "aarch64": (*range(180, 197), 217, 218, 219),
}
"""Calls for memory, queues and keys that programs of an account share without a file."""

_UNIX = 1  # AF_UNIX
_NETLINK = 16  # AF_NETLINK
_INTERNET = (2, 10)  # AF_INET, AF_INET6
_TYPE_MASK, _DATAGRAM, _RAW = 0xF, 2, 3
_USUAL = (0, 6, 17)  # the usual protocol of a type, TCP, UDP
_WORD = 0xFFFFFFFF
_FAST_OPEN = 0x20000000
_SENDING = {"x86_64": ((44, 3), (46, 2), (307, 3)), "aarch64": ((206, 3), (211, 2), (269, 3))}
"""sendto, sendmsg and sendmmsg, each with the place of its flags."""

CALLS = {"x86_64": (157, 317), "aarch64": (167, 277)}
"""The numbers of prctl and seccomp."""


def program(
    machine: str, *, metadata: bool, truncate: bool, ignore_metadata: bool = False
) -> bytes:
    """The filter for an architecture, as an array of `struct sock_filter`; empty if unknown.

    `metadata` and `truncate` allow changes of modes, owners and times, and truncation;
    `ignore_metadata` ignores the former instead of refusing them.
    """
    if machine not in _AUDIT:
        return b""
    rules = CallRules(_EPERM)
    rules.load(ARCH_AT)
    rules.refuse_unless(_AUDIT[machine])
    if machine == "x86_64":
        rules.load(NUMBER_AT, mask=_X32_BIT)
        rules.refuse_unless(0)
    rules.load(NUMBER_AT)
    refused = _ALWAYS[machine] + (() if metadata else _ATTRIBUTES[machine])
    for number in refused + (() if truncate else (_TRUNCATE[machine],)):
        rules.refuse_if(number)
    rules.when(_IOCTL[machine], control_rules(metadata=metadata))
    keep_from_making(rules, machine)
    if metadata:
        keep_from_changing(rules, machine)
    else:
        _keep_modes(rules, machine, _IGNORED if ignore_metadata else _EPERM)
    rules.when(_PRLIMIT[machine], _own_limits())
    for number in _SCHEDULING[machine]:
        rules.when(number, _exactly(0))
    for number, one_process in _PRIORITIES[machine]:
        rules.when(number, _exactly(one_process, 0))
    rules.allow()
    return rules.data


def _keep_modes(rules: CallRules, machine: str, errno: int) -> None:
    """Let no call change modes, owners or times; each gets this error, or none."""
    for number in _MODES[machine]:
        rules.answer_if(number, errno)
    rules.when(_UTIMENSAT[machine], _only_now(errno))


def offline(machine: str) -> bytes:
    """The further filter for a command without a network; empty if the architecture is unknown.

    Landlock refuses to bind and to connect a TCP socket, but not to listen, to send with the first
    packet (TCP Fast Open), or to use MPTCP, SCTP or SMC. Nor does it refuse to connect a Unix
    socket to a daemon, which writes and runs for whoever asks. So a socket must be one of netlink,
    or of UDP, by which names are looked up.
    """
    if machine not in _AUDIT:
        return b""
    block = CallRules(_EACCES)
    block.load(argument_at(0))
    block.allow_if(_NETLINK)
    block.load(argument_at(1), mask=_TYPE_MASK)
    block.refuse_unless(_DATAGRAM)
    block.load(argument_at(0))
    for family in _INTERNET:
        block.allow_if(family)
    block.refuse()
    rules = CallRules(_EACCES)
    rules.load(NUMBER_AT)
    rules.when(_SOCKET[machine], block)
    rules.when(_SOCKET_PAIR[machine], _connected())
    rules.allow()
    return rules.data


def tcp_and_udp(machine: str) -> bytes:
    """The further filter for a command whose TCP ports Landlock restricts; empty if unknown.

    Sockets of the internet must be of TCP or UDP: MPTCP, SCTP and raw packets have no such ports.
    Nor may data be sent with the first packet (TCP Fast Open), which connects without being asked.
    """
    if machine not in _AUDIT:
        return b""
    block = CallRules(_EACCES)
    block.load(argument_at(0))
    for family in (_UNIX, _NETLINK):
        block.allow_if(family)
    block.load(argument_at(0), mask=~(_INTERNET[0] | _INTERNET[1]) & _WORD)
    block.refuse_unless(0)  # of the families with these bits alone, 8 is of no use without routes
    block.load(argument_at(1), mask=_TYPE_MASK)
    block.refuse_if(_RAW)
    block.load(argument_at(2))
    for protocol in _USUAL:
        block.allow_if(protocol)
    block.refuse()
    rules = CallRules(_EACCES)
    rules.load(NUMBER_AT)
    rules.when(_SOCKET[machine], block)
    for number, flags in _SENDING[machine]:
        sending = CallRules(_EACCES)
        sending.load(argument_at(flags), mask=_FAST_OPEN)
        sending.refuse_unless(0)
        rules.when(number, sending)
    rules.allow()
    return rules.data


def apart(machine: str) -> bytes:
    """The further filter for a command that reaches no daemon; empty for another architecture.

    A filter sees no path, so it refuses every Unix socket, also one in a folder that the command
    may write. What programs share without a file is refused too: another one may be using it.
    """
    if machine not in _AUDIT:
        return b""
    block = CallRules(_EACCES)
    block.load(argument_at(0))
    block.refuse_if(_UNIX)
    rules = CallRules(_EACCES)
    rules.load(NUMBER_AT)
    for number in _SHARED[machine]:
        rules.refuse_if(number)
    rules.when(_SOCKET[machine], block)
    rules.when(_SOCKET_PAIR[machine], _connected())
    rules.allow()
    return rules.data


def _connected() -> CallRules:
    """Refuse pairs of sockets that send to other addresses than each other: those of datagrams.

    The kernel takes a raw Unix socket for one of datagrams.
    """
    block = CallRules(_EACCES)
    block.load(argument_at(1), mask=_TYPE_MASK)
    block.refuse_if(_DATAGRAM)
    block.refuse_if(_RAW)
    return block


def _only_now(errno: int) -> CallRules:
    """Refuse to set times, unless an open file gets the current one, as `touch` does.

    Then the path and the times are null pointers.
    """
    block = CallRules(errno)
    block.refuse_unless_null(1)
    block.refuse_unless_null(2)
    return block


def _own_limits() -> CallRules:
    """Refuse to set limits, which are the third argument, unless they are the program's own."""
    block = CallRules(_EPERM)
    block.load(argument_at(0))
    block.allow_if(0)
    block.refuse_unless_null(2)
    return block


def _exactly(*arguments: int) -> CallRules:
    """Refuse a call that does not begin with these arguments; the process 0 is the caller."""
    block = CallRules(_EPERM)
    for at, value in enumerate(arguments):
        block.load(argument_at(at))
        block.refuse_unless(value)
    return block
