"""`muster send`: a person's message to an agent, to a channel, or to the lead."""

import sys
from pathlib import Path

import click

from muster.cli.acting import print_said, server
from muster.cli.options import home_option, json_option
from muster.client import requests


@click.command()
@home_option
@json_option("Print where it stands in the log as JSON.")
@click.option("--to", metavar="AGENT", help="For this agent alone.")
@click.option("--channel", metavar="C", help="For all in this channel.")
@click.argument("text")
def send(home: Path, as_json: bool, to: str | None, channel: str | None, text: str) -> None:
    """Say something to an agent, to a channel, or to the lead.

    With TEXT `-` it is read from standard input.
    """
    if to is not None and channel is not None:
        raise click.UsageError("--to and --channel exclude each other.")
    if text == "-":
        text = sys.stdin.read()
    with server(home) as client:
        print_said(client.ask(requests.send(text, to=to, channel=channel)), as_json)
