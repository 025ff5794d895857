"""`muster backup`: the whole home in one verified file; the server may run meanwhile."""

from pathlib import Path

import click

from muster.backup.making import make_backup
from muster.cli.options import home_option
from muster.cli.progress import ProgressLine
from muster.cli.render import count, file_size
from muster.engine.system import SystemClock


@click.command()
@home_option
@click.option("--with-output", is_flag=True, help="Also the complete output of programs.")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
def backup(home: Path, with_output: bool, file: Path) -> None:
    """Back the team up into one verified file.

    FILE gets log, settings and attached files. The backup is the team as it is now, also while it
    runs, and nobody waits for it. The file is verified before it gets its name. It has every
    message, and is for its owner alone. The tokens of the server are not in it.
    """
    with ProgressLine() as line:
        made = make_backup(
            home,
            file.absolute(),
            now=SystemClock().wall(),
            with_output=with_output,
            progress=line.show,
        )
    files = count(len(made.manifest.files), "file")
    events = count(made.manifest.events, "event")
    click.echo(f"{file}: {events}, {files}, {file_size(made.size)}")
    if made.manifest.head is not None:
        click.echo(f"head {made.manifest.head}")
