"""A fork server for the command line: it imports muster once, and forks for every command.

Importing muster takes most of the time of a short command, and the tests run many hundred. Each
command is still a process of its own, with its own arguments, environment, folder, standard
streams, signals and exit code; only the imports are shared. Tests of the start itself run the
installed script (`tests/cli/run/test_up.py`, `tests/guides`).

    python -m tests.forkserver FD       serves requests from the socket FD until it is closed
"""

import atexit
import gc
import os
import select
import selectors
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import Final, NoReturn, TextIO

import msgspec

from muster.__main__ import main
from muster.cli.verbs import HIDDEN, VERBS

REQUEST_BYTES_MAX: Final = 100_000
"""A request is one packet. Longer command lines are run by the installed script."""

ERRORS_BYTES_MAX: Final = 1_000_000

AT_START: Final = ("PYTHON", "LC_", "LANG")
"""Prefixes of variables that Python reads when it starts: too late for a forked process."""


LOADED_LATE: Final = (
    "muster.mcp.serving",
    "muster.runtimes.acp.session",
    "muster.runtimes.claude.starting",
)
"""Modules that a server imports when it first needs them, two with an SDK, which takes a second."""


class Request(msgspec.Struct):
    """A command line to run. Its three standard streams and a pipe for reports come with it."""

    args: list[str]
    env: dict[str, str]
    cwd: str


class ForkedProcess:
    """A process that the fork server started, with the part of `subprocess.Popen` that tests use.

    Standard input is a given text, standard output a pipe or a file, and standard error a file.
    """

    def __init__(
        self,
        args: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: Path | None = None,
        stdin: str = "",
        piped: bool = False,
    ) -> None:
        self.args = args
        self.returncode: int | None = None
        self._one_reads = Lock()  # a timer may kill it while the test waits for it
        self._errors = _memory_file("stderr")
        if piped:
            reading, writing = os.pipe()
            self.stdout: TextIO = os.fdopen(reading, encoding="utf-8")
        else:
            self.stdout = _memory_file("stdout")
            writing = os.dup(self.stdout.fileno())
        self._report, report = os.pipe()
        request = Request(list(args), dict(env), str(cwd or Path.cwd()))
        with _memory_file("stdin", stdin) as given:
            streams = [given.fileno(), writing, self._errors.fileno(), report]
            socket.send_fds(_fork_server(), [msgspec.msgpack.encode(request)], streams)
        os.close(writing)
        os.close(report)
        self.pid = self._told()

    def _told(self) -> int:
        """The next number from the fork server: the process id, and then the exit code."""
        text = b""
        while not text.endswith(b"\n"):
            read = os.read(self._report, 1)
            assert read, "the fork server ended"
            text += read
        return int(text)

    def poll(self) -> int | None:
        """The exit code, if the process has ended."""
        return self._waited(0)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end, and return the exit code."""
        code = self._waited(timeout)
        if code is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0)
        return code

    def _waited(self, seconds: float | None) -> int | None:
        if self.returncode is None and select.select([self._report], [], [], seconds)[0]:
            with self._one_reads:
                self.returncode = self._told() if self.returncode is None else self.returncode
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal, unless the process has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask the process to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End the process at once, and wait for that: the next command may start within a
        millisecond, and would find its lock still held.
        """
        self.send_signal(signal.SIGKILL)
        self.wait()

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """Wait for the end, and return the rest of the output, and all errors."""
        self.wait(timeout)
        if self.stdout.seekable():
            self.stdout.seek(0)
        self._errors.seek(0)
        said = self.stdout.read(), self._errors.read()
        self.close()
        return said

    def errors(self) -> str:
        """Standard error so far; none after `communicate`."""
        if self._errors.closed:
            return ""
        return os.pread(self._errors.fileno(), ERRORS_BYTES_MAX, 0).decode("utf-8", "replace")

    def close(self) -> None:
        """Kill the process if it is still there, and close its streams."""
        self.kill()
        self.wait()
        if not self.stdout.closed:
            os.close(self._report)
        self.stdout.close()
        self._errors.close()


def can_fork(args: Sequence[str], changes: Mapping[str, str]) -> bool:
    """Whether a forked process behaves as a started one does."""
    length = sum(map(len, args))
    return length < REQUEST_BYTES_MAX and not any(name.startswith(AT_START) for name in changes)


def _memory_file(name: str, text: str = "") -> TextIO:
    file = os.fdopen(os.memfd_create(name), "w+", encoding="utf-8")
    file.write(text)
    file.seek(0)
    return file


@cache
def _fork_server() -> socket.socket:
    """The fork server of this process, which ends with it."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-m", __name__, str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            cwd=Path(__file__).parent.parent,
        )

    def end() -> None:
        ours.close()
        process.wait()

    atexit.register(end)
    return ours


# ── the process that forks ────────────────────────────────────────────────────────────────────────


def serve(requests: socket.socket) -> NoReturn:
    """Fork for each request, report the process id, and the exit code when there is one."""
    verbs = (f"muster.cli.{verb.module}" for verb in (*VERBS.values(), *HIDDEN.values()))
    for module in (*verbs, *LOADED_LATE):
        import_module(module)
    gc.freeze()
    ready = selectors.DefaultSelector()
    ready.register(requests, selectors.EVENT_READ)
    while True:
        for key, _ in ready.select():
            if key.fileobj is not requests:
                ready.unregister(key.fileobj)
                _report_end(key.fd, *key.data)
                continue
            message, received, _, _ = socket.recv_fds(requests, 2 * REQUEST_BYTES_MAX, 4)
            if not message:
                os._exit(0)
            *streams, report = received
            pid = os.fork()
            if pid == 0:
                _become(msgspec.msgpack.decode(message, type=Request), streams)
            for each in streams:
                os.close(each)
            os.write(report, f"{pid}\n".encode())
            ready.register(os.pidfd_open(pid), selectors.EVENT_READ, (pid, report))


def _report_end(process: int, pid: int, report: int) -> None:
    _, status = os.waitpid(pid, 0)
    os.close(process)
    with suppress(BrokenPipeError):  # the test has ended
        os.write(report, f"{os.waitstatus_to_exitcode(status)}\n".encode())
    os.close(report)


def _become(request: Request, streams: Sequence[int]) -> NoReturn:
    """Run the command line in this process, as the installed script does."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    # Python looks at the kind of a stream when it opens it: these were /dev/null
    sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, encoding="utf-8", closefd=False)
    os.environ.clear()
    os.environ.update(request.env)
    os.chdir(request.cwd)
    sys.argv = request.args
    main()


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
