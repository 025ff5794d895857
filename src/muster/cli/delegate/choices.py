"""`muster choices`: the agents that people chose for requests, and that routing weighs in."""

import asyncio
from pathlib import Path
from typing import Final

import click

from muster.cli.acting import print_json
from muster.cli.delegate.places import Place, client_at, nesting_here, place_of, settings_of
from muster.cli.options import home_option, json_option
from muster.cli.render import clean, table
from muster.cli.terminal import look
from muster.client import delegation
from muster.client.requests import ApiRequest
from muster.delegation.visiting import team_in, visited
from muster.machines.actors import refuse_agent
from muster.machines.commands import Command, ForgetChoice, RememberChoice
from muster.machines.ids import agent_actor, person
from muster.machines.state import Delegation
from muster.views.answers.conversations import ChoiceList
from muster.views.conversations import choice_list

_HEADER: Final = ("CHOICE", "AGENT", "ROUTER", "REQUEST")
_CHARS: Final = 80
"""How much of a request the table shows."""

_path_option = click.option(
    "--path",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="The session's folder [the session started last in this folder].",
)


@click.group()
def choices() -> None:
    """List, add and forget choices of agents for requests.

    A choice is made with `muster ask --to`, by the answer to "A or B?", or on the page. The same
    request goes to the chosen agent again, and similar ones rather go there.
    """


@choices.command("list")
@_path_option
@json_option("Print the choices as JSON.")
@home_option
def list_(path: Path | None, as_json: bool, home: Path) -> None:
    """List the choices that routing remembers, the newest last.

    The column ROUTER has the router's own choice, `-` where it was unsure.
    """
    place = place_of(path, home)
    if place.server is not None:
        with client_at(place) as client:
            found = client.ask(delegation.choices())
    else:
        team = team_in(place.home)
        found = choice_list(Delegation() if team is None else team.delegation)
    _show(found, as_json)


@choices.command()
@_path_option
@json_option("Print all choices as JSON.")
@home_option
@click.argument("agent")
@click.argument("text")
def add(path: Path | None, as_json: bool, home: Path, agent: str, text: str) -> None:
    """Remember AGENT for the request TEXT, and for requests like it."""
    place = place_of(path, home)
    request = delegation.remember_choice(text, agent)
    _show(_change(place, home, request, RememberChoice(text=text, to=agent)), as_json)


@choices.command()
@_path_option
@json_option("Print the remaining choices as JSON.")
@home_option
@click.option("--all", "every", is_flag=True, help="Forget all choices.")
@click.argument("number", type=click.IntRange(min=1), required=False)
def forget(path: Path | None, as_json: bool, home: Path, every: bool, number: int | None) -> None:
    """Forget a choice. NUMBER is its number, as `muster choices list` shows it."""
    if every == (number is not None):
        raise click.UsageError("Give a NUMBER, or --all.")
    place = place_of(path, home)
    request = delegation.forget_choices() if number is None else delegation.forget_choice(number)
    _show(_change(place, home, request, ForgetChoice(number=number)), as_json)


def _change(
    place: Place, home: Path, request: ApiRequest[ChoiceList], command: Command
) -> ChoiceList:
    """Send a command to the server that has the log open, or into the log itself."""
    asker = nesting_here()
    if asker.depth:  # with the operator's token, the server could not tell
        refuse_agent(agent_actor(asker.agent), "teach the router")
    if place.server is not None:
        with client_at(place) as client:
            return client.ask(request)
    settings = settings_of(place.root, home)
    log_provider, _ = visited(place.root, settings, place.team_home)

    async def send() -> ChoiceList:
        async with log_provider.access() as session_log:
            await session_log.send(command, actor=person(settings.team.human))
            return choice_list(session_log.team.delegation)

    return asyncio.run(send())


def _show(found: ChoiceList, as_json: bool) -> None:
    if as_json:
        print_json(found)
        return
    if not found.choices:
        click.echo("No choices are remembered. `muster ask --to AGENT` makes one.")
        return
    rows = [
        (str(each.number), clean(each.agent), clean(each.guess) or "-", _short(each.text))
        for each in found.choices
    ]
    click.echo(table(_HEADER, rows, look()))


def _short(text: str) -> str:
    line = clean(" ".join(text.split()))
    return line if len(line) <= _CHARS else f"{line[: _CHARS - 1]}…"
