"""`muster restart`: restarts the given agents, or without a name the server of the home.

The server is started as it was started before.
"""

import os
from pathlib import Path
from typing import Final, Unpack

import click

from muster.cli.act.run_control import RunRequest, request_run, run_options
from muster.cli.run.detaching import start_detached
from muster.cli.run.down import is_stopping, stop_server
from muster.cli.setup.systemd import systemctl
from muster.errors import NotRunning
from muster.home import address
from muster.home.lock import running_pid
from muster.home.restart import RestartGivenUp, restarting
from muster.settings.model import load_settings

INTERRUPTED: Final = 130
TERMINATED: Final = 143


@click.command()
@run_options
@click.option("--now", is_flag=True, help="End sessions now, instead of letting them finish.")
def restart(now: bool, **request: Unpack[RunRequest]) -> int:
    """Restart agents, or the server if none is named.

    An agent's session ends after its work, and another starts. The desired state does not change: a
    paused agent is refused.

    The server is stopped as by `muster down` and started as it was started before: by systemd if
    systemd runs it, else in the background. With wrong settings it is not stopped. Ctrl-C and
    SIGTERM end the restart, not the stop: the last line says which server runs then.
    """
    if request["names"] or request["everybody"] or request["groups"]:
        request_run(None, now=now, **request)
        return 0
    if request["wait"] or request["note"] is not None or request["as_json"]:
        raise click.UsageError("--wait, --note and --json are for agents: name them.")
    if request["timeout_s"] is not None:
        raise click.UsageError("--timeout is for agents: name them.")
    return _restart_server(request["home"], now=now)


def _restart_server(home: Path, *, now: bool) -> int:
    pid = _require_running(home)
    load_settings(home, os.environ)  # with wrong ones it could not be started again
    try:
        with restarting(home):
            pid = _require_running(home)  # a `muster down` may have been quicker
            return _stop_and_start(home, pid, address.find(home), now=now)
    except KeyboardInterrupt:
        click.echo(f"\nCtrl-C ended the restart. {_state(home, pid)}", err=True)
        return INTERRUPTED
    except RestartGivenUp:
        why = "SIGTERM (`muster down` sends it) ended the restart."
        click.echo(f"{why} {_state(home, pid)}", err=True)
        return TERMINATED


def _require_running(home: Path) -> int:
    """The process of the server."""
    pid = running_pid(home)
    if pid is None:
        raise NotRunning(home=home)
    return pid


def _stop_and_start(home: Path, pid: int, found: address.Address | None, *, now: bool) -> int:
    options, cwd = _options(found), _folder(pid)
    stop_server(home, pid, now=now)
    if found is None or not found.unit:
        return start_detached(home, options, cwd)
    systemctl("start", found.unit)
    click.echo(f"muster runs again, as {found.unit}.")
    return 0


def _state(home: Path, before: int) -> str:
    """Which server runs after a restart that was cut short; `before` is the one that ran."""
    pid = running_pid(home)
    if pid is None:
        return "muster has stopped and was not started again; `muster up --detach` starts it."
    if pid != before:
        return f"The new muster runs (process {pid}); `muster status` says when it is up."
    if is_stopping(home):
        return (
            f"muster (process {pid}) still stops, as it was asked to, and is not started again;"
            " `muster up --detach` starts it when it has stopped."
        )
    return f"muster (process {pid}) runs on: it was not asked to stop yet."


def _options(found: address.Address | None) -> tuple[str, ...]:
    """The options that the server was started with, and the port that it listens on."""
    if found is None:
        return ("--no-browser",)
    return (*found.options, "--port", found.url.rpartition(":")[2], "--no-browser")


def _folder(pid: int) -> str | None:
    """The working folder of the server, where the system tells it."""
    try:
        return str(Path(f"/proc/{pid}/cwd").readlink())
    except OSError:
        return None
