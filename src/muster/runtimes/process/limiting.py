"""The launcher of a limited program: takes its limits upon itself, then becomes the program.

    python -I -S limiting.py SPEC COMMAND...

The specification is JSON (`resources.py` writes it). Limits are set between fork and exec, before
anything of the program runs, and muster itself has threads, in which no code may run at that point:
so a process of its own does it. Every failure ends it with a message: a program never runs without
a limit that muster has said is in force. It imports the standard library alone.
"""

import json
import os
import resource
import signal
import sys

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import NoReturn

CANNOT_LIMIT = 126
NOT_FOUND = 127


def fail(why: str, code: int = CANNOT_LIMIT) -> "NoReturn":
    """End with a message."""
    os.write(2, f"muster: {why}\n".encode("utf-8", "backslashreplace"))
    os._exit(code)


def join(path: str) -> None:
    """Join a cgroup, by its list of processes."""
    try:
        with open(path, "w", encoding="ascii") as file:  # noqa: PTH123 - pathlib is a slow import
            file.write("0")
    except OSError as failed:
        fail(f"the cgroup {path} cannot be joined: {failed.strerror}")


def limit(name: str, soft: int, hard: int, setting: str) -> None:
    """Set a resource limit; one that is lower already stays."""
    kind: int = getattr(resource, f"RLIMIT_{name}")
    _, most = resource.getrlimit(kind)
    if most != resource.RLIM_INFINITY and name != "NOFILE":
        soft, hard = min(soft, most), min(hard, most)
    try:
        resource.setrlimit(kind, (soft, hard))
    except (OSError, ValueError) as failed:
        fail(f"{setting} cannot be set: {failed}")


def main(arguments: "list[str]") -> "NoReturn":
    """Set the limits and become the command."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # a stop in this moment is no traceback
    spec, command = json.loads(arguments[0]), arguments[1:]
    if spec["join"]:
        join(spec["join"])
    if spec["nice"] is not None:
        try:
            os.setpriority(os.PRIO_PROCESS, 0, spec["nice"])
        except OSError as failed:
            fail(f"nice = {spec['nice']} cannot be set: {failed.strerror}")
    for name, soft, hard, setting in spec["rlimits"]:
        limit(name, soft, hard, setting)
    for each in spec["unset"]:  # Python sets it where the locale is C
        os.environ.pop(each, None)
    for ignored in (signal.SIGPIPE, signal.SIGXFSZ):  # by Python, and it would stay so
        signal.signal(ignored, signal.SIG_DFL)
    try:
        os.execvp(command[0], command)
    except OSError as failed:
        fail(f"cannot run {command[0]}: {failed.strerror}", NOT_FOUND)


if __name__ == "__main__":
    main(sys.argv[1:])
