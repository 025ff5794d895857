"""`muster open`: the dashboard of a running server, in a browser that is signed in."""

import os
import sys
import webbrowser
from pathlib import Path

import click

from muster.cli.acting import server
from muster.cli.options import home_option
from muster.client import sign_ins
from muster.client.transport import locate
from muster.home import address
from muster.http.signing_in.codes import CODE_MINUTES, sign_in_link


@click.command(name="open")
@home_option
@click.option("--no-browser", is_flag=True, help="Only print the link.")
def open_(home: Path, no_browser: bool) -> None:
    """Open the dashboard, or print a link that signs a browser in.

    The link signs one browser in, once. It is opened if there is a screen, and printed always.
    """
    link = new_sign_in_link(home)
    click.echo(link)
    click.echo(f"It signs one browser in, within {CODE_MINUTES} minutes.", err=True)
    if not no_browser and has_screen():
        webbrowser.open(link)


globals()["open"] = open_  # the verb is a word that Python keeps for itself


def new_sign_in_link(home: Path) -> str:
    """A new link to the server of a home."""
    with server(home) as client:
        code = client.ask(sign_ins.sign_in_code()).code
    found = locate(None, None, home, os.environ).url
    here = address.find(home)
    public = here.public_url if here is not None and here.url == found else ""
    return sign_in_link(public or found, code)


def has_screen() -> bool:
    """Whether a browser can be shown to the person at this terminal."""
    screen = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    return bool(screen) and sys.stdout.isatty()
