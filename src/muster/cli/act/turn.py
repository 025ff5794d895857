"""`muster turn`: post, complete, pass, pause, resume or override a turn; who speaks next."""

from pathlib import Path

import click

from muster.cli.acting import (
    agent_option,
    epoch_option,
    print_channel,
    print_effect,
    print_said,
    server,
)
from muster.cli.options import Function, home_option, json_option
from muster.cli.texts import text_or_stdin
from muster.client import requests
from muster.client.sync import Client
from muster.errors import Invalid

JSON = "Print the event number as JSON."


def to_option(function: Function) -> Function:
    """Add `--to` to a verb that ends a turn."""
    return click.option("--to", metavar="A", help="Hand the turn to this member.")(function)


def channel_option(function: Function) -> Function:
    """Add `--channel` to a verb about a member."""
    return click.option(
        "--channel", metavar="C", help="The channel; needed if the agent is in several."
    )(function)


@click.group()
def turn() -> None:
    """End, pause, resume or override a turn, or say who is next."""


@turn.command()
@home_option
@json_option(JSON)
@agent_option
@epoch_option
@to_option
@click.argument("channel")
@click.argument("text", required=False)
def complete(
    home: Path,
    as_json: bool,
    agent: str | None,
    epoch: int | None,
    to: str | None,
    channel: str,
    text: str | None,
) -> None:
    """Complete a turn, with a final post (TEXT) or without.

    With TEXT `-` it is read from standard input.
    """
    with server(home) as client:
        ending = requests.complete(channel, _given(text), agent=agent, epoch=epoch, to=to)
        said = client.ask(ending)
    print_said(said, as_json)


@turn.command()
@home_option
@json_option(JSON)
@agent_option
@epoch_option
@click.argument("channel")
@click.argument("text")
def post(
    home: Path, as_json: bool, agent: str | None, epoch: int | None, channel: str, text: str
) -> None:
    """Post TEXT in a turn, and keep the turn.

    With TEXT `-` it is read from standard input.
    """
    with server(home) as client:
        said = client.ask(requests.post(channel, _given(text) or "", agent=agent, epoch=epoch))
    print_said(said, as_json)


def _given(text: str | None) -> str | None:
    return None if text is None else text_or_stdin(text)


@turn.command("pass")
@home_option
@json_option(JSON)
@agent_option
@epoch_option
@to_option
@click.argument("channel")
@click.argument("reason", required=False)
def pass_(
    home: Path,
    as_json: bool,
    agent: str | None,
    epoch: int | None,
    to: str | None,
    channel: str,
    reason: str | None,
) -> None:
    """Complete a turn without a post."""
    with server(home) as client:
        said = client.ask(requests.pass_turn(channel, reason, agent=agent, epoch=epoch, to=to))
    print_said(said, as_json)


@turn.command()
@home_option
@json_option(JSON)
@agent_option
@epoch_option
@click.option("--timeout", type=float, metavar="S", help="The turn is forfeited after S seconds.")
@click.option(
    "--for",
    "awaits",
    type=click.Choice(["person", "resume"]),
    help="What resumes the turn: a person's message, or `muster turn resume` only [person].",
)
@click.argument("channel")
@click.argument("reason", required=False)
def wait(
    home: Path,
    as_json: bool,
    agent: str | None,
    epoch: int | None,
    timeout: float | None,
    awaits: str | None,
    channel: str,
    reason: str | None,
) -> None:
    """Pause a turn (WAITING) and keep it; no other agent is ACTIVE meanwhile."""
    pause = requests.wait_turn(
        channel, reason, agent=agent, epoch=epoch, timeout_seconds=timeout, awaits=awaits
    )
    with server(home) as client:
        print_said(client.ask(pause), as_json)


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
    """Override a turn: make AGENT (default: the holder) ACTIVE, or QUEUED and pass the turn on.

    While another agent has the turn, an agent that is to be ACTIVE speaks next.
    """
    with server(home) as client:
        said = client.ask(requests.override_turn(channel, state.upper(), agent=agent))
    print_effect(said, as_json)


@turn.command("next")
@home_option
@json_option("Print the effect as JSON.")
@channel_option
@click.argument("agent")
def next_(home: Path, as_json: bool, channel: str | None, agent: str) -> None:
    """Let AGENT speak next: at once if the turn is free, else after the holder."""
    with server(home) as client:
        place = channel or _only_channel(client, agent)
        said = client.ask(requests.override_turn(place, "ACTIVE", agent=agent))
    print_effect(said, as_json)


@turn.command()
@home_option
@json_option("Print the channel as JSON.")
@channel_option
@click.option("--lower", is_flag=True, help="Lower the hand again.")
@click.argument("agent")
def hand(home: Path, as_json: bool, channel: str | None, lower: bool, agent: str) -> None:
    """Raise the hand of AGENT: it speaks before the ring's next."""
    with server(home) as client:
        place = channel or _only_channel(client, agent)
        state = client.ask(requests.raise_hand(place, agent, raised=not lower))
    print_channel(state, as_json)


def _only_channel(client: Client, agent: str) -> str:
    """The channel of an agent that is in one channel."""
    channels = sorted(client.ask(requests.agent(agent)).channels)
    if len(channels) == 1:
        return channels[0]
    found = f"{agent!r} is in {', '.join(channels)}" if channels else f"{agent!r} is in no channel"
    raise Invalid(what="--channel", why=f"must name one channel: {found}")
