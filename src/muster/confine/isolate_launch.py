"""The launcher of an isolated program: hides folders from itself, then becomes the command.

    python -I -S isolate_launch.py FD -- COMMAND...

FD is a file with a plan in JSON, which `isolation.py` makes. Hiding needs a mount namespace, and
that a user namespace, in which the program keeps its user: an empty read-only folder is mounted
over each hidden one, and the folders that the program is to see are mounted into it. Landlock then
refuses to mount and to unmount, so that nothing undoes it, and to look into processes outside
(`/proc/PID/root` of one leads to what is hidden). Every failure ends the launcher with a message
and exit code 126: a program never runs less isolated than its plan says.
"""

import ctypes
import json
import os
import signal
import struct
import sys

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any, NoReturn

CANNOT_ISOLATE = 126
NOT_FOUND = 127

NEW_MOUNTS, NEW_USER, NEW_PIDS = 0x20000, 0x10000000, 0x20000000
READ_ONLY, NO_SET_ID, NO_DEVICES, REMOUNT, BIND, RECURSIVE, PRIVATE = (
    *(1, 2, 4, 32, 4096, 16384, 1 << 18),
)
NO_NEW_PRIVILEGES, DEATH_SIGNAL = 38, 1
SET_FILTER = 1
TCP_RULE, CONNECT = 2, 2

libc = ctypes.CDLL(None, use_errno=True)


def fail(why: str, code: int = CANNOT_ISOLATE) -> "NoReturn":
    """End with a message."""
    os.write(2, f"muster isolate: {why}\n".encode("utf-8", "backslashreplace"))
    os._exit(code)


def need(what: str, result: int) -> int:
    """The result of a call; a failed one ends the launcher."""
    if result < 0:
        fail(f"{what}: {os.strerror(ctypes.get_errno())}")
    return result


# ── namespaces ────────────────────────────────────────────────────────────────────────────────────


def enter(flags: int) -> None:
    """Enter new namespaces as the same user. Root keeps all users, where it may."""
    uid, gid = os.geteuid(), os.getegid()
    ranges = None if uid else [_identity("uid_map"), _identity("gid_map")]
    ready, go = os.pipe()
    mapper = _mapper(ready, go, ranges) if ranges else 0
    need("a user namespace", libc.unshare(flags | NEW_USER | NEW_MOUNTS))
    os.close(go)
    os.close(ready)
    if mapper and os.waitpid(mapper, 0)[1] == 0:
        return
    _write("/proc/self/setgroups", "deny")
    _write("/proc/self/uid_map", f"{uid} {uid} 1")
    _write("/proc/self/gid_map", f"{gid} {gid} 1")


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


def _write(path: str, text: str) -> None:
    try:
        _put(path, text)
    except OSError as failed:
        fail(f"{path}: {failed.strerror}")


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


def hide(steps: "list[list[str]]") -> None:
    """Hide and show folders, in this order. A shown path is opened before anything is hidden."""
    need("mounts", mount(None, "/", None, RECURSIVE | PRIVATE, b""))
    held = {path: _opened(path) for word, path in steps if word != "hide"}
    hidden = [path for word, path in steps if word == "hide"]
    for word, path in steps:
        if word == "hide":
            size = b"mode=0755,size=1m,nr_inodes=4096"
            need(path, mount(b"tmpfs", path, b"tmpfs", NO_SET_ID | NO_DEVICES, size))
        else:
            _show(held[path], path, is_read_only=word == "read")
    for path in hidden:
        flags = REMOUNT | BIND | READ_ONLY | NO_SET_ID | NO_DEVICES
        need(path, mount(None, path, None, flags, b""))


def _opened(path: str) -> int:
    try:
        return os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError as failed:
        fail(f"{path}: {failed.strerror}")


def _show(held: int, path: str, *, is_read_only: bool) -> None:
    is_folder = os.path.isdir(f"/proc/self/fd/{held}")  # noqa: PTH112
    folder = path if is_folder else os.path.dirname(path)  # noqa: PTH120
    try:
        os.makedirs(folder, exist_ok=True)  # noqa: PTH103
        if not is_folder and not os.path.exists(path):  # noqa: PTH110
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
    except OSError as failed:
        fail(f"{path}: {failed.strerror}")
    place = f"/proc/self/fd/{held}".encode()
    need(path, mount(place, path, None, BIND | RECURSIVE, b""))
    if is_read_only:
        flags = REMOUNT | BIND | READ_ONLY | _locked_flags(path)
        need(path, mount(None, path, None, flags, b""))
    os.close(held)


def _locked_flags(path: str) -> int:
    """The flags of a mount that a user namespace may not take away."""
    found = os.statvfs(path).f_flag
    return found & (NO_SET_ID | NO_DEVICES | os.ST_NOEXEC | os.ST_NOATIME | os.ST_RELATIME)


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


def become_outside() -> None:
    """Go on in a child, the first process of the pid namespace; this process waits for its end."""
    child = os.fork()
    if child == 0:
        libc.prctl(DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
        if mount(b"proc", "/proc", b"proc", NO_SET_ID | NO_DEVICES | os.ST_NOEXEC, b"") < 0:
            fail(f"a /proc of its own: {os.strerror(ctypes.get_errno())}")
        return
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(each, signal.SIG_IGN)  # the group has it too, and this one must see the end
    _end_like(os.waitpid(child, 0)[1])


def become_first() -> None:
    """Go on in a child; this process, the first of its namespace, reaps whatever is left to it."""
    child = os.fork()
    if child == 0:
        return
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


def restrict(plan: "dict[str, Any]") -> None:
    """Keep this process in what it has entered, and from processes and ports outside."""
    create, add, enforce = plan["landlock"]
    handled = struct.pack("QQQ", plan["files"], plan["network"], plan["scopes"])[: plan["size"]]
    rules = need("Landlock", libc.syscall(create, handled, len(handled), 0))
    for port in plan["ports"]:
        rule = struct.pack("QQ", CONNECT, port)
        need(f"port {port}", libc.syscall(add, rules, TCP_RULE, rule, 0))
    need("no new privileges", libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0))
    need("Landlock", libc.syscall(enforce, rules, 0))
    os.close(rules)
    for text in plan["filters"]:
        code = ctypes.create_string_buffer(bytes.fromhex(text))
        given = struct.pack("HxxxxxxP", len(text) // 16, ctypes.addressof(code))
        need("seccomp", libc.syscall(plan["seccomp"], SET_FILTER, 0, given))


def main(arguments: "list[str]") -> "NoReturn":
    """Isolate this process and become the command."""
    with os.fdopen(int(arguments[0]), encoding="ascii") as file:
        plan = json.load(file)
    command, cwd = arguments[2:], os.getcwd()  # noqa: PTH109
    enter(NEW_PIDS if plan["pids"] else 0)
    for folder in plan["adopt"]:
        adopt(folder)
    hide(plan["steps"])
    try:
        os.chdir(cwd)  # the old one leads to what is hidden
    except OSError as failed:
        fail(f"{cwd}: {failed.strerror}")
    if plan["pids"]:
        become_outside()
    restrict(plan)
    if plan["pids"]:
        become_first()
    for ignored in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(ignored, signal.SIG_DFL)  # Python ignores them, and a command inherits that
    try:
        os.execvp(command[0], command)
    except OSError as failed:
        fail(f"{command[0]}: {failed.strerror}", NOT_FOUND)


if __name__ == "__main__":
    main(sys.argv[1:])
