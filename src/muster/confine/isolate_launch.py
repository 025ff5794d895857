"""The launcher of an isolated program: hides folders from itself, then becomes the command.

    main([PLAN, REPORT, --, COMMAND...])

PLAN is a descriptor with a plan, which `isolation.py` makes. Hiding needs a mount namespace, and
that a user namespace, in which the program keeps its user: an empty read-only folder is mounted
over each hidden one, and the folders that the program is to see are mounted into it. The program
runs in a second user namespace inside of the first. There the kernel locks these mounts, so that
nothing undoes them, while a program may still mount what it likes above them. Nor can a program
look from one user namespace into processes of another (`/proc/PID/root` of one leads to what is
hidden). Landlock keeps it from sending signals to them, where the kernel can.

REPORT is a descriptor for one line if it fails: an error number of exec, or 0, and a message. The
end of REPORT without a line says that the command runs. A program never runs less isolated than
its plan says. `isolate_launch.pl` does the same and starts faster; this one is for machines
without Perl.
"""

import ctypes
import os
import signal
import struct
import sys

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import NoReturn

CANNOT_ISOLATE = 126
NOT_FOUND = 127

NEW_MOUNTS, NEW_USER, NEW_PIDS = 0x20000, 0x10000000, 0x20000000
READ_ONLY, NO_SET_ID, NO_DEVICES, REMOUNT, BIND, RECURSIVE, PRIVATE = (
    *(1, 2, 4, 32, 4096, 16384, 1 << 18),
)
NO_NEW_PRIVILEGES, DEATH_SIGNAL = 38, 1
SET_FILTER = 1
TCP_RULE, CONNECT = 2, 2

IGNORED = (
    *(signal.SIGPIPE, signal.SIGXFSZ),
    *(signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT),
)
"""Signals that Python ignores, and those that the shell before bubblewrap does. A command would
inherit that."""

libc = ctypes.CDLL(None, use_errno=True)


class IsolationPlan:
    """The steps of a plan, and where a failure is reported."""

    def __init__(self, lines: "list[str]", report: int) -> None:
        self.report = report
        self.steps: list[tuple[str, str, int]] = []
        self.adopt: list[str] = []
        self.ports: list[int] = []
        self.filters: list[bytes] = []
        self.numbers: dict[str, list[int]] = {}
        for line in lines:
            word, *rest = line.split()
            if word in ("hide", "show", "read"):
                self.steps.append((word, _text(rest[0]), int(rest[1]) if rest[1:] else 0))
            elif word == "adopt":
                self.adopt.append(_text(rest[0]))
            elif word == "port":
                self.ports.append(int(rest[0]))
            elif word == "filter":
                self.filters.append(bytes.fromhex(rest[0]))
            else:
                self.numbers[word] = [int(each) for each in rest]

    def fail(self, why: str, code: int = CANNOT_ISOLATE, errno: int = 0) -> "NoReturn":
        """End with a report."""
        os.write(self.report, f"{errno} {why}\n".encode("utf-8", "backslashreplace"))
        os._exit(code)

    def need(self, what: str, result: int) -> int:
        """The result of a call; a failed one ends the launcher."""
        if result < 0:
            self.fail(f"{what}: {os.strerror(ctypes.get_errno())}")
        return result


def _text(given: str) -> str:
    return os.fsdecode(bytes.fromhex(given))


# ── namespaces ────────────────────────────────────────────────────────────────────────────────────


def enter(plan: IsolationPlan, flags: int) -> None:
    """Enter new namespaces as the same user. Root keeps all users, where it may."""
    uid, gid = os.geteuid(), os.getegid()
    ranges = None if uid else [_identity("uid_map"), _identity("gid_map")]
    ready, go = os.pipe()
    mapper = _mapper(ready, go, ranges) if ranges else 0
    plan.need("a user namespace", libc.unshare(flags | NEW_USER | NEW_MOUNTS))
    os.close(go)
    os.close(ready)
    if mapper and os.waitpid(mapper, 0)[1] == 0:
        return
    _write(plan, "/proc/self/setgroups", "deny")
    _write(plan, "/proc/self/uid_map", f"{uid} {uid} 1")
    _write(plan, "/proc/self/gid_map", f"{gid} {gid} 1")


def _identity(name: str) -> str:
    with open(f"/proc/self/{name}", encoding="ascii") as file:  # noqa: PTH123
        lines = [line.split() for line in file]
    return "\n".join(f"{inside} {inside} {count}" for inside, _, count in lines) + "\n"


def _mapper(ready: int, go: int, ranges: "list[str]") -> int:
    """A process outside of the namespace, which alone may map more than one user."""
    parent = os.getpid()
    mapper = os.fork()
    if mapper:
        return mapper
    os.close(go)
    os.read(ready, 1)  # ends when the parent has entered its namespace
    try:
        for name, text in zip(("uid_map", "gid_map"), ranges, strict=True):
            _put(f"/proc/{parent}/{name}", text)
    except OSError:
        os._exit(1)
    os._exit(0)


def _write(plan: IsolationPlan, path: str, text: str) -> None:
    try:
        _put(path, text)
    except OSError as failed:
        plan.fail(f"{path}: {failed.strerror}")


def _put(path: str, text: str) -> None:
    file = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(file, text.encode("ascii"))
    finally:
        os.close(file)


# ── hiding ────────────────────────────────────────────────────────────────────────────────────────


def mount(what: "bytes | None", where: str, kind: "bytes | None", flags: int, data: bytes) -> int:
    """Mount; the result is negative if it fails."""
    return int(libc.mount(what, os.fsencode(where), kind, ctypes.c_ulong(flags), data))


def hide(plan: IsolationPlan) -> None:
    """Hide and show folders, in this order. A shown path is opened before anything is hidden."""
    plan.need("mounts", mount(None, "/", None, RECURSIVE | PRIVATE, b""))
    held = {path: _opened(plan, path) for word, path, _ in plan.steps if word != "hide"}
    for word, path, locked in plan.steps:
        if word == "hide":
            size = b"mode=0755,size=1m,nr_inodes=4096"
            plan.need(path, mount(b"tmpfs", path, b"tmpfs", NO_SET_ID | NO_DEVICES, size))
            continue
        _show(plan, held[path], path)
        if word == "read":
            flags = REMOUNT | BIND | READ_ONLY | locked
            plan.need(path, mount(None, path, None, flags, b""))
    for word, path, _ in plan.steps:
        if word == "hide":
            flags = REMOUNT | BIND | READ_ONLY | NO_SET_ID | NO_DEVICES
            plan.need(path, mount(None, path, None, flags, b""))


def _opened(plan: IsolationPlan, path: str) -> int:
    try:
        return os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError as failed:
        plan.fail(f"{path}: {failed.strerror}")


def _show(plan: IsolationPlan, held: int, path: str) -> None:
    is_folder = os.path.isdir(f"/proc/self/fd/{held}")  # noqa: PTH112
    folder = path if is_folder else os.path.dirname(path)  # noqa: PTH120
    try:
        os.makedirs(folder, exist_ok=True)  # noqa: PTH103
        if not is_folder and not os.path.exists(path):  # noqa: PTH110
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
    except OSError as failed:
        plan.fail(f"{path}: {failed.strerror}")
    place = f"/proc/self/fd/{held}".encode()
    plan.need(path, mount(place, path, None, BIND | RECURSIVE, b""))
    os.close(held)


def adopt(folder: str) -> None:
    """Mount copies of a folder's files over it, which the user owns.

    In a namespace of one user, files of root seem to be nobody's, and ssh refuses such settings.
    """
    if os.geteuid() == 0 or not os.path.isdir(folder):  # noqa: PTH112
        return
    found: list[tuple[str, bytes]] = []
    for name in sorted(os.listdir(folder)):  # noqa: PTH208
        try:
            with open(os.path.join(folder, name), "rb") as file:  # noqa: PTH118, PTH123
                found.append((name, file.read(1 << 16)))
        except OSError:
            continue
    if found and mount(b"tmpfs", folder, b"tmpfs", NO_SET_ID | NO_DEVICES, b"mode=0755") == 0:
        for name, data in found:
            with open(os.path.join(folder, name), "wb") as file:  # noqa: PTH118, PTH123
                file.write(data)


# ── a pid namespace ───────────────────────────────────────────────────────────────────────────────


def become_outside(plan: IsolationPlan) -> None:
    """Go on in a child, the first process of the pid namespace; this process waits for its end."""
    child = os.fork()
    if child == 0:
        libc.prctl(DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
        flags = NO_SET_ID | NO_DEVICES | os.ST_NOEXEC
        plan.need("a /proc of its own", mount(b"proc", "/proc", b"proc", flags, b""))
        return
    os.close(plan.report)
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(each, signal.SIG_IGN)  # the group has it too, and this one must see the end
    _end_like(os.waitpid(child, 0)[1])


def become_first(plan: IsolationPlan) -> None:
    """Go on in a child; this process, the first of its namespace, reaps whatever is left to it."""
    child = os.fork()
    if child == 0:
        return
    os.close(plan.report)
    while True:
        pid, status = os.wait()
        if pid == child:
            _end_like(status)


def _end_like(status: int) -> "NoReturn":
    code = os.waitstatus_to_exitcode(status)
    if code < 0 and os.getpid() != 1:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code if code >= 0 else 128 - code)


# ── Landlock ──────────────────────────────────────────────────────────────────────────────────────


def restrict(plan: IsolationPlan) -> None:
    """Keep this process from processes and ports outside."""
    prctl, seccomp, create, add, enforce = plan.numbers["calls"][3:]
    size, *handled = plan.numbers["landlock"]
    plan.need("no new privileges", libc.syscall(prctl, NO_NEW_PRIVILEGES, 1, 0, 0, 0))
    if size:
        given = struct.pack("QQQ", *handled)[:size]
        rules = plan.need("Landlock", libc.syscall(create, given, size, 0))
        for port in plan.ports:
            rule = struct.pack("QQ", CONNECT, port)
            plan.need(f"port {port}", libc.syscall(add, rules, TCP_RULE, rule, 0))
        plan.need("Landlock", libc.syscall(enforce, rules, 0))
        os.close(rules)
    for each in plan.filters:
        code = ctypes.create_string_buffer(each)
        given = struct.pack("HxxxxxxP", len(each) // 8, ctypes.addressof(code))
        plan.need("seccomp", libc.syscall(seccomp, SET_FILTER, 0, given))


def isolate(plan: IsolationPlan, has_pids: bool) -> None:
    """Enter namespaces in which folders are hidden."""
    cwd = os.getcwd()  # noqa: PTH109
    enter(plan, NEW_PIDS if has_pids else 0)
    for folder in plan.adopt:
        adopt(folder)
    hide(plan)
    try:
        os.chdir(cwd)  # the old one leads to what is hidden
    except OSError as failed:
        plan.fail(f"{cwd}: {failed.strerror}")
    if has_pids:
        become_outside(plan)
    enter(plan, 0)  # in it the mounts of the first namespace are locked


def main(arguments: "list[str]") -> "NoReturn":
    """Isolate this process and become the command."""
    report = int(arguments[1])
    os.set_inheritable(report, False)
    with os.fdopen(int(arguments[0]), encoding="ascii") as file:
        first, *lines = file.read().splitlines() or [""]
    plan = IsolationPlan(lines if first == "muster-isolate 1" else [], report)
    if not {"calls", "enter", "pids", "landlock"} <= set(plan.numbers):
        plan.fail("the plan cannot be read")
    command, has_pids = arguments[3:], bool(plan.numbers["pids"][0])
    if plan.numbers["enter"][0]:
        isolate(plan, has_pids)
    restrict(plan)
    if has_pids:
        become_first(plan)
    for ignored in IGNORED:
        signal.signal(ignored, signal.SIG_DFL)
    try:
        os.execvp(command[0], command)
    except OSError as failed:
        plan.fail(f"{command[0]}: {failed.strerror}", NOT_FOUND, failed.errno or 0)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a stop in this moment is no traceback
    main(sys.argv[1:])
