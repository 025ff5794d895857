"""Starting a server in the background: wait until it is ready, or show why it is not."""

import os
import selectors
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import click

from muster.cli.run.notifying import SOCKET_VARIABLE, WATCHDOG_VARIABLES
from muster.cli.run.open import new_sign_in_link
from muster.engine.system import SystemClock
from muster.home import address

CLOCK: Final = SystemClock()

READY_SECONDS: Final = 120.0
"""How long a server may take to be ready: a large log is read in seconds."""


GIVE_UP_SECONDS: Final = 30.0
"""How long a server that is given up while it starts may take to end in order."""


def start_detached(home: Path, options: Sequence[str], cwd: str | None = None) -> int:
    """Start a server in a session of its own; returns its exit code, or 0 when it is ready."""
    with tempfile.TemporaryDirectory(prefix="muster-") as folder, _socket(folder) as ready:
        errors = Path(folder) / "errors"
        with errors.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "muster", "up", "--home", str(home), *options, "--detached"],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                env=_environment(ready.getsockname()),
                cwd=cwd,
            )
        try:
            is_ready = _wait(ready, process)
        except BaseException:  # Ctrl-C: a server that nobody waits for is not wanted
            process.terminate()
            with suppress(subprocess.TimeoutExpired):  # so that the caller can say how it ended
                process.wait(GIVE_UP_SECONDS)
            raise
        code = process.poll()
        if code is not None and not is_ready:
            click.echo(errors.read_text(errors="replace"), err=True, nl=False)
            return code
    _tell(home, process.pid, is_ready=is_ready)
    return 0


def _socket(folder: str) -> socket.socket:
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    listening.bind(str(Path(folder) / "ready"))
    return listening


def _environment(path: str) -> dict[str, str]:
    kept = {name: text for name, text in os.environ.items() if name not in WATCHDOG_VARIABLES}
    return kept | {SOCKET_VARIABLE: path}


def _wait(ready: socket.socket, process: subprocess.Popen[bytes]) -> bool:
    """Whether the server has said that it is ready, before it ended or the time was over."""
    end = CLOCK.monotonic() + READY_SECONDS
    with selectors.DefaultSelector() as waiting:
        waiting.register(ready, selectors.EVENT_READ)
        handle = os.pidfd_open(process.pid)
        waiting.register(handle, selectors.EVENT_READ)
        try:
            while (left := end - CLOCK.monotonic()) > 0:
                for key, _ in waiting.select(left):
                    if key.fileobj is not ready:
                        process.wait()
                        return False
                    if b"READY=1" in ready.recv(4096):
                        return True
        finally:
            with suppress(OSError):
                os.close(handle)
    return False


def _tell(home: Path, pid: int, *, is_ready: bool) -> None:
    found = address.find(home)
    if not is_ready or found is None:
        click.echo(f"muster (process {pid}) is still starting; `muster status` says when it is up.")
        return
    click.echo(f"muster is up at {found.url} for {home}, in the background (process {pid}).")
    click.echo(f"Sign in: {new_sign_in_link(home)}")
    click.echo("`muster down` stops it; its log is server.log in the home.")
