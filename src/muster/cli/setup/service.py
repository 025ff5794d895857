"""`muster service`: the team as a systemd user service, which starts with the machine."""

import os
from pathlib import Path

import click

from muster.cli.options import home_option
from muster.cli.reading import running
from muster.cli.run.open import new_sign_in_link
from muster.cli.setup.systemd import is_lingering, systemctl, unit_name, unit_path, unit_text
from muster.settings.model import load_settings


@click.group()
def service() -> None:
    """Run the team as a systemd user service."""


@service.command()
@home_option
@click.option("--print", "only_print", is_flag=True, help="Only print the unit; change nothing.")
def install(home: Path, only_print: bool) -> None:
    """Write the unit of the team, start it now and with every login.

    systemd restarts muster when it fails or hangs. Stopping the unit drains first. With lingering
    (`loginctl enable-linger`) it starts with the machine, without a login.
    """
    settings = load_settings(home, os.environ)
    path = os.environ.get("PATH", os.defpath)
    text = unit_text(home, drain_seconds=settings.server.drain_seconds, path=path)
    target, name = unit_path(home), unit_name(home)
    click.echo(f"# {target}\n{text}")
    if only_print:
        return
    systemctl("daemon-reload")  # refuses before anything is written, if no systemd runs
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text)
    systemctl("daemon-reload")
    systemctl("enable", "--now", name)
    click.echo(f"{name} is enabled and runs. `journalctl --user -u {name}` shows its log.")
    _tell_link(home)
    if not is_lingering():
        click.echo(
            "It starts when you log in. `loginctl enable-linger` starts it with the machine."
        )


@service.command()
@home_option
def remove(home: Path) -> None:
    """Stop the unit of the team, and remove it. The team itself stays."""
    target, name = unit_path(home), unit_name(home)
    if not target.exists():
        click.echo(f"There is no {target}: nothing to remove.")
        return
    systemctl("disable", "--now", name)
    target.unlink()
    systemctl("daemon-reload")
    click.echo(f"{name} is stopped and removed. The team stays in {home}.")


@service.command()
@home_option
def status(home: Path) -> None:
    """Show whether the unit of the team is installed and runs."""
    target, name = unit_path(home), unit_name(home)
    if not target.exists():
        click.echo(f"{name} is not installed. `muster service install` installs it.")
        return
    click.echo(f"{name}: {systemctl('is-enabled', name)}, {systemctl('is-active', name)}")
    click.echo(f"Unit: {target}\nLog: journalctl --user -u {name}")
    _tell_link(home)


def _tell_link(home: Path) -> None:
    """The link that signs a browser in; the journal must not have it."""
    found = running(home)
    if found is not None and found.url:
        click.echo(f"Sign in: {new_sign_in_link(home)}")
