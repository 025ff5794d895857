"""`sd_notify` against a real socket: ready, signs of life, stopping."""

import json
import socket
import sys
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path

import pytest

from muster.cli.run.notifying import Notifier
from tests.cli.run.test_up import up
from tests.homes import muster
from tests.waits import WAIT_SECONDS, until


@pytest.fixture
def listening(tmp_path: Path) -> Generator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as opened:
        opened.bind(str(tmp_path / "notify"))
        opened.settimeout(WAIT_SECONDS)
        yield opened


def heard(listening: socket.socket, field: str) -> str:
    """The first message with this field."""
    while field not in (message := listening.recv(4096).decode()).splitlines():
        pass
    return message


def forget(listening: socket.socket) -> None:
    """Read what was said so far: a full queue would take nothing more."""
    listening.setblocking(False)
    with suppress(BlockingIOError):
        while listening.recv(4096):
            pass
    listening.settimeout(WAIT_SECONDS)


def test_a_server_says_when_it_is_ready_that_it_lives_and_when_it_stops(
    tmp_path: Path, listening: socket.socket
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    program = f"import os; print(*os.environ, file=open({str(tmp_path / 'seen')!r}, 'w'))"
    command = json.dumps([sys.executable, "-c", program])
    (home / "muster.toml").write_text(f"[agents.a]\ncommand = {command}\n")
    variables = {"NOTIFY_SOCKET": listening.getsockname(), "WATCHDOG_USEC": "300000"}
    with up(home, **variables) as running:
        assert running.url in heard(listening, "READY=1")
        heard(listening, "WATCHDOG=1")
        heard(listening, "WATCHDOG=1")
        assert muster("once", "a", "--home", str(home)).returncode == 0
        until(lambda: (tmp_path / "seen").exists() and (tmp_path / "seen").read_text())
        forget(listening)
        running.process.terminate()
        heard(listening, "STOPPING=1")
        output, _ = running.process.communicate(timeout=WAIT_SECONDS)
    assert "token" not in output  # the journal must not have the secret
    seen = (tmp_path / "seen").read_text()
    assert not {"NOTIFY_SOCKET", "WATCHDOG_USEC"} & set(seen.split())


def test_a_watchdog_for_another_process_is_left_alone() -> None:
    environ = {"NOTIFY_SOCKET": "@nobody", "WATCHDOG_USEC": "1000000", "WATCHDOG_PID": "1"}
    notifier = Notifier.take(environ)
    assert (notifier.is_listening, notifier.watchdog_s, environ) == (True, None, {})
    notifier.send(READY="1")  # nobody listens, and that is no error


def test_without_a_socket_nothing_is_sent() -> None:
    notifier = Notifier.take({})
    assert not notifier.is_listening
    notifier.send(READY="1")
