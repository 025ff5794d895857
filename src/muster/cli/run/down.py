"""`muster down`: ends the server of a home, whatever state it is in."""

import asyncio
import json
import os
import select
import signal
import urllib.error
import urllib.request
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

import click
import msgspec

from muster.cli.options import home_option
from muster.cli.reading import now as wall_clock
from muster.cli.render import count
from muster.cli.shutdown_text import drain_text
from muster.engine.loading import load
from muster.engine.system import SystemClock
from muster.errors import CannotStop, MusterError
from muster.home import address, operator_token
from muster.home.lock import running_pid
from muster.home.restart import giving_up_restart
from muster.machines.state import Session
from muster.runtimes.process import processes
from muster.settings.model import load_settings
from muster.store.opening import open_reader
from muster.views.answers.channels import ShutdownReport

CLOCK: Final = SystemClock()

ASK_SECONDS: Final = 5.0
"""How long a server may take to answer before it counts as hung."""

LATE_SECONDS: Final = 30.0
"""How long the end of a server may take after its drain: programs that ignore signals are killed
well within that."""

KILL_SECONDS: Final = 10.0
"""How long a killed server may take to be gone: a disk that hangs can hold it."""

LEAVE_SECONDS: Final = 2.0
"""How long programs that a killed server left behind have after SIGTERM."""


@click.command()
@home_option
@click.option("--drain", "how", flag_value="drain", default=True, help="Let sessions finish.")
@click.option("--now", "how", flag_value="now", help="Stop sessions now.")
def down(home: Path, how: str) -> None:
    """Stop the server that runs in the home. Wait until it is gone.

    Running sessions may finish by themselves, for server.drain_seconds at most; --now stops them. A
    server that does not answer gets SIGTERM, and SIGKILL if that does not help; then the programs
    that it leaves behind are ended. A `muster restart` that is under way is given up.
    """
    now = how == "now"
    with giving_up_restart(home, LATE_SECONDS) as is_restarting:
        stopped = _stop_running(home, now=now)
    if not is_restarting:  # one may have begun while the server stopped
        with giving_up_restart(home, LATE_SECONDS) as is_restarting:
            pass
    if is_restarting:
        stopped = _stop_running(home, now=now) or stopped
    if not stopped:
        click.echo(f"No muster runs in {home}.")


def _stop_running(home: Path, *, now: bool) -> bool:
    """Stop the server of the home; whether one ran."""
    pid = running_pid(home)
    if pid is not None:
        stop_server(home, pid, now=now)
    return pid is not None


# ── stopping ──────────────────────────────────────────────────────────────────────────────────────


class _Server(NamedTuple):
    home: Path
    pid: int
    handle: int

    def is_gone(self, seconds: float) -> bool:
        """Whether the process has ended, or does so within that many seconds."""
        return bool(select.select([self.handle], [], [], seconds)[0])


def stop_server(home: Path, pid: int, *, now: bool) -> None:
    """Ask the server to stop and wait until it is gone; use force where it does not answer."""
    try:
        handle = os.pidfd_open(pid)
    except OSError:
        return  # it has gone meanwhile
    try:
        _stop(_Server(home, pid, handle), now=now)
    finally:
        os.close(handle)
    click.echo(f"muster in {home} has stopped.")


def _stop(server: _Server, *, now: bool) -> None:
    report = _ask(server.home, "POST", now=now)
    if report is None:
        click.echo(f"muster (process {server.pid}) does not answer: it is sent SIGTERM.", err=True)
        _signal(server.pid, signal.SIGTERM)
    drain_seconds = report.drain_seconds if report else _drain_seconds(server.home)
    _wait(server, (0.0 if now else drain_seconds) + LATE_SECONDS, report)
    if server.is_gone(0):
        return
    _signal(server.pid, signal.SIGKILL)
    if not server.is_gone(KILL_SECONDS):
        raise CannotStop(pid=server.pid)
    click.echo(f"muster (process {server.pid}) did not stop, and was killed.", err=True)
    left = asyncio.run(_end_leftovers(server.home))
    click.echo(f"{count(left, 'program')} that it left running ended.", err=True)


def is_stopping(home: Path) -> bool:
    """Whether the server of the home stops. One that does not answer any more does."""
    report = _ask(home, "GET")
    return report is None or report.shutdown is not None


def _drain_seconds(home: Path) -> float:
    """The drain that the settings name; their mistakes are of no interest here."""
    try:
        return load_settings(home, os.environ).server.drain_seconds
    except MusterError:
        return 0.0


def _wait(server: _Server, seconds: float, report: ShutdownReport | None) -> None:
    """Wait until the server is gone, and say which agents it waits for whenever they change."""
    end, told = CLOCK.monotonic() + seconds, None
    while not server.is_gone(0) and CLOCK.monotonic() < end:
        shutdown = report.shutdown if report else None
        working = [each.agent for each in shutdown.working] if shutdown else []
        if shutdown is not None and working and working != told:
            told = working
            click.echo(f"Stopping: {drain_text(shutdown, wall_clock())}")
        if not server.is_gone(1.0) and report is not None:
            report = _ask(server.home, "GET") or report


def _ask(home: Path, method: str, *, now: bool = False) -> ShutdownReport | None:
    """Ask the server about its shutdown; None if it does not answer in time."""
    found, secret = address.find(home), operator_token.find(home)
    if found is None or secret is None:
        return None
    request = urllib.request.Request(
        f"{found.url}/api/shutdown",
        method=method,
        data=json.dumps({"now": now}).encode() if method == "POST" else None,
        headers={"authorization": f"Bearer {secret}", "content-type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=ASK_SECONDS) as answer:
            return msgspec.json.decode(answer.read(), type=ShutdownReport)
    except (OSError, urllib.error.URLError, msgspec.DecodeError):
        return None


def _signal(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, number)


async def _end_leftovers(home: Path) -> int:
    """End the programs of sessions that the log still has; the next start records them as lost."""
    with open_reader(home) as log:
        sessions = load(log).sessions.values()
    ended = [await _end_leftover(each) for each in sessions]
    return sum(ended)


async def _end_leftover(session: Session) -> bool:
    pid, started = session.pid, session.started
    same = pid is not None and started is not None and processes.start_time(pid) == started
    spared = () if same or pid is None else (pid,)
    group = pid if same else None
    found = await processes.end(session.id, group, seconds=LEAVE_SECONDS, spared=spared)
    return bool(found)
