"""`muster confine`: run a command that may write only what a policy allows."""

import sys
from pathlib import Path

import click

from muster.confine.kernel import support
from muster.confine.launching import become
from muster.confine.policy import ConfineError, parse
from muster.errors import Invalid, NotConfined
from muster.regular_files import read_regular


@click.command(context_settings={"ignore_unknown_options": True})
@click.option(
    "--policy",
    type=click.Path(path_type=Path),
    required=True,
    help="The policy: a JSON file with what may be written.",
)
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def confine(policy: Path, command: tuple[str, ...]) -> None:
    """Run a command that may write only what a policy allows.

    The policy is a JSON file: {"write": ["/srv/app/outputs"], "network": false}. The command reads
    everything. It writes only the folders and files in `write`, opens no TCP connections unless
    `network` is true, and sends no signals to other programs.
    """
    try:
        allowed = parse(read_regular(policy).decode())
    except (OSError, UnicodeDecodeError, ConfineError) as wrong:
        raise Invalid(what=str(policy), why=f"is not a policy: {wrong}") from None
    machine = support()
    for missing in machine.lacks:
        click.echo(f"muster: warning: this kernel lacks something: {missing}", err=True)
    sys.stderr.flush()
    try:
        become(allowed, machine, command)
    except ConfineError as failed:
        raise NotConfined(why=failed) from None
