"""Isolation: what a program may not see, and whether this machine can keep it from that.

`home` hides the team's home apart from the program's own folders. `strict` also gives it a pid
namespace, so that nothing it starts outlives it, and refuses connections but to allowed TCP ports,
and Unix sockets. Hiding needs user namespaces, `strict` also Landlock; the launchers are
`isolate_launch.pl` and `isolate_launch.py`. Where muster may not make namespaces and bubblewrap
may, that makes them.

Landlock alone cannot hide a folder: its rules only allow, for everything below a folder, so a home
inside of a project could only be hidden by allowing everything beside it one by one, and a file
that the program makes there could not be read again.
"""

from __future__ import annotations

import os
import sys

from muster.confine import filter as seccomp
from muster.confine import kernel
from muster.confine.launching import PERL

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Sequence

HOME = "home"
STRICT = "strict"

HIDE, SHOW, READ = "hide", "show", "read"

_ADOPTED = ("/etc/ssh/ssh_config.d",)
"""Folders of settings whose files must seem to be root's or the user's own."""

_SPECIAL_FILES = kernel.MAKE_CHAR | kernel.MAKE_BLOCK
_SIGNALS, _ABSTRACT_SOCKETS = 2, 1
_CONNECT = 2
_CALLS = {"x86_64": (272, 165, 59), "aarch64": (97, 40, 221)}
"""The numbers of unshare, mount and execve."""

_NETWORK_ABI, _SCOPES_ABI = 4, 6
_BINDS = {SHOW: "--bind", READ: "--ro-bind"}
_SECONDS = 20
_STDERR = 2


class IsolationPolicy:
    """The paths that an isolated program sees, and the ports that it reaches."""

    __slots__ = ("level", "ports", "sockets", "steps")

    def __init__(
        self,
        level: str,
        steps: Sequence[tuple[str, str]],
        *,
        ports: Sequence[int] = (),
        sockets: bool = False,
    ) -> None:
        self.level = level
        """`home` or `strict`."""
        self.steps = tuple(steps)
        """Paths to hide, and to show in hidden ones, for writing or for reading, in order."""
        self.ports = tuple(ports)
        """The TCP ports that a strict program may connect to."""
        self.sockets = sockets
        """Whether a strict program may make Unix sockets."""


def plan_of(policy: IsolationPolicy, abi: int, *, enters: bool = True) -> str:
    """The plan of the launcher, for a version of Landlock.

    If it enters no namespaces, bubblewrap has done that, and hidden what is to be hidden.
    """
    machine, is_strict = os.uname().machine, policy.level == STRICT
    calls = (*_CALLS.get(machine, (0, 0, 0)), *seccomp.CALLS.get(machine, (0, 0)))
    return "\n".join(
        (
            "muster-isolate 1",
            _line("calls", *calls, *kernel.LANDLOCK_CALLS),
            _line("enter", int(enters)),
            _line("pids", int(is_strict and enters)),
            _line("landlock", *_landlock(policy.level, abi)),
            *(_line("adopt", _hex(each)) for each in _ADOPTED),
            *(_line(word, _hex(path), *_locked(word, path)) for word, path in policy.steps),
            *(_line("port", each) for each in (policy.ports if _has_ports(policy, abi) else ())),
            *(_line("filter", each.hex()) for each in _filters(policy, machine)),
            "",
        )
    )


def _landlock(level: str, abi: int) -> tuple[int, int, int, int]:
    """The size of Landlock's attributes, and the rights on files, ports and scopes in them.

    A size of 0 leaves Landlock out: without rights or scopes there is nothing that it would refuse.
    With rights on files it would refuse to mount, which sandboxes inside of this one need.
    """
    is_strict = level == STRICT
    scopes = (_SIGNALS | (_ABSTRACT_SOCKETS if is_strict else 0)) if abi >= _SCOPES_ABI else 0
    network = _CONNECT if is_strict and abi >= _NETWORK_ABI else 0
    files = _SPECIAL_FILES if is_strict else 0
    size = 8 * (1 + (abi >= _NETWORK_ABI) + (abi >= _SCOPES_ABI))
    return (size if files or network or scopes else 0), files, network, scopes


def _has_ports(policy: IsolationPolicy, abi: int) -> bool:
    return policy.level == STRICT and abi >= _NETWORK_ABI


def _filters(policy: IsolationPolicy, machine: str) -> list[bytes]:
    if policy.level != STRICT:
        return []
    apart = b"" if policy.sockets else seccomp.apart(machine)
    return [each for each in (seccomp.tcp_and_udp(machine), apart) if each]


def _locked(word: str, path: str) -> tuple[int, ...]:
    """The flags of a mount that a user namespace may not take away when it makes it read-only."""
    if word != READ:
        return ()
    return (os.statvfs(path).f_flag & (os.ST_NOSUID | os.ST_NODEV | os.ST_NOEXEC),)


def _line(word: str, *values: int | str) -> str:
    return " ".join((word, *map(str, values)))


def _hex(path: str) -> str:
    return os.fsencode(path).hex()


def launcher(plan: int, report: int) -> list[str]:
    """The beginning of a command line that runs a command isolated by the plan in a descriptor.

    A failure is reported in the other descriptor: Perl, which starts fast, or else this Python.
    """
    program = f"{__file__.rpartition('/')[0]}/isolate_launch"
    if os.access(PERL, os.X_OK):
        return [PERL, f"{program}.pl", str(plan), str(report), "--"]
    return [sys.executable, "-I", "-S", f"{program}.py", str(plan), str(report), "--"]


def in_bubblewrap(program: str, policy: IsolationPolicy, cwd: str) -> list[str]:
    """The beginning of a command line that runs the launcher in bubblewrap, which hides folders.

    A process of bubblewrap waits beside the command. A signal for their group must not end it
    before the command, so it is started with those ignored; the launcher restores them.
    """
    line = ["/bin/sh", "-c", 'trap "" INT TERM HUP QUIT; exec "$@"', "sh", program]
    line += ["--unshare-user", "--dev-bind", "/", "/"]  # root too must not undo it
    for word, path in policy.steps:
        line += ["--tmpfs", path] if word == HIDE else [_BINDS[word], path, path]
    for word, path in policy.steps:
        line += ["--remount-ro", path] if word == HIDE else []
    if policy.level == STRICT:
        line += ["--unshare-pid", "--proc", "/proc", "--die-with-parent"]
    return [*line, "--chdir", cwd, "--"]


def plan_file(policy: IsolationPolicy, abi: int, *, enters: bool = True) -> int:
    """A descriptor with the plan, at its beginning."""
    plan = os.memfd_create("isolation", os.MFD_CLOEXEC)
    os.write(plan, plan_of(policy, abi, enters=enters).encode("ascii"))
    os.lseek(plan, 0, os.SEEK_SET)
    return plan


# ── what this machine can ─────────────────────────────────────────────────────────────────────────


def means(level: str) -> tuple[str, str]:
    """How this machine isolates programs: by bubblewrap, whose path comes first, or by itself; or
    the reason why it cannot, which comes second. It is tried."""
    abi, why = kernel.landlock_abi()
    if os.uname().machine not in _CALLS:
        return "", f"{os.uname().machine} is not supported"
    if level == STRICT and not abi:
        return "", why
    why = _trouble(level, abi, "")
    found = kernel.on_path("bwrap") if why else None
    if found is None:
        return "", why
    other = _trouble(level, abi, found)
    return ("", f"{why}; {found}: {other}") if other else (found, "")


def _trouble(level: str, abi: int, bubblewrap: str) -> str:
    import subprocess
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        policy = IsolationPolicy(level, [(HIDE, folder)])
        plan = plan_file(policy, abi, enters=not bubblewrap)
        line = in_bubblewrap(bubblewrap, policy, "/") if bubblewrap else []
        line += [*launcher(plan, _STDERR), "true"]
        try:
            tried = subprocess.run(
                line, pass_fds=[plan], capture_output=True, timeout=_SECONDS, check=False
            )
        except (OSError, subprocess.SubprocessError) as failed:
            return str(failed)
        finally:
            os.close(plan)
    if tried.returncode == 0:
        return ""
    said = tried.stderr.decode("utf-8", "replace").strip()
    return (said if bubblewrap else said.partition(" ")[2]) or "it failed"


def lacks(level: str, abi: int) -> Sequence[str]:
    """The gaps that this kernel leaves although it can isolate, in words."""
    missing: list[str] = []
    if abi < _SCOPES_ABI:
        missing.append("it can signal programs outside (Linux 6.12)")
    if level == STRICT and abi < _NETWORK_ABI:
        missing.append("TCP is not restricted (Linux 6.7)")
    return missing
