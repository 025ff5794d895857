"""`muster up` as a real process: ready, asked, interrupted, terminated, killed, refused."""

import json
import os
import pty
import re
import select
import signal
import socket
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from typing import Any, NamedTuple

import httpx
import pytest

from muster import Client
from muster.client import requests
from muster.home import address
from muster.http.server import url_for
from muster.version import __version__
from tests.homes import MUSTER_SCRIPT, environment, muster
from tests.live import NO_TLS
from tests.waits import LIFE_SECONDS, WAIT_SECONDS, until


class Up(NamedTuple):
    """A muster that is up."""

    process: subprocess.Popen[str]
    url: str

    def end(self, how: signal.Signals) -> tuple[int, str]:
        """Send a signal; what was the exit code, and what was said on standard error."""
        self.process.send_signal(how)
        _, complaint = self.process.communicate(timeout=WAIT_SECONDS)
        return self.process.returncode, complaint


@contextmanager
def up(home: Path, *args: str, **environ: str) -> Generator[Up]:
    """Start a muster and wait for its line; whatever happens, none is left behind."""
    with subprocess.Popen(
        [MUSTER_SCRIPT, "up", "--home", str(home), "--port", "0", *args],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(environ),
        text=True,
    ) as process:
        bound = Timer(LIFE_SECONDS, process.kill)
        bound.start()
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            found = re.search(r"http://\S+", line)
            assert found, (line, process.communicate(timeout=WAIT_SECONDS))
            yield Up(process, found[0])
        finally:
            process.kill()
            bound.cancel()


def log_of(home: Path) -> list[Any]:  # any JSON value
    ran = muster("log", "--json", "--after", "0", "--home", str(home))
    assert ran.returncode == 0, ran.stderr
    return [json.loads(line) for line in ran.stdout.splitlines()]


def types_of(home: Path) -> list[str]:
    return [event["type"] for event in log_of(home)]


def test_when_the_address_is_printed_health_is_answered(tmp_path: Path) -> None:
    with up(tmp_path / "home") as running:
        answer = httpx.get(f"{running.url}/api/health", verify=NO_TLS)
        assert answer.status_code == 200
        assert answer.json() == {"status": "ok", "version": __version__, "seq": 2}
        assert httpx.get(f"{running.url}/nowhere", verify=NO_TLS).status_code == 404
        assert httpx.post(f"{running.url}/api/health", verify=NO_TLS).status_code == 405


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_in_order(tmp_path: Path, how: signal.Signals) -> None:
    with up(tmp_path) as running:
        assert (tmp_path / "server.json").exists()
        assert running.end(how) == (0, "")
    assert types_of(tmp_path) == [
        "muster_started",
        "token_issued",
        "muster_stopping",
        "muster_stopped",
    ]
    assert not (tmp_path / "server.json").exists()


def test_a_signal_ends_it_though_somebody_is_connected(tmp_path: Path) -> None:
    with up(tmp_path) as running, httpx.Client(verify=NO_TLS) as client:
        client.get(f"{running.url}/api/health")
        assert running.end(signal.SIGTERM) == (0, "")


def test_a_signal_ends_it_though_somebody_waits_for_something_to_happen(tmp_path: Path) -> None:
    with up(tmp_path) as running, httpx.Client(timeout=WAIT_SECONDS, verify=NO_TLS) as client:
        token = (tmp_path / "operator.token").read_text().strip()
        headers = {"authorization": f"Bearer {token}"}
        with client.stream("GET", f"{running.url}/api/events", headers=headers) as events:
            assert events.status_code == 200
            assert running.end(signal.SIGTERM) == (0, "")
            assert "retry:" in events.read().decode()
    assert types_of(tmp_path)[-1] == "muster_stopped"


def test_one_that_was_killed_starts_again_and_loses_nothing(tmp_path: Path) -> None:
    with up(tmp_path) as running:
        assert running.end(signal.SIGKILL)[0] == -signal.SIGKILL
    assert (tmp_path / "server.json").exists()
    left = muster("status", "--home", str(tmp_path))
    assert "server not running" in left.stdout
    with up(tmp_path) as running:
        assert httpx.get(f"{running.url}/api/health", verify=NO_TLS).json()["seq"] >= 3
        assert running.end(signal.SIGTERM) == (0, "")
    assert types_of(tmp_path)[:3] == ["muster_started", "token_issued", "muster_started"]
    assert [event["seq"] for event in log_of(tmp_path)] == [1, 2, 3, 4, 5]


def test_a_second_muster_in_the_same_home_is_refused(tmp_path: Path) -> None:
    with up(tmp_path) as running:
        second = muster("up", "--home", str(tmp_path), "--port", "0")
        assert second.returncode == 3
        assert f"Another muster (process {running.process.pid}) runs in {tmp_path}" in second.stderr
        same_port = muster("up", "--home", str(tmp_path), "--port", running.url.rpartition(":")[2])
        assert same_port.returncode == 3
        assert httpx.get(f"{running.url}/api/health", verify=NO_TLS).status_code == 200
        assert running.end(signal.SIGTERM) == (0, "")
    assert types_of(tmp_path) == [
        "muster_started",
        "token_issued",
        "muster_stopping",
        "muster_stopped",
    ]


def test_a_port_that_is_taken_is_refused_and_nothing_is_left_behind(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ran = muster("up", "--home", str(tmp_path / "home"), "--port", str(port))
    assert ran.returncode == 4
    assert f"Cannot listen on 127.0.0.1:{port}" in ran.stderr
    assert not (tmp_path / "home").exists()


def test_a_host_that_is_not_ours_is_refused(tmp_path: Path) -> None:
    for host in ("192.0.2.1", "no such host"):
        ran = muster("up", "--home", str(tmp_path / "home"), "--host", host, "--port", "0")
        assert ran.returncode == 4
        assert f"Cannot listen on {host}:0" in ran.stderr


def test_settings_and_variables_say_where_to_listen_and_options_win(tmp_path: Path) -> None:
    (tmp_path / "muster.toml").write_text('[server]\nhost = "192.0.2.1"\n[team]\nhuman = "Ada"\n')
    assert muster("up", "--home", str(tmp_path), "--port", "0").returncode == 4
    with up(tmp_path, MUSTER_SERVER_HOST="127.0.0.2") as running:
        assert running.url.startswith("http://127.0.0.2:")
    with up(tmp_path, "--host", "127.0.0.3", "--no-browser") as running:
        assert running.url.startswith("http://127.0.0.3:")
    assert {event.get("human") for event in log_of(tmp_path)} >= {"Ada"}


def test_what_the_settings_say_about_turns_holds_for_a_new_channel(tmp_path: Path) -> None:
    with up(tmp_path, MUSTER_TURNS_DEFAULT_TIMEOUT_SECONDS="7") as running:
        token = (tmp_path / "operator.token").read_text().strip()
        headers = {"authorization": f"Bearer {token}"}
        wish = {"channel": "design", "config": {"waitTimeoutSeconds": 9}}
        where = f"{running.url}/api/channels"
        opened = httpx.post(where, json=wish, headers=headers, verify=NO_TLS).json()
        assert opened["config"]["defaultTimeoutSeconds"] == 7
        assert opened["config"]["waitTimeoutSeconds"] == 9


def test_clients_find_a_running_server_and_only_its_owner_can_look(tmp_path: Path) -> None:
    with up(tmp_path) as running:
        found = address.find(tmp_path)
        options = ("--port", "0")
        pid = running.process.pid
        assert found == address.Address(url=running.url, pid=pid, options=options)
        assert (tmp_path / "server.json").stat().st_mode & 0o777 == 0o600
        status = json.loads(muster("status", "--json", "--home", str(tmp_path)).stdout)
        assert (status["running"], status["url"]) == (True, running.url)
        assert status["pid"] == running.process.pid
        told = muster("status", "--home", str(tmp_path)).stdout
        assert f"server running at {running.url}" in told
        assert "muster log --follow" in told
        assert f"running at {running.url}" in muster("doctor", "--home", str(tmp_path)).stdout


def test_an_address_that_cannot_be_read_is_none(tmp_path: Path) -> None:
    assert address.find(tmp_path) is None
    (tmp_path / "server.json").write_text("{")
    assert address.find(tmp_path) is None
    address.publish(tmp_path, address.Address(url="http://x", pid=1))
    assert address.find(tmp_path) == address.Address(url="http://x", pid=1)
    address.withdraw(tmp_path)
    address.withdraw(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_log_is_refused_and_the_home_is_free_again(tmp_path: Path) -> None:
    (tmp_path / "team.db").write_bytes(os.urandom(8192))
    ran = muster("up", "--home", str(tmp_path), "--port", "0")
    assert ran.returncode == 5
    assert "damaged" in ran.stderr
    (tmp_path / "team.db").unlink()
    with up(tmp_path) as running:
        assert running.end(signal.SIGTERM) == (0, "")


@pytest.mark.parametrize("left", [None, b""])
def test_a_home_whose_log_is_gone_begins_no_new_team(tmp_path: Path, left: bytes | None) -> None:
    with up(tmp_path) as running:
        assert running.end(signal.SIGTERM) == (0, "")
    token = (tmp_path / "operator.token").read_text()
    for each in tmp_path.glob("team.db*"):
        each.unlink()
    if left is not None:
        (tmp_path / "team.db").write_bytes(left)
    for verb in (("up", "--port", "0"), ("status",)):
        ran = muster(*verb, "--home", str(tmp_path))
        assert ran.returncode == 5, ran.stderr
        assert "team.db is damaged (missing or empty, though there is operator.token" in ran.stderr
    assert "missing or empty" in muster("doctor", "--home", str(tmp_path)).stdout
    assert (tmp_path / "operator.token").read_text() == token
    (tmp_path / "operator.token").unlink()
    with up(tmp_path) as running:
        assert running.end(signal.SIGTERM) == (0, "")


def test_an_ipv6_address_is_written_as_browsers_want_it() -> None:
    assert url_for("::1", 6878) == "http://[::1]:6878"
    assert url_for("127.0.0.1", 6878) == "http://127.0.0.1:6878"


@pytest.mark.parametrize(("options", "opened"), [((), True), (("--no-browser",), False)])
def test_on_a_terminal_with_a_screen_the_dashboard_opens_unless_told_not_to(
    tmp_path: Path, options: tuple[str, ...], opened: bool
) -> None:
    shown, browser = tmp_path / "shown", tmp_path / "browser"
    os.mkfifo(shown)
    browser.write_text(f'#!/bin/sh\nprintf %s "$1" > "{shown}"\n')
    browser.chmod(0o700)
    told = os.open(shown, os.O_RDONLY | os.O_NONBLOCK)
    terminal, inside = pty.openpty()
    environ = {"DISPLAY": ":0", "BROWSER": f"'{browser}' %s"}
    command = [MUSTER_SCRIPT, "up", "--home", str(tmp_path / "home"), "--port", "0", *options]
    with subprocess.Popen(command, stdout=inside, env=environment(environ)) as process:
        bound = Timer(LIFE_SECONDS, process.kill)
        bound.start()
        try:
            printed = b""
            while b"Sign in: " not in printed or not printed.endswith(b"\n"):
                printed += os.read(terminal, 4096)
            link = printed.decode().partition("Sign in: ")[2].split()[0]
            if opened:
                assert select.select([told], [], [], WAIT_SECONDS)[0]
                assert os.read(told, 4096).decode() == link
        finally:
            process.terminate()
            process.wait(WAIT_SECONDS)
            bound.cancel()
            os.close(terminal)
            os.close(inside)
    if not opened:
        assert os.read(told, 4096) == b""  # nobody has written, now that it has ended
    os.close(told)


def test_a_home_that_is_deleted_under_a_running_muster_ends_it_with_one_line(
    tmp_path: Path,
) -> None:
    home = tmp_path / "team" / ".muster"
    home.mkdir(parents=True)
    (home / "muster.toml").write_text('[agents.a]\ncommand = ["sleep", "600"]\nautostart = true\n')
    with up(home, "--no-browser") as running, Client(home=home) as client:
        until(lambda: (session := client.ask(requests.run_state("a")).session) and session.pid)
        session = client.ask(requests.run_state("a")).session
        assert session is not None
        home.rename(tmp_path / "away")  # in one step: muster may be writing into it
        _, complaint = running.process.communicate(timeout=WAIT_SECONDS)
    assert running.process.returncode == 4
    assert "was deleted or replaced while muster ran" in complaint.splitlines()[-1]
    assert "Traceback" not in complaint
    assert not Path(f"/proc/{session.pid}").exists()
