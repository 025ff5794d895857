"""`muster move-store`: the log of a home into a database, and back."""

import asyncio
import os
from pathlib import Path

import click

from muster.backup.moving import move_home, move_to_database
from muster.cli.options import home_option
from muster.cli.progress import ProgressLine
from muster.cli.render import clean, count
from muster.errors import DatabaseInSettings
from muster.home.database import TeamDatabase, default_team
from muster.settings.model import SETTINGS_FILE, load_settings
from muster.settings.rules import is_database_url


@click.command("move-store")
@home_option
@click.option("--back", is_flag=True, help="Move the log out of its database into the home.")
@click.option("--team", metavar="NAME", help="Name of the team in the database [store.team].")
@click.argument("url", required=False)
@click.pass_context
def move_store(
    ctx: click.Context, home: Path, back: bool, team: str | None, url: str | None
) -> None:
    """Move the log into the PostgreSQL database URL, or back.

    The server must not run. Every event is copied as it is and compared; what was moved stays as
    a copy that is not used. A move that was interrupted is finished by the same command. Without
    URL it is store.database.
    """
    if back:
        if url or team:
            raise click.UsageError("--back takes neither an address nor a name.", ctx)
        _back(home)
        return
    settings = load_settings(home, os.environ).store
    url = url or settings.database
    if not is_database_url(url):
        raise click.UsageError("Name the database: postgresql://USER@HOST/DATABASE.", ctx)
    target = TeamDatabase(url=url, team=team or settings.team or default_team(home))
    with ProgressLine() as line:
        moved = asyncio.run(move_to_database(home, target, line.show))
    click.echo(clean(f"{count(moved.events, 'event')} moved to {moved.place}."))
    click.echo(clean(f"{moved.kept} is the former log, and not used any more."))


def _back(home: Path) -> None:
    if load_settings(home, os.environ).store.database:
        raise DatabaseInSettings(path=home / SETTINGS_FILE)
    with ProgressLine() as line:
        moved = asyncio.run(move_home(home, line.show))
    click.echo(clean(f"{count(moved.events, 'event')} moved to {moved.place}."))
    click.echo(clean(f"{moved.kept}: the former log, and not used any more."))
