"""`muster model` and `muster mode`: how an agent's program works, now and from now on."""

from pathlib import Path

import click

from muster.cli.acting import print_json, server
from muster.cli.options import home_option, json_option
from muster.cli.render import clean
from muster.client import settings as requests
from muster.views.answers.settings import AgentProgram


@click.command()
@home_option
@json_option("Print the program's settings as JSON.")
@click.argument("name")
@click.argument("model", required=False)
def model(home: Path, as_json: bool, name: str, model: str | None) -> None:
    """Show or choose the model of an agent's program; "" is the program's default.

    A running Claude Code takes another model over at once, other programs at their next session.
    The choice is kept in muster.toml.
    """
    with server(home) as client:
        found = client.ask(requests.program(name))
        if model is not None:
            found = client.ask(requests.choose_program(name, model=model))
    _show(found, "model", found.model, as_json)


@click.command()
@home_option
@json_option("Print the program's settings as JSON.")
@click.argument("name")
@click.argument("mode", required=False)
def mode(home: Path, as_json: bool, name: str, mode: str | None) -> None:
    """Show or choose the permission mode of an agent's program.

    Claude Code has default, acceptEdits, plan and dontAsk, and takes another one over at once;
    other programs do at their next session. The choice is kept in muster.toml.
    """
    with server(home) as client:
        found = client.ask(requests.program(name))
        if mode is not None:
            found = client.ask(requests.choose_program(name, mode=mode))
    _show(found, "mode", found.mode, as_json)


def _show(found: AgentProgram, what: str, value: str | None, as_json: bool) -> None:
    if as_json:
        print_json(found)
        return
    if value is None:
        said = f"the runtime {found.runtime} has no {what} to choose"
    else:
        said = f"{what} {value}" if value else f"the program's default {what}"
    effect = f"; {found.effect}" if found.effect else ""
    click.echo(clean(f"{found.name}: {said}{effect}"))
