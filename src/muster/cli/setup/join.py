"""`muster join`: a home for a team that is in a database already."""

import asyncio
from pathlib import Path

import click

from muster.cli.options import home_option
from muster.cli.render import clean
from muster.errors import HomeNotEmpty
from muster.home.database import TeamDatabase, default_team, has_log, keep
from muster.home.folder import make_home
from muster.reloading.editing import create_settings
from muster.settings.model import SETTINGS_FILE
from muster.settings.rules import is_database_url, is_name
from muster.store.opening import begin_team


@click.command()
@home_option
@click.option("--team", metavar="NAME", help="Name of the team [the name of the folder].")
@click.option("--node", metavar="NAME", help="Name of this machine in the team [that of the host].")
@click.argument("url")
@click.pass_context
def join(ctx: click.Context, home: Path, team: str | None, node: str | None, url: str) -> None:
    """Make a home for a team that is in the database URL.

    The home must not have a team. Its settings are its own: `muster.toml` says which agents run on
    this machine. `muster up` then runs it.
    """
    if not is_database_url(url):
        raise click.UsageError("Name the database: postgresql://USER@HOST/DATABASE.", ctx)
    if node is not None and not is_name(node):
        raise click.UsageError("--node is a name of up to 200 characters without spaces.", ctx)
    if has_log(home):
        raise HomeNotEmpty(home=str(home))
    kept = TeamDatabase(url=url, team=team or default_team(home), node=node or "")
    asyncio.run(begin_team(kept, is_new=False))
    make_home(home)
    create_settings(home / SETTINGS_FILE)
    keep(home, kept)
    click.echo(clean(f"{home}: a home of {kept.place}. `muster up` runs it."))
