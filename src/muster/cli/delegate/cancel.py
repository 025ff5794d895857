"""`muster cancel`: ends requests that are no longer wanted."""

from pathlib import Path

import click

from muster.cli.acting import print_json, server
from muster.cli.options import home_option, json_option
from muster.cli.render import clean
from muster.client.delegation import cancel as cancelling


@click.command()
@home_option
@json_option("Print each task as JSON, one a line.")
@click.argument("tasks", nargs=-1, required=True, metavar="TASK...")
def cancel(home: Path, as_json: bool, tasks: tuple[str, ...]) -> None:
    """Cancel requests, and stop the work on them.

    TASK is the name of a conversation, such as conv_003, or its number.
    """
    with server(home) as client:
        for task in tasks:
            found = client.ask(cancelling(_name(task)))
            if as_json:
                print_json(found)
            else:
                click.echo(f"{found.conversation} is cancelled: {clean(_title(found.text))}")


def _name(task: str) -> str:
    return f"conv_{int(task):03}" if task.isdecimal() else task


def _title(text: str) -> str:
    """The first line of a request."""
    return text.strip().partition("\n")[0]
