"""`muster restart`: restarts the server of a home, as it was started."""

from pathlib import Path

import click

from muster.cli.options import home_option
from muster.cli.run.detaching import start_detached
from muster.cli.run.down import stop_server
from muster.cli.setup.systemd import systemctl
from muster.errors import NotRunning
from muster.home import address
from muster.home.lock import running_pid


@click.command()
@home_option
@click.option("--now", is_flag=True, help="Stop sessions now, instead of letting them finish.")
def restart(home: Path, now: bool) -> int:
    """Restart the server of the home.

    `muster down`, then `muster up --detach` with the options that it was started with.

    Running sessions may finish first. A server that systemd runs is started by systemd again; any
    other one runs in the background afterwards.
    """
    pid = running_pid(home)
    if pid is None:
        raise NotRunning(home=home)
    found = address.find(home)
    options, cwd = _options(found), _folder(pid)
    stop_server(home, pid, now=now)
    if found is not None and found.unit:
        systemctl("start", found.unit)
        click.echo(f"muster runs again, as {found.unit}.")
        return 0
    return start_detached(home, options, cwd)


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
