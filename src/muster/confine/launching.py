"""Starts confined commands: the launcher of this machine, and its command line."""

from __future__ import annotations

import os
import sys

from muster.confine import bubblewrap
from muster.confine.kernel import Support
from muster.confine.plan import plan_of
from muster.confine.policy import ConfineError, ConfinePolicy

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

PERL = "/usr/bin/perl"

_FOLDER = __file__.rpartition("/")[0]


def launcher() -> list[str]:
    """The program that carries out a plan: Perl, which starts fast, or else this Python."""
    return [PERL, f"{_FOLDER}/launch.pl"] if os.access(PERL, os.X_OK) else python_launcher()


def python_launcher() -> list[str]:
    """The launcher of a machine without Perl.

    It is imported, because Python keeps the compiled form of a module, and none of a script.
    """
    code = f"import sys; sys.path.insert(0, {_FOLDER!r}); import launch; launch.main(sys.argv[1:])"
    return [sys.executable, "-I", "-S", "-c", code]


def become(policy: ConfinePolicy, support: Support, command: Sequence[str]) -> NoReturn:
    """Replace this process by a confined command; raises `ConfineError` if that is impossible."""
    if support.way == "none":
        raise ConfineError(support.sentence)
    if support.bubblewrap and not support.abi:
        line = bubblewrap.arguments(support.bubblewrap, policy, command)
    else:
        plan = os.memfd_create("plan", 0)  # the launcher closes it before the command runs
        os.write(plan, plan_of(policy, support).encode("ascii"))
        line = [*launcher(), f"/proc/self/fd/{plan}", "--", *command]
    import signal  # a hook, which imports this module, has no use for it

    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it, and a command inherits that
    try:
        os.execv(line[0], line)
    except OSError as failed:
        raise ConfineError(f"{line[0]} cannot be run: {failed.strerror}") from None


def quoted(word: str) -> str:
    """A word for a shell; `shlex` would import `re`, which costs a hook its time."""
    return "'" + word.replace("'", "'\"'\"'") + "'"
