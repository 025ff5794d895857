"""`muster archive`: old events in compressed files, which are read as before."""

from datetime import UTC, datetime
from pathlib import Path

import click

from muster.backup.archiving import archive_home
from muster.cli.acting import print_json
from muster.cli.options import home_option, json_option
from muster.cli.progress import ProgressLine
from muster.cli.render import count, file_size
from muster.views.answers import View


class ArchiveReport(View, frozen=True, kw_only=True):
    """The numbers of a run, for `--json`."""

    events: int
    files: int
    bytes: int
    upto: int


@click.command()
@home_option
@json_option("Print the result as JSON.")
@click.option(
    "--before",
    metavar="DATE",
    required=True,
    type=click.DateTime(("%Y-%m-%d", "%Y-%m-%dT%H:%M:%S")),
    help="Archive events before this day, such as 2026-01-31 (UTC).",
)
def archive(home: Path, as_json: bool, before: datetime) -> None:
    """Move old events into compressed files.

    Everything reads them as before: log, history, why, search, the dashboard, doctor --verify and
    backup. The server may run meanwhile. A run that is interrupted loses nothing: run it again.
    """
    with ProgressLine() as line:
        done = archive_home(home, before.replace(tzinfo=UTC), line.show)
    if as_json:
        report = ArchiveReport(
            events=done.events, files=done.files, bytes=done.size, upto=done.upto
        )
        print_json(report)
    elif done.events:
        files = count(done.files, "file")
        events = count(done.events, "event")
        click.echo(f"{events} archived, up to event {done.upto}: {files}, {file_size(done.size)}")
    else:
        click.echo("There is nothing older that is not archived.")
