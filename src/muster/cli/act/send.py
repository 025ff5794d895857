"""`muster send`: a message from a person to an agent, a channel or the lead."""

import sys
from pathlib import Path

import click

from muster.cli.acting import print_said, server
from muster.cli.options import home_option, json_option
from muster.client import requests


@click.command()
@home_option
@json_option("Print the event number as JSON.")
@click.option("--to", metavar="AGENT", help="Send to this agent only.")
@click.option("--channel", metavar="C", help="Send to this channel.")
@click.argument("text")
def send(home: Path, as_json: bool, to: str | None, channel: str | None, text: str) -> None:
    """Send a message to an agent, a channel or the lead.

    With TEXT `-` it is read from standard input.
    """
    if to is not None and channel is not None:
        raise click.UsageError("--to and --channel exclude each other.")
    if text == "-":
        text = sys.stdin.read()
    with server(home) as client:
        print_said(client.ask(requests.send(text, to=to, channel=channel)), as_json)
