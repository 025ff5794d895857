"""`muster browsers`: the browsers that are signed in, and signing them out."""

from pathlib import Path
from typing import Final

import click

from muster.cli.acting import print_json, server
from muster.cli.options import home_option, json_option
from muster.cli.render import table
from muster.cli.terminal import look
from muster.client import sign_ins

_COLUMNS: Final = ("BROWSER", "ROLE", "SINCE", "UNTIL")


@click.group()
def browsers() -> None:
    """List the browsers that are signed in; sign one out."""


@browsers.command("list")
@home_option
@json_option("Print the browsers as JSON.")
def list_(home: Path, as_json: bool) -> None:
    """List the browsers that are signed in."""
    with server(home) as client:
        found = client.ask(sign_ins.browsers())
    if as_json:
        print_json(found)
        return
    rows = [
        (each.id, each.role, f"{each.since:%F %H:%M}" if each.since else "-", f"{each.until:%F}")
        for each in found.browsers
    ]
    click.echo(table(_COLUMNS, rows, look()))


@browsers.command("sign-out")
@home_option
@click.argument("browser")
def sign_out(home: Path, browser: str) -> None:
    """Sign a browser out at once. BROWSER is its id, as `muster browsers list` shows it."""
    with server(home) as client:
        client.ask(sign_ins.end_browser(browser))
    click.echo(f"{browser} is signed out.")
