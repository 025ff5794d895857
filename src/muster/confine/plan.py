"""The plan of a launcher: a policy, turned into system calls for this kernel.

A plan is text, one step a line, so that a launcher in any language carries it out without deciding
anything: the rights that are handled, every path with the rights on it, the filters. Paths are in
hexadecimal. The first line names the kernel that the plan was made for.
"""

from __future__ import annotations

import os
import stat

from muster.confine import filter as seccomp
from muster.confine import kernel
from muster.confine.kernel import Support
from muster.confine.policy import ConfineError, ConfinePolicy

VERSION = 6

DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/stdout", "/dev/stderr")
"""Devices that every command may write."""

CAPABILITIES = (
    *(9, 11, 12, 13),  # inode flags; broadcasts, the configuration of the network, raw packets
    *(16, 17, 20, 21, 22),  # kernel modules, raw I/O, accounting, administration, reboots
    *(25, 26, 27),  # the clock, terminals, devices
    *range(29, 41),  # audit, file capabilities, security modules, the kernel's log, tracing, BPF
)
"""Capabilities that a command of root loses: what they allow concerns the machine, and neither
Landlock nor a filter sees a request to the kernel over netlink. Reading every file is left."""

_FILE_RIGHTS = kernel.WRITE_FILE | kernel.TRUNCATE | kernel.IOCTL_DEV
_SPECIAL_FILES = kernel.MAKE_CHAR | kernel.MAKE_BLOCK


def head() -> str:
    """The first line of a plan for this kernel, by which a stale plan is recognised."""
    system = os.uname()
    return f"muster-confine {VERSION} {system.release} {system.machine}"


def plan_of(policy: ConfinePolicy, support: Support) -> str:
    """The plan for a policy; raises `ConfineError` if the kernel cannot enforce it."""
    if not support.abi:
        raise ConfineError(support.why)
    abi = min(support.abi, kernel.ABI_MAX)
    known = kernel.writing(abi)
    machine = os.uname().machine
    network = kernel.NETWORK if abi >= 4 else 0
    lines = [
        head(),
        "calls {} {} {} {} {}".format(*seccomp.CALLS.get(machine, (0, 0)), *kernel.LANDLOCK_CALLS),
        f"drop {' '.join(map(str, CAPABILITIES))}",
        f"size {8 * (1 + (abi >= 4) + (abi >= 6))}",
        f"handle {known} {0 if policy.network else network} {kernel.SCOPES if abi >= 6 else 0}",
        f"network {network}",
        f"file {_FILE_RIGHTS & known}",
        f"folder {known & ~_SPECIAL_FILES}",
        f"parent {kernel.MAKE_DIR}",
    ]
    lines += [f"allow {_rights(path) & known} {_hex(path)}" for path in policy.write]
    lines += [f"device {_FILE_RIGHTS & known} {_hex(path)}" for path in DEVICES]
    lines += [f"set {_hex(name)} {_hex(value)}" for name, value in policy.environment.items()]
    code = seccomp.program(
        machine,
        metadata=policy.metadata,
        ignore_metadata=policy.ignore_metadata,
        truncate=abi >= 3,
    )
    lines.append(f"filter {code.hex()}")
    lines.append(f"offline {'' if policy.network else seccomp.offline(machine).hex()}")
    lines.append(f"apart {'' if policy.sockets else seccomp.apart(machine).hex()}")
    return "\n".join(lines) + "\n"


def _rights(path: str) -> int:
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116  (pathlib costs a hook its time)
    except OSError as failed:
        raise ConfineError(f"{path!r} cannot be written: {failed.strerror}") from None
    if stat.S_ISDIR(mode):
        return ~_SPECIAL_FILES
    return _FILE_RIGHTS


def _hex(text: str) -> str:
    return os.fsencode(text).hex() or "-"
