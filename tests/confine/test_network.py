"""A command without a network reaches neither TCP, in whatever way it begins, nor a daemon."""

import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from muster.confine.policy import ConfinePolicy
from tests.confine.launchers import LAUNCHERS, launch, written
from tests.waits import WAIT_SECONDS

BEGIN: Final = "import os, socket, sys; port = int(sys.argv[1]); here = ('127.0.0.1', port)\n"
TCP: Final = {
    "connect": "socket.create_connection(here)",
    "fast open": (
        "socket.socket().sendto(b'hi', socket.MSG_FASTOPEN, here)"  # connects and sends at once
    ),
    "multipath": "socket.socket(proto=262).connect(here)",
    "listen without an address": "socket.socket().listen()",
    "IPv6": "socket.socket(socket.AF_INET6).listen()",
    "flags beside the type": "socket.socket(type=socket.SOCK_STREAM | socket.SOCK_NONBLOCK)",
    "another family": "socket.socket(socket.AF_VSOCK)",
    "a daemon": "socket.socket(socket.AF_UNIX)",  # it would write or run what it is asked to
    "a daemon by a pair": "socket.socketpair(type=socket.SOCK_DGRAM)",  # it sends anywhere
    "a daemon by a raw pair": "socket.socketpair(type=socket.SOCK_RAW)",
    "raw": "socket.socket(type=socket.SOCK_RAW, proto=6)",
    "packets": "socket.socket(socket.AF_PACKET, socket.SOCK_RAW)",
}
NEED_ROOT: Final = ("raw", "packets")
LOCAL: Final = {
    "a pair": "a, b = socket.socketpair(); a.send(b'hi'); assert b.recv(2) == b'hi'",
    "netlink": "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)",
    "UDP": "socket.socket(type=socket.SOCK_DGRAM).sendto(b'hi', here)",
    "UDP over IPv6": "socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)",
    "a name": "socket.getaddrinfo('localhost', port)",
    "a loop": "import asyncio; asyncio.run(asyncio.sleep(0))",
}


@pytest.fixture(scope="module")
def port() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield str(listener.getsockname()[1])


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    return written(tmp_path, ConfinePolicy())


def script(line: str, port: str) -> tuple[str, ...]:
    return "--", sys.executable, "-I", "-S", "-c", BEGIN + line, port


@pytest.mark.parametrize("launcher", LAUNCHERS)
@pytest.mark.parametrize("way", TCP)
def test_no_way_leads_to_tcp_or_to_a_daemon_without_a_network(
    way: str, launcher: str, plan: Path, port: str
) -> None:
    ran = launch(launcher, plan, *script(TCP[way], port))
    assert "PermissionError: [Errno 13] Permission denied" in ran.stderr


@pytest.mark.parametrize("way", [way for way in TCP if way not in NEED_ROOT])
def test_every_way_is_open_with_a_network_and_unconfined(
    way: str, plan: Path, port: str, tmp_path: Path
) -> None:
    allowed = written(tmp_path, ConfinePolicy(network=True, sockets=True))
    plain = subprocess.run(
        script(TCP[way], port)[1:],
        timeout=WAIT_SECONDS,
        capture_output=True,
        text=True,
        check=False,
    )
    if "PermissionError" not in plain.stderr and plain.returncode:
        pytest.skip(f"this kernel has no such socket: {plain.stderr.splitlines()[-1]}")
    assert plain.returncode == 0, plain.stderr
    for launcher in LAUNCHERS:
        assert launch(launcher, allowed, *script(TCP[way], port)).stderr == ""
        open_line = ("--network", "--sockets", *script(TCP[way], port))
        assert launch(launcher, plan, *open_line).stderr == ""


@pytest.mark.parametrize("way", LOCAL)
def test_pairs_of_sockets_and_udp_stay_without_a_network(way: str, plan: Path, port: str) -> None:
    for launcher in LAUNCHERS:
        ran = launch(launcher, plan, *script(LOCAL[way], port))
        assert (ran.returncode, ran.stderr) == (0, "")


# ── a network without daemons ─────────────────────────────────────────────────────────────────────

TCP_FREE: Final = ("listen without an address", "a pair", "netlink", "UDP", "a name", "a loop")


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[str]:
    """A daemon that listens on a path which the command may write, and greets."""
    path = tmp_path / "daemon.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        yield str(path)


def reach(launcher: str, plan: Path, daemon: str, *options: str) -> str:
    code = "import socket, sys\ns = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])"
    line = (*options, "--", sys.executable, "-I", "-S", "-c", code, daemon)
    return launch(launcher, plan, *line).stderr


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_a_network_leads_to_no_daemon_unless_the_policy_has_sockets(
    launcher: str, daemon: str, tmp_path: Path, port: str
) -> None:
    plan = written(tmp_path, ConfinePolicy((str(tmp_path),), network=True))
    assert "PermissionError: [Errno 13]" in reach(launcher, plan, daemon)
    assert reach(launcher, plan, daemon, "--sockets") == ""
    for way in ("connect", *TCP_FREE):
        ran = launch(launcher, plan, *script((TCP | LOCAL)[way], port))
        assert ran.returncode == 0, ran.stderr
    allowed = written(tmp_path, ConfinePolicy(network=True, sockets=True))
    assert reach(launcher, allowed, daemon) == ""


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_a_line_with_a_network_reaches_daemons_only_if_it_is_told_to(
    launcher: str, daemon: str, plan: Path
) -> None:
    assert "PermissionError: [Errno 13]" in reach(launcher, plan, daemon, "--network")
    assert "PermissionError: [Errno 13]" in reach(launcher, plan, daemon, "--sockets")
    assert reach(launcher, plan, daemon, "--network", "--sockets") == ""
