"""`muster summon`, `wake` and `sleep`: who is to be born, to wake and to sleep.

A verb asks for it and returns. Who comes to life, and when, is told by `muster agents`.
"""

from collections.abc import Sequence
from pathlib import Path

import click

from muster.cli.acting import print_json, server
from muster.cli.options import Function, home_option, json_option
from muster.cli.render import clean, count
from muster.views.agents import Called


def _options(function: Function) -> Function:
    """What those take who mean somebody."""
    names = click.argument("names", metavar="[AGENT]...", nargs=-1)
    return home_option(json_option("Print who is meant as JSON.")(names(function)))


@click.command()
@home_option
@json_option("Print the places as JSON.")
def summon(home: Path, as_json: bool) -> None:
    """Prepare eight places in which agents are born.

    Where the team has a lead, the lead brings them into the world; otherwise muster runs each, as
    the settings say. Who has chosen no name after five minutes was not born.
    """
    with server(home) as client:
        called = client.summon()
    _print(called, as_json, f"{count(len(called.agents), 'place')} prepared: {_seats(called)}")


@click.command()
@_options
def wake(home: Path, as_json: bool, names: Sequence[str]) -> None:
    """Wake agents: these, or all who sleep.

    Each is given its soul and what was said in its last life. Whoever is unknown is asked about
    first, and left alone where it turns out to be here.
    """
    with server(home) as client:
        called = client.wake(*names)
    said = f"to be woken: {_names(called)}" if called.agents else "nobody has to be woken"
    _print(called, as_json, said)


@click.command()
@_options
def sleep(home: Path, as_json: bool, names: Sequence[str]) -> None:
    """Put agents to sleep: these, or all who are awake.

    Their sessions end after what they are doing; name, soul and transcript stay.
    """
    with server(home) as client:
        called = client.sleep(*names)
    _print(called, as_json, f"to be put to sleep: {_names(called)}")


def _print(called: Called, as_json: bool, said: str) -> None:
    if as_json:
        print_json(called)
    else:
        click.echo(clean(said))


def _seats(called: Called) -> str:
    return "seats " + ", ".join(str(agent.seat) for agent in called.agents)


def _names(called: Called) -> str:
    return ", ".join(agent.label for agent in called.agents)
