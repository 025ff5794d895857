"""`muster team`: the team as a template; read from the settings and the log, without a server."""

import sys
from pathlib import Path

import click

from muster.cli.look.exporting import write_private
from muster.cli.options import home_option
from muster.cli.render import clean, count
from muster.engine.loading import load
from muster.errors import NoTeam
from muster.machines.state import Team
from muster.settings.file import parsed, text_of
from muster.settings.model import SETTINGS_FILE, read_settings
from muster.store.opening import open_reader
from muster.templates.exporting import write_template
from muster.templates.reading import check_template


@click.group()
def team() -> None:
    """Export the team as a template for other teams."""


@team.command()
@home_option
@click.option("--about", default="", metavar="TEXT", help="What the team is for, in a line.")
@click.option(
    "--template",
    "file",
    required=True,
    metavar="FILE",
    type=click.Path(path_type=Path, allow_dash=True),
    help="Write the template to this file; `-` prints it.",
)
def export(home: Path, about: str, file: Path) -> None:
    """Export roles, souls, settings and channels, for `muster init --from FILE`.

    Messages, notes, tokens, the values of environment variables and paths of this machine are left
    out; what was left out is listed. Souls and commands are texts of yours: read the file before
    you pass it on. `muster export` copies a whole team to another machine instead.
    """
    path = home / SETTINGS_FILE
    text = text_of(path) or ""
    document = parsed(path, text)
    settings = read_settings(path, text, document, {})
    project = home.absolute().parent
    written = write_template(document, settings, _team(home), project, about)
    template = check_template(file, written.text)
    if str(file) == "-":
        sys.stdout.write(written.text)
        return
    write_private(file, written.text.encode())
    agents = count(len(template.settings.agents), "agent")
    channels = count(len(template.settings.channels), "channel")
    click.echo(clean(f"{file}: {agents}, {channels}"))
    for each in written.left_out:
        click.echo(clean(f"left out: {each}"))


def _team(home: Path) -> Team:
    """The team as its log has it; an empty one before the first start."""
    try:
        with open_reader(home) as reader:
            return load(reader)
    except NoTeam:
        return Team()
