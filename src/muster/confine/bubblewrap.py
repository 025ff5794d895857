"""Confinement by bubblewrap, where the kernel has no Landlock: all is mounted read-only."""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Sequence

    from muster.confine.policy import ConfinePolicy


def arguments(program: str, policy: ConfinePolicy, command: Sequence[str]) -> list[str]:
    """The command line that runs a command in bubblewrap."""
    line = [program, "--die-with-parent", "--ro-bind", "/", "/", "--dev-bind", "/dev", "/dev"]
    for path in policy.write:
        line += ["--bind", path, path]
    if not policy.network:
        line.append("--unshare-net")
    if not policy.sockets:
        line.append("--unshare-ipc")
    for name, value in policy.environment.items():
        line += ["--setenv", name, value]
    return [*line, "--", *command]
