"""The launcher in Python: confines itself by a plan, then becomes the command.

    main([PLAN, [--network] [--sockets] [--file PATH] [--folder PATH] [--parent PATH]...
        -- COMMAND...])

`launch.pl` does the same and starts faster; where there is no Perl, this one runs, at the cost of
an interpreter. It uses the parts that `ctypes` is made of, because `ctypes` itself takes longer to
import than the interpreter to start. Every failure ends it with a message and exit code 126: a
command never runs unconfined. `--file` and `--folder`
add a path that may be written, and the file is created if it does not exist; in `--parent` only
folders may be made.
"""

import _ctypes
import os
import sys

TYPE_CHECKING = False

if TYPE_CHECKING:
    import signal as _signal
    from ctypes import c_char_p as _Text
    from ctypes import c_long as _Long
    from typing import NoReturn
else:
    import _signal

    class _Long(_ctypes._SimpleCData):
        _type_ = "l"

    class _Text(_ctypes._SimpleCData):
        _type_ = "z"


CANNOT_CONFINE = 126
NOT_FOUND = 127

_DROP_CAPABILITY = 24
_NO_NEW_PRIVILEGES = 38
_AMBIENT_CAPABILITIES, _CLEAR_ALL = 47, 4
_PATH_BENEATH = 1
_SET_FILTER = 1


class _Function(_ctypes.CFuncPtr):
    _flags_ = _ctypes.FUNCFLAG_CDECL | _ctypes.FUNCFLAG_USE_ERRNO
    _restype_ = _Long


_program = _ctypes.dlopen(None, 0)  # pyright: ignore[reportArgumentType]
syscall = _Function(_ctypes.dlsym(_program, "syscall"))


class LaunchPlan:
    """The steps of a plan."""

    def __init__(self, text: str) -> None:
        self.numbers: dict[str, list[int]] = {}
        self.paths: list[tuple[int, bytes]] = []
        self.devices: list[tuple[int, bytes]] = []
        self.variables: list[tuple[bytes, bytes]] = []
        self.filters: dict[str, bytes] = {}
        first, *steps = text.splitlines() or [""]
        if not first.startswith("muster-confine 6 "):
            raise ValueError("it is not a plan")
        for line in steps:
            word, *rest = line.split(" ")
            if word in ("allow", "device"):
                found = (int(rest[0]), _text(rest[1]))
                (self.paths if word == "allow" else self.devices).append(found)
            elif word == "set":
                self.variables.append((_text(rest[0]), _text(rest[1])))
            elif word in ("filter", "offline", "apart"):
                self.filters[word] = bytes.fromhex(rest[0])
            else:
                self.numbers[word] = [int(each) for each in rest]
        if not {"calls", "drop", "size", "handle", "file", "folder", "parent"} <= set(self.numbers):
            raise ValueError("it is incomplete")
        if len(self.filters) != 3:
            raise ValueError("it is incomplete")


def _text(given: str) -> bytes:
    return b"" if given == "-" else bytes.fromhex(given)


def call(what: str, *arguments: "int | bytes | None") -> int:
    """Make a system call; end with a message if it fails."""
    result = attempt(*arguments)
    if result < 0:
        fail(f"{what}: {os.strerror(_ctypes.get_errno())}")
    return result


def attempt(*arguments: "int | bytes | None") -> int:
    """Make a system call; its result is negative if it fails."""
    wide = [_Long(each) if isinstance(each, int) else each for each in arguments]
    return int(syscall(*wide))


def confine(
    plan: LaunchPlan, extra: "dict[bytes, list[bytes]]", *, network: bool, sockets: bool
) -> None:
    """Restrict this process, and every program that it becomes."""
    prctl, seccomp, create, add, restrict = plan.numbers["calls"]
    handled, ports, scopes = plan.numbers["handle"]
    attributes = b"".join(_u64(each) for each in (handled, 0 if network else ports, scopes))
    size = plan.numbers["size"][0]
    rules = call("Landlock", create, attributes[:size], size, 0)
    paths = [(rights, path, os.O_PATH) for rights, path in plan.paths]
    for option, added in extra.items():
        rights = plan.numbers[option.decode()[2:]][0]
        how = os.O_WRONLY | os.O_CREAT if option == b"--file" else os.O_PATH
        paths += [(rights, path, how) for path in added]
    for rights, path, how in paths:
        try:
            place = os.open(path, how | os.O_CLOEXEC, 0o666)
        except OSError as failed:
            fail(f"{os.fsdecode(path)}: {failed.strerror}")
        call("Landlock", add, rules, _PATH_BENEATH, _rule(rights, place), 0)
    for rights, path in plan.devices:
        try:
            place = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            continue  # not every machine has every device
        attempt(add, rules, _PATH_BENEATH, _rule(rights, place), 0)  # a pipe needs no rule
    for capability in plan.numbers["drop"]:
        attempt(prctl, _DROP_CAPABILITY, capability, 0, 0, 0)  # only root has something to lose
    attempt(prctl, _AMBIENT_CAPABILITIES, _CLEAR_ALL, 0, 0, 0)
    call("no new privileges", prctl, _NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    call("Landlock", restrict, rules, 0)
    for word, given in plan.filters.items():
        if not given or (word == "offline" and network) or (word == "apart" and sockets):
            continue
        head = (len(given) // 8).to_bytes(8, sys.byteorder)
        code = _Text(given)  # what it holds is the address of the filter
        call("seccomp", seccomp, _SET_FILTER, 0, head + bytes(memoryview(code)))


def _rule(rights: int, place: int) -> bytes:
    return _u64(rights) + place.to_bytes(4, sys.byteorder)


def _u64(number: int) -> bytes:
    return number.to_bytes(8, sys.byteorder)


def fail(why: str, code: int = CANNOT_CONFINE) -> "NoReturn":
    """End with a message."""
    os.write(2, f"muster confine: {why}\n".encode("utf-8", "backslashreplace"))
    os._exit(code)


def main(arguments: "list[str]") -> "NoReturn":
    """Confine this process and become the command."""
    given = [os.fsencode(each) for each in arguments]
    path, *given = given or [b""]
    try:
        with open(path, encoding="ascii") as file:  # noqa: PTH123  (pathlib costs a launcher its time)
            plan = LaunchPlan(file.read())
    except (OSError, ValueError, IndexError) as failed:
        fail(f"the plan cannot be read: {failed}")
    inherited = path.removeprefix(b"/proc/self/fd/")
    if inherited.isdigit():
        os.close(int(inherited))
    extra: dict[bytes, list[bytes]] = {b"--file": [], b"--folder": [], b"--parent": []}
    network = sockets = False
    while given and given[0] != b"--":
        option = given.pop(0)
        if option == b"--network":
            network = True
        elif option == b"--sockets":
            sockets = True
        elif option in extra and given:
            extra[option].append(given.pop(0))
        else:
            fail(f"the option {os.fsdecode(option)} is not known")
    command = given[1:]
    if not command:
        fail("there is no command")
    confine(plan, extra, network=network, sockets=sockets)
    environment = {**os.environb, **dict(plan.variables)}
    for ignored in (_signal.SIGPIPE, _signal.SIGXFSZ):
        _signal.signal(ignored, _signal.SIG_DFL)  # Python ignores them, and a command inherits that
    try:
        os.execvpe(command[0], command, environment)
    except OSError as failed:
        fail(f"{os.fsdecode(command[0])}: {failed.strerror}", NOT_FOUND)
