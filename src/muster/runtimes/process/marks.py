"""The mark of a session on its processes, which neither setsid, a double fork nor `env -i` removes.

A daemon leaves its process group, its kernel session, its parent and its environment. Resource
limits stay: every fork and exec inherits them. `RLIMIT_LOCKS` has had no effect since Linux 2.4.25,
so its soft value is free to carry a number derived from the session's id, and `/proc/PID/limits`
shows it. A cgroup would do the same, but only where one is delegated to muster. A program that
resets this limit itself is not found by it, only as an orphan (`orphans.py`).
"""

import resource
from collections.abc import Generator
from contextlib import contextmanager, suppress
from hashlib import blake2b
from typing import Final

RLIMIT_LOCKS: Final = 10
"""Not in the `resource` module, because nothing enforces it."""

_NAME: Final = b"Max file locks"
_MARKED: Final = 1 << 56
"""A bit that every mark has, so that no limit that a person set looks like one."""

MARK_MAX: Final = (_MARKED << 1) - 1


def mark_of(session: str) -> int:
    """The mark of a session."""
    return _MARKED | int.from_bytes(blake2b(session.encode(), digest_size=7).digest())


@contextmanager
def marking(session: str | None) -> Generator[None]:
    """Mark the programs that are started in the body. They inherit the limits of this process.

    The body must only start a program: another thread that starts one meanwhile would mark it too.
    """
    if session is None:
        yield
        return
    soft, hard = resource.getrlimit(RLIMIT_LOCKS)
    with suppress(ValueError, OSError):  # the hard limit is lower: then there is no mark
        resource.setrlimit(RLIMIT_LOCKS, (mark_of(session), hard))
    try:
        yield
    finally:
        with suppress(ValueError, OSError):
            resource.setrlimit(RLIMIT_LOCKS, (soft, hard))


def mark_in(limits: bytes | None) -> int | None:
    """The mark in the content of `/proc/PID/limits`, if there is one."""
    start = -1 if limits is None else limits.find(_NAME)
    if limits is None or start < 0:
        return None
    soft = limits[start + len(_NAME) :].split(None, 1)[0]
    return int(soft) if soft.isdigit() else None
