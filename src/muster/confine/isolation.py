"""Isolation: what a program may not see, and whether this machine can keep it from that.

`home` hides the team's home apart from the program's own folders. `strict` also gives it a pid
namespace, so that nothing it starts outlives it, and refuses connections but to allowed TCP ports,
and Unix sockets. Hiding needs a user namespace and Landlock; the launcher is `isolate_launch.py`.

Landlock alone cannot hide a folder: its rules only allow, for everything below a folder, so a home
inside of a project could only be hidden by allowing everything beside it one by one, and a file
that the program makes there could not be read again.
"""

from __future__ import annotations

import json
import os
import sys

from muster.confine import filter as seccomp
from muster.confine import kernel

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
_NETWORK_ABI, _SCOPES_ABI = 4, 6
_SECONDS = 20


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


def plan_of(policy: IsolationPolicy, abi: int) -> str:
    """The plan of the launcher, for a version of Landlock."""
    machine, is_strict = os.uname().machine, policy.level == STRICT
    scopes = (_SIGNALS | (_ABSTRACT_SOCKETS if is_strict else 0)) if abi >= _SCOPES_ABI else 0
    filters: list[bytes] = []
    if is_strict:
        filters = [seccomp.tcp_and_udp(machine)]
        filters += [] if policy.sockets else [seccomp.apart(machine)]
    return json.dumps(
        {
            "pids": is_strict,
            "adopt": _ADOPTED,
            "steps": policy.steps,
            "landlock": kernel.LANDLOCK_CALLS,
            "size": 8 * (1 + (abi >= _NETWORK_ABI) + (abi >= _SCOPES_ABI)),
            "files": _SPECIAL_FILES,
            "network": _CONNECT if is_strict and abi >= _NETWORK_ABI else 0,
            "scopes": scopes,
            "ports": policy.ports if is_strict and abi >= _NETWORK_ABI else (),
            "filters": [each.hex() for each in filters if each],
            "seccomp": seccomp.CALLS.get(machine, (0, 0))[1],
        }
    )


def launcher(plan: int) -> list[str]:
    """The beginning of a command line that runs a command isolated by the plan in a descriptor."""
    program = f"{__file__.rpartition('/')[0]}/isolate_launch.py"
    return [sys.executable, "-I", "-S", program, str(plan), "--"]


def plan_file(policy: IsolationPolicy, abi: int) -> int:
    """A descriptor with the plan, at its beginning."""
    plan = os.memfd_create("isolation", os.MFD_CLOEXEC)
    os.write(plan, plan_of(policy, abi).encode("ascii"))
    os.lseek(plan, 0, os.SEEK_SET)
    return plan


# ── what this machine can ─────────────────────────────────────────────────────────────────────────


def trouble(level: str) -> str:
    """The reason why this machine cannot isolate programs; empty if it can. It is tried."""
    abi, why = kernel.landlock_abi()
    if not abi:
        return why
    import subprocess
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        plan = plan_file(IsolationPolicy(level, [(HIDE, folder)]), abi)
        try:
            line = [*launcher(plan), "true"]
            tried = subprocess.run(
                line, pass_fds=[plan], capture_output=True, timeout=_SECONDS, check=False
            )
        except (OSError, subprocess.SubprocessError) as failed:
            return str(failed)
        finally:
            os.close(plan)
    said = tried.stderr.decode("utf-8", "replace").strip()
    return "" if tried.returncode == 0 else said.removeprefix("muster isolate: ") or "it failed"


def lacks(level: str, abi: int) -> Sequence[str]:
    """The gaps that this kernel leaves although it can isolate, in words."""
    missing: list[str] = []
    if abi < _SCOPES_ABI:
        missing.append("it can signal programs outside (Linux 6.12)")
    if level == STRICT and abi < _NETWORK_ABI:
        missing.append("TCP is not restricted (Linux 6.7)")
    return missing
