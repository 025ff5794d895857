"""`muster turn`: complete, pass, pause, resume or override a turn."""

from pathlib import Path

import click

from muster.cli.acting import agent_option, epoch_option, print_said, server
from muster.cli.options import home_option, json_option
from muster.client import requests

JSON = "Print the event number as JSON."


@click.group()
def turn() -> None:
    """Complete, pass, pause, resume or override a turn."""


@turn.command()
@home_option
@json_option(JSON)
@agent_option
@epoch_option
@click.argument("channel")
@click.argument("text", required=False)
def complete(
    home: Path, as_json: bool, agent: str | None, epoch: int | None, channel: str, text: str | None
) -> None:
    """Complete a turn, with a final post (TEXT) or without."""
    with server(home) as client:
        said = client.ask(requests.complete(channel, text, agent=agent, epoch=epoch))
    print_said(said, as_json)


@turn.command("pass")
@home_option
@json_option(JSON)
@agent_option
@epoch_option
@click.argument("channel")
@click.argument("reason", required=False)
def pass_(
    home: Path,
    as_json: bool,
    agent: str | None,
    epoch: int | None,
    channel: str,
    reason: str | None,
) -> None:
    """Complete a turn without a post."""
    with server(home) as client:
        said = client.ask(requests.pass_turn(channel, reason, agent=agent, epoch=epoch))
    print_said(said, as_json)


@turn.command()
@home_option
@json_option(JSON)
@agent_option
@epoch_option
@click.option("--timeout", type=float, metavar="S", help="The turn is forfeited after S seconds.")
@click.argument("channel")
@click.argument("reason", required=False)
def wait(
    home: Path,
    as_json: bool,
    agent: str | None,
    epoch: int | None,
    timeout: float | None,
    channel: str,
    reason: str | None,
) -> None:
    """Pause a turn (WAITING) and keep it; no other agent is ACTIVE meanwhile."""
    ask = requests.wait_turn(channel, reason, agent=agent, epoch=epoch, timeout_seconds=timeout)
    with server(home) as client:
        print_said(client.ask(ask), as_json)


@turn.command()
@home_option
@json_option(JSON)
@agent_option
@epoch_option
@click.argument("channel")
def resume(home: Path, as_json: bool, agent: str | None, epoch: int | None, channel: str) -> None:
    """Resume a paused turn."""
    with server(home) as client:
        print_said(client.ask(requests.resume_turn(channel, agent=agent, epoch=epoch)), as_json)


@turn.command()
@home_option
@json_option(JSON)
@click.argument("channel")
@click.argument("state", type=click.Choice(["active", "queued"], case_sensitive=False))
@click.argument("agent", required=False)
def override(home: Path, as_json: bool, channel: str, state: str, agent: str | None) -> None:
    """Override a turn: make AGENT (default: the holder) ACTIVE, or QUEUED and pass the turn on."""
    with server(home) as client:
        said = client.ask(requests.override_turn(channel, state.upper(), agent=agent))
    print_said(said, as_json)
